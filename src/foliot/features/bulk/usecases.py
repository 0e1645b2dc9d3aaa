"""Use cases of bulk actions, and one operation on one item. `BulkRunner` carries them out."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from foliot.commands.audit import AuditedChange, masked
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Interface, Role, Thing, Verb, require
from foliot.core.errors import Conflict, Invalid, NotFound
from foliot.core.failure_fingerprint import host_in
from foliot.core.mask import shown
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.bulk.model import (
    BULK,
    BULKS_TOPIC,
    MOST_ITEMS,
    OVER,
    Bulk,
    BulkOperation,
    BulkState,
    NewBulkAction,
    bulk_topic,
    read_request,
)
from foliot.features.bulk.sql import SqlBulks
from foliot.features.dead_letters.model import MOST_REPLAYS
from foliot.features.dead_letters.usecases import DeadLetters, ReplayEstimate, discard, may_send, rehearse
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.filters.usecases import Search, hosts_of
from foliot.features.runs.usecases.replay import ReplayOptions
from foliot.features.runs.usecases.runs import Runs, cancel_run
from foliot.features.schedules.model.document import CheckFor
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule
from foliot.wakeups.feed import Feed

SAMPLE = 5
LOOKED_AT = 500
"""Matches that a dry run inspects for anything besides their number."""
MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class BulkEstimate:
    """What a bulk action would do now."""

    count: int
    sample: Sequence[RunView | Schedule]
    hosts: Sequence[str]
    """Hosts to which something would be sent."""
    warnings: Sequence[str]
    rehearsal: ReplayEstimate | None = None
    """For a replay."""


@dataclass(frozen=True, slots=True)
class BulkView:
    """A bulk action with the outcomes so far."""

    bulk: Bulk
    failures: Sequence[tuple[str, str]] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulks:
    """Needs the permission for the operation on a single thing, and the one to create bulk actions."""

    store: Database
    clock: Clock
    feed: Feed
    searching: Search
    new_id: Callable[[str], str]
    check_for: CheckFor
    """The tenant's validation of an action's configuration."""

    @command(Verb.WRITE, Thing.BULK)
    async def create(
        self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> BulkView | BulkEstimate:
        """Fix what is to be acted on; with `dry_run`, only report what that would be."""
        request = read_request(raw)
        require(ctx.caller, *request.action.needs)
        may_send(ctx.caller, ReplayOptions.of(request.details or {}))
        query = self._query(request)
        if request.dry_run:
            async with ctx.read() as tx:
                return await self._try(tx, ctx.caller, request, query)
        await ctx.begin()
        return BulkView(await self._make(ctx, request, query))

    @query(Verb.READ, Thing.BULK)
    async def list(self, ctx: QueryContext, page: PageRequest) -> Sequence[BulkView]:
        """Newest first."""
        async with ctx.read() as tx:
            return await _views(tx, await SqlBulks(tx).find(ctx.tenant_id, page))

    @query(Verb.READ, Thing.BULK)
    async def get(self, ctx: QueryContext, bulk_id: str) -> BulkView:
        async with ctx.read() as tx:
            return (await _views(tx, [await _find(tx, ctx.caller, bulk_id)]))[0]

    @command(Verb.WRITE, Thing.BULK)
    async def pause(self, ctx: CommandContext, bulk_id: str, once: IdempotentRequest = EACH_TIME) -> BulkView:
        """No item is acted on after this, until it is resumed."""
        return await self._turn(ctx, bulk_id, BulkState.PAUSED)

    @command(Verb.WRITE, Thing.BULK)
    async def resume(self, ctx: CommandContext, bulk_id: str, once: IdempotentRequest = EACH_TIME) -> BulkView:
        """Continues where it was paused."""
        return await self._turn(ctx, bulk_id, BulkState.RUNNING)

    @command(Verb.WRITE, Thing.BULK)
    async def stop(self, ctx: CommandContext, bulk_id: str, once: IdempotentRequest = EACH_TIME) -> BulkView:
        """Final: what was done stays done, the rest is left alone."""
        return await self._turn(ctx, bulk_id, BulkState.STOPPED)

    async def _turn(self, ctx: CommandContext, bulk_id: str, state: BulkState) -> BulkView:
        tx = await ctx.begin()
        bulk = await _find(tx, ctx.caller, bulk_id, lock=True)
        require(ctx.caller, *bulk.act.needs)
        if state is BulkState.RUNNING:
            may_send(ctx.caller, bulk.terms)
        if bulk.state in OVER and bulk.state is not state:
            raise Conflict(f"bulk action {bulk_id} has already ended: {bulk.state.value}")
        if bulk.state is not state:
            said = "" if state is BulkState.RUNNING else f"{state.value} by {ctx.caller.user_id}"
            await SqlBulks(tx).turn(bulk_id, state, said, ctx.now)
            was, became = {"state": bulk.state.value}, {"state": state.value}
            ctx.audit(AuditedChange(_VERBS[state], Thing.BULK, bulk_id, was, became))
        (view,) = await _views(tx, [await _find(tx, ctx.caller, bulk_id)])
        ctx.wake(BULKS_TOPIC, bulk_topic(bulk_id))
        return view

    def _query(self, request: NewBulkAction) -> FilterQuery:
        """The filter, restricted to things the operation can be applied to."""
        if request.filter is None:
            return FilterQuery()
        reads = self.searching.read_runs if request.action.thing is Thing.RUN else self.searching.read_schedules
        return reads(request.filter, field="filter").also(*request.action.narrows)

    async def _make(self, ctx: CommandContext, request: NewBulkAction, query: FilterQuery) -> Bulk:
        tx, caller, now = ctx.tx, ctx.caller, ctx.now
        count = await self._count(tx, caller, request, query)
        _expected(request, count)
        bulk = begun(
            self.new_id(BULK), caller, now, count,
            act=request.action, filter=request.filter, ids_given=len(request.ids or ()), order=request.order,
            rate=request.rate, stop_after=request.stop_after, details=request.details,
        )  # fmt: skip
        fixed = await self._fix(tx, bulk, request, query)
        # More may match than when they were counted.
        _expected(request, fixed)
        bulk = replace(bulk, total=fixed)
        await SqlBulks(tx).add(bulk, now)
        became = {"action": bulk.act.value, "filter": bulk.filter, "total": bulk.total, "rate": bulk.rate}
        became |= shown_details(bulk)
        ctx.audit(AuditedChange("create", Thing.BULK, bulk.id, became=became))
        ctx.wake(BULKS_TOPIC)
        return bulk

    async def _count(self, tx: Transaction, caller: Caller, request: NewBulkAction, query: FilterQuery) -> int:
        """How many it would act on; ids must all be the caller's."""
        if request.filter is None:
            return len(await self._named(tx, caller, request))
        if request.action.thing is Thing.RUN:
            count = sum((await SqlSearch(tx).count(caller.tenant_id, query, self.clock.now())).values())
        else:
            count = await SqlSearch(tx).count_schedules(caller.tenant_id, query)
        if count > MOST_ITEMS:
            raise Invalid("filter", f"matches {count}; one bulk action takes at most {MOST_ITEMS}: narrow it")
        return count

    async def _fix(self, tx: Transaction, bulk: Bulk, request: NewBulkAction, query: FilterQuery) -> int:
        if bulk.total == 0:
            return 0
        if request.filter is None:
            return await SqlBulks(tx).fix_ids(bulk, (request.ids or ()))
        if request.action.thing is Thing.RUN:
            return await SqlBulks(tx).fix_runs(bulk, query, self.clock.now())
        return await SqlBulks(tx).fix_schedules(bulk, query)

    async def _named(self, tx: Transaction, caller: Caller, request: NewBulkAction) -> Sequence[RunView | Schedule]:
        found: builtins.list[RunView | Schedule] = []
        if request.action.thing is Thing.RUN:
            found += await SqlRuns(tx).several(caller.tenant_id, (request.ids or ()))
        else:
            found += await SqlSearch(tx).several_schedules(caller.tenant_id, (request.ids or ()))
        there = {one.id for one in found}
        for one in request.ids or ():
            if one not in there:
                raise NotFound(request.action.thing.value, one)
        return found

    async def _try(self, tx: Transaction, caller: Caller, request: NewBulkAction, query: FilterQuery) -> BulkEstimate:
        now, tenant_id = self.clock.now(), caller.tenant_id
        count = await self._count(tx, caller, request, query)
        if request.filter is None:
            looked: Sequence[RunView | Schedule] = (await self._named(tx, caller, request))[:LOOKED_AT]
        elif request.action.thing is Thing.RUN:
            looked = await SqlSearch(tx).runs(tenant_id, query, PageRequest(LOOKED_AT), now)
        else:
            looked = await SqlSearch(tx).schedules(tenant_id, query, PageRequest(LOOKED_AT))
        if request.action is BulkOperation.REPLAY:
            letters = [one for one in looked if isinstance(one, RunView)]
            rehearsal = await rehearse(tx, letters, ReplayOptions.of(request.details or {}), self.check_for(caller))
            warnings = await self._warnings(tx, caller, request, query, rehearsal)
            return BulkEstimate(count, looked[:SAMPLE], list(rehearsal.hosts), warnings, rehearsal)
        hosts = await _hosts(tx, tenant_id, looked) if request.action in _SENDS else []
        return BulkEstimate(count, looked[:SAMPLE], hosts, ())

    async def _warnings(
        self,
        tx: Transaction,
        caller: Caller,
        request: NewBulkAction,
        query: FilterQuery,
        rehearsal: ReplayEstimate,
    ) -> Sequence[str]:
        """Warnings about a replay."""
        found = []
        often = sum(count >= MOST_REPLAYS for count in rehearsal.replays.values())
        if often:
            first = rehearsal.looked_at
            found.append(f"{often} of the first {first} were replayed {MOST_REPLAYS} times and will be refused")
        found += [f"{number} as they were: {why}" for why, number in rehearsal.stay.items()]
        if request.filter is not None:
            every = FilterQuery(tuple(term for term in query.terms if term.key != "replaying"))
            counted = await SqlSearch(tx).count(caller.tenant_id, every, self.clock.now())
            waits = sum(counted.values()) - await self._count(tx, caller, request, query)
            if waits:
                found.append(f"{waits} more have a replay that has not ended; they are skipped")
        return found


_VERBS = {
    BulkState.PAUSED: "pause",
    BulkState.RUNNING: "resume",
    BulkState.STOPPED: "stop",
    BulkState.FINISHED: "finish",
}
_SENDS = frozenset({BulkOperation.RETRY, BulkOperation.REPLAY, BulkOperation.RUN})


def shown_details(bulk: Bulk) -> dict[str, Any]:
    """Further parameters of its operation for display: of headers, only the names."""
    details = dict(bulk.details or {})
    if "patch" in details:
        details["patch"] = masked({"action": shown(details["patch"])})["action"]
    return details


def _expected(request: NewBulkAction, count: int) -> None:
    if request.expect is not None and request.expect != count:
        raise Conflict(f"{count} match now, not {request.expect}: check again before you {request.action.value} them")


async def _find(tx: Transaction, caller: Caller, bulk_id: str, *, lock: bool = False) -> Bulk:
    bulk = await SqlBulks(tx).get(caller.tenant_id, bulk_id, lock=lock)
    if bulk is None:
        raise NotFound("bulk action", bulk_id)
    return bulk


async def _views(tx: Transaction, bulks: Sequence[Bulk]) -> list[BulkView]:
    ids = [bulk.id for bulk in bulks]
    failures = await SqlBulks(tx).failures([bulk.id for bulk in bulks if bulk.failed], MOST_FAILURES)
    outcomes = await SqlBulks(tx).outcomes(ids) if ids else {}
    return [BulkView(bulk, failures.get(bulk.id, ()), outcomes.get(bulk.id, {})) for bulk in bulks]


async def _hosts(tx: Transaction, tenant_id: str, looked: Sequence[RunView | Schedule]) -> list[str]:
    """Hosts of the targets, as far as errors and actions name them."""
    runs = [one for one in looked if isinstance(one, RunView)]
    found = list((await hosts_of(tx, tenant_id, runs)).values())
    named = [host_in(str(one.action.get("url", ""))) for one in looked if isinstance(one, Schedule)]
    return list(dict.fromkeys([*found, *filter(None, named)]))


def begun(bulk_id: str, caller: Caller, now: datetime, count: int, **how: Any) -> Bulk:
    """A new bulk action of this caller over this many things; with none, it has finished already."""
    return Bulk(
        id=bulk_id,
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        key_id=caller.key_id,
        door=caller.interface.value,
        state=BulkState.RUNNING if count else BulkState.FINISHED,
        total=count,
        ok=0,
        failed=0,
        reason="",
        created_at=now,
        updated_at=now,
        finished_at=None if count else now,
        **how,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkItemActions:
    """Acts in the name of the user who created the bulk action, whose permission was checked then."""

    runs: Runs
    dead_letters: DeadLetters
    schedules: Schedules
    fill: Callable[[CommandContext, Bulk, str], Awaitable[str | None]]
    """Backfills one instant."""
    limiter: Limiter

    def take(self, bulk: Bulk) -> BulkItemAction:
        caller = Caller(bulk.tenant_id, bulk.user_id, Role.OPERATOR, Interface(bulk.door), key_id=bulk.key_id)
        return BulkItemAction(self, bulk, caller)


@dataclass(frozen=True, slots=True)
class BulkItemAction:
    """The operation of one bulk action."""

    actions: BulkItemActions
    bulk: Bulk
    caller: Caller

    @property
    def limiter(self) -> Limiter:
        return self.actions.limiter

    async def do(self, ctx: CommandContext, thing_id: str) -> str | None:
        match self.bulk.act:
            case BulkOperation.CANCEL:
                await cancel_run(ctx, thing_id)
                return None
            case BulkOperation.RETRY:
                return (await self.actions.runs.retry_run(ctx, thing_id)).id
            case BulkOperation.REPLAY:
                (run,) = await self.actions.dead_letters.send(ctx, [thing_id], self.bulk.terms)
                return run.id
            case BulkOperation.DISCARD:
                await discard(ctx, thing_id)
                return None
            case BulkOperation.BACKFILL:
                return await self.actions.fill(ctx, self.bulk, thing_id)
            case BulkOperation.REEXTRACT:
                raise NotImplementedError("the page extractor carries this out")
            case (
                BulkOperation.PAUSE
                | BulkOperation.RESUME
                | BulkOperation.RUN
                | BulkOperation.TAG
                | BulkOperation.DELETE
            ):
                return await self._schedule(ctx, thing_id)

    async def _schedule(self, ctx: CommandContext, schedule_id: str) -> str | None:
        schedules = self.actions.schedules
        match self.bulk.act:
            case BulkOperation.PAUSE:
                await schedules.pause_one(ctx, schedule_id, f"paused by bulk action {self.bulk.id}")
            case BulkOperation.RESUME:
                await schedules.resume_one(ctx, schedule_id)
            case BulkOperation.RUN:
                return (await schedules.run_one(ctx, schedule_id)).id
            case BulkOperation.TAG:
                details = self.bulk.details or {}
                await schedules.tag_one(ctx, schedule_id, details.get("add_tags", ()), details.get("remove_tags", ()))
            case _:
                schedule = await find_schedule(ctx.tx, self.caller, schedule_id, lock=True)
                if schedule.status is not ScheduleStatus.DELETED:
                    await schedules.remove(ctx, schedule)
        return None
