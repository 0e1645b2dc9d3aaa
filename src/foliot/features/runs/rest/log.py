"""Routes of a run's log: a page, counts, and the whole as text.

Encodes log lines for WebSockets: once for all readers, with the number of the attempt filled in per reader.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.core.errors import Invalid
from foliot.engine.model.run import Event, EventType, RunState
from foliot.engine.model.views import RunView
from foliot.features.runs import schema
from foliot.features.runs.model.log import CATEGORIES, LogFilter, category_of, transcript_line
from foliot.features.runs.rest.runs import MAX_SEQ
from foliot.features.runs.usecases.logs import MOST_LINES, LogPlace, Logs
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, RunId, plain_texts
from foliot.servers.http.run_broadcast import EventView
from foliot.servers.http.schema import UNKNOWN

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


router = APIRouter(prefix="/api/runs", tags=["Runs"])

BATCH = 500
Number = Annotated[int | None, Query(ge=0, le=MAX_SEQ)]
MAX_ATTEMPT = 2**31 - 1
Level = Literal["debug", "info", "warning", "error", "critical"]


async def _place(
    after: Annotated[Number, Query(description="Lines after this number.")] = None,
    before: Annotated[Number, Query(description="Lines before this number.")] = None,
    around: Annotated[Number, Query(description="Lines on both sides of this number.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LINES)] = MOST_LINES,
) -> LogPlace:
    return LogPlace(after, before, around, limit)


async def _wanted(
    grep: Annotated[
        str | None, Query(max_length=200, description="Only lines that contain this, ignoring case.")
    ] = None,
    level: Annotated[Level | None, Query(description="Only lines of at least this level.")] = None,
    attempt: Annotated[int | None, Query(ge=1, le=MAX_ATTEMPT, description="Only lines of this attempt.")] = None,
    category: Annotated[
        str | None,
        Query(
            max_length=200, description=f"Only lines of these categories, separated by commas: {', '.join(CATEGORIES)}."
        ),
    ] = None,
) -> LogFilter:
    return LogFilter(plain_texts(grep=grep)["grep"] or "", level or "debug", _categories(category), attempt)


def _categories(text: str | None) -> frozenset[str]:
    asked = text.split(",") if text else []
    for one in asked:
        if one not in CATEGORIES:
            raise Invalid("category", f"must be one or more of {', '.join(CATEGORIES)}", got=one)
    return frozenset(asked)


@router.get(
    "/{run_id}/logs",
    dependencies=[permits(Logs.page)],
    response_model=schema.RunLog,
    responses=UNKNOWN,
    operation_id="runs.log",
    summary="Read or search a run's log",
)
async def logs(
    cases: Cases,
    caller: Who,
    run_id: RunId,
    place: Annotated[LogPlace, Depends(_place)],
    wanted: Annotated[LogFilter, Depends(_wanted)],
) -> Response:
    """Without `after`, `before` or `around`, the last lines. `matches` counts over the whole log, not this page."""
    found = await cases[Logs].page(caller, run_id, wanted, place)
    return encode.answer(
        schema.RunLog(
            items=[_line(one) for one in found.lines],
            total=found.total,
            matches=found.matches,
            first_seq=found.first_seq,
            last_seq=found.last_seq,
            before=found.before,
            after=found.after,
            pruned=found.pruned,
        )
    )


@router.get(
    "/{run_id}/logs/count",
    dependencies=[permits(Logs.count)],
    response_model=schema.LogCount,
    responses=UNKNOWN,
    operation_id="runs.log_count",
    summary="Count a run's log lines by level, category and attempt",
)
async def count(cases: Cases, caller: Who, run_id: RunId, wanted: Annotated[LogFilter, Depends(_wanted)]) -> Response:
    """Over the whole log. The number under a level, category or attempt is what a filter for it would match."""
    found = await cases[Logs].count(caller, run_id, wanted)
    return encode.answer(
        schema.LogCount(
            count=found.count,
            by_level=found.by_level,
            by_category=found.by_category,
            by_attempt=dict(sorted(found.by_attempt.items())),
        )
    )


@router.get(
    "/{run_id}/logs/raw",
    dependencies=[permits(Runs.events)],
    response_class=StreamingResponse,
    responses={**UNKNOWN, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    operation_id="runs.log_text",
    summary="Download a run's log as text",
)
async def raw(cases: Cases, caller: Who, run_id: RunId) -> Response:
    """The same bytes as `foliot run logs --utc`: changes of state and progress too."""
    first = await cases[Runs].events(caller, run_id, 0, BATCH)
    headers = {"Content-Disposition": f'inline; filename="{run_id}.log"', "X-Content-Type-Options": "nosniff"}
    return StreamingResponse(_text(cases, caller, *first), headers=headers, media_type="text/plain; charset=utf-8")


async def _text(cases: UseCases, caller: Caller, run: RunView, events: Any) -> AsyncIterator[bytes]:
    while events:
        yield "".join(f"{_transcript(event)}\n" for event in events).encode()
        last = events[-1].seq
        if last >= run.event_seq:
            return
        async with cases[Runs].backlog.turn():
            run, events = await cases[Runs].events(caller, run.id, last, BATCH)


def _transcript(event: Event) -> str:
    return transcript_line(f"{event.at:%Y-%m-%d %H:%M:%S}Z", schema.run_event(event))


def _line(one: Event) -> schema.LogLine:
    return schema.LogLine(
        seq=one.seq,
        at=one.at,
        level=one.level or "info",
        message=one.message,
        category=category_of(one.message),
        attempt=one.attempt,
    )
