"""A schedule that a wrong clock led into the future comes back: every instant once, and the ledger stays true."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.access import LOCAL
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.realign import Realignment
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.world import EVERY_MINUTE, World

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATEST: dict[str, Any] = {**EVERY_MINUTE, "catchup": {"mode": "latest"}}


async def led_astray(world: World, raw: dict[str, Any] = LATEST, ahead: timedelta = DAY) -> Schedule:
    """Fired for five minutes, then once by a clock that was ahead; the clock is right again."""
    made = await world.schedule(raw)
    await world.pass_time(5)
    right = world.clock.now()
    world.clock.set(right + ahead)
    await world.tick()
    world.clock.set(right + timedelta(seconds=15))
    return await world.cases[Schedules].get(LOCAL, made.id)


async def runs(world: World) -> list[RunView]:
    return list(await world.cases[Runs].list(LOCAL, PageRequest(500)))


async def instants(world: World) -> list[datetime]:
    return sorted(at for run in await runs(world) if (at := run.scheduled_for or run.fills) is not None)


async def proved(world: World) -> bool:
    return not (await world.cases[LedgerVerifier].prove(LOCAL)).holes


async def test_it_fires_again_from_its_next_instant_on_and_none_fires_twice(world: World) -> None:
    lost = await led_astray(world)
    assert lost.next_at is not None
    assert lost.next_at > world.clock.now() + 23 * HOUR

    mended = await world.cases[Realignment].one(LOCAL, lost.id)

    now = world.clock.now()
    assert mended.next_at is not None
    assert now < mended.next_at <= now + MINUTE
    assert mended.last_run_at is not None
    assert mended.last_run_at <= now
    assert mended.version == lost.version
    assert await proved(world)
    before = len(await runs(world))
    await world.pass_time(3)
    assert len(await runs(world)) == before + 3
    assert await proved(world)
    # A day on, the instant that was fired ahead of time makes a line and no second run.
    world.clock.set(now + DAY + 2 * MINUTE)
    await world.tick()
    await world.pass_time(2)
    seen = await instants(world)
    assert len(seen) == len(set(seen))
    assert await proved(world)


async def test_an_instant_that_was_fired_ahead_is_told_in_the_ledger_when_its_time_comes(world: World) -> None:
    made = await led_astray(world, ahead=10 * MINUTE)
    await world.cases[Realignment].one(LOCAL, made.id)
    early = sorted(run.fills for run in await runs(world) if run.scheduled_for is None and run.fills is not None)
    assert len(early) == 2

    await world.pass_time(12)

    async with world.store.read() as tx:
        lines = [entry for _, entry in await SqlSchedules(tx).ledger(made.id, made.created_at, world.clock.now())]
    assert lines == [LedgerEntry(early[0], early[1], 2, LedgerKind.SKIPPED, LedgerReason.AHEAD)]
    assert await proved(world)
    assert len(set(await instants(world))) == len(await instants(world)) == 5 + 12


@pytest.mark.parametrize("mode", ["none", "latest", "all"])
async def test_whatever_the_catch_up_the_account_stays_true_across_a_gap(world: World, mode: str) -> None:
    made = await led_astray(world, {**EVERY_MINUTE, "catchup": {"mode": mode, "max_runs": 7}}, HOUR)
    await world.cases[Realignment].one(LOCAL, made.id)
    assert await proved(world)

    world.clock.advance(59 * MINUTE)
    await world.tick()
    await world.pass_time(10)

    assert await proved(world)
    seen = await instants(world)
    assert len(seen) == len(set(seen))


async def test_a_run_that_still_waits_does_not_wait_for_a_day(world: World) -> None:
    made = await led_astray(world)
    await world.cases[Realignment].one(LOCAL, made.id)

    async with world.store.read() as tx:
        ready = await SqlClaims(tx).ready(world.clock.now(), None, 10)
    early = {run.id for run in await runs(world) if run.scheduled_for is None}
    assert early
    assert early <= set(ready)


@pytest.mark.parametrize("act", ["resume", "pause", "edit"])
async def test_pause_resume_and_edit_bring_it_back_too(world: World, act: str) -> None:
    made = await led_astray(world)
    match act:
        case "resume":
            await world.cases[Schedules].resume(LOCAL, made.id)
        case "pause":
            await world.cases[Schedules].pause(LOCAL, made.id)
            await world.cases[Schedules].resume(LOCAL, made.id)
        case _:
            await world.cases[Schedules].patch(LOCAL, made.id, {"interval_seconds": 30})

    mended = await world.cases[Schedules].get(LOCAL, made.id)

    assert mended.next_at is not None
    assert mended.next_at <= world.clock.now() + MINUTE
    assert await proved(world)
    await world.pass_time(3)
    assert await proved(world)


async def test_one_that_was_paused_while_the_clock_was_ahead_comes_back(world: World) -> None:
    made = await world.schedule(LATEST)
    await world.pass_time(2)
    right = world.clock.now()
    world.clock.set(right + DAY)
    await world.tick()
    await world.cases[Schedules].pause(LOCAL, made.id)
    world.clock.set(right)

    await world.cases[Schedules].resume(LOCAL, made.id)

    mended = await world.cases[Schedules].get(LOCAL, made.id)
    assert mended.status is ScheduleStatus.ACTIVE
    assert mended.next_at is not None
    assert mended.next_at <= right + MINUTE
    assert await proved(world)


async def test_one_that_is_not_ahead_is_left_alone(world: World) -> None:
    made = await world.schedule(LATEST)
    await world.pass_time(2)

    same = await world.cases[Realignment].one(LOCAL, made.id)

    assert same == await world.cases[Schedules].get(LOCAL, made.id)
    assert list(await world.cases[Realignment].all(LOCAL)) == []


async def test_all_that_are_ahead_are_set_back_and_the_trail_says_so(world: World) -> None:
    lost = await led_astray(world)
    sound = await world.schedule(LATEST)
    client = Client(create_app(world.cases))

    answer = await client.post("/api/schedules/realign")

    assert answer.status == 200
    assert [one["id"] for one in answer.json["items"]] == [lost.id]
    trail = await world.cases[AuditLog].list(LOCAL, PageRequest(100), thing_id=lost.id)
    (told,) = [entry for entry in trail if entry.verb == "realign"]
    assert told.became is not None
    assert told.became["fired_ahead"] == 2
    assert (await client.post(f"/api/schedules/{sound.id}/realign")).status == 200
    assert (await client.post("/api/schedules/sch_unheard_of/realign")).status == 404
    await world.cases[Schedules].delete(LOCAL, sound.id)
    assert (await client.post(f"/api/schedules/{sound.id}/realign")).status == 409
