"""Scrapy's HTTP cache in Redis, shared by all machines, with expiring entries."""

from __future__ import annotations

import logging
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.settings import BaseSettings

from foliot.scrapy.cache_entry import DamagedEntry, ResponsePacker
from foliot.scrapy.operator_settings import flag_of, is_yes, number_of, text_of

if TYPE_CHECKING:
    from redis import Redis

logger = logging.getLogger(__name__)

TTL = 3600
"""Default expiry in seconds when HTTPCACHE_EXPIRATION_SECS is unset: a shared cache must not grow for ever."""
LARGEST = 8 << 20
PREFIX = "foliot:http"
PATIENCE = 1.0
"""Timeout in seconds. Scrapy's cache blocks the whole process."""
LEFT_ALONE = 30.0
"""Seconds for which a Redis that did not answer is not used."""


class RedisCacheStorage:
    """For `HTTPCACHE_STORAGE`. A crawl never fails because of its cache."""

    def __init__(self, settings: BaseSettings) -> None:
        self.url = text_of(settings, "FOLIOT_CACHE_URL") or text_of(settings, "REDIS_URL")
        self.ttl = settings.getint("HTTPCACHE_EXPIRATION_SECS") or TTL
        self.packer = ResponsePacker(
            text_of(settings, "FOLIOT_CACHE_COMPRESSION", "zlib"), number_of(settings, "FOLIOT_CACHE_LARGEST", LARGEST)
        )
        # The scope separates the cached responses of tenants.
        parts = (text_of(settings, "FOLIOT_CACHE_PREFIX", PREFIX), text_of(settings, "FOLIOT_CACHE_SCOPE"))
        self.prefix = ":".join((*parts, str(settings["BOT_NAME"])))
        self.bypassed = flag_of(settings, "FOLIOT_IGNORE_CACHE")
        self.redis: Redis | None = None
        self._silent_until = 0.0
        self._complained = False

    def open_spider(self, spider: Spider) -> None:
        if self.ttl < 0:
            raise ValueError(f"HTTPCACHE_EXPIRATION_SECS: must be 0 or more, got {self.ttl}")
        self._fingerprint = spider.crawler.request_fingerprinter
        self.bypassed = self.bypassed or is_yes(getattr(spider, "ignore_cache", ""), "ignore_cache")
        if not self.url:
            logger.warning("Nothing is cached: set FOLIOT_CACHE_URL or REDIS_URL to the address of a Redis")
            return
        self.redis = _connected(self.url)
        how = "read past, and refreshed" if self.bypassed else "used"
        logger.info("The cache at %s is %s; entries live for %d s", self._place, how, self.ttl)

    def close_spider(self, spider: Spider) -> None:
        if self.redis is not None:
            self.redis.close()

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        """None when it is not cached, when the crawl wants fresh responses, and when Redis does not answer."""
        if self.bypassed:
            return None
        packed = self._ask("get", self._key(spider, request))
        if not isinstance(packed, bytes):
            return None
        try:
            response = self.packer.unpack(packed)
        except DamagedEntry:
            logger.debug("A damaged entry is left alone: %s", request)
            return None
        if (stored := _moment(response)) is not None:
            request.meta["cache_timestamp"] = stored
        return response

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        packed = self.packer.pack(response)
        if packed is not None:
            self._ask("setex", self._key(spider, request), self.ttl, packed)

    def _ask(self, command: str, *arguments: Any) -> Any:
        """Redis's answer, or None; an outage is logged once, and Redis is not used for a while."""
        from redis.exceptions import RedisError, ResponseError

        if self.redis is None or time.monotonic() < self._silent_until:
            return None
        try:
            return getattr(self.redis, command)(*arguments)
        except ResponseError as refused:
            # It is full or read-only: it may still be read.
            self._complain(str(refused))
        except RedisError as failed:
            self._silent_until = time.monotonic() + LEFT_ALONE
            self._complain(type(failed).__name__)
        return None

    def _complain(self, reason: str) -> None:
        if not self._complained:
            self._complained = True
            logger.warning(
                "The cache at %s does not serve (%s): the crawl goes on without it, and this is not said again",
                self._place,
                reason,
            )

    @property
    def _place(self) -> str:
        """Its address, without user and password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def _key(self, spider: Spider, request: Request) -> str:
        assert self._fingerprint is not None  # noqa: S101 -- a crawler that runs has one
        return f"{self.prefix}:{spider.name}:{self._fingerprint.fingerprint(request).hex()}"


def _connected(url: str) -> Redis:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        # One retry, for a connection that was closed while idle.
        return Redis.from_url(
            url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, retry=Retry(NoBackoff(), 1)
        )
    except ValueError:
        # Not repeated: it may hold a password.
        raise ValueError("FOLIOT_CACHE_URL: must be an address such as redis://127.0.0.1:6379/0") from None


def _moment(response: Response) -> float | None:
    """The date of the response; Scrapy adds the header where a server left it out."""
    try:
        return parsedate_to_datetime((response.headers.get(b"Date") or b"").decode()).timestamp()
    except ValueError:
        return None
