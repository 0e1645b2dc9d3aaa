"""Use cases of webhook targets: their recent statistics, and a test request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from annotated_types import MaxLen

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.declaration import Missing, declared, read
from foliot.core.errors import Conflict, Contended, Invalid, NotFound
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.core.secrets import SIGNING
from foliot.db.database import Database, Transaction
from foliot.engine.model.breaker import BREAKERS, OpenBreakerReport
from foliot.engine.model.node import SEEN
from foliot.engine.model.run import MANUAL_QUEUE, Origin
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunRequest, RunView
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.endpoints.model import (
    FAILING_FIRST,
    EndpointSender,
    EndpointSort,
    EndpointStats,
    endpoints,
    in_order,
    tried,
)
from foliot.features.endpoints.sql import SqlEndpoints
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.secrets.sql import SqlSecrets
from foliot.features.webhooks.model import WEBHOOK, address, place
from foliot.wakeups.feed import RUNS_TOPIC, Feed

OVER = timedelta(hours=24)
MOST_RUNS = 2000
"""Runs that one answer reads; of more, the newest."""
MOST = 200
NAMED = 5
"""Schedules listed for each target."""
MOST_CALLERS = 500
"""Schedules searched for one whose settings a test can use; the newest."""
LONGEST_URL = 8192
SETTING = "FOLIOT_WEBHOOK_SECRET"
TARGET_RULE = "must be the address of a target, as in GET /api/endpoints"


@declared
class EndpointTestRequest:
    """The target to test."""

    url: Annotated[str, MaxLen(LONGEST_URL), Missing(TARGET_RULE)]
    """Its address; a query is left out of account."""
    schedule_id: Annotated[str | None, MaxLen(64)] = None
    """Whose settings to use, of those that call it."""


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A secret that is sent in calls, and since when it has its value; None where that is unknown."""

    name: str
    since: datetime | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledEndpoints:
    """Targets that were called, in the requested order."""

    since: datetime
    whole: bool
    """Whether all calls since then were read, or only those of the newest runs."""
    total: int
    items: Sequence[EndpointStats]
    names: Mapping[str, str]
    """Names of schedules, by id."""
    secrets: Mapping[str, Sequence[SecretUse]] | None = None
    """By address: the signing secret first, then those in headers. None: the caller may not see secrets."""
    breakers: Sequence[OpenBreakerReport] = ()
    """Open circuit breakers of whatever the tenant's runs call, longest open first."""

    def breaker(self, url: str) -> OpenBreakerReport | None:
        """The open breaker of this address's host and port."""
        return next((one for one in self.breakers if one.target == place(url)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Targets have no table: they are derived from the calls of recent runs."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    signs_by_setting: bool = False
    """Whether a setting provides the signing secret of tenants without one."""

    @query(Verb.READ, Thing.RUN)
    async def list(self, ctx: QueryContext, order: EndpointSort = FAILING_FIRST) -> CalledEndpoints:
        """The first of all in this order."""
        since = self.clock.now() - OVER
        async with ctx.read() as tx:
            calls, whole = await SqlEndpoints(tx).calls(ctx.tenant_id, since, MOST_RUNS)
            targets = in_order(endpoints(calls), order)
            shown = targets[:MOST]
            ids = sorted({each for one in shown for each in one.schedule_ids[:NAMED]})
            senders = await SqlEndpoints(tx).senders(ctx.tenant_id, ids)
            secrets = await self._secrets(tx, ctx.caller, shown, senders)
        names = {one: sender.name for one, sender in senders.items()}
        return CalledEndpoints(
            since=since,
            whole=whole,
            total=len(targets),
            items=shown,
            names=names,
            secrets=secrets,
            breakers=await self._breakers(ctx),
        )

    async def _breakers(self, ctx: QueryContext) -> Sequence[OpenBreakerReport]:
        """As reported by the processes that execute runs; each has its own breakers."""
        async with ctx.read(across_tenants=True) as tx:
            nodes = await SqlRetention(tx).nodes(self.clock.now() - SEEN)
        breakers: dict[str, OpenBreakerReport] = {}
        for node in nodes:
            reports = node["report"].get(BREAKERS) if isinstance(node["report"], Mapping) else None
            for breaker in map(OpenBreakerReport.from_dict, reports or ()):
                if breaker.tenant_id == ctx.tenant_id:
                    breakers[breaker.target] = (
                        breaker.beside(breakers[breaker.target]) if breaker.target in breakers else breaker
                    )
        return sorted(breakers.values(), key=lambda breaker: (breaker.since, breaker.target))

    @command(Verb.RUN, Thing.SCHEDULE)
    async def test(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> RunView:
        """One request now, marked as a test, with the settings of a schedule that calls this target. Never retried."""
        url, schedule_id = _read(raw)
        tx = await ctx.begin(self.limiter)
        schedule, action = await _caller_of(tx, ctx.caller, url, schedule_id, ctx.now)
        run = RunRequest(
            id=self.new_id(RUN),
            tenant_id=ctx.tenant_id,
            user_id=ctx.caller.user_id,
            kind=WEBHOOK,
            origin=Origin.MANUAL,
            queue=MANUAL_QUEUE,
            priority=schedule.spec.priority,
            max_attempts=1,
            timeout_seconds=schedule.spec.timeout_seconds,
            # No run of the schedule: it must not count in the schedule's health or overlap policy.
            action=action,
        )
        await SqlRuns(tx).add([run], ctx.now)
        became = {"run_id": run.id, "url": url}
        ctx.audit(AuditedChange("test", Thing.SCHEDULE, schedule.id, became=became))
        view = run.made(ctx.now)
        self.limiter.run(ctx.caller, ctx.limits)
        ctx.wake(RUNS_TOPIC)
        return view

    async def _secrets(
        self, tx: Transaction, caller: Caller, shown: Sequence[EndpointStats], senders: Mapping[str, EndpointSender]
    ) -> Mapping[str, Sequence[SecretUse]] | None:
        """By the present settings of the listed schedules."""
        if not may(caller, Verb.READ, Thing.SECRET):
            return None
        known = {
            one.name: SecretUse(one.name, one.created_at, one.version)
            for one in await SqlSecrets(tx).views(caller.tenant_id)
        }
        standing = [SecretUse(SETTING)] if self.signs_by_setting else []
        signing = [known[SIGNING]] if SIGNING in known else standing
        found = {}
        for one in shown:
            using = [senders[each] for each in one.schedule_ids[:NAMED] if each in senders]
            names = {name for each in using if each.url == one.url for name in each.secrets}
            found[one.url] = [*signing, *(known.get(name, SecretUse(name)) for name in sorted(names))]
        return found


def _read(raw: object) -> tuple[str, str | None]:
    asked = read(EndpointTestRequest, raw)
    url = address(asked.url)
    if url is None:
        raise Invalid("url", TARGET_RULE, got=asked.url[:100])
    return url, asked.schedule_id or None


async def _keep_still(tx: Transaction, schedule: Schedule) -> None:
    """Locks the schedule against changes until the run is created; `Contended` when it has just changed."""
    locked = await SqlSchedules(tx).get(schedule.tenant_id, schedule.id, lock=True)
    if locked is None or locked.version != schedule.version:
        raise Contended(
            f"schedule {schedule.id} was changed at the same moment", told="it was changed at the same time"
        )


async def _caller_of(
    tx: Transaction, caller: Caller, url: str, schedule_id: str | None, now: datetime
) -> tuple[Schedule, dict[str, object]]:
    """The schedule whose settings are used, and the test action made of them: an active one is preferred."""
    calls = FilterQuery((FilterTerm("target", (url,)), *([FilterTerm("id", (schedule_id,))] if schedule_id else [])))
    schedules = await SqlSearch(tx).schedules(caller.tenant_id, calls, PageRequest(MOST_CALLERS))
    # A filter matches ids by prefix.
    schedules = [one for one in schedules if schedule_id in {None, one.id}]
    if not schedules:
        # The right to start runs is no right to choose their target.
        raise NotFound("schedule that calls", url)
    for one in sorted(schedules, key=lambda each: each.status is not ScheduleStatus.ACTIVE):
        action = tried(one.action, {"schedule_id": one.id, "schedule": one.name}, now)
        if action is not None and one.fault is None:
            await _keep_still(tx, one)
            return one, action
    methods = sorted({str(one.action.get("method")) for one in schedules})
    raise Conflict(
        f"{url} is only called by {', '.join(methods)}, and a test request with that method could change data there"
    )
