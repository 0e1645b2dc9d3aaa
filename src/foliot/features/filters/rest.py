"""Routes that count runs, chart them over time, and group dead letters."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.core.document import moment
from foliot.core.failure_fingerprint import told
from foliot.engine.model.dead_letter_sort import DEAD_LETTER_SORTS, group_place, read_dead_letter_sort
from foliot.engine.model.run import RunState
from foliot.features.dead_letters import schema as dead_letters_schema
from foliot.features.dead_letters.model import AGES, FailureGroupView
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.filters import schema
from foliot.features.filters.schema import Filter
from foliot.features.filters.usecases import MOST_POINTS, RunScatter, Search, TimeBucket
from foliot.features.mutes import schema as mutes_schema
from foliot.features.runs import schema as runs_schema
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases

router = APIRouter(prefix="/api")

Moment = Annotated[str | None, Query(max_length=40, description="RFC 3339, such as 2026-11-14T09:00:00Z.")]


@router.get(
    "/runs/count",
    dependencies=[permits(Search.count)],
    response_model=schema.RunCount,
    tags=["Runs"],
    operation_id="runs.count",
    summary="How many runs match a filter",
)
async def count(cases: Cases, caller: Who, q: Filter = None) -> Response:
    """Exact, in total and by state."""
    counts = await cases[Search].count(caller, cases[Search].read_runs(q))
    return encode.answer(
        schema.RunCount(
            count=counts.count,
            by_state=dict(counts.by_state),
        )
    )


@router.get(
    "/schedules/count",
    dependencies=[permits(Search.count_schedules)],
    response_model=schema.ScheduleCount,
    tags=["Schedules"],
    operation_id="schedules.count",
    summary="How many schedules match a filter",
)
async def count_schedules(cases: Cases, caller: Who, q: Filter = None) -> Response:
    """Exact. Deleted ones are counted only if the filter names them."""
    return encode.answer(
        schema.ScheduleCount(
            count=await cases[Search].count_schedules(caller, cases[Search].read_schedules(q)),
        )
    )


@router.get(
    "/runs/series",
    dependencies=[permits(Search.series)],
    response_model=schema.RunSeries,
    tags=["Runs"],
    operation_id="runs.series",
    summary="Runs over time",
)
async def series(
    cases: Cases,
    caller: Who,
    q: Filter = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    end: Annotated[Moment, Query(alias="to")] = None,
    bucket_seconds: Annotated[int | None, Query(ge=1, le=31 * 86_400)] = None,
) -> Response:
    """By creation time. Without bounds the last 24 hours; at most 500 buckets. Counts are exact. Of more than
    2,000 runs durations come from a histogram with twelve steps per power of ten; of more than 50,000 that match a
    filter, from a random sample, and `timed` is its share. Without `bucket_seconds`, `from` is rounded down to a
    whole bucket."""
    query = cases[Search].read_runs(q)
    bounds = (None if start is None else moment("from", start), None if end is None else moment("to", end))
    chart = await cases[Search].series(caller, query, *bounds, bucket_seconds)
    return encode.answer(
        {
            "from": chart.window.start,
            "to": chart.window.end,
            "bucket_seconds": int(chart.window.width.total_seconds()),
            "timed": round(chart.timed, 4),
            "items": [_bar(bucket) for bucket in chart.buckets],
        }
    )


@router.get(
    "/runs/points",
    dependencies=[permits(Search.points)],
    response_model=schema.RunPoints,
    tags=["Runs"],
    operation_id="runs.points",
    summary="Get single runs over time with their durations",
)
async def points(
    cases: Cases,
    caller: Who,
    q: Filter = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    end: Annotated[Moment, Query(alias="to")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_POINTS, description="About this many.")] = MOST_POINTS,
) -> Response:
    """By creation time; without bounds, the last 24 hours. Beyond the limit, rare states are
    complete and common ones sampled: `counts` and `shown` have the number of runs, and of those returned, per state."""
    query = cases[Search].read_runs(q)
    bounds = (None if start is None else moment("from", start), None if end is None else moment("to", end))
    return encode.answer(_scattered(await cases[Search].points(caller, query, *bounds, limit)))


@router.get(
    "/dead-letters/groups",
    dependencies=[permits(DeadLetters.alike)],
    response_model=dead_letters_schema.FailureGroupPage,
    tags=["Dead letters"],
    operation_id="dead_letters.groups",
    summary="Group dead letters by error",
)
async def letters(
    cases: Cases,
    caller: Who,
    page: Paged,
    q: Filter = None,
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(DEAD_LETTER_SORTS)}; by default the newest first.")
    ] = None,
) -> Response:
    """Failures that differ only in numbers, ids, quoted texts and addresses form one group, by host."""
    order = read_dead_letter_sort(sort)
    groups = await cases[DeadLetters].alike(caller, page.more(), cases[Search].read_runs(q), order)
    shown, following = page.of(groups.groups, lambda one: group_place(one, one.sample.id, order))
    items = [_group(one, groups.hosts.get(one.sample.id)) for one in shown]
    pile = groups.pile
    return encode.answer(
        dead_letters_schema.FailureGroupPage(
            items=items,
            total=pile.groups,
            letters=pile.letters,
            oldest_at=pile.oldest_at,
            ages=[
                dead_letters_schema.DeadLetterAge(
                    up_to_hours=None if age is None else int(age.total_seconds()) // 3600,
                    count=count,
                )
                for age, count in zip([*AGES, None], pile.ages, strict=True)
            ],
            next_cursor=following,
        )
    )


def _scattered(found: RunScatter) -> schema.RunPoints:
    states = list(RunState)
    places = {state.value: place for place, state in enumerate(states)}
    return {
        "from": found.window.start,
        "to": found.window.end,
        "counts": dict(found.counts),
        "shown": Counter(map(RunState, found.points.states)),
        "not_begun": found.not_begun,
        "states": states,
        "id": found.points.ids,
        "at_ms": found.points.at_ms,
        "took_ms": found.points.took_ms,
        "state": [places[state] for state in found.points.states],
    }


def _bar(one: TimeBucket) -> schema.RunSeriesBucket:
    return schema.RunSeriesBucket(
        at=one.at,
        counts={RunState(state): number for state, number in one.counts.items()},
        total=one.counts.total(),
        p50_ms=one.percentile(0.5),
        p95_ms=one.percentile(0.95),
        late=one.late,
    )


def _group(one: FailureGroupView, host: str | None) -> dead_letters_schema.FailureGroup:
    code, message = told(one.sample.error)
    return dead_letters_schema.FailureGroup(
        fingerprint=one.fingerprint,
        kind=one.sample.kind,
        code=code,
        message=message,
        host=host,
        count=one.count,
        first_at=one.first_at,
        last_at=one.last_at,
        schedules=[
            dead_letters_schema.ScheduleName(
                id=found,
                name=name,
            )
            for found, name in one.schedules
        ],
        sample_id=one.sample.id,
        sample=runs_schema.Run.of(one.sample),
        arrivals=[
            dead_letters_schema.HourlyCount(
                at=one.counted_from + timedelta(hours=hour),
                count=number,
            )
            for hour, number in enumerate(one.arrivals)
        ],
        mute=None if one.mute is None else mutes_schema.MutedGroup.of(one.mute),
    )
