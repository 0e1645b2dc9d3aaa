"""Counts per quarter of an hour and statistics of schedules, kept as runs end: always what a recount finds."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from sqlalchemy import select

from foliot.db.database import Database
from foliot.engine.model import quarter_counts as rules
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import Key
from foliot.engine.model.run import AttemptError, Failed, Succeeded
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import schedule_stats
from tests.givens import HOUR, MINUTE, NOON, SECOND, ask, claim, finish, keep, request, schedule, spec


async def counted(store: Database) -> tuple[Counter[Key], Counter[Key]]:
    async with store.read() as tx:
        return await quarter_counts.kept(tx.conn), await quarter_counts.recounted(tx.conn)


async def test_counts_are_those_of_the_runs_however_they_ended(store: Database) -> None:
    mine = schedule()
    await keep(store, mine)
    made = [request(schedule_id=mine.id, version=1, max_attempts=1) for _ in range(4)]
    made += [request(tenant_id="other", max_attempts=1) for _ in range(2)]
    run_ids = await ask(store, NOON, *made)
    bad = Failed(AttemptError("http_500", "no"), permanent=True)
    for place, outcome in ((0, Succeeded()), (1, bad), (4, bad)):
        (claimed,) = await claim(store, NOON + 2 * MINUTE, run_ids[place])
        await finish(store, claimed, outcome, NOON + 2 * MINUTE + 1.3 * SECOND)
    async with store.begin() as tx:
        await SqlRuns(tx).cancel(run_ids[2:4], NOON + HOUR, "enough")

    kept, recounted = await counted(store)

    assert kept == recounted
    tenant = mine.tenant_id
    assert kept[tenant, "cancelled", NOON] == 2
    assert (kept[tenant, "late", NOON], kept[tenant, "took.1200", NOON], kept["other", "took.1200", NOON]) == (2, 2, 1)


async def test_pruned_runs_leave_the_counts_and_what_is_zero_goes(store: Database) -> None:
    run_ids = await ask(store, NOON, *(request() for _ in range(3)))
    for run_id in run_ids:
        (claimed,) = await claim(store, NOON, run_id)
        await finish(store, claimed, Succeeded(), NOON)
    async with store.begin() as tx:
        await SqlRetention(tx).prune(NOON + timedelta(days=9999), 2)
    some, recounted = await counted(store)
    async with store.begin() as tx:
        await SqlRetention(tx).prune(NOON + timedelta(days=9999), 2)
        await SqlRetention(tx).forget_counts(NOON + HOUR, 100)

    assert some == recounted
    assert some
    assert await counted(store) == ({}, {})


async def test_a_schedule_is_failing_while_its_newest_ended_run_has_failed(store: Database) -> None:
    mine = schedule()
    await keep(store, mine)
    run_ids = await ask(store, NOON, *(request(schedule_id=mine.id, version=1, max_attempts=1) for _ in range(3)))
    older, middle, newest = sorted(run_ids)
    bad = Failed(AttemptError("http_500", "no"), permanent=True)
    states = []
    for run_id, outcome in ((middle, bad), (older, Succeeded()), (newest, Succeeded())):
        (claimed,) = await claim(store, NOON, run_id)
        await finish(store, claimed, outcome, NOON + MINUTE)
        async with store.read() as tx:
            row = (await tx.conn.execute(select(schedule_stats))).one()
        states.append((row.run_id, row.state, row.failing_at, row.flaky))

    # An older run that ends later changes only the scores.
    assert states == [
        (middle, "dead_letter", NOON + MINUTE, 100),
        (middle, "dead_letter", NOON + MINUTE, 90),
        (newest, "success", None, 81),
    ]


def test_instants_of_a_long_range_lie_in_the_quarters_that_the_trigger_names() -> None:
    trigger = spec().trigger
    first = trigger.next_after(NOON)
    assert first is not None
    instants = [first]
    while len(instants) < 50:
        following = trigger.next_after(instants[-1])
        assert following is not None
        instants.append(following)

    split = rules.spread(trigger, instants[0], instants[-1], 50, StepBudget(10_000))
    whole = rules.spread(trigger, instants[0], instants[-1], 50, StepBudget(0))

    assert split == {at: sum(rules.quarter(one) == at for one in instants) for at in map(rules.quarter, instants)}
    assert sum(whole.values()) == 50


def test_a_duration_is_counted_at_the_step_below_it() -> None:
    assert [rules.STEPS[rules.step(took)] for took in (0, 9, 11, 12, 99, 1299, 10**12)] == [
        0, 9, 10, 12, 82, 1200, 820_000_000,
    ]  # fmt: skip
