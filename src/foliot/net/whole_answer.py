"""Reads the answer that most targets give: small, plain, and in one packet. aiohttp's parser reads all others.

It is strict on purpose: what it accepts means the same to every reader, and it leaves alone what is unusual in any way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_HEAD_BYTES = 8 * 1024
_HEADERS = 128
_DIGITS = 7
"""Of a length: an answer in one packet is not longer."""
_STATUS = re.compile(r"HTTP/1\.1 ([2-5][0-9]{2})(?: |$)")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_NOT_PLAIN = frozenset(
    {"connection", "content-encoding", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Headers that say how the answer is to be read, or what becomes of the connection."""
_EMPTY = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A complete answer, after which the connection can be used again."""

    code: int
    headers: dict[str, str]
    body: bytes


def read_whole(data: bytes) -> WholeAnswer | None:
    """The answer, if `data` is exactly one that is plain; else None."""
    end = data.find(b"\r\n\r\n", 0, _HEAD_BYTES)
    if end < 0:
        return None
    try:
        first, *lines = data[:end].decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        return None
    status = _STATUS.match(first)
    if status is None or not first.isprintable() or len(lines) > _HEADERS:
        return None
    headers = _read_headers(lines)
    if headers is None:
        return None
    code, left = int(status[1]), len(data) - end - 4
    length = headers.get("content-length", "0" if code in _EMPTY else "")
    if not (length.isdecimal() and len(length) <= _DIGITS and int(length) == left) or (left and code in _EMPTY):
        return None
    return WholeAnswer(code, headers, data[end + 4 :])


def _read_headers(lines: list[str]) -> dict[str, str] | None:
    headers: dict[str, str] = {}
    for line in lines:
        given, colon, value = line.partition(":")
        name = _plain_name(given)
        if name is None or not colon or name in headers or not value.isprintable():
            return None
        headers[name] = value.strip(" ")
    return headers


@lru_cache(maxsize=1024)
def _plain_name(given: str) -> str | None:
    name = given.lower()
    return None if name in _NOT_PLAIN or _NAME.fullmatch(given) is None else name
