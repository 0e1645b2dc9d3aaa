"""Every change has an audit entry, with its user, and is written only together with that entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from foliot.commands.audit_sql import AuditEntry, SqlAuditLog, entry_columns
from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.core.access import LOCAL, Caller, Interface, Role
from foliot.core.errors import Forbidden, NotFound
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.mutes.usecases import Mutes
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.skip_next import Skips
from tests.givens import statements
from tests.world import EVERY_MINUTE, HOURLY, URL, World

ADA = Caller("acme", "ada", Role.ADMIN, key_id="key_1")
BOB = Caller("other", "bob", Role.ADMIN, interface=Interface.CLI)
BOOM = {"code": "http_500", "message": "the target answered 500"}


async def told(world: World, caller: Caller = ADA, **wanted: Any) -> list[AuditEntry]:
    """Oldest first."""
    return list(reversed(await world.cases[AuditLog].list(caller, PageRequest(500), **wanted)))


async def verbs(world: World) -> list[str]:
    return [one.verb for one in await told(world)]


async def test_the_life_of_a_schedule_is_told(world: World) -> None:
    schedules = world.cases[Schedules]
    one = (await schedules.create(ADA, HOURLY)).id
    await schedules.patch(ADA, one, {"name": "Renamed"})
    await schedules.replace(ADA, one, {**HOURLY, "priority": 2})
    await schedules.pause(ADA, one, {"reason": "holiday"})
    await schedules.resume(ADA, one)
    run = await schedules.run_now(ADA, one)
    await schedules.delete(ADA, one)

    entries = await told(world)
    assert [entry.verb for entry in entries] == ["create", "patch", "replace", "pause", "resume", "run_now", "delete"]
    assert {(entry.thing, entry.thing_id) for entry in entries} == {("schedule", one)}
    assert {(entry.user_id, entry.key_id, entry.door, entry.at) for entry in entries} == {
        ("ada", "key_1", "rest", world.clock.now())
    }
    created, patched, replaced, paused, resumed, ran, deleted = ((entry.was, entry.became) for entry in entries)
    assert created[0] is None
    assert created[1] is not None
    assert (created[1]["name"], created[1]["status"], created[1]["version"]) == ("Hourly", "active", 1)
    assert patched == ({"name": "Hourly", "version": 1}, {"name": "Renamed", "version": 2})
    assert replaced[0] is not None
    assert replaced[1] is not None
    assert (replaced[0]["priority"], replaced[1]["priority"]) == (5, 2)
    assert paused == (
        {"status": "active", "paused_reason": "", "version": 3},
        {"status": "paused", "paused_reason": "holiday", "version": 4},
    )
    assert resumed[1] == {"status": "active", "paused_reason": "", "version": 5}
    assert ran == (None, {"run_id": run.id})
    assert deleted[1] == {"status": "deleted", "cancelled_runs": 1}


async def test_the_life_of_a_run_is_told(world: World) -> None:
    one = (await world.cases[Schedules].create(ADA, EVERY_MINUTE)).id
    first = await world.cases[Schedules].run_now(ADA, one)
    second = await world.cases[Schedules].run_now(ADA, one)
    await world.cases[Runs].cancel(ADA, first.id)
    again = await world.cases[Runs].retry(ADA, first.id)
    await world.end(second.id, RunState.DEAD_LETTER, BOOM)
    (replayed,) = (await world.cases[DeadLetters].replay(ADA, {"ids": [second.id]})).runs

    entries = (await told(world))[3:]
    assert [(entry.verb, entry.thing, entry.thing_id, entry.was, entry.became) for entry in entries] == [
        ("cancel", "run", first.id, {"state": "queued"}, {"state": "cancelled"}),
        ("retry", "run", first.id, None, {"run_id": again.id}),
        ("replay", "dead_letter", second.id, None, {"run_id": replayed.id, "version": 1}),
    ]


async def test_a_running_run_is_asked_to_stop_once(world: World) -> None:
    one = (await world.cases[Schedules].create(ADA, EVERY_MINUTE)).id
    run = await world.cases[Schedules].run_now(ADA, one)
    await world.claim(run.id)
    await world.cases[Runs].cancel(ADA, run.id)
    await world.cases[Runs].cancel(ADA, run.id)

    assert [(entry.was, entry.became) for entry in await told(world, verb="cancel")] == [
        ({"cancel_requested": False}, {"cancel_requested": True})
    ]


async def test_what_changes_nothing_is_not_told(world: World) -> None:
    one = (await world.cases[Schedules].create(ADA, EVERY_MINUTE)).id
    run = await world.cases[Schedules].run_now(ADA, one)
    for _ in range(2):
        await world.cases[Schedules].pause(ADA, one)
        await world.cases[Runs].cancel(ADA, run.id)
    for _ in range(2):
        await world.cases[Schedules].resume(ADA, one)
    for _ in range(2):
        await world.cases[Schedules].delete(ADA, one)
    assert (await world.cases[DeadLetters].replay(ADA, {"filter": {}})).runs == []
    with pytest.raises(NotFound):
        await world.cases[Schedules].pause(ADA, "sch_unknown")

    assert await verbs(world) == ["create", "run_now", "pause", "cancel", "resume", "delete"]


async def test_a_request_that_comes_twice_is_told_once(world: World) -> None:
    once = IdempotentRequest("k", "body", 201, lambda one: one.id)
    await world.cases[Schedules].create(ADA, HOURLY, once)
    with pytest.raises(AnsweredBefore):
        await world.cases[Schedules].create(ADA, HOURLY, once)

    assert await verbs(world) == ["create"]


def unwritable(entries: Sequence[AuditEntry]) -> dict[str, list[Any]]:
    """Columns that every database refuses: an entry without its moment."""
    return entry_columns(entries) | {"at": [None] * len(entries)}


async def test_when_the_entry_cannot_be_written_nothing_happens(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    schedules = world.cases[Schedules]
    one = await schedules.create(ADA, EVERY_MINUTE)
    run = await schedules.run_now(ADA, one.id)
    dead = await schedules.run_now(ADA, one.id)
    await world.end(dead.id, RunState.DEAD_LETTER, BOOM)
    group = (await world.cases[Runs].get(ADA, dead.id)).fingerprint or ""
    before = await world.cases[Runs].list(ADA, PageRequest())
    one = await schedules.get(ADA, one.id)

    with monkeypatch.context() as patch:
        patch.setattr("foliot.commands.audit_sql.entry_columns", unwritable)
        for change in (
            lambda: schedules.create(ADA, HOURLY, IdempotentRequest("k", "body", 201, str)),
            lambda: schedules.patch(ADA, one.id, {"name": "x"}),
            lambda: schedules.replace(ADA, one.id, HOURLY),
            lambda: schedules.pause(ADA, one.id),
            lambda: world.cases[Skips].skip_next(ADA, one.id),
            lambda: schedules.delete(ADA, one.id),
            lambda: schedules.run_now(ADA, one.id),
            lambda: world.cases[Runs].cancel(ADA, run.id),
            lambda: world.cases[Runs].retry(ADA, dead.id),
            lambda: world.cases[DeadLetters].replay(ADA, {"ids": [dead.id]}),
            lambda: world.cases[Mutes].mute(ADA, group),
        ):
            with pytest.raises(IntegrityError):
                await change()

    assert await world.cases[Schedules].list(ADA, PageRequest()) == [one]
    assert await world.cases[Runs].list(ADA, PageRequest()) == before
    # The key was rolled back too: the same request may come again.
    assert (await schedules.create(ADA, HOURLY, IdempotentRequest("k", "body", 201, str))).name == "Hourly"


async def test_a_change_that_is_undone_leaves_no_entry(world: World) -> None:
    def fail(_: object) -> str:
        raise RuntimeError("after everything was written")

    with pytest.raises(RuntimeError):
        await world.cases[Schedules].create(ADA, HOURLY, IdempotentRequest("k", "body", 201, fail))

    assert await told(world) == []
    assert await world.cases[Schedules].list(ADA, PageRequest()) == []


async def test_nobody_sees_or_can_count_what_another_tenant_does(world: World) -> None:
    for _ in range(3):
        await world.cases[Schedules].create(BOB, HOURLY)
    await world.cases[Schedules].create(ADA, HOURLY)
    for _ in range(2):
        await world.cases[Schedules].create(BOB, HOURLY)
    await world.cases[Schedules].create(ADA, HOURLY)
    async with world.store.begin() as tx:
        await SqlAuditLog(tx).chain(100)

    assert [(entry.user_id, entry.seq) for entry in await told(world)] == [("ada", 1), ("ada", 2)]
    theirs = await told(world, BOB)
    assert [entry.seq for entry in theirs] == [1, 2, 3, 4, 5]
    assert {entry.door for entry in theirs} == {"cli"}
    assert await told(world, thing_id=theirs[0].thing_id) == []
    assert await world.cases[AuditLog].list(ADA, PageRequest(10, theirs[3].id)) == (await told(world))[:1]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
async def test_only_an_administrator_reads_the_trail(role: Role, world: World) -> None:
    with pytest.raises(Forbidden):
        await world.cases[AuditLog].list(Caller("acme", "eve", role), PageRequest())


async def test_values_of_headers_are_never_told(world: World) -> None:
    secret = "Bearer hunter2"
    action = {"kind": "webhook", "url": URL, "headers": {"Authorization": secret, "X-Plain": "v"}}
    one = (await world.cases[Schedules].create(ADA, {**EVERY_MINUTE, "action": action})).id
    await world.cases[Schedules].patch(ADA, one, {"action": {"headers": {"Authorization": secret + "2"}}})
    await world.cases[Schedules].run_now(ADA, one, {"payload": {"headers": {"Authorization": secret + "3"}}})
    await world.cases[Schedules].replace(ADA, one, {**EVERY_MINUTE, "action": action})
    await world.cases[Schedules].delete(ADA, one)

    entries = await told(world)
    assert "hunter2" not in repr(entries)
    assert entries[0].became is not None
    assert entries[0].became["action"]["headers"] == {"Authorization": "***", "X-Plain": "***"}
    # That a value changed is told all the same.
    assert entries[1].became is not None
    assert set(entries[1].became) == {"action", "version"}


async def test_what_is_large_is_told_by_its_size_and_digest(world: World) -> None:
    action = {"kind": "webhook", "url": URL, "body": {"text": "x" * 100_000}}
    await world.cases[Schedules].create(ADA, {**EVERY_MINUTE, "action": action})

    (entry,) = await told(world)
    assert entry.became is not None
    assert (entry.became["name"], set(entry.became["action"])) == ("Often", {"bytes", "sha256"})
    assert entry.became["action"]["bytes"] > 100_000


async def test_a_change_costs_one_statement_more_and_a_replay_of_many_too(world: World) -> None:
    one = (await world.cases[Schedules].create(ADA, EVERY_MINUTE)).id
    dead = [(await world.cases[Schedules].run_now(ADA, one)).id for _ in range(20)]
    for run_id in dead:
        await world.end(run_id, RunState.DEAD_LETTER, BOOM)

    for change in (
        lambda: world.cases[Schedules].run_now(ADA, one),
        lambda: world.cases[DeadLetters].replay(ADA, {"ids": dead}),
    ):
        with statements(world.store) as sent:
            await change()
        assert sum("INTO trail" in statement for statement in sent) == 1

    assert len(await told(world, verb="replay")) == 20


async def test_a_damaged_schedule_can_be_replaced_and_that_is_told(world: World) -> None:
    one = await world.cases[Schedules].create(ADA, EVERY_MINUTE)
    await world.sql("UPDATE versions SET spec = 'broken' WHERE schedule_id = :id", id=one.id)
    await world.sql("UPDATE schedules SET spec = 'broken', fault = 'its spec is not JSON' WHERE id = :id", id=one.id)

    await world.cases[Schedules].replace(ADA, one.id, HOURLY)

    entry = (await told(world))[-1]
    assert entry.verb == "replace"
    assert set(entry.was or {}) == {"fault"}
    assert (entry.became or {})["name"] == "Hourly"


async def test_the_local_caller_is_told_as_local(world: World) -> None:
    await world.cases[Schedules].create(LOCAL, HOURLY)

    (entry,) = await told(world, LOCAL)
    assert (entry.tenant_id, entry.user_id, entry.key_id) == ("default", "local", None)
