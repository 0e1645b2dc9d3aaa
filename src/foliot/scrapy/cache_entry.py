"""Serialises responses for the cache, in a format that can only be decoded to a response."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

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
