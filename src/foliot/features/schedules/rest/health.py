"""Routes for the health of schedules: last outcomes, and rankings by duration and failures."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.features.schedules import health_schema
from foliot.features.schedules.model.health import ScheduleOutcomes, ScheduleRecord
from foliot.features.schedules.usecases.health import Ranking, RankingPeriod, Rankings, ScheduleHealthReader
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, plain_texts

router = APIRouter(prefix="/api/schedules", tags=["Schedules"])


@router.get(
    "/health",
    dependencies=[permits(ScheduleHealthReader.of)],
    response_model=health_schema.ScheduleHealthList,
    summary="Get the health of schedules",
)
async def health(
    cases: Cases,
    caller: Who,
    ids: Annotated[str, Query(max_length=8000, description="Up to 100 ids of schedules, separated by commas.")],
) -> Response:
    """The last 20 outcomes of each, success ratio, mean duration, failing since when. Unknown ids are left out."""
    plain_texts(ids=ids)
    found = await cases[ScheduleHealthReader].of(caller, [one for one in ids.split(",") if one])
    return encode.answer(
        health_schema.ScheduleHealthList(
            items=[_health(one) for one in found],
        )
    )


@router.get(
    "/ranking",
    dependencies=[permits(Rankings.rank)],
    response_model=health_schema.ScheduleRanking,
    summary="List the slowest and the flakiest schedules",
)
async def ranking(
    cases: Cases,
    caller: Who,
    over: Annotated[RankingPeriod, Query(description="How far back.")] = RankingPeriod.DAY,
    limit: Annotated[int, Query(ge=1, le=50, description="At most this many of each.")] = 5,
) -> Response:
    """By the duration that 95 of 100 runs did not exceed, and by the share of runs that failed (of three at least).
    Each comes with filters that list the runs behind it. Of each schedule, the newest 100 runs are counted."""
    found = await cases[Rankings].rank(caller, over, limit)
    return encode.answer(
        health_schema.ScheduleRanking(
            over=found.over,
            since=found.since,
            runs=found.runs,
            whole=found.whole,
            slowest=[_ranked(found, one) for one in found.slowest],
            flakiest=[_ranked(found, one) for one in found.flakiest],
        )
    )


def _ranked(ranking: Ranking, one: ScheduleRecord) -> health_schema.RankedSchedule:
    mine, took = f"schedule:{one.schedule_id} since:{ranking.over.value}", one.p95_ms
    return health_schema.RankedSchedule(
        schedule_id=one.schedule_id,
        name=ranking.names.get(one.schedule_id, one.schedule_id),
        runs=one.runs,
        failed=one.bad,
        failure_ratio=one.failure_ratio,
        p95_ms=took,
        q=health_schema.RankingFilters(
            runs=f"{mine} state:success,partial,degraded,failed,dead_letter",
            failed=f"{mine} state:failed,dead_letter",
            slow=None if took is None else f"{mine} took:{took}ms",
        ),
    )


def _health(one: ScheduleOutcomes) -> health_schema.ScheduleHealth:
    return health_schema.ScheduleHealth(
        schedule_id=one.schedule_id,
        outcomes=[
            health_schema.RunOutcome(
                run_id=each.run_id,
                state=each.state,
                duration_ms=each.duration_ms,
                at=each.at,
            )
            for each in one.outcomes
        ],
        success_ratio=one.success_ratio,
        avg_duration_ms=one.avg_duration_ms,
        failing_since=one.failing_since,
        streak=one.streak,
    )
