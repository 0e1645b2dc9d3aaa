"""Routes of the timeline and the calendar."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Response

from foliot.core.document import moment
from foliot.core.time.zone import Granularity
from foliot.engine.model.run import RunState
from foliot.features.filters.usecases import Search
from foliot.features.insights import schema
from foliot.features.insights.model.timeline import RunLink, TimelineGrouping, TimelineLane
from foliot.features.insights.usecases.calendar import CalendarRequest, Calendars, CellCounts
from foliot.features.insights.usecases.timeline import MOST_GROUPS, Timelines
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, Text, plain_texts
from foliot.servers.http.schema import UNKNOWN

router = APIRouter(tags=["Dashboard"])


def _moment(name: str, text: str | None) -> datetime | None:
    # An unescaped plus arrives as a space.
    return None if not text else moment(name, text.replace(" ", "+"))


async def _window(
    from_: Annotated[str | None, Query(alias="from", max_length=64, description="RFC 3339.")] = None,
    to: Annotated[str | None, Query(max_length=64, description="RFC 3339, exclusive.")] = None,
) -> tuple[datetime | None, datetime | None]:
    return _moment("from", from_), _moment("to", to)


Window = Annotated[tuple[datetime | None, datetime | None], Depends(_window)]


@router.get(
    "/api/timeline",
    dependencies=[permits(Timelines.strip)],
    response_model=schema.Timeline,
    operation_id="timeline.show",
    summary="Get past and planned runs as marks on a timeline",
)
async def timeline(
    cases: Cases,
    caller: Who,
    window: Window,
    group_by: Annotated[TimelineGrouping, Query(description="What each row stands for.")] = TimelineGrouping.SCHEDULE,
    q: Annotated[
        str | None, Query(max_length=1000, description="A filter of schedules, as in the list of schedules.")
    ] = None,
    rows: Annotated[int, Query(ge=1, le=MOST_GROUPS, description="The largest number of rows.")] = MOST_GROUPS,
) -> Response:
    """A day back and a day ahead by default.

    The most urgent schedules have a row each: failing, missed, late, running, soonest. The others are folded into
    density rows by tag or kind (`rest`). Where marks are too dense they are folded, the most frequent first.
    """
    plain_texts(q=q)
    found = await cases[Timelines].strip(caller, cases[Search].read_schedules(q), *window, group_by, rows)
    return encode.answer(
        {
            "from": found.start,
            "to": found.end,
            "now": found.now,
            "bucket_seconds": found.width,
            "groups": [_group(one) for one in found.groups],
            "rest": [_fold(one) for one in found.rest],
            "collisions": [
                schema.TimelineCollision(
                    at=at,
                    count=count,
                )
                for at, count in found.collisions
            ],
            "links": [_link(one) for one in found.links],
            "marks": found.marks,
            "dropped_groups": found.dropped,
            "complete": found.complete,
            "sampled": found.sampled,
        }
    )


def _link(one: RunLink) -> schema.TimelineLink:
    return schema.TimelineLink(
        parent=one.parent,
        child=one.child,
        parent_key=one.parent_key,
        child_key=one.child_key,
        ended_at=one.ended_at,
        began_at=one.began_at,
    )


def _group(one: TimelineLane) -> schema.TimelineRow:
    return schema.TimelineRow(
        key=one.key,
        name=one.name,
        kind=one.kind,
        schedule_id=one.schedule_id,
        summary=one.summary,
        timezone=one.timezone,
        runs=one.runs,
        planned=one.planned,
        folded=one.folded,
        urgency=one.urgency,
        marks=_marks(one),
    )


def _fold(one: TimelineLane) -> schema.TimelineFold:
    return schema.TimelineFold(
        key=one.key,
        name=one.name,
        q=one.q,
        schedules=one.schedules,
        runs=one.runs,
        planned=one.planned,
        marks=_marks(one),
    )


def _marks(one: TimelineLane) -> list[schema.TimelineMark]:
    return [
        schema.TimelineMark(
            at=mark.at,
            until=mark.until,
            state=cast("schema.MarkState", mark.state),
            count=mark.count,
            run_id=mark.run_id,
        )
        for mark in one.marks
    ]


@router.get(
    "/api/calendar",
    dependencies=[permits(Calendars.cells)],
    response_model=schema.Calendar,
    responses=UNKNOWN,
    operation_id="calendar.show",
    summary="Count past and planned runs by hour or day",
)
async def calendar(
    cases: Cases,
    caller: Who,
    window: Window,
    granularity: Granularity = Granularity.DAY,
    timezone: Annotated[str | None, Query(max_length=64, description="Time zone of the hours and days.")] = None,
    schedule_id: Text = None,
) -> Response:
    """Of one schedule, or of all; this month by default. Hours and days are those of the time zone."""
    plain_texts(timezone=timezone, schedule_id=schedule_id)
    request = CalendarRequest(*window, granularity, timezone or None, schedule_id or None)
    cells = await cases[Calendars].cells(caller, request)
    return encode.answer(
        schema.Calendar(
            timezone=cells.zone,
            granularity=cells.granularity,
            exact=cells.exact,
            items=[_cell(one) for one in cells.cells],
        )
    )


def _cell(one: CellCounts) -> schema.CalendarCell:
    return schema.CalendarCell(
        at=one.at,
        local=one.local,
        counts={RunState(state): number for state, number in one.counts.items()},
        total=one.total,
        planned=one.planned,
        missed=one.missed,
        skipped=one.skipped,
    )
