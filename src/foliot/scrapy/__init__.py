"""What a Scrapy project takes from Foliot: a cache that machines share, and a guard on where its spiders may go."""

from foliot.scrapy.cache import RedisCacheStorage
from foliot.scrapy.middleware import EgressMiddleware

__all__ = ["EgressMiddleware", "RedisCacheStorage"]
