"""Routes that count runs, draw them over time, and group dead letters."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from foliot.core.document import moment, rfc3339
from foliot.core.failure_fingerprint import told
from foliot.engine.model.run import RunState
from foliot.features.dead_letters.model import AGES, LetterGroup
from foliot.features.dead_letters.usecases.dead_letters import DeadLetters
from foliot.features.filters import schema as models
from foliot.features.filters.usecases import MOST_POINTS, Bucket, Scattered, Searching
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, Filter

router = APIRouter(prefix="/api")

Moment = Annotated[str | None, Query(max_length=40, description="RFC 3339, such as 2026-11-14T09:00:00Z.")]


@router.get(
    "/runs/count",
    dependencies=[permits(Searching.count)],
    response_model=models.Count,
    tags=["Runs"],
    summary="How many runs match a filter",
)
async def count(cases: Cases, caller: Who, q: Filter = None) -> Response:
    """Exact, altogether and by state."""
    found = await cases[Searching].count(caller, cases[Searching].read_runs(q))
    by_state = {state.value: number for state, number in found.by_state.items()}
    return encode.answer({"count": found.count, "by_state": by_state})


@router.get(
    "/schedules/count",
    dependencies=[permits(Searching.count_schedules)],
    response_model=models.ScheduleCount,
    tags=["Schedules"],
    summary="How many schedules match a filter",
)
async def count_schedules(cases: Cases, caller: Who, q: Filter = None) -> Response:
    """Exact. Deleted ones are counted only if the filter names them."""
    return encode.answer({"count": await cases[Searching].count_schedules(caller, cases[Searching].read_schedules(q))})


@router.get(
    "/runs/series",
    dependencies=[permits(Searching.series)],
    response_model=models.Series,
    tags=["Runs"],
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
    """By when they were made. Without bounds the last 24 hours; at most 500 buckets. Counts are exact; of more than
    50,000 runs, durations and lateness are those of a sample by chance, and `timed` says how large it is."""
    query = cases[Searching].read_runs(q)
    bounds = (None if start is None else moment("from", start), None if end is None else moment("to", end))
    found = await cases[Searching].series(caller, query, *bounds, bucket_seconds)
    return encode.answer(
        {
            "from": rfc3339(found.window.start),
            "to": rfc3339(found.window.end),
            "bucket_seconds": int(found.window.width.total_seconds()),
            "timed": round(found.timed, 4),
            "items": [_bar(bucket) for bucket in found.buckets],
        }
    )


@router.get(
    "/runs/points",
    dependencies=[permits(Searching.points)],
    response_model=models.Points,
    tags=["Runs"],
    summary="Single runs over time, and how long they took",
)
async def points(
    cases: Cases,
    caller: Who,
    q: Filter = None,
    start: Annotated[Moment, Query(alias="from")] = None,
    end: Annotated[Moment, Query(alias="to")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_POINTS, description="About so many of them.")] = MOST_POINTS,
) -> Response:
    """By when they were made; without bounds, the last 24 hours. Of more than there is room for, the rare states are
    whole and the common ones a sample: `counts` and `shown` say of each how many there are, and how many are here."""
    query = cases[Searching].read_runs(q)
    bounds = (None if start is None else moment("from", start), None if end is None else moment("to", end))
    return encode.answer(_scattered(await cases[Searching].points(caller, query, *bounds, limit)))


@router.get(
    "/dead-letters/groups",
    dependencies=[permits(DeadLetters.alike)],
    response_model=models.LetterGroups,
    tags=["Dead letters"],
    summary="Dead letters by what went wrong",
)
async def letters(cases: Cases, caller: Who, page: Paged, q: Filter = None) -> Response:
    """Failures that differ only in numbers, ids, quoted texts and addresses stand together, by host."""
    found = await cases[DeadLetters].alike(caller, page.more(), cases[Searching].read_runs(q))
    shown = found.groups[: page.page.limit]
    more = len(found.groups) > page.page.limit
    following = page.cursors.seal(shown[-1].sample.id) if more else None
    items = [_group(one, found.hosts.get(one.sample.id)) for one in shown]
    pile = found.pile
    return encode.answer(
        {
            "items": items,
            "total": pile.groups,
            "letters": pile.letters,
            "oldest_at": rfc3339(pile.oldest_at),
            "ages": [
                {"up_to_hours": None if age is None else int(age.total_seconds()) // 3600, "count": count}
                for age, count in zip([*AGES, None], pile.ages, strict=True)
            ],
            "next_cursor": following,
        }
    )


def _scattered(found: Scattered) -> dict[str, Any]:
    states = list(RunState)
    places = {state.value: place for place, state in enumerate(states)}
    return {
        "from": rfc3339(found.window.start),
        "to": rfc3339(found.window.end),
        "counts": {state.value: number for state, number in found.counts.items()},
        "shown": Counter(found.points.states),
        "not_begun": found.not_begun,
        "states": states,
        "id": found.points.ids,
        "at_ms": found.points.at_ms,
        "took_ms": found.points.took_ms,
        "state": [places[state] for state in found.points.states],
    }


def _bar(one: Bucket) -> dict[str, Any]:
    return {
        "at": rfc3339(one.at),
        "counts": one.counts,
        "total": one.counts.total(),
        "p50_ms": one.percentile(0.5),
        "p95_ms": one.percentile(0.95),
        "late": one.late,
    }


def _group(one: LetterGroup, host: str | None) -> dict[str, Any]:
    code, message = told(one.sample.error)
    return {
        "fingerprint": one.fingerprint,
        "kind": one.sample.kind,
        "code": code,
        "message": message,
        "host": host,
        "count": one.count,
        "first_at": rfc3339(one.first_at),
        "last_at": rfc3339(one.last_at),
        "schedules": [{"id": found, "name": name} for found, name in one.schedules],
        "sample_id": one.sample.id,
        "sample": encode.run(one.sample),
        "arrivals": [
            {"at": rfc3339(one.counted_from + timedelta(hours=hour)), "count": number}
            for hour, number in enumerate(one.arrivals)
        ],
        "mute": None if one.mute is None else encode.mute(one.mute),
    }
