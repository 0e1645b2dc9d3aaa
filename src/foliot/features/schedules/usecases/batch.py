"""Creates up to 10,000 schedules by one request: all or none, or each with its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import orjson
import structlog

from foliot.commands.envelope import CommandContext, requires, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import FoliotError, Invalid, InvalidMany, TooMany
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database
from foliot.engine.model.restrictions import CalendarBook
from foliot.engine.sql import tenant_limits
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import asleep, put_back, under
from foliot.features.schedules.model.request import ScheduleBatchRequest
from foliot.features.schedules.usecases.batch_parents import LinkedBatch, link
from foliot.features.schedules.usecases.calendars import calendars_of
from foliot.features.schedules.usecases.check_target import names_source, objection
from foliot.features.schedules.usecases.create import ScheduleOwner, UnsavedSchedule
from foliot.features.schedules.usecases.parents import follows_others
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed

log = structlog.get_logger("foliot.schedules")

CHUNK = 1000
"""Rows of one statement, and of one transaction where each schedule has its own answer."""
MOST_ERRORS = 1000
"""Errors that a refusal of the whole batch names."""
MOST_TARGETS = 100
"""Different actions whose targets are asked before they are stored; further ones are stored unseen."""
AT_ONCE = 8
"""Targets that are asked at the same time."""


class BatchOutcome(StrEnum):
    """What became of one schedule of a batch."""

    CREATED = "created"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class BatchItem:
    """The answer to one schedule of a batch."""

    name: str | None
    outcome: BatchOutcome
    id: str | None = None
    error: Invalid | None = None


Read = UnsavedSchedule | Invalid
"""A schedule of the batch that can be written, or why it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleBatches:
    """Creates many schedules by set-based statements."""

    schedules: Schedules

    @property
    def store(self) -> Database:
        return self.schedules.store

    @property
    def clock(self) -> Clock:
        return self.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.schedules.feed

    @property
    def limiter(self) -> Limiter:
        return self.schedules.limiter

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def create(self, caller: Caller, raw: object, once: IdempotentRequest = EACH_TIME) -> Sequence[BatchItem]:
        """`atomic` (the default): one fault refuses all. Otherwise each schedule has its own answer.

        Without an idempotency key the latter writes a transaction for each thousand; a key has one transaction, for
        its row is committed together with the effect.
        """
        asked = read(ScheduleBatchRequest, raw)
        wanted, atomic = asked.schedules, asked.atomic
        sources = await self._sources(caller, wanted)
        refused = await self.refusals(caller, wanted)
        batch = LinkedBatch(wanted, {}, {}, {})
        if any(follows_others(raw) for raw in wanted):
            async with self.store.read(caller.tenant_id) as tx:
                batch = await link(tx, caller.tenant_id, wanted, self.schedules.new_id)
        calendars = await calendars_of(self.store, caller.tenant_id, *wanted)
        drafts = await REQUESTS.run(self._read_all, caller, batch, (sources, refused), calendars)
        if atomic:
            _refuse_all(drafts)
        size = len(wanted) if atomic or once.key is not None else CHUNK
        answers: list[BatchItem] = []
        for start in range(0, len(wanted), size):
            part = slice(start, start + size)
            answers += await self._part(caller, (wanted[part], drafts[part]), once, atomic=atomic)
        return answers

    async def _part(
        self, caller: Caller, part: tuple[Sequence[object], Sequence[Read]], once: IdempotentRequest, *, atomic: bool
    ) -> Sequence[BatchItem]:
        try:
            return await self._write(caller, part, once, atomic=atomic)
        except TooMany as over:
            if atomic:
                raise
            wanted, read = part
            full = Invalid("", str(over))
            return [
                _refused(raw, one if isinstance(one, Invalid) else full) for raw, one in zip(wanted, read, strict=True)
            ]

    @unchecked_command
    async def _write(
        self,
        ctx: CommandContext,
        part: tuple[Sequence[object], Sequence[Read]],
        once: IdempotentRequest,
        *,
        atomic: bool,
    ) -> Sequence[BatchItem]:
        tx = await ctx.begin(self.limiter)
        drafts = [one for one in part[1] if isinstance(one, UnsavedSchedule)]
        if not atomic:
            room = await self.limiter.room(tx, ctx.tenant_id, ctx.limits)
            drafts = drafts[:room]
        size = 0
        for start in range(0, len(drafts), CHUNK):
            chunk = drafts[start : start + CHUNK]
            ctx.audit(*(change for draft in chunk for change in draft.changes))
            size += await SqlSchedules(tx).add_sealed([draft.schedule for draft in chunk], *ctx.take_audit())
        await tenant_limits.add(tx.conn, tx.dialect, ctx.tenant_id, size)
        if atomic:
            await self.limiter.schedule(tx, ctx.caller, ctx.limits)
        await self.limiter.stored(tx, ctx.caller, ctx.limits)
        if drafts:
            ctx.wake(SCHEDULES_TOPIC)
        return self._answers(ctx, part, {draft.schedule.id for draft in drafts})

    def _answers(
        self, ctx: CommandContext, part: tuple[Sequence[object], Sequence[Read]], created: set[str]
    ) -> list[BatchItem]:
        answers = []
        for raw, one in zip(*part, strict=True):
            if isinstance(one, Invalid):
                answers.append(_refused(raw, one))
            elif one.schedule.id not in created:
                answers.append(_refused(raw, Invalid("", str(self.limiter.no_schedule_left(ctx.limits)))))
            else:
                answers.append(BatchItem(one.schedule.name, BatchOutcome.CREATED, one.schedule.id))
        return answers

    def _read_all(
        self,
        caller: Caller,
        batch: LinkedBatch,
        known: tuple[Mapping[str, Mapping[str, Any]], Mapping[bytes, Invalid]],
        calendars: CalendarBook,
    ) -> list[Read]:
        sources, refused = known
        creation, sealer = self.schedules.creation, self.store.sealer

        def read(place: int, raw: object) -> Read:
            if place in batch.refused:
                return batch.refused[place]
            try:
                rest, reason = asleep(raw)
                source = sources.get(rest["id"]) if isinstance(rest, Mapping) and names_source(rest) else None
                rest = put_back(rest, *([] if source is None else [source]))
                owner = ScheduleOwner(batch.ids.get(place) or self.schedules.new_id(SCHEDULE), caller.user_id)
                draft = creation.draft(caller, rest, owner, reason, calendars)
                if refused and (objects := refused.get(_action_key(raw))) is not None:
                    return objects
                if sealer is None:
                    return draft
                sealed = sealer.seal(caller.tenant_id, draft.schedule.action)
                return replace(draft, schedule=replace(draft.schedule, action=sealed))
            except Invalid as wrong:
                return wrong
            except FoliotError as impossible:
                return Invalid("action", str(impossible))

        drafts = [read(place, raw) for place, raw in enumerate(batch.documents)]
        lost = batch.with_descendants({place for place, one in enumerate(drafts) if isinstance(one, Invalid)})
        return [lost.get(place, one) for place, one in enumerate(drafts)]

    async def _sources(self, caller: Caller, wanted: Sequence[object]) -> Mapping[str, Mapping[str, Any]]:
        """The actions of the schedules that documents are copies of, whose credentials they keep."""
        ids = sorted({raw["id"] for raw in wanted if isinstance(raw, Mapping) and names_source(raw)})
        if not ids:
            return {}
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlSchedules(tx).actions_by_id(caller.tenant_id, ids)

    async def refusals(self, caller: Caller, wanted: Sequence[object]) -> Mapping[bytes, Invalid]:
        """What targets object to, by action; each different action is asked about once."""
        check = self.schedules.check_for(caller)
        examined = self.schedules.actions
        asked: dict[bytes, object] = {}
        for raw in wanted:
            config = raw.get("action") if isinstance(raw, Mapping) else None
            kind = config.get("kind") if isinstance(config, Mapping) else None
            if isinstance(kind, str) and hasattr(examined.get(kind), "examine"):
                asked.setdefault(_action_key(raw), raw)
        for key in list(asked)[MOST_TARGETS:]:
            log.info("accepted unseen", action="target_not_asked", tenant_id=caller.tenant_id, why="a large batch")
            del asked[key]
        turn = asyncio.Semaphore(AT_ONCE)

        async def ask(raw: object) -> Invalid | None:
            async with turn:
                return await objection(examined, caller, asleep(raw)[0], check)

        answers = await asyncio.gather(*(ask(raw) for raw in asked.values()))
        return {key: answer for key, answer in zip(asked, answers, strict=True) if answer is not None}


def _refuse_all(read: Sequence[Read]) -> None:
    """`InvalidMany` with the place of each fault when there is one: nothing is written then."""
    errors: list[Invalid] = []
    for place, one in enumerate(read):
        if isinstance(one, Invalid):
            named = under(f"schedules[{place}]", one)
            errors += named.errors if isinstance(named, InvalidMany) else [named]
    if errors:
        raise InvalidMany(errors[:MOST_ERRORS])


def _refused(raw: object, why: Invalid) -> BatchItem:
    name = raw.get("name") if isinstance(raw, Mapping) else None
    return BatchItem(name if isinstance(name, str) else None, BatchOutcome.REFUSED, error=why)


def _action_key(raw: object) -> bytes:
    action = raw.get("action") if isinstance(raw, Mapping) else None
    return orjson.dumps(action, option=orjson.OPT_SORT_KEYS)
