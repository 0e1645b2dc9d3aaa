"""The log of a job: the log lines among its run's events, as server-sent events or as text."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.engine.model.run import Event, EventType
from foliot.engine.model.views import RunView
from foliot.features.jobs.usecases import STATUS, JobStatus, spider_job_id
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http import encode
from foliot.servers.http.run_broadcast import EventView

BATCH = 500

# Line breaks of every kind: one log line is one line of output, whatever it contains.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def frame(event: Event, prefix: bytes = b"") -> bytes:
    """One line as a frame. JSON has no raw line breaks, so no content can forge a frame."""
    if event.type is not EventType.LOG:
        return b""
    line = {"ts": rfc3339(event.at), "level": _level(event), "msg": event.message}
    return b"id: %s%d\nevent: log\ndata: %s\n\n" % (prefix, event.seq, encode.dumps(line))


def end(run: RunView) -> bytes:
    return last_word(STATUS[run.state], spider_job_id(run))


def last_word(status: JobStatus, spider_job: str | None) -> bytes:
    last = {"status": status.value, "spider_job_id": spider_job}
    return b"event: end\ndata: %s\n\n" % encode.dumps(last)


LOGS = EventView("logs", frame, end)


def logs_of_schedule(run: RunView) -> EventView:
    """The log of a schedule is its newest run's. Each id names the run, for a reader may resume in a newer one."""
    return EventView(f"logs of {run.id}", partial(frame, prefix=f"{run.id}:".encode()), end)


async def as_text(cases: UseCases, caller: Caller, run: RunView | None) -> AsyncIterator[bytes]:
    """The whole log so far, one line each: time, level, message. A job that never ran has none."""
    after = 0
    while run is not None:
        async with cases[Runs].backlog.turn(needed=after > 0):
            run, events = await cases[Runs].events(caller, run.id, after, BATCH)
        lines = [_line(event) for event in events if event.type is EventType.LOG]
        if lines:
            yield "".join(lines).encode()
        if not events or events[-1].seq >= run.event_seq:
            return
        after = events[-1].seq


def _line(event: Event) -> str:
    message = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), event.message)
    return f"{rfc3339(event.at)} {_level(event)} {message}\n"


def _level(event: Event) -> str:
    return (event.level or "info").upper()
