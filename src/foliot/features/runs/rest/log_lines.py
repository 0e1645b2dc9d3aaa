"""The lines of a log as a socket tells them: made once for all who follow, each with the attempt that wrote it."""

from __future__ import annotations

import re

from foliot.core.document import rfc3339
from foliot.engine.model.event import Event, EventType
from foliot.engine.model.run import RunState
from foliot.features.runs.model.log_category import category_of
from foliot.servers.http import encode
from foliot.servers.http.run_broadcast import EventView

# JSON writes neither of these bytes as it is, so no line can forge one.
_BEGUN = re.compile(rb"\x00(\d+)\x00")
_OPEN = b"\x01"


def _frame(event: Event) -> bytes:
    """A line whose attempt is open, or the beginning of an attempt; both made without knowing what came before."""
    if event.type is EventType.STATE and event.state == RunState.RUNNING and event.attempt is not None:
        return b"\x00%d\x00" % event.attempt
    if event.type is not EventType.LOG:
        return b""
    told = {"seq": event.seq, "at": rfc3339(event.at), "level": event.level, "message": event.message}
    return encode.dumps({**told, "category": category_of(event.message)})[:-1] + b',"attempt":' + _OPEN + b"},"


LINES = EventView("lines", _frame, lambda _: b"")


def written(told: bytes, attempt: int | None) -> tuple[bytes, int | None]:
    """The lines, with commas between them, and the attempt that goes on after them."""
    said, *begun = _BEGUN.split(told)
    lines = [said.replace(_OPEN, _number(attempt))]
    for number, part in zip(begun[::2], begun[1::2], strict=True):
        attempt = int(number)
        lines.append(part.replace(_OPEN, _number(attempt)))
    return b"".join(lines).removesuffix(b","), attempt


def _number(attempt: int | None) -> bytes:
    return b"null" if attempt is None else b"%d" % attempt
