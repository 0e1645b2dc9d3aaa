"""What a Scrapy project takes from Foliot: a cache that machines share, and a guard on where its spiders may go."""

from foliot.scrapy.egress_middleware import EgressMiddleware
from foliot.scrapy.http_cache import RedisCacheStorage

__all__ = ["EgressMiddleware", "RedisCacheStorage"]
