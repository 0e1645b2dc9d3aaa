"""Reverting an edit of a schedule: whole, once, and never over another user's edit; on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foliot.commands.audit_sql import AuditEntry
from foliot.commands.envelope import CommandContext
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, Forbidden, Invalid, NotFound, VersionMismatch
from foliot.core.ids import new_id
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.usecases import ApiKeys
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.schedules import schema as schedules_schema
from foliot.features.schedules.usecases.revert import Reverts
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.declared import conforms
from tests.givens import statements
from tests.world import EVERY_MINUTE, HOURLY, World

SECRET = {"X-Api-Key": "s3cret that the log does not keep"}


async def last(world: World) -> AuditEntry:
    return (await world.cases[AuditLog].list(LOCAL, PageRequest(1)))[0]


async def test_everything_that_an_edit_changed_is_put_back(world: World, client: Client) -> None:
    before = {**EVERY_MINUTE, "tags": ["a"], "description": "first"}
    action = {"kind": "webhook", "url": "https://a.example/", "headers": SECRET, "body": {"n": "x" * 20_000}}
    one = await world.schedule(before, name="Before", action=action)
    after = {"kind": "webhook", "url": "https://b.example/", "headers": {"X-Api-Key": "other"}, "body": None}
    changes = {"name": "After", "description": "second", "tags": ["b"], "action": after, "priority": 9}
    await client.patch(f"/api/schedules/{one.id}", {**changes, "cron_expr": "0 5 * * *", "type": "cron"})
    entry = await last(world)
    # No edit: it stays paused, and is no reason to refuse.
    await world.cases[Schedules].pause(LOCAL, one.id, {"reason": "holiday"})

    answer = await client.post(f"/api/audit/{entry.id}/revert")

    assert answer.status == 200, answer.text
    conforms(schedules_schema.Schedule, answer.json)
    now = await world.cases[Schedules].get(LOCAL, one.id)
    assert world.store.sealer is not None
    opened = world.store.sealer.open(LOCAL.tenant_id, now.action).action
    assert (now.name, now.description, now.tags, opened) == (one.name, "first", ("a",), one.action)
    assert (now.spec.priority, now.spec.trigger.as_dict()) == (one.spec.priority, one.spec.trigger.as_dict())
    assert (now.version, answer.headers["etag"]) == (4, '"4"')
    assert (now.status.value, now.paused_reason) == ("paused", "holiday")
    told = await last(world)
    assert (told.verb, told.thing_id, told.user_id) == ("revert", one.id, "local")
    assert told.was is not None
    assert told.became is not None
    assert (told.was["name"], told.became["name"]) == ("After", "Before")
    assert told.became["reverts"] == entry.id
    assert "s3cret" not in repr((told.was, told.became))


async def test_a_revert_can_be_reverted_and_an_edit_only_once(world: World) -> None:
    one = await world.schedule(HOURLY, name="First")
    await world.cases[Schedules].patch(LOCAL, one.id, {"name": "Second"})
    edit = await last(world)
    await world.cases[Reverts].revert(LOCAL, edit.id)
    undone = await last(world)

    with pytest.raises(Conflict, match=f"changed since: local changed it at .* \\(revert, entry {undone.id}\\)"):
        await world.cases[Reverts].revert(LOCAL, edit.id)
    again = await world.cases[Reverts].revert(LOCAL, undone.id)

    assert again.name == "Second"


async def test_a_revert_that_is_asked_for_twice_under_one_key_is_one(world: World, client: Client) -> None:
    one = await world.schedule(HOURLY, name="First")
    await world.cases[Schedules].patch(LOCAL, one.id, {"name": "Second"})
    edit = await last(world)
    path, key = f"/api/audit/{edit.id}/revert", {"Idempotency-Key": "once"}

    first = await client.post(path, **key)
    undone = await last(world)
    again = await client.post(path, **key)

    assert (first.status, first.json["name"]) == (200, "First")
    assert (again.status, again.json, again.headers["etag"]) == (200, first.json, first.headers["etag"])
    assert (await last(world)).id == undone.id
    other = await client.post(f"/api/audit/{undone.id}/revert", **key)
    assert (other.status, other.json["code"]) == (422, "key_reused")
    assert (await client.post(path, **{"Idempotency-Key": "another"})).status == 409
    retried = await client.post(f"/api/audit/{undone.id}/revert", **{"Idempotency-Key": "another"})
    assert retried.status == 200, "a refusal takes no key"


async def test_of_two_reverts_at_once_one_is_made(world: World) -> None:
    one = await world.schedule(HOURLY, name="First")
    await world.cases[Schedules].patch(LOCAL, one.id, {"name": "Second"})
    edit = await last(world)

    heard = await asyncio.gather(
        *(world.cases[Reverts].revert(LOCAL, edit.id) for _ in range(5)), return_exceptions=True
    )

    assert sum(not isinstance(each, BaseException) for each in heard) == 1
    assert all(isinstance(each, Conflict | VersionMismatch | Schedule) for each in heard), heard
    assert (await world.cases[Schedules].get(LOCAL, one.id)).version == 3


@pytest.mark.parametrize("how", ["patch", "replace", "tag"])
async def test_what_somebody_built_upon_it_is_not_torn_down(world: World, how: str) -> None:
    one = await world.schedule(HOURLY)
    await world.cases[Schedules].patch(LOCAL, one.id, {"priority": 2})
    edit = await last(world)
    if how == "patch":
        await world.cases[Schedules].patch(LOCAL, one.id, {"name": "Another's"})
    elif how == "replace":
        await world.cases[Schedules].replace(LOCAL, one.id, {**HOURLY, "priority": 3})
    else:

        async def tag(ctx: CommandContext) -> None:
            await ctx.begin()
            await world.cases[Schedules].tag_one(ctx, one.id, ["new"], [])

        await CommandContext(world, LOCAL).perform(tag)

    with pytest.raises(Conflict, match="was changed since"):
        await world.cases[Reverts].revert(LOCAL, edit.id)
    assert (await world.cases[Schedules].get(LOCAL, one.id)).version == 3


async def test_an_edit_that_comes_in_between_wins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await world.schedule(HOURLY)
    await world.cases[Schedules].patch(LOCAL, one.id, {"priority": 2})
    edit = await last(world)
    put_back = type(world.cases[Schedules]).put_back

    async def late(self: Any, *args: Any) -> Any:
        await world.cases[Schedules].patch(LOCAL, one.id, {"name": "In between"})
        return await put_back(self, *args)

    monkeypatch.setattr(type(world.cases[Schedules]), "put_back", late)
    with pytest.raises(VersionMismatch):
        await world.cases[Reverts].revert(LOCAL, edit.id)
    now = await world.cases[Schedules].get(LOCAL, one.id)
    assert (now.name, now.spec.priority) == ("In between", 2)


async def test_what_cannot_be_reverted_says_why(world: World, client: Client) -> None:
    one = await world.schedule(HOURLY, description="x" * 9000)
    made = await last(world)
    await world.cases[Schedules].pause(LOCAL, one.id)
    paused = await last(world)
    await world.cases[Schedules].patch(LOCAL, one.id, {"description": "short"})
    large = await last(world)
    other = await world.schedule({"name": "Once", "type": "oneoff", "run_at": "2027-01-04T13:00:00Z", **_hook()})
    await world.cases[Schedules].patch(LOCAL, other.id, {"run_at": "2027-01-06T13:00:00Z"})
    gone = await last(world)
    key = await world.cases[ApiKeys].create(LOCAL, {"name": "k", "role": "viewer"})
    keyed = await last(world)
    revert = world.cases[Reverts].revert

    for entry, why in (
        (made, "is not an edit of a schedule: create of a schedule"),
        (paused, "is not an edit of a schedule: pause of a schedule"),
        (keyed, "is not an edit of a schedule: create of a key"),
        (large, "'description' was too large for the audit log"),
    ):
        with pytest.raises(Conflict, match=why):
            await revert(LOCAL, entry.id)
    world.clock.advance(7200)
    with pytest.raises(Invalid, match="run_at"):
        await revert(LOCAL, gone.id)
    await world.cases[Schedules].delete(LOCAL, other.id)
    with pytest.raises(Conflict, match="is deleted"):
        await revert(LOCAL, gone.id)
    assert key.key.id == keyed.thing_id
    for unknown in (new_id("aud"), "aud_x", "nonsense"):
        assert (await client.post(f"/api/audit/{unknown}/revert")).status == 404


async def test_only_whoever_may_read_the_log_and_edit_schedules_reverts(world: World) -> None:
    one = await world.schedule(HOURLY)
    await world.cases[Schedules].patch(LOCAL, one.id, {"priority": 2})
    edit = await last(world)

    with pytest.raises(Forbidden):
        await world.cases[Reverts].revert(Caller(LOCAL.tenant_id, "olga", Role.OPERATOR), edit.id)
    with pytest.raises(NotFound):
        await world.cases[Reverts].revert(Caller("other", "eve", Role.ADMIN), edit.id)


async def test_the_log_names_schedules_with_one_question_more(world: World, client: Client) -> None:
    first = await world.schedule(HOURLY, name="Nightly")
    second = await world.schedule(HOURLY, name="Weekly")
    await world.cases[Schedules].patch(LOCAL, first.id, {"name": "Renamed"})
    await world.cases[Schedules].delete(LOCAL, second.id)
    await world.cases[ApiKeys].create(LOCAL, {"name": "k", "role": "viewer"})

    with statements(world.store) as said:
        answer = await client.get("/api/audit")

    names = [(one["thing"], one["thing_name"]) for one in answer.json["items"]]
    assert names == [
        ("key", None),
        ("schedule", "Weekly"),
        ("schedule", "Renamed"),
        ("schedule", "Weekly"),
        ("schedule", "Renamed"),
    ]
    assert sum("FROM schedules" in each for each in said) == 1, said


def _hook() -> dict[str, Any]:
    return {"action": {"kind": "webhook", "url": "https://a.example/"}}
