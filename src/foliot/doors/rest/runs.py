"""Routes of runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from foliot.domain.errors import Invalid
from foliot.domain.run import RunState
from foliot.doors.rest import models, render, streams
from foliot.doors.rest.asking import MAX_LIMIT, Body, Cases, Paged, RunId, Text, Who, plain_texts
from foliot.doors.rest.models import CONFLICT, UNKNOWN
from foliot.ports import RunView

router = APIRouter(prefix="/api/runs", tags=["Runs"])

MAX_SEQ = 2**53
Filters = dict[str, str | None]


def _filters(
    status: Annotated[str | None, Query(max_length=200, description="One state, or several with commas.")] = None,
    schedule_id: Text = None,
    kind: Text = None,
    queue: Text = None,
) -> dict[str, str | None]:
    return plain_texts(status=_states(status), schedule_id=schedule_id, kind=kind, queue=queue)


@router.get("", response_model=models.Runs, summary="List runs, newest first")
async def list_(cases: Cases, caller: Who, page: Paged, filters: Annotated[Filters, Depends(_filters)]) -> Response:
    found = await cases.runs.list(caller, render.more(page), **filters)
    return render.page(found, page, render.run, lambda one: one.id)


@router.get("/{run_id}", response_model=models.RunWithAttempts, responses=UNKNOWN, summary="One run, with its attempts")
async def get(cases: Cases, caller: Who, run_id: RunId) -> Response:
    return render.answer(render.run_with_attempts(*await cases.runs.get(caller, run_id)))


@router.post("/{run_id}/cancel", response_model=models.Run, responses={**UNKNOWN, **CONFLICT}, summary="Cancel")
async def cancel(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """A waiting run ends at once, a running one is asked to stop. If it ended first, that stands."""
    return render.answer(render.run(await cases.runs.cancel(caller, run_id, asked.once(200, _run))))


@router.post(
    "/{run_id}/retry",
    status_code=202,
    response_model=models.Run,
    responses={**UNKNOWN, **CONFLICT},
    summary="Run again",
)
async def retry(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """A new run that does the same and names the old one as its parent."""
    made = await cases.runs.retry(caller, run_id, asked.once(202, _run))
    return render.answer(render.run(made), 202, {"Location": f"/api/runs/{made.id}"})


def _after(
    after: Annotated[int, Query(ge=0, le=MAX_SEQ, description="The last number already seen.")] = 0,
    last_event_id: Annotated[str | None, Header(description="The same, as browsers say it.")] = None,
) -> int:
    if not last_event_id:
        return after
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 15):
        raise Invalid("Last-Event-ID", "must be the number of an event", got=last_event_id)
    return int(last_event_id)


Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Of one JSON answer.")]


@router.get(
    "/{run_id}/events",
    response_model=models.Events,
    responses={**UNKNOWN, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    summary="Its events; as a stream with `Accept: text/event-stream`",
)
async def events(
    request: Request,
    cases: Cases,
    caller: Who,
    run_id: RunId,
    after: Annotated[int, Depends(_after)],
    limit: Limit = MAX_LIMIT,
) -> Response:
    """Numbered from 1 without gaps, so that a reader goes on exactly where it stopped."""
    run, found = await cases.runs.events(caller, run_id, after, limit)
    if streams.wanted(request):
        return streams.follow(request.app, cases, caller, run_id, after)
    last = found[-1].seq if found else after
    following = str(last) if last < run.event_seq else None
    return render.answer({"items": [render.event(one) for one in found], "next_cursor": following})


def _states(text: str | None) -> str | None:
    if not text:
        return None
    states = text.split(",")
    for state in states:
        if state not in set(RunState):
            raise Invalid("status", f"must be one or more of {', '.join(RunState)}", got=state)
    return ",".join(states)


def _run(run: RunView) -> bytes:
    return render.dumps(render.run(run))
