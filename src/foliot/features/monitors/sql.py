"""Rows of monitors and their pings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, insert, literal, select, update

from foliot.core.ids import floor_id
from foliot.core.time.trigger import Trigger
from foliot.db.database import Statements
from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, Key, count_unmade
from foliot.engine.model.views import PageRequest
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.tables import ledger
from foliot.features.alerts.model.rule import AlertEvent
from foliot.features.monitors.model import (
    MONITOR,
    PING,
    PINGS_KEPT,
    JobMonitor,
    MonitorSettings,
    MonitorStatus,
    Ping,
    PingKind,
    no_ping,
)
from foliot.features.monitors.tables import monitors, pings

EXCERPT = 500
"""Characters of a ping's body that a list shows."""


@dataclass(frozen=True, slots=True)
class SqlMonitors(Statements):
    """Reads and writes monitors."""

    async def add(self, monitor: JobMonitor, digest: str) -> None:
        given = {"id": monitor.id, "tenant_id": monitor.tenant_id, "digest": digest, "key_of": monitor.key_of}
        made = {"created_by": monitor.created_by, "created_at": monitor.created_at}
        await self.conn.execute(insert(monitors).values(**given, **made, **_settings(monitor), **_state(monitor)))

    async def change(self, monitor: JobMonitor) -> None:
        """Its settings and its state are as given from now on."""
        values = _settings(monitor) | _state(monitor)
        await self.conn.execute(update(monitors).where(monitors.c.id == monitor.id).values(**values))

    async def move(self, changed: Sequence[JobMonitor]) -> None:
        """The state of these is as given from now on; their rows are locked."""
        states = [_state(monitor) for monitor in changed]
        values = {name: [state[name] for state in states] for name in states[0]}
        await self.dialect.update(self.conn, monitors, {"id": [monitor.id for monitor in changed]}, values)

    async def miss(self, missed: Sequence[tuple[JobMonitor, LedgerEntry]]) -> None:
        """Expected times without a ping: in the ledger, and in its counts; a silence is one entry."""
        if not missed:
            return
        columns: dict[str, list[Any]] = {
            "schedule_id": [monitor.id for monitor, _ in missed],
            "first_at": [monitor.gap_first or entry.first for monitor, entry in missed],
            "fate": [entry.fate.value for _, entry in missed],
            "tenant_id": [monitor.tenant_id for monitor, _ in missed],
            "last_at": [entry.last for _, entry in missed],
            "count": [entry.count for _, entry in missed],
            "version": [0] * len(missed),
            "reason": [entry.reason.value for _, entry in missed],
        }
        budget, counts = StepBudget(UNMADE_STEPS), Counter[Key]()
        for monitor, entry in missed:
            trigger = monitor.settings.planned(entry.first)
            counts += count_unmade(monitor.tenant_id, trigger, [entry], budget)
        batches = [(ledger, columns, "add"), *quarter_counts.unmade_rows(counts, {})]
        await self.dialect.insert_all(self.conn, batches)

    async def missed(
        self, tenant_id: str, monitor_ids: Sequence[str], start: datetime, end: datetime, limit: int
    ) -> list[tuple[str, LedgerEntry]]:
        """Entries of the ledger that touch [start, end), newest first."""
        query = select(ledger, ledger.c["count"].label("instants")).where(
            self.dialect.among(ledger.c.schedule_id, monitor_ids),
            func.coalesce(ledger.c.tenant_id, "") == tenant_id,
            ledger.c.last_at >= start,
            ledger.c.first_at < end,
        )
        rows = await self.conn.execute(query.order_by(ledger.c.last_at.desc()).limit(limit))
        return [(row.schedule_id, no_ping(row.first_at, row.last_at, row.instants)) for row in rows]

    async def prune(self, before: datetime) -> None:
        """Delete entries of the ledger that ended before this moment; those of schedules stay."""
        mine = (ledger.c.schedule_id >= f"{MONITOR}_", ledger.c.schedule_id < f"{MONITOR}`")
        await self.conn.execute(delete(ledger).where(*mine, ledger.c.last_at < before))

    async def get(self, tenant_id: str, monitor_id: str, *, lock: bool = False) -> JobMonitor | None:
        query = select(monitors).where(monitors.c.tenant_id == tenant_id, monitors.c.id == monitor_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _monitor(row)

    async def of_tenant(self, tenant_id: str) -> list[JobMonitor]:
        """In order of name."""
        query = select(monitors).where(monitors.c.tenant_id == tenant_id).order_by(monitors.c.name)
        return [_monitor(row) for row in await self.conn.execute(query)]

    async def unwell(self, tenant_id: str, limit: int) -> list[JobMonitor]:
        """Those that are down or late, in order of name."""
        sick = monitors.c.status.in_([MonitorStatus.DOWN, MonitorStatus.LATE])
        query = select(monitors).where(monitors.c.tenant_id == tenant_id, sick).order_by(monitors.c.name).limit(limit)
        return [_monitor(row) for row in await self.conn.execute(query)]

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(monitors).where(monitors.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def has_name(self, tenant_id: str, name: str) -> bool:
        query = select(monitors.c.id).where(monitors.c.tenant_id == tenant_id, monitors.c.name == name)
        return (await self.conn.execute(query)).first() is not None

    async def by_digest(self, digest: str) -> tuple[str, str] | None:
        """Tenant and id; of any tenant, for the tenant is known only once the digest has matched."""
        query = select(monitors.c.tenant_id, monitors.c.id).where(monitors.c.digest == digest)
        row = (await self.conn.execute(query)).first()
        return None if row is None else (row.tenant_id, row.id)

    async def delete(self, monitor_id: str) -> None:
        """With its pings and its part of the ledger."""
        await self.conn.execute(delete(pings).where(pings.c.monitor_id == monitor_id))
        await self.conn.execute(delete(ledger).where(ledger.c.schedule_id == monitor_id))
        await self.conn.execute(delete(monitors).where(monitors.c.id == monitor_id))

    async def lock_overdue(self, now: datetime, limit: int) -> list[JobMonitor]:
        """Of any tenant, locked, those whose silence is an event by now; rows that others have locked are skipped."""
        query = select(monitors).where(monitors.c.alert_at <= now).order_by(monitors.c.alert_at).limit(limit)
        return [_monitor(row) for row in await self.conn.execute(self.dialect.lock(query, skip=True))]

    async def next_alert(self) -> datetime | None:
        moment: datetime | None = await self.conn.scalar(select(func.min(monitors.c.alert_at)))
        return moment


@dataclass(frozen=True, slots=True)
class SqlPings(Statements):
    """Reads and writes pings."""

    async def add(self, ping: Ping) -> None:
        await self.conn.execute(
            insert(pings).values(
                id=ping.id,
                tenant_id=ping.tenant_id,
                monitor_id=ping.monitor_id,
                kind=ping.kind.value,
                at=ping.at,
                method=ping.method,
                exit_code=ping.exit_code,
                duration_ms=ping.duration_ms,
                rid=ping.rid,
                user_agent=ping.user_agent,
                body=ping.body,
                body_bytes=ping.body_bytes,
                expected_at=ping.expected_at,
                late=ping.late,
            )
        )

    async def find(self, tenant_id: str, monitor_id: str, page: PageRequest) -> list[Ping]:
        """Newest first, with the beginning of each body."""
        named = [column for column in pings.c if column.name != "body"]
        excerpt = func.substr(pings.c.body, 1, EXCERPT).label("body")
        query = select(*named, excerpt).where(pings.c.tenant_id == tenant_id, pings.c.monitor_id == monitor_id)
        if page.cursor is not None:
            query = query.where(pings.c.id < page.cursor)
        return [_ping(row) for row in await self.conn.execute(query.order_by(pings.c.id.desc()).limit(page.limit))]

    async def ends(self, tenant_id: str, monitor_ids: Sequence[str], start: datetime, end: datetime) -> list[Ping]:
        """Of these monitors, the kept pings of [start, end) that report an end, oldest first, without bodies."""
        named = [column for column in pings.c if column.name != "body"]
        this = (
            pings.c.tenant_id == tenant_id,
            self.dialect.among(pings.c.monitor_id, monitor_ids),
            pings.c.kind.in_([PingKind.SUCCESS.value, PingKind.FAIL.value]),
            pings.c.at >= start,
            pings.c.at < end,
        )
        query = select(*named, literal("").label("body")).where(*this).order_by(pings.c.id)
        return [_ping(row) for row in await self.conn.execute(query)]

    async def answered(self, monitor_id: str, start: datetime, end: datetime) -> list[Ping]:
        """The kept pings that answer an expected time of [start, end), oldest first, without bodies."""
        named = [column for column in pings.c if column.name != "body"]
        this = (pings.c.monitor_id == monitor_id, pings.c.expected_at >= start, pings.c.expected_at < end)
        query = select(*named, literal("").label("body")).where(*this).order_by(pings.c.expected_at, pings.c.id)
        return [_ping(row) for row in await self.conn.execute(query)]

    async def get(self, tenant_id: str, monitor_id: str, ping_id: str) -> Ping | None:
        this = (pings.c.tenant_id == tenant_id, pings.c.monitor_id == monitor_id, pings.c.id == ping_id)
        row = (await self.conn.execute(select(pings).where(*this))).first()
        return None if row is None else _ping(row)

    async def started(self, monitor_id: str, rid: str) -> datetime | None:
        """When the run of this id started, unless it has ended since."""
        this = (pings.c.monitor_id == monitor_id, pings.c.rid == rid, pings.c.kind != PingKind.LOG.value)
        query = select(pings.c.kind, pings.c.at).where(*this).order_by(pings.c.id.desc()).limit(1)
        row = (await self.conn.execute(query)).first()
        return row.at if row is not None and row.kind == PingKind.START.value else None

    async def failed_at(self, monitor_id: str) -> list[datetime]:
        """When it failed, as far as pings are kept."""
        this = (pings.c.monitor_id == monitor_id, pings.c.kind == PingKind.FAIL.value)
        query = select(pings.c.at).where(*this).order_by(pings.c.id.desc()).limit(PINGS_KEPT)
        return list((await self.conn.execute(query)).scalars())

    async def trim(self, monitor_id: str) -> None:
        """Delete all but the newest."""
        query = select(pings.c.id).where(pings.c.monitor_id == monitor_id).order_by(pings.c.id.desc())
        oldest = await self.conn.scalar(query.offset(PINGS_KEPT - 1).limit(1))
        if oldest is not None:
            await self.conn.execute(delete(pings).where(pings.c.monitor_id == monitor_id, pings.c.id < oldest))

    async def prune(self, before: datetime, limit: int) -> None:
        """Delete pings from before this moment."""
        old = select(pings.c.id).where(pings.c.id < floor_id(PING, before)).order_by(pings.c.id).limit(limit)
        ids = list((await self.conn.execute(old)).scalars())
        if ids:
            await self.conn.execute(delete(pings).where(self.dialect.among(pings.c.id, ids)))


def _settings(monitor: JobMonitor) -> dict[str, Any]:
    settings = monitor.settings
    return {
        "name": settings.name,
        "spec": settings.trigger.as_dict(),
        "grace_seconds": int(settings.grace.total_seconds()),
        "tags": list(settings.tags),
        "updated_at": monitor.updated_at,
    }


def _state(monitor: JobMonitor) -> dict[str, Any]:
    return {
        "status": monitor.status.value,
        "last_ping_at": monitor.last_ping_at,
        "last_duration_ms": monitor.last_duration_ms,
        "started_at": monitor.started_at,
        "next_expected_at": monitor.next_expected_at,
        "alert_at": monitor.alert_at,
        "alert_as": None if monitor.alert_as is None else monitor.alert_as.value,
        "gap_first": monitor.gap_first,
        "pings": monitor.pings,
    }


def _monitor(row: Any) -> JobMonitor:
    return JobMonitor(
        id=row.id,
        tenant_id=row.tenant_id,
        settings=MonitorSettings(
            row.name, Trigger.from_dict(row.spec), timedelta(seconds=row.grace_seconds), tuple(row.tags)
        ),
        status=MonitorStatus(row.status),
        key_of=row.key_of,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_ping_at=row.last_ping_at,
        last_duration_ms=row.last_duration_ms,
        started_at=row.started_at,
        next_expected_at=row.next_expected_at,
        alert_at=row.alert_at,
        alert_as=None if row.alert_as is None else AlertEvent(row.alert_as),
        gap_first=row.gap_first,
        pings=row.pings,
    )


def _ping(row: Any) -> Ping:
    return Ping(
        id=row.id,
        tenant_id=row.tenant_id,
        monitor_id=row.monitor_id,
        kind=PingKind(row.kind),
        at=row.at,
        method=row.method,
        exit_code=row.exit_code,
        duration_ms=row.duration_ms,
        rid=row.rid,
        user_agent=row.user_agent,
        body=row.body,
        body_bytes=row.body_bytes,
        expected_at=row.expected_at,
        late=row.late,
    )
