"""For Scrapy projects: a shared HTTP cache, the egress guard and turns at hosts, inside the spider's process."""

from foliot.scrapy.egress_middleware import EgressMiddleware
from foliot.scrapy.http_cache import RedisCacheStorage
from foliot.scrapy.politeness_middleware import PolitenessMiddleware

__all__ = ["EgressMiddleware", "PolitenessMiddleware", "RedisCacheStorage"]
