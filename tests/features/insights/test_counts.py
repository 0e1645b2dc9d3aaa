"""Counts that come from an index say what counting the rows would say, and pictures say what they leave out."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import insert, select, update

from foliot.core.access import LOCAL
from foliot.core.time.trigger import FixedInterval
from foliot.core.time.zone import Granularity
from foliot.db.database import Database
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, count_unmade
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.tables import ledger, runs
from foliot.features.filters import usecases as searching
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.usecases import Search
from foliot.features.insights.model.history import HistoryWindow
from foliot.features.insights.sql import history
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.insights.usecases.calendar import CalendarRequest, Calendars
from foliot.features.insights.usecases.timeline import MOST_GROUPS, Timelines
from tests.givens import HOUR, MINUTE, NOON, SECOND, ask, keep, request, schedule, spec
from tests.world import World

TICK = timedelta(microseconds=1)
OTHER = "other"
MADE = [NOON - TICK, NOON, NOON + TICK, NOON + HOUR - TICK, NOON + HOUR, NOON + 90 * MINUTE, NOON + 2 * HOUR]
"""On the edges of hours, beside them, and between."""


async def crowd(store: Database) -> list[tuple[datetime, RunState]]:
    """A run in every state at every moment, for two tenants; and what one of them should be told."""
    told = [(at, state) for at in MADE for state in RunState]
    for tenant_id in (LOCAL.tenant_id, OTHER):
        wanted = [request(tenant_id=tenant_id) for _ in told]
        await ask(store, NOON, *wanted)
        async with store.begin() as tx:
            for one, (at, state) in zip(wanted, told, strict=True):
                ended = None if state in OPEN else at + SECOND
                values = {"state": state.value, "lane": None, "open_of": None, "finished_at": ended, "created_at": at}
                await tx.conn.execute(update(runs).where(runs.c.id == one.id).values(**values))
    async with store.begin() as tx:
        await quarter_counts.add(tx.conn, tx.dialect, await quarter_counts.recounted(tx.conn))
    return told


async def test_what_an_index_counts_is_what_is_there(store: Database) -> None:
    told = await crowd(store)
    edges = [NOON + place * HOUR for place in range(3)]

    async with store.read(LOCAL.tenant_id) as tx:
        found = await SqlHistory(tx).counts(LOCAL.tenant_id, HistoryWindow(edges[0], edges[-1], 3600))

    hours = list(enumerate(pairwise(edges)))
    wanted = Counter((place, state) for at, state in told for place, (low, high) in hours if low <= at < high)
    assert {(place, state): count for place, state, count in found} == wanted


@pytest.mark.parametrize(
    ("q", "matches"),
    [
        ("", lambda at, state: True),
        ("state:success,queued", lambda at, state: state.value in {"success", "queued"}),
        ("state:failed state:success", lambda at, state: False),
        ("since:2027-01-04T13:00:00Z", lambda at, state: at >= NOON + HOUR),
        ("until:2027-01-04T13:00:00Z -state:failed", lambda at, state: at < NOON + HOUR and state.value != "failed"),
        ("state:dead_letter since:2027-01-04T12:00:00Z until:2027-01-04T13:00:00Z", lambda at, state: (
            state.value == "dead_letter" and NOON <= at < NOON + HOUR)),
    ],
)  # fmt: skip
async def test_a_count_is_that_of_the_rows(world: World, q: str, matches: object) -> None:
    told = await crowd(world.store)

    counted = await world.cases[Search].count(LOCAL, world.cases[Search].read_runs(q))

    wanted = Counter(state for at, state in told if matches(at, state))  # type: ignore[operator]
    assert dict(counted.by_state) == dict(wanted)


async def test_a_chart_counts_all_runs_and_says_how_many_it_timed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = await crowd(world.store)
    whole = await world.cases[Search].series(LOCAL, FilterQuery(), NOON, NOON + 2 * HOUR, 3600)
    monkeypatch.setattr(searching, "MOST_TIMED", 8)

    part = await world.cases[Search].series(LOCAL, FilterQuery(), NOON, NOON + 2 * HOUR, 3600)

    wanted = [Counter(s.value for at, s in told if NOON + n * HOUR <= at < NOON + (n + 1) * HOUR) for n in range(2)]
    assert [bucket.counts for bucket in whole.buckets] == [bucket.counts for bucket in part.buckets] == wanted
    assert (whole.timed, part.timed) == (1, 8 / sum(one.total() for one in wanted))


async def unmade(store: Database, one: Schedule, *at: tuple[datetime, datetime, int]) -> None:
    standing = {"schedule_id": one.id, "tenant_id": one.tenant_id, "fate": "missed", "version": 1}
    rows = [
        {**standing, "first_at": first, "last_at": last, "count": count, "reason": "catchup_none"}
        for first, last, count in at
    ]
    async with store.begin() as tx:
        await tx.conn.execute(insert(ledger), rows)
        entries = [LedgerEntry(*each, LedgerKind.MISSED, LedgerReason.CATCHUP_NONE) for each in at]
        counts = count_unmade(one.tenant_id, one.spec.trigger, entries, StepBudget(UNMADE_STEPS))
        await quarter_counts.add(tx.conn, tx.dialect, counts)


async def test_a_calendar_counts_every_missed_instant_and_a_timeline_says_when_it_cannot_show_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = schedule(spec(FixedInterval(60, NOON)), tenant_id=LOCAL.tenant_id, next_at=NOON + 24 * HOUR)
    other = schedule(tenant_id=OTHER)
    await keep(world.store, one, other)
    single = [(NOON + 2 * at * MINUTE,) * 2 + (1,) for at in range(40)]
    within = (NOON + 2 * HOUR, NOON + 2 * HOUR + 9 * MINUTE, 10)
    across = (NOON + 3 * HOUR - 5 * MINUTE, NOON + 3 * HOUR + 4 * MINUTE, 10)
    await unmade(world.store, one, *single, within, across)
    await unmade(world.store, other, (NOON, NOON, 7))
    asked = CalendarRequest(NOON, NOON + 4 * HOUR, Granularity.HOUR, None, None)
    bounds = (FilterQuery(), NOON, NOON + 4 * HOUR)
    sure, whole = await world.cases[Calendars].cells(LOCAL, asked), await world.cases[Timelines].strip(LOCAL, *bounds)
    monkeypatch.setattr(history, "MOST_ENTRIES", 5)

    counted, part = await world.cases[Calendars].cells(LOCAL, asked), await world.cases[Timelines].strip(LOCAL, *bounds)

    assert [cell.missed for cell in sure.cells] == [30, 10, 10 + 5, 5]
    assert [cell.missed for cell in counted.cells] == [30, 10, 10 + 5, 5]
    assert sure.exact
    assert counted.exact
    assert (whole.complete, part.complete) == (True, False)


async def test_a_row_that_is_shown_shows_its_runs_however_many_rows_there_are(world: World) -> None:
    """Those due next are shown, and had no past when others ran more seldom."""
    made = [
        schedule(
            spec(FixedInterval(3600, NOON)), tenant_id=LOCAL.tenant_id, name=f"No {at}", next_at=NOON + at * SECOND
        )
        for at in range(4 * MOST_GROUPS)
    ]
    await keep(world.store, *made)
    busy, rest = made[:MOST_GROUPS], made[MOST_GROUPS:]
    wanted = [request(tenant_id=LOCAL.tenant_id, schedule_id=one.id, version=1) for one in (*busy, *busy, *rest)]
    await ask(world.store, NOON - HOUR, *wanted)

    found = await world.cases[Timelines].strip(LOCAL, FilterQuery(), NOON - 2 * HOUR, NOON + HOUR)

    assert {group.schedule_id for group in found.groups} == {one.id for one in busy}
    assert {group.runs for group in found.groups} == {2}
    async with world.store.read() as tx:
        assert len((await tx.conn.execute(select(runs.c.id))).all()) == len(wanted)
