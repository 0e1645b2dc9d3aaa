"""Use cases of monitors: create, change, pause and delete them, receive their pings, and list those."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Interface, Role, Thing, Verb, may
from foliot.core.errors import Conflict, NotFound, TooMany
from foliot.core.limits import TokenBucket
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database, Transaction
from foliot.engine.model.views import PageRequest
from foliot.features.alerts.judge import judge, resolve
from foliot.features.alerts.model.alert import ALERTS_TOPIC
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.monitors.model import (
    MONITOR,
    MONITORS_TOPIC,
    MOST_MONITORS,
    PING,
    PINGS_PER_MINUTE,
    JobMonitor,
    MonitorStatus,
    Ping,
    PingExpectation,
    PingKind,
    Signal,
    finding_of,
    read_monitor,
    received,
)
from foliot.features.monitors.sql import SqlMonitors, SqlPings
from foliot.wakeups.feed import Feed

PURPOSE = "monitor-ping"
"""Purpose of the keyed digest that is a monitor's ping key."""
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
PLANNED = 5
"""Expected times to come that are listed."""
BUCKETS = 10_000
"""Ping keys whose rate a process remembers; the least recently used is forgotten first."""
TRIM_EVERY = 10


@dataclass(frozen=True, slots=True)
class MonitorView:
    """A monitor, with its ping key for callers who may change it."""

    monitor: JobMonitor
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitors:
    """Create, change, pause and delete monitors.

    A ping key is derived from the monitor's id with the master key, so it can be shown again and is not stored; a
    request is matched by the key's SHA-256, which no change of the master key invalidates.
    """

    store: Database
    clock: Clock
    feed: Feed
    vault: Vault | None
    new_id: Callable[[str], str]
    default_zone: str = "UTC"

    @command(Verb.WRITE, Thing.MONITOR)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> MonitorView:
        if self.vault is None:
            raise Conflict("this server has no master key to derive ping keys from: set FOLIOT_SECRET_KEY")
        monitor_id, now = self.new_id(MONITOR), self.clock.now()
        settings = read_monitor(raw, monitor_id, now, self.default_zone)
        tx = await ctx.begin()
        if await SqlMonitors(tx).count(ctx.tenant_id) >= MOST_MONITORS:
            raise TooMany(f"a tenant has at most {MOST_MONITORS} monitors")
        await _refuse_taken(tx, ctx.tenant_id, settings.name)
        monitor = JobMonitor(
            id=monitor_id,
            tenant_id=ctx.tenant_id,
            settings=settings,
            status=MonitorStatus.NEW,
            key_of=self.vault.current,
            created_by=ctx.caller.user_id,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
        view = self._view(ctx.caller, monitor)
        await SqlMonitors(tx).add(monitor, digest_of(view.key or ""))
        ctx.audit(AuditedChange("create", Thing.MONITOR, monitor.id, became=settings.as_dict()))
        ctx.wake(MONITORS_TOPIC)
        return view

    @query(Verb.READ, Thing.MONITOR)
    async def list(self, ctx: QueryContext) -> Sequence[MonitorView]:
        """In order of name."""
        async with ctx.read() as tx:
            found = await SqlMonitors(tx).of_tenant(ctx.tenant_id)
        return [self._view(ctx.caller, monitor) for monitor in found]

    @query(Verb.READ, Thing.MONITOR)
    async def get(self, ctx: QueryContext, monitor_id: str) -> MonitorView:
        async with ctx.read() as tx:
            return self._view(ctx.caller, await _find(tx, ctx.tenant_id, monitor_id))

    @command(Verb.WRITE, Thing.MONITOR)
    async def change(self, ctx: CommandContext, monitor_id: str, raw: object) -> MonitorView:
        """A merge patch. The next ping is expected as if it had always been so."""
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, monitor_id, lock=True)
        settings = read_monitor(raw, monitor_id, ctx.now, self.default_zone, known.settings)
        if settings.name != known.settings.name:
            await _refuse_taken(tx, ctx.tenant_id, settings.name)
        monitor = replace(known, settings=settings, updated_at=ctx.now)
        if known.status is MonitorStatus.UP and known.started_at is None and known.last_ping_at is not None:
            monitor = monitor.waiting_from(known.last_ping_at)
        await SqlMonitors(tx).change(monitor)
        was, became = known.settings.as_dict(), settings.as_dict()
        ctx.audit(AuditedChange("change", Thing.MONITOR, monitor_id, was, became))
        ctx.wake(MONITORS_TOPIC)
        return self._view(ctx.caller, monitor)

    @command(Verb.WRITE, Thing.MONITOR)
    async def pause(self, ctx: CommandContext, monitor_id: str, once: IdempotentRequest = EACH_TIME) -> MonitorView:
        """Pings are counted and change nothing; what is open about it is resolved."""
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, monitor_id, lock=True)
        if known.status is MonitorStatus.PAUSED:
            return self._view(ctx.caller, known)
        silent: dict[str, Any] = {
            "started_at": None,
            "next_expected_at": None,
            "alert_at": None,
            "alert_as": None,
            "gap_first": None,
        }
        monitor = replace(known, status=MonitorStatus.PAUSED, updated_at=ctx.now, **silent)
        await SqlMonitors(tx).change(monitor)
        await _end_alerts(ctx, monitor_id)
        ctx.audit(AuditedChange("pause", Thing.MONITOR, monitor_id, {"status": known.status.value}))
        ctx.wake(MONITORS_TOPIC)
        return self._view(ctx.caller, monitor)

    @command(Verb.WRITE, Thing.MONITOR)
    async def resume(self, ctx: CommandContext, monitor_id: str, once: IdempotentRequest = EACH_TIME) -> MonitorView:
        """Expect pings again, the next one as if the last had come now."""
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, monitor_id, lock=True)
        if known.status is not MonitorStatus.PAUSED:
            return self._view(ctx.caller, known)
        monitor = replace(known, status=MonitorStatus.NEW, updated_at=ctx.now)
        if known.last_ping_at is not None:
            monitor = replace(monitor, status=MonitorStatus.UP).waiting_from(ctx.now)
        await SqlMonitors(tx).change(monitor)
        ctx.audit(AuditedChange("resume", Thing.MONITOR, monitor_id, {"status": known.status.value}))
        ctx.wake(MONITORS_TOPIC)
        return self._view(ctx.caller, monitor)

    @command(Verb.WRITE, Thing.MONITOR)
    async def delete(self, ctx: CommandContext, monitor_id: str) -> None:
        """With its pings; its ping address is unknown from now on."""
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, monitor_id, lock=True)
        await _end_alerts(ctx, monitor_id)
        await SqlMonitors(tx).delete(monitor_id)
        ctx.audit(AuditedChange("delete", Thing.MONITOR, monitor_id, known.settings.as_dict()))
        ctx.wake(MONITORS_TOPIC)

    @query(Verb.READ, Thing.MONITOR)
    async def pings(self, ctx: QueryContext, monitor_id: str, page: PageRequest) -> Sequence[Ping]:
        """Newest first, each with the beginning of its body."""
        async with ctx.read() as tx:
            await _find(tx, ctx.tenant_id, monitor_id)
            return await SqlPings(tx).find(ctx.tenant_id, monitor_id, page)

    @query(Verb.READ, Thing.MONITOR)
    async def instants(self, ctx: QueryContext, monitor_id: str, limit: int) -> Sequence[PingExpectation]:
        """The newest expected times that have passed, as far as pings are kept, and the next ones, oldest first."""
        now = self.clock.now()
        async with ctx.read() as tx:
            monitor = await _find(tx, ctx.tenant_id, monitor_id)
            answered = await SqlPings(tx).answered(monitor_id, EARLIEST, now)
            entries = await SqlMonitors(tx).missed(ctx.tenant_id, [monitor_id], EARLIEST, now, limit)
        missed = (at for _, entry in entries for at in monitor.settings.newest(entry, limit))
        past = [PingExpectation.of(ping) for ping in answered] + [PingExpectation(at, "missed") for at in missed]
        shown = sorted(past, key=lambda one: one.at)[-limit:]
        following = monitor.next_expected_at
        if following is not None:
            ahead = monitor.settings.planned(following).between(following, LATEST)
            shown += [PingExpectation(at, "planned") for at in islice(ahead, PLANNED)]
        return shown

    @query(Verb.READ, Thing.MONITOR)
    async def ping(self, ctx: QueryContext, monitor_id: str, ping_id: str) -> Ping:
        """One ping, with all that is kept of its body."""
        async with ctx.read() as tx:
            found = await SqlPings(tx).get(ctx.tenant_id, monitor_id, ping_id)
        if found is None:
            raise NotFound("ping", ping_id)
        return found

    def _view(self, caller: Caller, monitor: JobMonitor) -> MonitorView:
        return MonitorView(monitor, self.key_of(monitor) if may(caller, Verb.WRITE, Thing.MONITOR) else None)

    def key_of(self, monitor: JobMonitor) -> str | None:
        """Its ping key; None without the master key that it is derived with."""
        made = None if self.vault is None else dict(self.vault.digests(PURPOSE, monitor.id)).get(monitor.key_of)
        return None if made is None else str(UUID(made[:32]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pings:
    """Receives pings. The key is the credential: 128 bits, limited per minute, and unknown ones answer alike."""

    store: Database
    clock: Clock
    feed: Feed
    new_id: Callable[[str], str]
    _buckets: OrderedDict[str, TokenBucket] = field(default_factory=OrderedDict)

    async def receive(self, key: str, signal: Signal) -> None:
        digest = digest_of(key)
        self._take(digest)
        async with self.store.read() as tx:
            found = await SqlMonitors(tx).by_digest(digest)
        if found is None:
            raise NotFound("monitor", "of this key")
        tenant_id, monitor_id = found
        await self._receive(Caller(tenant_id, "ping", Role.OPERATOR, Interface.REST), monitor_id, signal)

    @unchecked_command
    async def _receive(self, ctx: CommandContext, monitor_id: str, signal: Signal) -> None:
        """Record it, move the monitor and judge the alert rules, in one transaction."""
        tx = await ctx.begin()
        before = await SqlMonitors(tx).get(ctx.tenant_id, monitor_id, lock=True)
        if before is None:
            raise NotFound("monitor", "of this key")
        ping = await self._recorded(tx, before, signal)
        failed = await SqlPings(tx).failed_at(monitor_id) if ping.kind is PingKind.FAIL else ()
        became = received(before, ping)
        after = became.monitor
        await SqlPings(tx).add(became.ping)
        await SqlMonitors(tx).move([after])
        if became.missed is not None:
            # Beside those that were missed while it was silent.
            await SqlMonitors(tx).miss([(before, became.missed)])
        if after.pings % TRIM_EVERY == 0:
            await SqlPings(tx).trim(monitor_id)
        finding = finding_of(before, ping, failed)
        if finding is not None and await judge(tx, [finding], ctx.now):
            ctx.wake(ALERTS_TOPIC)
        if after.status is not before.status:
            ctx.wake(MONITORS_TOPIC)

    async def _recorded(self, tx: Transaction, monitor: JobMonitor, signal: Signal) -> Ping:
        now = self.clock.now()
        began = None
        if signal.kind in {PingKind.SUCCESS, PingKind.FAIL}:
            began = monitor.started_at if signal.rid is None else await SqlPings(tx).started(monitor.id, signal.rid)
        return Ping(
            id=self.new_id(PING),
            tenant_id=monitor.tenant_id,
            monitor_id=monitor.id,
            kind=signal.kind,
            at=now,
            method=signal.method,
            exit_code=signal.exit_code,
            duration_ms=None if began is None else max((now - began) // timedelta(milliseconds=1), 0),
            rid=signal.rid,
            user_agent=signal.user_agent,
            body=signal.text,
            body_bytes=signal.body_bytes,
        )

    def _take(self, digest: str) -> None:
        """Count a request with this key, known or not; `TooMany` when its rate is used up."""
        now = self.clock.monotonic()
        bucket = self._buckets.setdefault(digest, TokenBucket.full(PINGS_PER_MINUTE, now))
        self._buckets.move_to_end(digest)
        if len(self._buckets) > BUCKETS:
            self._buckets.popitem(last=False)
        wait = bucket.take(now)
        if wait is not None:
            raise TooMany(f"a ping key takes {PINGS_PER_MINUTE} requests a minute", retry_after=wait)


def digest_of(key: str) -> str:
    """What a monitor is found by: the key has 128 random bits, so its plain digest tells nothing about it."""
    return hashlib.sha256(key.lower().encode()).hexdigest()


async def _end_alerts(ctx: CommandContext, monitor_id: str) -> None:
    standing = await SqlAlerts(ctx.tx).open_about([ctx.tenant_id], [monitor_id])
    await resolve(ctx.tx, standing, ctx.now, ctx.caller.user_id)
    await SqlAlerts(ctx.tx).end_streaks([ctx.tenant_id], [monitor_id])
    if standing:
        ctx.wake(ALERTS_TOPIC)


async def _find(tx: Transaction, tenant_id: str, monitor_id: str, *, lock: bool = False) -> JobMonitor:
    monitor = await SqlMonitors(tx).get(tenant_id, monitor_id, lock=lock)
    if monitor is None:
        raise NotFound("monitor", monitor_id)
    return monitor


async def _refuse_taken(tx: Transaction, tenant_id: str, name: str) -> None:
    if await SqlMonitors(tx).has_name(tenant_id, name):
        raise Conflict(f"a monitor named {name} already exists")
