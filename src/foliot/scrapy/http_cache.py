"""Scrapy's HTTP cache in Redis, shared by all machines, with expiring entries."""

from __future__ import annotations

import json
import logging
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings

from foliot.scrapy.operator_settings import flag_of, is_yes, number_of, text_of

if TYPE_CHECKING:
    from redis import Redis


_MARK = b"F1"
_ZLIB, _ZSTD, _PLAIN = b"z", b"s", b"-"
_LENGTH = 4
# Besides the body: the URL and the headers, which Scrapy bounds.
_HEAD = 1 << 20

COMPRESSIONS = ("zlib", "zstd", "none")


class DamagedEntry(Exception):
    """These bytes are not a response, or one that is too large."""


@dataclass(frozen=True, slots=True)
class ResponsePacker:
    """Encodes responses with bodies of at most `largest` bytes."""

    compression: str
    largest: int

    def __post_init__(self) -> None:
        if self.compression not in COMPRESSIONS:
            raise ValueError(
                f"FOLIOT_CACHE_COMPRESSION: must be {', '.join(COMPRESSIONS[:-1])} or {COMPRESSIONS[-1]}, "
                f"got {self.compression!r}"
            )
        if self.compression == "zstd":
            _zstd()

    def pack(self, response: Response) -> bytes | None:
        """None when it is too large to be cached."""
        if len(response.body) > self.largest:
            return None
        head = json.dumps({"url": response.url, "status": response.status, "headers": _texts(response.headers)})
        if len(head) > _HEAD:
            return None
        content = len(head).to_bytes(_LENGTH) + head.encode() + response.body
        match self.compression:
            case "zlib":
                return _MARK + _ZLIB + zlib.compress(content, 1)
            case "zstd":
                compressed: bytes = _zstd().compress(content, 3)
                return _MARK + _ZSTD + compressed
            case _:
                return _MARK + _PLAIN + content

    def unpack(self, packed: bytes) -> Response:
        """Decodes any compression; `DamagedEntry` when it is not a response."""
        try:
            content = self._inflated(packed)
            size = int.from_bytes(content[:_LENGTH])
            head = json.loads(content[_LENGTH : _LENGTH + size])
            headers = Headers({name: [each.encode("latin-1") for each in values] for name, values in head["headers"]})
            url, status, body = str(head["url"]), int(head["status"]), content[_LENGTH + size :]
        except (ValueError, TypeError, KeyError, AttributeError) as wrong:
            raise DamagedEntry from wrong
        kind = responsetypes.from_args(headers=headers, url=url, body=body)
        return kind(url=url, status=status, headers=headers, body=body)

    def _inflated(self, packed: bytes) -> bytes:
        most = self.largest + _HEAD + _LENGTH
        mark, compression, content = packed[:2], packed[2:3], packed[3:]
        if mark != _MARK:
            raise ValueError("not ours")
        match compression:
            case b"-":
                return content
            case b"z":
                return _bounded(zlib.decompressobj(), content, most, zlib.error)
            case b"s":
                zstd = _zstd()
                return _bounded(zstd.ZstdDecompressor(), content, most, zstd.ZstdError)
            case _:
                raise ValueError("an unknown compression")


def _bounded(inflater: Any, content: bytes, most: int, wrong: type[Exception]) -> bytes:
    inflate: Callable[[bytes, int], bytes] = inflater.decompress
    try:
        found = inflate(content, most + 1)
    except wrong as broken:
        raise ValueError("broken") from broken
    if len(found) > most or not inflater.eof:
        raise ValueError("too large, or cut off")
    return found


def _texts(headers: Headers) -> list[tuple[str, list[str]]]:
    """Bytes as text and back, one to one."""
    names: list[Any] = list(headers.keys())
    return [(_text(name), [_text(value) for value in headers.getlist(name)]) for name in names]


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _zstd() -> Any:
    from importlib.util import find_spec

    if find_spec("compression") is not None:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd
    if find_spec("backports") is not None and find_spec("backports.zstd") is not None:
        from backports import zstd

        return zstd
    raise ValueError("FOLIOT_CACHE_COMPRESSION: zstd needs the package backports.zstd on this Python; use zlib")


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
            logger.debug("A damaged entry is ignored: %s", request)
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
                "The cache at %s is not available (%s): the crawl continues without it, and this warning is not "
                "repeated",
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
