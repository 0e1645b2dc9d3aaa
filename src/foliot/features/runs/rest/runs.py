"""Routes of runs: list, read, cancel, retry, events.

Encodes the events of a run as frames of server-sent events.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from foliot.core.errors import Invalid
from foliot.engine.model.run import Event
from foliot.engine.model.run_sort import RUN_SORTS, read_run_sort
from foliot.engine.model.views import RunView
from foliot.features.filters.schema import Filter
from foliot.features.filters.usecases import Search
from foliot.features.runs import schema
from foliot.features.runs.schema import run_event
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http import encode, sse
from foliot.servers.http.fast_route import FastRoute
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Follower, Who, identify_follower, permits
from foliot.servers.http.request import MAX_LIMIT, Body, Cases, RunId, Text, plain_texts, wants_stream
from foliot.servers.http.run_broadcast import EventView, States
from foliot.servers.http.schema import CONFLICT, UNKNOWN


def frame(event: Event) -> bytes:
    """One event as a frame. JSON has no raw line breaks, so no content can forge a frame."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.seq,
        event.type.value.encode(),
        encode.dumps(run_event(event)),
    )


def end(run: RunView) -> bytes:
    """The last frame of a stream: the run's final state."""
    last = {"run_id": run.id, "state": run.state.value, "seq": run.event_seq}
    return b"event: end\ndata: %s\n\n" % encode.dumps(last)


EVENTS = EventView("events", frame, end)


router = APIRouter(prefix="/api/runs", tags=["Runs"], route_class=FastRoute)

MAX_SEQ = 2**53
Filters = dict[str, str | None]


async def _filters(
    states: States,
    schedule_id: Text = None,
    kind: Text = None,
    queue: Text = None,
    q: Filter = None,
) -> dict[str, str | None]:
    found = plain_texts(state=states, schedule_id=schedule_id, kind=kind, queue=queue)
    return {**found, "q": q}


@router.get(
    "",
    dependencies=[permits(Search.runs, Search.sorted_runs, Runs.list)],
    response_model=schema.RunPage,
    summary="List runs, newest first or in another order",
)
async def list_(
    cases: Cases,
    caller: Who,
    page: Paged,
    filters: Annotated[Filters, Depends(_filters)],
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(RUN_SORTS)}; by default newest first.")
    ] = None,
) -> Response:
    """By a filter, by the older parameters, or by both: then all must match. `sort` is applied to all that match, page
    by page; a cursor belongs to its order. Runs without a value come last; `duration` is that of ended runs."""
    q = filters.pop("q")
    if sort is not None:
        query = cases[Search].read_runs(q, filters)
        placed = await cases[Search].sorted_runs(caller, page.more(), query, read_run_sort(sort))
        pairs, following = page.of(placed, lambda one: one[1])
        return encode.answer(schema.RunPage(items=[schema.Run.of(one) for one, _ in pairs], next_cursor=following))
    if q:
        found = await cases[Search].runs(caller, page.more(), cases[Search].read_runs(q, filters))
    else:
        found = await cases[Runs].list(caller, page.more(), **filters)
    shown, following = page.of(found, lambda one: one.id)
    return encode.answer(schema.RunPage(items=[schema.Run.of(one) for one in shown], next_cursor=following))


@router.get(
    "/{run_id}",
    dependencies=[permits(Runs.get)],
    response_model=schema.Run,
    responses=UNKNOWN,
    summary="Get a run and its attempts",
)
async def get(cases: Cases, caller: Who, run_id: RunId) -> Response:
    return encode.answer(schema.Run.of(await cases[Runs].get(caller, run_id)))


@router.get(
    "/{run_id}/neighbours",
    dependencies=[permits(Runs.neighbours)],
    response_model=schema.RunNeighbours,
    responses=UNKNOWN,
    summary="Get the previous and next run of the same schedule",
)
async def neighbours(cases: Cases, caller: Who, run_id: RunId) -> Response:
    """However many runs there are; null at either end, and both for a run without a schedule."""
    before, after = await cases[Runs].neighbours(caller, run_id)
    return encode.answer(
        schema.RunNeighbours(
            before=before,
            after=after,
        )
    )


@router.get(
    "/{run_id}/children",
    dependencies=[permits(Runs.children)],
    response_model=schema.RunPage,
    responses=UNKNOWN,
    summary="List the runs that follow a run, newest first",
)
async def children(cases: Cases, caller: Who, run_id: RunId, page: Paged) -> Response:
    """Runs of schedules of type `after` that its end has made. A run that repeats it is not one of them."""
    found = await cases[Runs].children(caller, run_id, page.more())
    shown, following = page.of(found, lambda one: one.id)
    return encode.answer(schema.RunPage(items=[schema.Run.of(one) for one in shown], next_cursor=following))


@router.get(
    "/{run_id}/parents",
    dependencies=[permits(Runs.parents)],
    response_model=schema.RunPage,
    responses=UNKNOWN,
    summary="List the runs that a run follows, oldest first",
)
async def parents(cases: Cases, caller: Who, run_id: RunId) -> Response:
    """Several where its schedule waits for all of its parents; none for a run that follows nothing."""
    found = await cases[Runs].parents(caller, run_id)
    return encode.answer(schema.RunPage(items=[schema.Run.of(one) for one in found], next_cursor=None))


@router.post(
    "/{run_id}/cancel",
    dependencies=[permits(Runs.cancel)],
    response_model=schema.Run,
    responses={**UNKNOWN, **CONFLICT},
    summary="Cancel",
)
async def cancel(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """A waiting run ends at once, a running one is asked to stop. If it has ended first, its outcome stands."""
    return encode.answer(schema.Run.of(await cases[Runs].cancel(caller, run_id, asked.once(200, schema.Run.of))))


@router.post(
    "/{run_id}/retry",
    dependencies=[permits(Runs.retry)],
    status_code=202,
    response_model=schema.Run,
    responses={**UNKNOWN, **CONFLICT},
    summary="Run again",
)
async def retry(cases: Cases, caller: Who, run_id: RunId, asked: Body) -> Response:
    """A new run of the same work, with the old one as its parent."""
    made = await cases[Runs].retry(caller, run_id, asked.once(202, schema.Run.of, schema.located))
    return encode.answer(schema.Run.of(made), 202, schema.located(made))


async def _after(
    after: Annotated[int, Query(ge=0, le=MAX_SEQ, description="The last number already received.")] = 0,
    last_event_id: Annotated[str | None, Header(description="The same, as browsers send it.")] = None,
) -> int:
    if not last_event_id:
        return after
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 15):
        raise Invalid("Last-Event-ID", "must be the number of an event", got=last_event_id)
    return int(last_event_id)


Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of events in a JSON answer.")]


@router.get(
    "/{run_id}/events",
    dependencies=[permits(Runs.events, by=identify_follower)],
    response_model=schema.EventPage,
    responses={**UNKNOWN, 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    summary="List a run's events; as a stream with `Accept: text/event-stream`",
)
async def events(
    request: Request,
    cases: Cases,
    caller: Follower,
    run_id: RunId,
    after: Annotated[int, Depends(_after)],
    limit: Limit = MAX_LIMIT,
) -> Response:
    """Numbered from 1 without gaps, so that a reader resumes exactly where it stopped."""
    streamed = wants_stream(request)
    run, found = await cases[Runs].events(caller, run_id, after, 1 if streamed else limit)
    if streamed:
        return await sse.follow(request.app, cases, caller, sse.FollowedEvents(run, after, EVENTS))
    last = found[-1].seq if found else after
    following = str(last) if last < run.event_seq else None
    return encode.answer(schema.EventPage(items=[schema.run_event(one) for one in found], next_cursor=following))
