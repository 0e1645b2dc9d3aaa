"""Encodes log lines for WebSockets: once for all readers, with the number of the attempt filled in per reader."""

from __future__ import annotations

import re

from foliot.core.document import rfc3339
from foliot.engine.model.run import Event, EventType, RunState
from foliot.features.runs.model.log import category_of
from foliot.servers.http import encode
from foliot.servers.http.run_broadcast import EventView

# JSON never contains these bytes unescaped, so no line can forge one.
_BEGUN = re.compile(rb"\x00(\d+)\x00")
_OPEN = b"\x01"


def _frame(event: Event) -> bytes:
    """A line with a placeholder for its attempt, or a mark that one starts; neither depends on earlier events."""
    if event.type is EventType.STATE and event.state == RunState.RUNNING and event.attempt is not None:
        return b"\x00%d\x00" % event.attempt
    if event.type is not EventType.LOG:
        return b""
    line = {"seq": event.seq, "at": rfc3339(event.at), "level": event.level, "message": event.message}
    return encode.dumps({**line, "category": category_of(event.message)})[:-1] + b',"attempt":' + _OPEN + b"},"


LINES = EventView("lines", _frame, lambda _: b"")


def written(frames: bytes, attempt: int | None) -> tuple[bytes, int | None]:
    """The lines, joined by commas with their attempts filled in, and the attempt that is current after them."""
    first, *begun = _BEGUN.split(frames)
    lines = [first.replace(_OPEN, _number(attempt))]
    for number, part in zip(begun[::2], begun[1::2], strict=True):
        attempt = int(number)
        lines.append(part.replace(_OPEN, _number(attempt)))
    return b"".join(lines).removesuffix(b","), attempt


def _number(attempt: int | None) -> bytes:
    return b"null" if attempt is None else b"%d" % attempt
