"""Reads an answer with bounds on what is kept, read and decompressed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foliot.core.egress import EgressFailed
from foliot.net.whole_answer import WholeAnswer

if TYPE_CHECKING:
    from aiohttp import StreamReader
    from aiohttp.client_proto import ResponseHandler

    from foliot.net.pinned_address import Pin

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


_SWITCHING = 101
_PIECES_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedResponse:
    """Status, headers and the beginning of the body, decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    set_cookies: Sequence[str] = ()
    """Each `Set-Cookie` header: in `headers` they are one."""


async def read_answer(handler: ResponseHandler, pin: Pin, *, keep: int, most: int) -> tuple[BoundedResponse, bool]:
    """Reads at most `most` bytes, on the wire and decompressed alike, and keeps the first `keep`.

    The status is known by then, so a body that is too long or damaged is truncated and marked, not an error. Also
    answers whether the body was read to its end: only then can the connection be used again.
    """
    message, content = await handler.read()
    while 100 <= message.code < 200 and message.code != _SWITCHING:
        message, content = await handler.read()
    pin.first_byte = asyncio.get_running_loop().time()
    if isinstance(message, WholeAnswer):
        body = message.body
        line = message.headers.get("set-cookie")
        return BoundedResponse(
            status=message.code,
            headers=message.headers,
            body=body[:keep],
            truncated=len(body) > keep,
            set_cookies=() if line is None else (line,),
        ), True
    if message.code == _SWITCHING:
        raise EgressFailed("bad_response", "The target asked to switch to another protocol.")
    kept = bytearray()
    complete = await _collect(message.headers, content, kept, keep, most)
    answer = BoundedResponse(
        status=message.code,
        headers=_headers(message.headers),
        body=bytes(kept),
        truncated=not complete,
        set_cookies=tuple(message.headers.getall("Set-Cookie", ())),
    )
    return answer, content.at_eof()


async def _collect(headers: Mapping[str, str], content: StreamReader, kept: bytearray, keep: int, most: int) -> bool:
    """Whether `kept` holds the whole body."""
    raw = total = 0
    try:
        through = decoders(headers.get("Content-Encoding", ""), most)
        async for chunk in content.iter_any():
            if raw:
                # Buffered data would be read without yielding, while other tasks wait.
                await asyncio.sleep(0)
            raw += len(chunk)
            for count, piece in enumerate(decompress(chunk, through), 1):
                kept += piece[: keep - len(kept)]
                total += len(piece)
                if count % _PIECES_AT_ONCE == 0:
                    await asyncio.sleep(0)
            # The output of the decoders is bounded by themselves.
            if raw > most:
                return False
    except UndecodableBody:
        return False
    return total <= keep and all(decoder.whole for decoder in through)


def _headers(received: Mapping[str, str]) -> dict[str, str]:
    """One value per name. Bytes that are not UTF-8 arrive as lone surrogates, which no database accepts."""
    lines: dict[str, str] = {}
    for name, value in received.items():
        clean = value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        key = name.encode("ascii", "replace").decode().lower()
        lines[key] = f"{lines[key]}, {clean}" if key in lines else clean
    return lines
