"""Reads an answer with bounds on what is kept, read and decompressed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foliot.core.egress import EgressFailed
from foliot.net.decompress import UndecodableBody, decoders, decompress

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_SWITCHING = 101
_PIECES_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedResponse:
    """Status, headers and the beginning of the body, decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


async def read_answer(response: ClientResponse, *, keep: int, most: int) -> BoundedResponse:
    """Reads at most `most` bytes, on the wire and decompressed alike, and keeps the first `keep`.

    The status is known by then, so a body that is too long or damaged is truncated and marked, not an error.
    """
    if response.status == _SWITCHING:
        response.close()
        raise EgressFailed("bad_response", "The target asked to switch to another protocol.")
    kept = bytearray()
    complete = await _collect(response, kept, keep, most)
    if not response.content.at_eof():
        # The rest is never read, so the connection cannot be reused.
        response.close()
    return BoundedResponse(status=response.status, headers=_headers(response), body=bytes(kept), truncated=not complete)


async def _collect(response: ClientResponse, kept: bytearray, keep: int, most: int) -> bool:
    """Whether `kept` holds the whole body."""
    raw = total = 0
    try:
        through = decoders(response.headers.get("Content-Encoding", ""), most)
        async for chunk in response.content.iter_any():
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


def _headers(response: ClientResponse) -> dict[str, str]:
    """One value per name. Bytes that are not UTF-8 arrive as lone surrogates, which no database accepts."""
    lines: dict[str, str] = {}
    for name, value in response.headers.items():
        clean = value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        key = name.encode("ascii", "replace").decode().lower()
        lines[key] = f"{lines[key]}, {clean}" if key in lines else clean
    return lines
