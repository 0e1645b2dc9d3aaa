"""What may be asked of schedules, and what each change does to instants, spans and runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import TRIES
from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, Contended, Forbidden, Invalid, KeyReused, NotFound, VersionMismatch
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import VersionSpan
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.health.usecases import HealthChecks
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.schedules import Schedules
from tests.world import EVERY_MINUTE, HOURLY, URL, OneAction, World, open_world

VIEWER = Caller("default", "eve", Role.VIEWER)
STRANGER = Caller("other", "mallory", Role.ADMIN)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


async def fired(world: World, schedule: Schedule) -> list[datetime]:
    runs = await world.cases[Runs].of_schedule(LOCAL, schedule.id, PageRequest(500), None)
    return sorted(run.scheduled_for for run in runs if run.scheduled_for)


async def spans(world: World, schedule: Schedule) -> list[VersionSpan]:
    async with world.store.read() as tx:
        return await SqlSchedules(tx).spans(schedule.id)


async def sound(world: World) -> bool:
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert proof.holes == []
    return True


async def test_a_new_schedule_waits_for_its_first_instant(world: World) -> None:
    schedule = await world.schedule()

    assert await world.cases[Schedules].get(LOCAL, schedule.id) == schedule
    assert (schedule.status, schedule.version) == (ScheduleStatus.ACTIVE, 1)
    assert schedule.next_at == world.clock.now() + MINUTE
    assert await spans(world, schedule) == [VersionSpan(world.clock.now(), None, 1, active=True)]


async def test_a_foreign_schedule_is_as_unknown_as_one_that_never_was(world: World) -> None:
    schedule = await world.schedule()

    for ask in (
        world.cases[Schedules].get(STRANGER, schedule.id),
        world.cases[Schedules].patch(STRANGER, schedule.id, {"name": "mine"}),
        world.cases[Schedules].pause(STRANGER, schedule.id),
        world.cases[Schedules].resume(STRANGER, schedule.id),
        world.cases[Schedules].delete(STRANGER, schedule.id),
        world.cases[Schedules].run_now(STRANGER, schedule.id),
        world.cases[Instants].list(STRANGER, schedule.id, None, None, 10),
        world.cases[Runs].of_schedule(STRANGER, schedule.id, PageRequest(), None),
    ):
        with pytest.raises(NotFound):
            await ask
    assert await world.cases[Schedules].list(STRANGER, PageRequest()) == []


async def test_a_viewer_may_look_and_nothing_else(world: World) -> None:
    schedule = await world.schedule()

    assert await world.cases[Schedules].list(VIEWER, PageRequest()) == [schedule]
    for ask in (
        world.cases[Schedules].create(VIEWER, HOURLY),
        world.cases[Schedules].delete(VIEWER, schedule.id),
        world.cases[Schedules].run_now(VIEWER, schedule.id),
        world.cases[HealthChecks].detailed(VIEWER),
    ):
        with pytest.raises(Forbidden):
            await ask


async def test_an_edit_first_settles_what_is_due_by_the_old_rules(world: World) -> None:
    schedule = await world.schedule()
    began = world.clock.now()
    world.clock.advance(150)

    changed = await world.cases[Schedules].patch(LOCAL, schedule.id, {"interval_seconds": 3600})

    assert await fired(world, schedule) == [began + MINUTE, began + 2 * MINUTE]
    assert changed.version == 2
    assert changed.next_at == world.clock.now() + timedelta(hours=1)
    assert await spans(world, schedule) == [
        VersionSpan(began, world.clock.now(), 1, active=True),
        VersionSpan(world.clock.now(), None, 2, active=True),
    ]
    assert await sound(world)


async def test_an_edit_at_the_very_instant_lets_it_fire_by_the_old_rules_once(world: World) -> None:
    schedule = await world.schedule()
    world.clock.advance(60)

    await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Renamed"})
    await world.tick()

    assert await fired(world, schedule) == [world.clock.now()]
    assert await sound(world)


async def test_an_unrelated_edit_keeps_the_rhythm_and_raises_the_version(world: World) -> None:
    schedule = await world.schedule()
    world.clock.advance(90)

    changed = await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Renamed", "tags": ["new"]})

    assert (changed.name, changed.tags, changed.version) == ("Renamed", ("new",), 2)
    assert changed.next_at == schedule.created_at + 2 * MINUTE
    assert changed.last_run_at == schedule.created_at + MINUTE


async def test_a_put_replaces_the_whole_document(world: World) -> None:
    schedule = await world.schedule(description="old words", tags=["old"])

    changed = await world.cases[Schedules].replace(LOCAL, schedule.id, HOURLY)

    assert (changed.name, changed.description, changed.tags) == ("Hourly", "", ())
    assert changed.id == schedule.id
    assert await sound(world)


async def test_a_change_made_on_an_old_version_is_refused(world: World) -> None:
    schedule = await world.schedule()
    await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Second"}, match="1")

    with pytest.raises(VersionMismatch):
        await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Third"}, match="1")
    with pytest.raises(VersionMismatch):
        await world.cases[Schedules].delete(LOCAL, schedule.id, match="1")
    assert (await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Third"}, match="*")).name == "Third"


async def test_a_bad_edit_changes_nothing(world: World) -> None:
    schedule = await world.schedule()
    world.clock.advance(90)

    with pytest.raises(Invalid):
        await world.cases[Schedules].patch(LOCAL, schedule.id, {"priority": 99})

    assert await world.cases[Schedules].get(LOCAL, schedule.id) == schedule
    assert await fired(world, schedule) == []


async def test_paused_time_is_never_caught_up(world: World) -> None:
    schedule = await world.schedule()
    began = world.clock.now()
    await world.pass_time(2)
    world.clock.advance(30)

    paused = await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "holiday"})
    await world.pass_time(10)
    resumed = await world.cases[Schedules].resume(LOCAL, schedule.id)
    await world.pass_time(1)

    assert (paused.status, paused.next_at, paused.paused_reason) == (ScheduleStatus.PAUSED, None, "holiday")
    assert (resumed.status, resumed.paused_reason) == (ScheduleStatus.ACTIVE, "")
    assert await fired(world, schedule) == [began + MINUTE, began + 2 * MINUTE, began + 13 * MINUTE]
    assert await sound(world)


async def test_pause_settles_what_was_due_before_it(world: World) -> None:
    schedule = await world.schedule()
    world.clock.advance(60)

    await world.cases[Schedules].pause(LOCAL, schedule.id)
    await world.pass_time(5)

    assert await fired(world, schedule) == [schedule.created_at + MINUTE]
    assert await sound(world)


async def test_pausing_twice_and_resuming_twice_changes_nothing_more(world: World) -> None:
    schedule = await world.schedule()

    once = await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "a"})
    assert await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "b"}) == once
    active = await world.cases[Schedules].resume(LOCAL, schedule.id)
    assert await world.cases[Schedules].resume(LOCAL, schedule.id) == active


async def test_a_paused_schedule_stays_paused_when_edited(world: World) -> None:
    schedule = await world.schedule()
    await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "holiday"})

    changed = await world.cases[Schedules].patch(LOCAL, schedule.id, {"interval_seconds": 5})
    await world.pass_time(3)

    assert (changed.status, changed.next_at, changed.paused_reason) == (ScheduleStatus.PAUSED, None, "holiday")
    assert await fired(world, schedule) == []
    assert await sound(world)


async def test_a_one_off_that_passed_while_paused_is_completed_by_resume(world: World) -> None:
    at = world.clock.now() + MINUTE
    raw = {"name": "Once", "type": "oneoff", "run_at": at.isoformat(), "payload": {"url": URL}}
    schedule = await world.schedule(raw)
    await world.cases[Schedules].pause(LOCAL, schedule.id)
    await world.pass_time(2)

    resumed = await world.cases[Schedules].resume(LOCAL, schedule.id)

    assert resumed.status is ScheduleStatus.COMPLETED
    assert await fired(world, schedule) == []
    assert await sound(world)


async def test_delete_is_soft_and_cancels_what_waits(world: World) -> None:
    schedule = await world.schedule()
    await world.pass_time(2)
    first, second = sorted(run.id for run in await world.cases[Runs].list(LOCAL, PageRequest()))
    await world.claim(first)

    await world.cases[Schedules].delete(LOCAL, schedule.id)
    await world.cases[Schedules].delete(LOCAL, schedule.id)
    await world.pass_time(3)

    assert (await world.cases[Schedules].get(LOCAL, schedule.id)).status is ScheduleStatus.DELETED
    assert (await world.cases[Runs].get(LOCAL, first)).state is RunState.RUNNING
    assert (await world.cases[Runs].get(LOCAL, second)).state is RunState.CANCELLED
    assert len(await fired(world, schedule)) == 2
    assert await world.cases[Schedules].list(LOCAL, PageRequest()) == []
    assert len(await world.cases[Schedules].list(LOCAL, PageRequest(), status="deleted")) == 1
    assert await sound(world)


async def test_a_deleted_schedule_cannot_be_changed(world: World) -> None:
    schedule = await world.schedule()
    await world.cases[Schedules].delete(LOCAL, schedule.id)

    for ask in (
        world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "x"}),
        world.cases[Schedules].replace(LOCAL, schedule.id, HOURLY),
        world.cases[Schedules].pause(LOCAL, schedule.id),
        world.cases[Schedules].resume(LOCAL, schedule.id),
        world.cases[Schedules].run_now(LOCAL, schedule.id),
    ):
        with pytest.raises(Conflict):
            await ask


async def test_max_runs_completes_and_a_higher_one_goes_on(world: World) -> None:
    schedule = await world.schedule(max_runs=2)
    await world.pass_time(4)
    assert (await world.cases[Schedules].get(LOCAL, schedule.id)).status is ScheduleStatus.COMPLETED

    lifted = await world.cases[Schedules].patch(LOCAL, schedule.id, {"max_runs": 3})
    await world.pass_time(4)

    assert lifted.status is ScheduleStatus.ACTIVE
    assert len(await fired(world, schedule)) == 3
    assert await sound(world)


async def test_max_runs_lowered_below_what_fired_completes_at_once(world: World) -> None:
    schedule = await world.schedule()
    await world.pass_time(3)

    assert (await world.cases[Schedules].patch(LOCAL, schedule.id, {"max_runs": 2})).status is ScheduleStatus.COMPLETED
    await world.pass_time(3)
    assert len(await fired(world, schedule)) == 3
    assert await sound(world)


async def test_renaming_a_finished_one_off_leaves_it_finished(world: World) -> None:
    at = world.clock.now() + MINUTE
    schedule = await world.schedule(
        {"name": "Once", "type": "oneoff", "run_at": at.isoformat(), "payload": {"url": URL}}
    )
    await world.pass_time(2)

    renamed = await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "Done"})

    assert (renamed.status, renamed.next_at) == (ScheduleStatus.COMPLETED, None)
    with pytest.raises(Conflict, match="completed"):
        await world.cases[Schedules].pause(LOCAL, schedule.id)
    assert await sound(world)


async def test_run_now_makes_a_manual_run_with_its_own_payload(world: World) -> None:
    schedule = await world.schedule(priority=2, timeout_seconds=9)

    run = await world.cases[Schedules].run_now(LOCAL, schedule.id, {"payload": {"body": {"sku": 1}}})
    plain = await world.cases[Schedules].run_now(LOCAL, schedule.id)

    assert (run.queue, run.origin, run.priority, run.scheduled_for) == ("manual", Origin.MANUAL, 2, None)
    assert run.action is not None
    assert (run.action["body"], run.action["url"]) == ({"sku": 1}, URL)
    assert plain.action is None
    assert await sound(world)
    with pytest.raises(Invalid, match="payload"):
        await world.cases[Schedules].run_now(LOCAL, schedule.id, {"payload": {"method": "TELEPORT"}})


async def test_a_node_whose_clock_runs_ahead_leaves_no_hole(world: World) -> None:
    schedule = await world.schedule()
    behind = world.clock.now() + timedelta(seconds=59)
    await world.pass_time(1)
    world.clock.set(behind)

    await world.cases[Schedules].pause(LOCAL, schedule.id)

    assert len(await fired(world, schedule)) == 1
    assert await sound(world)


async def test_a_damaged_schedule_is_mended_by_resume_and_its_silence_is_told(world: World) -> None:
    schedule = await world.schedule()
    await world.pass_time(1)
    await world.sql("UPDATE schedules SET spec = '{' WHERE id = :id", id=schedule.id)
    await world.pass_time(2)
    assert (await world.cases[Schedules].get(LOCAL, schedule.id)).fault is not None
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes[0].what.startswith("it is damaged")

    mended = await world.cases[Schedules].resume(LOCAL, schedule.id)
    await world.pass_time(1)

    assert (mended.status, mended.fault) == (ScheduleStatus.ACTIVE, None)
    instants, _ = await world.cases[Instants].list(
        LOCAL, schedule.id, schedule.created_at, world.clock.now() + timedelta(seconds=1), 10
    )
    assert [(one.outcome, one.reason) for one in instants] == [
        ("queued", "queued"),
        ("skipped", "damaged"),
        ("skipped", "damaged"),
        ("queued", "queued"),
    ]
    assert await sound(world)


async def test_a_schedule_damaged_beyond_reading_can_only_be_replaced(world: World) -> None:
    schedule = await world.schedule()
    await world.sql("UPDATE schedules SET spec = '{' WHERE id = :id", id=schedule.id)
    await world.sql("UPDATE versions SET spec = '{' WHERE schedule_id = :id", id=schedule.id)
    await world.pass_time(1)

    with pytest.raises(Conflict, match="replace it with PUT"):
        await world.cases[Schedules].patch(LOCAL, schedule.id, {"name": "x"})
    assert (await world.cases[Schedules].replace(LOCAL, schedule.id, EVERY_MINUTE)).status is ScheduleStatus.ACTIVE


def once(key: str, body: str) -> IdempotentRequest:
    return IdempotentRequest(key, body, 201, lambda schedule: f"{schedule.id}")


async def test_a_repeated_key_has_one_effect_and_the_same_answer(world: World) -> None:
    first = await world.cases[Schedules].create(LOCAL, HOURLY, once("k", "body"))

    with pytest.raises(AnsweredBefore) as again:
        await world.cases[Schedules].create(LOCAL, HOURLY, once("k", "body"))

    assert (again.value.status, again.value.body) == (201, first.id)
    assert len(await world.cases[Schedules].list(LOCAL, PageRequest())) == 1


async def test_a_key_with_another_body_is_refused_and_tenants_do_not_share_keys(world: World) -> None:
    await world.cases[Schedules].create(LOCAL, HOURLY, once("k", "body"))

    with pytest.raises(KeyReused):
        await world.cases[Schedules].create(LOCAL, HOURLY, once("k", "another"))
    assert (await world.cases[Schedules].create(STRANGER, HOURLY, once("k", "another"))).tenant_id == "other"


async def test_a_failed_request_does_not_burn_its_key(world: World) -> None:
    with pytest.raises(Invalid):
        await world.cases[Schedules].create(LOCAL, {**HOURLY, "name": ""}, once("k", "body"))

    assert (await world.cases[Schedules].create(LOCAL, HOURLY, once("k", "other body"))).version == 1


async def test_a_repeated_key_is_answered_also_when_the_request_would_fail_now(world: World) -> None:
    at = world.clock.now() + MINUTE
    raw: dict[str, Any] = {"name": "Once", "type": "oneoff", "run_at": at.isoformat(), "payload": {"url": URL}}
    await world.cases[Schedules].create(LOCAL, raw, once("k", "body"))
    await world.pass_time(2)

    with pytest.raises(AnsweredBefore):
        await world.cases[Schedules].create(LOCAL, raw, once("k", "body"))


async def test_instants_tell_the_past_the_pause_and_the_future(world: World) -> None:
    schedule = await world.schedule(overlap="skip", max_runs=4)
    began = world.clock.now()
    await world.pass_time(2)
    await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "holiday"})
    await world.pass_time(1)
    await world.cases[Schedules].resume(LOCAL, schedule.id)

    instants, following = await world.cases[Instants].list(LOCAL, schedule.id, began, began + 10 * MINUTE, 50)

    assert [(one.at - began, one.outcome, one.reason) for one in instants] == [
        (1 * MINUTE, "queued", "queued"),
        (2 * MINUTE, "skipped", "overlap"),
        (3 * MINUTE, "skipped", "paused: holiday"),
        (4 * MINUTE, "planned", ""),
        (5 * MINUTE, "planned", ""),
        (6 * MINUTE, "planned", ""),
    ]
    assert following is None


async def test_instants_come_in_pages_without_loss_or_repetition(world: World) -> None:
    schedule = await world.schedule()
    began = world.clock.now()
    await world.pass_time(5)

    seen: list[datetime] = []
    following: datetime | None = began
    while following is not None:
        page, following = await world.cases[Instants].list(LOCAL, schedule.id, following, began + 12 * MINUTE, 4)
        seen += [one.at for one in page]

    assert seen == [began + n * MINUTE for n in range(1, 12)]


async def test_a_span_of_instants_must_be_a_span(world: World) -> None:
    schedule = await world.schedule()
    now = world.clock.now()

    with pytest.raises(Invalid, match="must not be earlier"):
        await world.cases[Instants].list(LOCAL, schedule.id, now, now - MINUTE, 10)
    with pytest.raises(Invalid, match="ten years"):
        await world.cases[Instants].list(LOCAL, schedule.id, now, now + timedelta(days=4000), 10)


class Crowded:
    """A store that undoes its first transactions for the sake of others."""

    def __init__(self, store: Database, times: int) -> None:
        self.store = store
        self.times = times

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        async with self.store.begin() as tx:
            yield tx
            if self.times:
                self.times -= 1
                raise Contended("deadlock")

    def read(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Transaction]:
        return self.store.read()

    def glance(self) -> AbstractAsyncContextManager[Transaction]:
        return self.store.glance()


async def test_a_transaction_undone_for_anothers_sake_is_asked_again_and_happens_once(world: World) -> None:
    cases = use_cases(cast("Database", Crowded(world.store, times=4)), world.clock, world.feed, OneAction())

    schedule = await cases[Schedules].create(LOCAL, EVERY_MINUTE)

    assert [one.id for one in await world.cases[Schedules].list(LOCAL, PageRequest())] == [schedule.id]


async def test_a_transaction_undone_again_and_again_is_given_up(world: World) -> None:
    # Once as a group, and then alone.
    cases = use_cases(cast("Database", Crowded(world.store, times=TRIES + 1)), world.clock, world.feed, OneAction())

    with pytest.raises(Contended):
        await cases[Schedules].create(LOCAL, EVERY_MINUTE)
    assert await world.cases[Schedules].list(LOCAL, PageRequest()) == []
