"""The envelope of use cases: what it does before, around and after a method."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import event

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import (
    CommandContext,
    QueryContext,
    command,
    permission_of,
    permissions_of,
    query,
    requires,
    unchecked_command,
)
from foliot.commands.idempotency import EACH_TIME, AnsweredBefore, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Role, Thing, Verb
from foliot.core.errors import Contended, Forbidden
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.mutes.model import MuteRecord
from foliot.features.mutes.sql import SqlMutes
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import Feed
from tests.world import EVERY_MINUTE, World

ADA = Caller("default", "ada", Role.ADMIN)
EVE = Caller("default", "eve", Role.VIEWER)
MALLORY = Caller("other", "mallory", Role.ADMIN)
TOPIC = "notes"


class Shut:
    """A database that must not be opened."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the database was used: {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Use cases that do nothing but write one row, an audit entry and a wake-up."""

    store: Database
    clock: Clock
    feed: Feed
    troubles: list[Exception] = field(default_factory=list)
    """Raised one after the other, each after the row is written."""
    tries: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, world: World, *troubles: Exception) -> Notes:
        return cls(store=world.store, clock=world.clock, feed=world.feed, troubles=list(troubles))

    @command(Verb.WRITE, Thing.DEAD_LETTER)
    async def note(self, ctx: CommandContext, name: str, *, once: IdempotentRequest = EACH_TIME) -> str:
        """Write one."""
        self.tries.append(name)
        tx = await ctx.begin()
        until = ctx.now + timedelta(hours=1)
        await SqlMutes(tx).put(
            ctx.tenant_id, MuteRecord(fingerprint=name, user_id=ctx.caller.user_id, at=ctx.now, until=until, reason="")
        )
        ctx.audit(AuditedChange("mute", Thing.DEAD_LETTER, name))
        ctx.wake(TOPIC)
        ctx.after_commit(lambda: self.tries.append("committed"))
        if self.troubles:
            raise self.troubles.pop(0)
        return f"noted {name} at try {len(self.tries)}"

    @command(Verb.WRITE, Thing.DEAD_LETTER)
    async def twice(self, ctx: CommandContext) -> None:
        await ctx.begin()
        await ctx.begin()

    @command(Verb.WRITE, Thing.DEAD_LETTER)
    async def look_first(self, ctx: CommandContext, once: IdempotentRequest = EACH_TIME) -> str:
        async with ctx.read() as tx:
            return ", ".join(await SqlMutes(tx).standing(ctx.tenant_id, self.clock.now()))

    @query(Verb.READ, Thing.DEAD_LETTER, (Verb.READ, Thing.RUN))
    async def list(self, ctx: QueryContext) -> Sequence[str]:
        async with ctx.read() as tx:
            return sorted(await SqlMutes(tx).standing(ctx.tenant_id, self.clock.now()))

    @requires(Verb.READ, Thing.DEAD_LETTER)
    def name(self, caller: Caller) -> str:
        return caller.user_id

    @unchecked_command
    async def sign_out(self, ctx: CommandContext) -> None:
        return None


async def entries(world: World) -> list[str]:
    return [entry.thing_id for entry in await world.cases[AuditLog].list(ADA, PageRequest())]


@contextmanager
def commits(world: World, told: list[str]) -> Iterator[None]:
    def committed(_: Any) -> None:
        told.append("commit")

    engine = world.store.engines.write.sync_engine
    event.listen(engine, "commit", committed)
    try:
        yield
    finally:
        event.remove(engine, "commit", committed)


async def test_a_caller_without_the_permission_is_refused_before_the_database_is_opened(world: World) -> None:
    notes = Notes(store=cast("Database", Shut()), clock=world.clock, feed=world.feed)
    narrow = Caller("default", "bot", Role.ADMIN, scopes=frozenset({"dead_letter:read"}))

    with pytest.raises(Forbidden, match="may not write a dead letter"):
        await notes.note(EVE, "a")
    with pytest.raises(Forbidden, match="may not read a run"):
        await notes.list(narrow)
    with pytest.raises(Forbidden):
        notes.name(Caller("default", "bot", Role.ADMIN, scopes=frozenset()))

    assert notes.tries == []
    assert notes.name(EVE) == "eve"


async def test_a_change_its_entry_and_its_wake_up_come_together(world: World) -> None:
    told: list[str] = []

    class Told:
        def wake(self, *topics: str) -> None:
            told.extend(topics)

    notes = Notes(store=world.store, clock=world.clock, feed=cast("Feed", Told()))
    with commits(world, told):
        assert await notes.note(ADA, "a") == "noted a at try 1"

    assert told == ["commit", TOPIC], "whoever is woken finds what was written"
    assert notes.tries == ["a", "committed"]
    assert await notes.list(ADA) == ["a"]
    assert await notes.list(MALLORY) == []
    assert await entries(world) == ["a"]


async def test_a_conflict_is_tried_again_and_takes_effect_once(world: World) -> None:
    notes = Notes.on(world, Contended("deadlock"), Contended("serialization failure"))

    async with world.feed.listen(TOPIC) as waiter:
        assert await notes.note(ADA, "a", once=IdempotentRequest("k", "body")) == "noted a at try 3"
        assert await waiter.wait(0)

    assert notes.tries == ["a", "a", "a", "committed"]
    assert await notes.list(ADA) == ["a"]
    assert await entries(world) == ["a"]


async def test_the_same_key_takes_effect_once_and_is_given_the_same_answer(world: World) -> None:
    notes, once = Notes.on(world), IdempotentRequest("k", "body", 201, str.upper)

    ends = await asyncio.gather(*(notes.note(ADA, "a", once=once) for _ in range(4)), return_exceptions=True)

    answers = [end for end in ends if isinstance(end, str)]
    again = [end for end in ends if isinstance(end, AnsweredBefore)]
    assert len(answers) == 1
    assert {(end.status, end.body) for end in again} == {(201, answers[0].upper())}
    assert len(again) == 3
    assert await entries(world) == ["a"]


async def test_the_same_key_of_another_tenant_is_another_key(world: World) -> None:
    notes, once = Notes.on(world), IdempotentRequest("k", "body")

    await notes.note(ADA, "a", once=once)
    await notes.note(MALLORY, "a", once=once)

    assert await notes.list(MALLORY) == ["a"]


async def test_an_exception_leaves_no_row_no_entry_no_wake_up_and_the_key_free(world: World) -> None:
    notes, once = Notes.on(world, ValueError("too late")), IdempotentRequest("k", "body")

    async with world.feed.listen(TOPIC) as waiter:
        with pytest.raises(ValueError, match="too late"):
            await notes.note(ADA, "a", once=once)
        assert not await waiter.wait(0)

    assert notes.tries == ["a"], "only conflicts are tried again, and nothing was committed"
    assert await notes.list(ADA) == []
    assert await entries(world) == []
    assert await notes.note(ADA, "a", once=once)


async def test_when_the_audit_entry_cannot_be_written_nothing_happens(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes, once = Notes.on(world), IdempotentRequest("k", "body")

    def unwritable(*_: object) -> Any:
        raise RuntimeError("the audit log is away")

    async with world.feed.listen(TOPIC) as waiter:
        with monkeypatch.context() as patch:
            patch.setattr("foliot.commands.audit_sql.entry_columns", unwritable)
            with pytest.raises(RuntimeError, match="away"):
                await notes.note(ADA, "a", once=once)
        assert not await waiter.wait(0)

    assert await notes.list(ADA) == []
    assert await notes.note(ADA, "a", once=once), "the key was rolled back too"


async def test_a_command_that_begins_no_transaction_keeps_no_key(world: World) -> None:
    notes, once = Notes.on(world), IdempotentRequest("k", "body")

    assert await notes.look_first(ADA, once) == ""
    assert await notes.look_first(ADA, once=once) == ""


async def test_a_command_has_one_transaction(world: World) -> None:
    with pytest.raises(RuntimeError, match="one transaction"):
        await Notes.on(world).twice(ADA)


async def test_limits_are_read_before_the_transaction(world: World) -> None:
    """On SQLite in one file they could not be read inside: the one writer would wait for itself."""

    async def counted(ctx: CommandContext) -> int | None:
        await ctx.begin(world.cases[Limiter])
        return ctx.limits.schedules

    async def uncounted(ctx: CommandContext) -> None:
        await ctx.begin()
        assert ctx.limits.schedules is None

    assert await CommandContext(world, ADA).perform(counted) is None
    with pytest.raises(AttributeError):
        await CommandContext(world, ADA).perform(uncounted)


async def test_a_change_inside_a_larger_one_wakes_readers_itself(world: World) -> None:
    schedule = await world.schedule(EVERY_MINUTE)

    async def pause(ctx: CommandContext) -> None:
        await ctx.begin()
        await world.cases[Schedules].pause_one(ctx, schedule.id)

    async with world.feed.listen("schedules") as waiter:
        await CommandContext(world, ADA).perform(pause)
        assert await waiter.wait(0)


def test_a_use_case_states_its_permissions() -> None:
    assert permission_of(Notes.note) == (Verb.WRITE, Thing.DEAD_LETTER)
    assert permissions_of(Notes.list) == ((Verb.READ, Thing.DEAD_LETTER), (Verb.READ, Thing.RUN))
    assert permission_of(Notes.name) == (Verb.READ, Thing.DEAD_LETTER)
    for silent in (Notes.sign_out, Notes.on, print):
        with pytest.raises(TypeError, match="states no permission"):
            permission_of(cast("Callable[..., object]", silent))
