"""The audit: quiet about a true ledger, precise about every way it can be false."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.retention import SqlRetention
from foliot.features.ledger.usecases import LedgerProof, LedgerVerifier
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from tests.world import EVERY_MINUTE, HOURLY, World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


async def prove(world: World) -> LedgerProof:
    return await world.cases[LedgerVerifier].prove(LOCAL)


async def hole(world: World) -> str:
    proof = await prove(world)
    assert len(proof.holes) == 1
    return proof.holes[0].what


async def lived(world: World) -> Schedule:
    """A schedule with a past: runs, a pause, an edit, missed and skipped instants."""
    schedule = await world.schedule()
    await world.pass_time(5)
    await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "a rest"})
    await world.pass_time(3)
    await world.cases[Schedules].resume(LOCAL, schedule.id)
    await world.pass_time(2)
    await world.cases[Schedules].patch(
        LOCAL, schedule.id, {"interval_seconds": 120, "overlap": "skip", "catchup": {"mode": "latest"}}
    )
    world.clock.advance(timedelta(hours=2))
    await world.tick()
    await world.pass_time(5)
    return schedule


async def test_a_true_ledger_is_proved_and_counted(world: World) -> None:
    await lived(world)
    await world.schedule(HOURLY)
    seen: list[int] = []

    proof = await world.cases[LedgerVerifier].prove(LOCAL, progress=seen.append)

    assert (proof.schedules, list(proof.holes)) == (2, [])
    assert proof.instants == 5 + 2 + 62
    assert seen == [1, 2]


async def test_a_deleted_run_is_named(world: World) -> None:
    schedule = await lived(world)
    await world.sql("DELETE FROM runs WHERE scheduled_for = '2027-01-04 12:03:00.000000'")

    assert await hole(world) == "the instant 2027-01-04T12:03:00Z has neither a run nor a ledger entry"
    assert (await prove(world)).holes[0].schedule_id == schedule.id


async def test_several_deleted_runs_are_one_hole(world: World) -> None:
    await lived(world)
    await world.sql("DELETE FROM runs WHERE scheduled_for BETWEEN '2027-01-04 12:02:00' AND '2027-01-04 12:04:30'")

    assert await hole(world) == (
        "3 instants from 2027-01-04T12:02:00Z to 2027-01-04T12:04:00Z have neither a run nor a ledger entry"
    )


async def test_a_deleted_last_run_of_a_span_is_named(world: World) -> None:
    await lived(world)
    await world.sql("DELETE FROM runs WHERE scheduled_for = '2027-01-04 12:05:00.000000'")

    assert "2027-01-04T12:05:00Z has neither" in await hole(world)


async def test_a_deleted_ledger_line_is_named(world: World) -> None:
    await lived(world)
    await world.sql("DELETE FROM ledger WHERE fate = 'missed'")

    assert "have neither a run nor a ledger entry" in await hole(world)


async def test_a_run_shifted_off_its_instant_is_named(world: World) -> None:
    await lived(world)
    await world.sql(
        "UPDATE runs SET scheduled_for = "
        "'2027-01-04 12:02:30.000000' WHERE scheduled_for = '2027-01-04 12:03:00.000000'"
    )

    assert "for 2027-01-04T12:02:30Z is not at an instant" in await hole(world)
    assert "2027-01-04T12:03:00Z was expected" in await hole(world)


async def test_a_run_shifted_by_a_minute_is_named(world: World) -> None:
    await world.schedule(EVERY_MINUTE, interval_seconds=300)
    await world.pass_time(12)
    await world.sql(
        "UPDATE runs SET scheduled_for = "
        "'2027-01-04 12:06:00.000000' WHERE scheduled_for = '2027-01-04 12:05:00.000000'"
    )

    assert "for 2027-01-04T12:06:00Z is not at an instant" in await hole(world)


async def test_the_last_run_shifted_onto_the_next_instant_is_named(world: World) -> None:
    await world.schedule()
    await world.pass_time(3)
    await world.sql(
        "UPDATE runs SET scheduled_for = "
        "'2027-01-04 12:04:00.000000' WHERE scheduled_for = '2027-01-04 12:03:00.000000'"
    )

    assert "beyond the cursor, 2027-01-04T12:04:00Z" in await hole(world)


async def test_a_run_shifted_into_a_pause_is_named(world: World) -> None:
    await lived(world)
    await world.sql(
        "UPDATE runs SET scheduled_for = "
        "'2027-01-04 12:07:00.000000' WHERE scheduled_for = '2027-01-04 12:05:00.000000'"
    )

    assert "2027-01-04T12:05:00Z has neither" in await hole(world)
    await world.sql(
        "INSERT INTO ledger (schedule_id, first_at, fate, tenant_id, last_at, count, version, reason) SELECT id, "
        "'2027-01-04 12:05:00.000000', 'skipped', tenant_id, '2027-01-04 12:05:00.000000', 1, 1, 'overlap' "
        "FROM schedules"
    )
    assert "for 2027-01-04T12:07:00Z is at a time when the schedule was not active" in await hole(world)


@pytest.mark.parametrize(
    ("cursor", "words"),
    [
        ("2027-01-04 12:04:01.000000", "is not at an instant of its trigger (every minute): it was shifted"),
        ("2027-01-04 12:05:00.000000", "the instant 2027-01-04T12:04:00Z has neither"),
        ("2027-01-04 13:04:00.000000", "60 instants from 2027-01-04T12:04:00Z to 2027-01-04T13:03:00Z have neither"),
        ("2027-01-04 12:03:00.000000", "is at or beyond the cursor, 2027-01-04T12:03:00Z"),
        ("2027-01-04 11:00:00.000000", "its cursor, 2027-01-04T11:00:00Z, is not at an instant"),
        (None, "has no cursor"),
    ],
)
async def test_a_shifted_cursor_is_named(world: World, cursor: str | None, words: str) -> None:
    await world.schedule()
    await world.pass_time(3)
    await world.sql(f"UPDATE schedules SET next_at = {'NULL' if cursor is None else repr(cursor)}")

    assert words.casefold() in (await hole(world)).casefold()


async def test_a_cursor_before_its_span_is_named(world: World) -> None:
    await world.schedule(HOURLY)
    await world.sql("UPDATE schedules SET next_at = '2027-01-04 11:00:00.000000'")

    assert "is before its span" in await hole(world)


async def test_a_count_that_is_wrong_is_named(world: World) -> None:
    await lived(world)
    await world.sql("UPDATE ledger SET count = count + 1 WHERE fate = 'missed'")

    assert "but the trigger has" in await hole(world)


async def test_an_instant_accounted_for_twice_is_named(world: World) -> None:
    await lived(world)
    await world.sql(
        "INSERT INTO ledger (schedule_id, first_at, fate, tenant_id, last_at, count, version, reason) SELECT id, "
        "'2027-01-04 12:03:00.000000', 'skipped', tenant_id, '2027-01-04 12:03:00.000000', 1, 1, 'overlap' "
        "FROM schedules"
    )

    assert "already accounted for" in await hole(world)


async def test_a_status_its_spans_deny_is_named(world: World) -> None:
    await world.schedule()
    await world.sql("UPDATE schedules SET status = 'paused', next_at = NULL")

    assert await hole(world) == "it is paused, but its spans contradict that"


async def test_a_damaged_version_is_named(world: World) -> None:
    await lived(world)
    await world.sql("UPDATE versions SET spec = '{' WHERE version = 1")

    assert (await hole(world)).startswith("version 1 is damaged")


async def test_pruning_leaves_the_proof_whole(world: World) -> None:
    await world.schedule()
    await world.pass_time(6)
    for run in await world.cases[Runs].list(LOCAL, PageRequest(4)):
        await world.end(run.id, RunState.SUCCESS)
    # Ids carry the time of the real clock, so everything that ended is old by then.
    async with world.store.begin() as tx:
        assert (await SqlRetention(tx).prune(world.clock.now() + timedelta(days=365 * 50), 100))[0] == 4

    assert (await prove(world)).holes == []
    assert (await prove(world)).instants == 6


async def test_the_first_hole_is_enough_when_only_one_is_wanted(world: World) -> None:
    for _ in range(3):
        await world.schedule()
    await world.pass_time(1)
    await world.sql("DELETE FROM runs")

    assert len((await prove(world)).holes) == 3
    assert (await world.cases[LedgerVerifier].prove(LOCAL, first_only=True)).schedules == 1


async def test_a_tenant_proves_only_its_own(world: World) -> None:
    await world.schedule()
    await world.pass_time(1)
    await world.sql("DELETE FROM runs")

    proof = await world.cases[LedgerVerifier].prove(Caller("other", "x", Role.VIEWER))

    assert (proof.schedules, list(proof.holes)) == (0, [])


async def test_a_key_of_the_house_that_is_narrowed_to_schedules_sees_its_own_tenant_alone(world: World) -> None:
    await world.schedule()
    narrow = Caller("other", "x", Role.SYSTEM, scopes=frozenset({"schedule:read"}))

    assert (await world.cases[LedgerVerifier].prove(narrow)).schedules == 0
    assert (await world.cases[LedgerVerifier].prove(replace(narrow, scopes=frozenset({"house:read"})))).schedules == 1
