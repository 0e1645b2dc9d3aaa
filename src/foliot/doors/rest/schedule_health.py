"""The route of how schedules fare."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.reading import rfc3339
from foliot.domain.wellness import Wellness
from foliot.doors.rest import models_time, render
from foliot.doors.rest.asking import Cases, plain_texts
from foliot.doors.rest.who import Who, permits

router = APIRouter(prefix="/api/schedules", tags=["Schedules"])


@router.get(
    "/health",
    dependencies=[permits(Verb.READ, Thing.SCHEDULE)],
    response_model=models_time.ScheduleHealths,
    summary="How schedules fare",
)
async def health(
    cases: Cases,
    caller: Who,
    ids: Annotated[str, Query(max_length=8000, description="Up to 100 ids of schedules, with commas between them.")],
) -> Response:
    """The last 20 outcomes of each, what they add up to, and since when it fails. Those unknown are left out."""
    plain_texts(ids=ids)
    found = await cases.fares.of(caller, [one for one in ids.split(",") if one])
    return render.answer({"items": [_health(one) for one in found]})


def _health(one: Wellness) -> dict[str, Any]:
    return {
        "schedule_id": one.schedule_id,
        "outcomes": [
            {"run_id": each.run_id, "state": each.state.value, "duration_ms": each.duration_ms, "at": rfc3339(each.at)}
            for each in one.outcomes
        ],
        "success_ratio": one.success_ratio,
        "avg_duration_ms": one.avg_duration_ms,
        "failing_since": rfc3339(one.failing_since),
        "streak": one.streak,
    }
