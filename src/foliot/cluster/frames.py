"""Framing between a pool and its processes: JSON followed by raw bytes, each with its length first.

What a broker carries: messages with run ids of a queue (hints; the row decides), and runs as its tools see them.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

import orjson

LARGEST = 8 * 1024 * 1024
"""Maximum bytes of a message; no call and no result comes near."""
LARGEST_BODY = 32 * 1024 * 1024
"""Maximum raw bytes beside it."""
BODY = "body"
"""The key under which a message holds its raw bytes."""

_LENGTHS = struct.Struct(">II")


class BrokenFrame(Exception):
    """The other side sent something that is not a message."""


def pack(message: dict[str, Any], body: bytes = b"") -> bytes:
    text = orjson.dumps(message)
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


def read(source: BinaryIO) -> dict[str, Any] | None:
    """The next message of a blocking stream; None at its end."""
    head = source.read(_LENGTHS.size)
    if len(head) < _LENGTHS.size:
        return None
    size, more = _sizes(head)
    return _message(source.read(size), source.read(more))


async def receive(source: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message of an asynchronous stream; None at its end."""
    try:
        size, more = _sizes(await source.readexactly(_LENGTHS.size))
        text, body = await source.readexactly(size), await source.readexactly(more)
    except asyncio.IncompleteReadError:
        return None
    return _message(text, body)


def _sizes(head: bytes) -> tuple[int, int]:
    size, more = _LENGTHS.unpack(head)
    if size > LARGEST or more > LARGEST_BODY:
        raise BrokenFrame(f"a message of {size} and {more} bytes")
    return size, more


def _message(text: bytes, body: bytes) -> dict[str, Any]:
    try:
        message = orjson.loads(text)
    except ValueError as error:
        raise BrokenFrame(str(error)) from None
    if not isinstance(message, dict):
        raise BrokenFrame("a message that is not an object")
    return message | {BODY: body} if body else message


Send = Callable[[dict[str, Any]], None]


PARCEL = 50
"""Maximum number of run ids per message."""


@dataclass(frozen=True, slots=True)
class BrokerMessage:
    """Run ids of one queue, at the priority of the most urgent."""

    queue: str
    priority: int
    """1 is the most urgent, 10 the least."""
    run_ids: Sequence[str]
    offered_at: datetime
    """The publication mark on their rows: returning them clears this mark, and no later one."""


Receive = Callable[[BrokerMessage], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredTask:
    """One attempt of a run in this process."""

    run_id: str
    name: str
    """Its kind and its schedule, in place of a task's name."""
    queue: str
    attempt: int
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredTaskEnd:
    """How an attempt ended, as it was stored."""

    state: str
    at: datetime
    result: object
    error: Mapping[str, Any] | None
