"""Decodes content encodings in bounded pieces."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

ACCEPTED = "gzip, deflate"
_PIECE = 64 * 1024
_MOST_CODINGS = 2
_GZIP = 16 + zlib.MAX_WBITS


class UndecodableBody(Exception):
    """The rest of the body is not read: it is damaged, too large, or in an unknown encoding."""


class Inflater:
    """Decodes gzip or deflate in pieces, up to `most` bytes: the inner layers of a nested bomb are bounded too."""

    def __init__(self, coding: str, most: int) -> None:
        self._left = most
        self._head = b""
        self._fed = False
        self._stream = zlib.decompressobj(_GZIP) if coding == "gzip" else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._fed = True
        if self._stream is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._stream = self._head, zlib.decompressobj(_window(self._head))
        while data and not self._stream.eof:
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error:
                raise UndecodableBody from None
            data = self._stream.unconsumed_tail
            self._left -= len(piece)
            if piece:
                yield piece
            if self._left < 0:
                raise UndecodableBody

    @property
    def whole(self) -> bool:
        return not self._fed or (self._stream is not None and self._stream.eof)


def decoders(header: str, most: int) -> Sequence[Inflater]:
    """The decoders of a `Content-Encoding` header, outermost first."""
    codings = [name for part in header.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    codings = [name.removeprefix("x-") for name in codings]
    if len(codings) > _MOST_CODINGS or not set(codings) <= {"gzip", "deflate"}:
        raise UndecodableBody
    return [Inflater(coding, most) for coding in reversed(codings)]


def decompress(data: bytes, through: Sequence[Inflater]) -> Iterator[bytes]:
    """`data` through every decoder, lazily: the work stops when the caller stops iterating."""
    if not through:
        yield data
        return
    for piece in through[0].feed(data):
        yield from decompress(piece, through[1:])


def _window(head: bytes) -> int:
    """Many servers say deflate and send it raw, without the zlib header that the standard asks for."""
    wrapped = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
