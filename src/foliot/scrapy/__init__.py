"""For Scrapy projects: a shared HTTP cache, and the egress guard inside the spider's process."""

from foliot.scrapy.egress_middleware import EgressMiddleware
from foliot.scrapy.http_cache import RedisCacheStorage

__all__ = ["EgressMiddleware", "RedisCacheStorage"]
