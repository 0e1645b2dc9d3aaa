"""The use case of crawls: starts or schedules a crawl; an equal request within the cache time gets the same job."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.commands.audit import AuditedChange, entry
from foliot.commands.audit_sql import AuditEntry, audit_rows
from foliot.commands.envelope import CommandContext, requires, unchecked_command
from foliot.commands.group_commit import GroupCommit, small
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.errors import Contended, Invalid, TooMany, Unavailable
from foliot.core.ids import RUN, SCHEDULE
from foliot.core.json_values import check_plain
from foliot.core.limits import PAYLOAD, TenantLimits
from foliot.core.ports import Clock
from foliot.core.secrets import kept
from foliot.db.database import Database, Transaction
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import Origin
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.crawls.model import (
    CRAWL,
    CRAWL_QUEUE,
    CrawlSpec,
    KnownJob,
    PendingCrawl,
    fingerprint,
    in_own_words,
    read_crawl,
)
from foliot.features.crawls.sql import SqlCrawls
from foliot.features.schedules.usecases.create import ScheduleOwner
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule
from foliot.wakeups.feed import RUNS_TOPIC, Feed

CACHED_FOR = timedelta(hours=1)
REMEMBERED = 10_000
"""How many recent fingerprints a process remembers, to read their jobs before it writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlAnswer:
    """The job of a request: new, scheduled or cached."""

    job_id: str
    run: RunView | None = None
    """The run of a new crawl."""
    schedule: Schedule | None = None
    """The schedule of a crawl with a trigger."""
    cached_at: datetime | None = None
    """When the first equal request was made; None when this is the first."""


@dataclass(slots=True)
class _EqualRequests:
    """Concurrent requests with one fingerprint."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    count: int = 0
    failed: Unavailable | None = None

    def pass_on(self) -> None:
        """Raises the failure of the request before."""
        if self.failed is not None:
            raise Unavailable(str(self.failed), told=self.failed.told, cause=self.failed.cause)


@dataclass(slots=True)
class RequestTurns:
    """Serialises equal requests of this process in memory, which is cheaper than by row locks.

    When the database is unavailable for one of them, all that wait fail at once, without a try each.
    """

    _lines: dict[tuple[str, str], _EqualRequests] = field(default_factory=dict)
    _lately: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)

    @asynccontextmanager
    async def of(self, tenant_id: str, print_: str) -> AsyncIterator[bool]:
        """Whether there was no equal request in this process lately. A hint: the database decides."""
        line = self._lines.setdefault((tenant_id, print_), _EqualRequests())
        line.count += 1
        try:
            async with line.lock:
                line.pass_on()
                yield (tenant_id, print_) not in self._lately
                self._remember((tenant_id, print_))
        except Contended:
            raise
        except Unavailable as away:
            line.failed = away
            raise
        finally:
            line.count -= 1
            if not line.count:
                del self._lines[tenant_id, print_]

    def _remember(self, asked: tuple[str, str]) -> None:
        self._lately[asked] = None
        self._lately.move_to_end(asked)
        if len(self._lately) > REMEMBERED:
            self._lately.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _ParsedCrawl:
    """A request whose configuration the action has validated."""

    crawl: CrawlSpec
    user_id: str
    config: dict[str, Any]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class _CrawlOrder:
    """A request in a group commit: its caller and the limits of the tenant."""

    caller: Caller
    wanted: _ParsedCrawl
    limits: TenantLimits


@dataclass(frozen=True, slots=True)
class _StartedCrawl:
    """The run and the audit entry of a crawl that starts."""

    run: RunRequest
    told: AuditEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawls:
    """Starts and schedules crawls."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules
    new_id: Callable[[str], str]
    cached_for: timedelta = CACHED_FOR
    turns: RequestTurns = field(default_factory=RequestTurns)
    together: GroupCommit[_CrawlOrder, CrawlAnswer] = field(default_factory=GroupCommit)

    @requires(Verb.RUN, Thing.CRAWL)
    async def request(
        self, caller: Caller, raw: object, once: IdempotentRequest = EACH_TIME, *, ignore_cache: bool = False
    ) -> CrawlAnswer:
        """A new job, or the cached one of an equal request, if it did not fail and was not cancelled.

        A caller that may start crawls may start them for another user: users of a tenant see each other's jobs
        anyway, and the audit log names the caller.
        """
        crawl = read_crawl(raw, ignore_cache=ignore_cache)
        if crawl.trigger is not None:
            require(caller, Verb.WRITE, Thing.SCHEDULE)
        wanted = self._read(caller, crawl)
        async with self.turns.of(caller.tenant_id, wanted.fingerprint) as new:
            if once.key is None and not crawl.ignore_cache:
                made = await self._begin(caller, wanted) if new and crawl.trigger is None else None
                made = made or await self._known(caller, wanted)
                if made is not None:
                    return made
            return await self._ask(caller, wanted, once)

    def _read(self, caller: Caller, crawl: CrawlSpec) -> _ParsedCrawl:
        check_plain("body", crawl.config)
        config = self.schedules.check_for(caller)(CRAWL, kept("", crawl.config))
        user_id = crawl.user_id or caller.user_id
        trigger = crawl.trigger
        if trigger is not None:
            check_plain("interval" if "run_at" not in trigger else "schedule_at", trigger)
        return _ParsedCrawl(crawl, user_id, config, fingerprint(user_id, config, trigger))

    async def _known(self, caller: Caller, wanted: _ParsedCrawl) -> CrawlAnswer | None:
        """The job of an equal request, read without a lock: most repeated requests need no more."""
        async with self.store.read(caller.tenant_id) as tx:
            known = await SqlCrawls(tx).known(caller.tenant_id, wanted.fingerprint, self.clock.now())
            return None if known is None else await self._cached(tx, caller, known)

    async def _begin(self, caller: Caller, wanted: _ParsedCrawl) -> CrawlAnswer | None:
        """Starts a crawl by group commit with concurrent requests; None when there is an equal request."""
        if not small(wanted.config):
            return None
        asked = _CrawlOrder(caller, wanted, await self.limiter.of(caller.tenant_id))
        if asked.limits.stored_bytes is not None and not small(wanted.config, PAYLOAD):
            return None
        return await self.together.ask(caller.tenant_id, asked, self._begin_all)

    async def _begin_all(
        self, tenant_id: str, group: Sequence[_CrawlOrder]
    ) -> Sequence[CrawlAnswer | Exception | None]:
        """Claims fingerprints before it counts: a request that gets an existing crawl does not count against limits."""
        begun: list[_StartedCrawl] = []
        answers: list[CrawlAnswer | Exception | None] = []
        refused: list[str] = []
        try:
            async with self.store.begin(tenant_id) as tx:
                now = self.clock.now()
                requests = [self._request(tenant_id, asked.wanted, now, RUN) for asked in group]
                claimed = await SqlCrawls(tx).claim(requests)
                for asked, request in zip(group, requests, strict=True):
                    if request.job_id not in claimed:
                        answers.append(None)
                        continue
                    try:
                        self.limiter.run(asked.caller, asked.limits)
                    except TooMany as over:
                        answers.append(over)
                        refused.append(request.fingerprint)
                        continue
                    begun.append(_begun(asked.caller, asked.wanted, request))
                    answers.append(CrawlAnswer(job_id=request.job_id, run=begun[-1].run.made(now)))
                if refused:
                    await SqlCrawls(tx).unclaim(tenant_id, refused)
                if begun:
                    await SqlRuns(tx).add([one.run for one in begun], now, audit_rows([one.told for one in begun]))
        except BaseException:
            self.limiter.undo_run(tenant_id, len(begun))
            raise
        if begun:
            self.feed.wake(RUNS_TOPIC)
        return answers

    def _request(self, tenant_id: str, wanted: _ParsedCrawl, now: datetime, prefix: str) -> PendingCrawl:
        return PendingCrawl(
            tenant_id=tenant_id,
            fingerprint=wanted.fingerprint,
            job_id=self.new_id(prefix),
            now=now,
            expires_at=now + self.cached_for,
        )

    @unchecked_command
    async def _ask(self, ctx: CommandContext, wanted: _ParsedCrawl, once: IdempotentRequest) -> CrawlAnswer:
        tx = await ctx.begin(self.limiter)
        planned = wanted.crawl.trigger is not None
        request = self._request(ctx.tenant_id, wanted, ctx.now, SCHEDULE if planned else RUN)
        job_id = request.job_id
        known = await SqlCrawls(tx).settle(request, anew=wanted.crawl.ignore_cache)
        if known.job_id != job_id:
            return await self._cached(tx, ctx.caller, known)
        if planned:
            return CrawlAnswer(job_id=job_id, schedule=await self._plan(ctx, wanted, job_id))
        return CrawlAnswer(job_id=job_id, run=await self._start(ctx, wanted, request))

    async def _cached(self, tx: Transaction, caller: Caller, known: KnownJob) -> CrawlAnswer:
        scheduled = known.job_id.startswith(f"{SCHEDULE}_")
        schedule = await find_schedule(tx, caller, known.job_id) if scheduled else None
        return CrawlAnswer(job_id=known.job_id, schedule=schedule, cached_at=known.since)

    async def _start(self, ctx: CommandContext, wanted: _ParsedCrawl, request: PendingCrawl) -> RunView:
        self.limiter.run(ctx.caller, ctx.limits)
        begun = _begun(ctx.caller, wanted, request)
        await SqlRuns(ctx.tx).add([begun.run], request.now, audit_rows([begun.told]))
        await self.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        ctx.wake(RUNS_TOPIC)
        return begun.run.made(request.now)

    async def _plan(self, ctx: CommandContext, wanted: _ParsedCrawl, schedule_id: str) -> Schedule:
        draft = {
            **(wanted.crawl.trigger or {}),
            "name": f"crawl-{schedule_id}",
            "tags": [CRAWL],
            "action": {"kind": CRAWL, **_performed(wanted)},
            "queue": CRAWL_QUEUE,
            "priority": wanted.crawl.priority,
        }
        try:
            return await self.schedules.add(ctx, draft, ScheduleOwner(schedule_id, wanted.user_id))
        except Invalid as error:
            raise in_own_words(error) from None


def _begun(caller: Caller, wanted: _ParsedCrawl, request: PendingCrawl) -> _StartedCrawl:
    action = _performed(wanted)
    run = RunRequest(
        id=request.job_id,
        tenant_id=caller.tenant_id,
        user_id=wanted.user_id,
        kind=CRAWL,
        origin=Origin.MANUAL,
        queue=CRAWL_QUEUE,
        priority=wanted.crawl.priority,
        max_attempts=RetryPolicy().max_attempts,
        timeout_seconds=None,
        action=action,
    )
    became = {"user_id": wanted.user_id, "action": {"kind": CRAWL, **action}}
    return _StartedCrawl(run, entry(caller, request.now, AuditedChange("create", Thing.CRAWL, run.id, became=became)))


def _performed(wanted: _ParsedCrawl) -> dict[str, Any]:
    """The configuration of the action; with `ignore_cache`, the spider is told not to use its own cache."""
    if not wanted.crawl.ignore_cache:
        return wanted.config
    return {**wanted.config, "params": {**(wanted.config.get("params") or {}), "ignore_cache": True}}
