"""Rows of alerts: opened, counted, acknowledged, snoozed and resolved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, cast, delete, func, select, update

from foliot.commands.audit_sql import trail
from foliot.db.database import Statements
from foliot.db.keyset import beyond_pair
from foliot.db.metadata import key
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.follow_ups import first_runs
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.features.alerts.model.alert import (
    Alert,
    AlertState,
    AlertSubject,
    DeliveryEvent,
    DeliveryState,
    SubjectKind,
)
from foliot.features.alerts.model.alert_sort import NAMED, SEVERITIES, STATES, AlertSort, AlertSortKey
from foliot.features.alerts.model.rule import AlertEvent, AlertSeverity
from foliot.features.alerts.tables import alert_streaks, alerts, deliveries
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.schedules import conditions

BATCH = 500
_SORTED_BY: dict[AlertSortKey, ColumnElement[Any]] = {
    AlertSortKey.OPENED_AT: alerts.c.opened_at,
    AlertSortKey.LAST_AT: alerts.c.last_at,
    AlertSortKey.SEVERITY: case({one.value: rank for one, rank in SEVERITIES.items()}, value=alerts.c.severity),
    AlertSortKey.STATE: case({one.value: rank for one, rank in STATES.items()}, value=alerts.c.state),
    AlertSortKey.COUNT: alerts.c.occurrences,
    # Cast for its collation: by code point, the same on every database.
    AlertSortKey.NAME: cast(func.substr(func.lower(alerts.c.subject_name), 1, NAMED), key(NAMED)),
}


def open_key(rule_id: str, subject_id: str) -> str:
    """The key that at most one alert has while it is not resolved."""
    return f"{rule_id}:{subject_id}"


@dataclass(frozen=True, slots=True)
class SqlAlerts(Statements):
    """Reads and writes alerts."""

    async def add(self, new: Sequence[Alert]) -> set[str]:
        """Insert alerts; answers the ids of those whose rule and subject had no open one."""
        columns: dict[str, list[Any]] = {
            "id": [alert.id for alert in new],
            "tenant_id": [alert.tenant_id for alert in new],
            "rule_id": [alert.rule_id for alert in new],
            "open_of": [_open_of(alert) for alert in new],
            "event": [alert.event.value for alert in new],
            "severity": [alert.severity.value for alert in new],
            "state": [alert.state.value for alert in new],
            "subject_kind": [alert.subject.kind for alert in new],
            "subject_id": [alert.subject.id for alert in new],
            "subject_name": [alert.subject.name for alert in new],
            "occurrences": [alert.count for alert in new],
            "summary": [alert.summary for alert in new],
            "reason": [alert.reason for alert in new],
            "run_id": [alert.run_id for alert in new],
            "first_at": [alert.first_at for alert in new],
            "opened_at": [alert.opened_at for alert in new],
            "last_at": [alert.last_at for alert in new],
            "resolved_at": [alert.resolved_at for alert in new],
            "remind_at": [alert.remind_at for alert in new],
        }
        await self.dialect.insert(self.conn, alerts, columns, conflict="ignore")
        stored = select(alerts.c.id).where(self.dialect.among(alerts.c.id, columns["id"]))
        return set((await self.conn.execute(stored)).scalars())

    async def open_of(self, keys: Collection[str]) -> dict[str, Alert]:
        """Alerts that are not resolved, locked, by rule and subject."""
        query = select(alerts).where(self.dialect.among(alerts.c.open_of, keys)).order_by(alerts.c.id)
        return {row.open_of: alert_of(row) for row in await self.conn.execute(self.dialect.lock(query))}

    async def open_about(self, tenant_ids: Collection[str], subject_ids: Collection[str]) -> list[Alert]:
        """Alerts about these subjects that are not resolved, locked."""
        query = select(alerts).where(
            self.dialect.among(alerts.c.tenant_id, tenant_ids),
            self.dialect.among(alerts.c.subject_id, subject_ids),
            alerts.c.state != AlertState.RESOLVED,
        )
        return [alert_of(row) for row in await self.conn.execute(self.dialect.lock(query.order_by(alerts.c.id)))]

    async def open_by(self, rule_ids: Collection[str], events: Collection[AlertEvent]) -> list[Alert]:
        """Alerts of these rules and events that are not resolved."""
        query = select(alerts).where(
            self.dialect.among(alerts.c.rule_id, rule_ids),
            alerts.c.state != AlertState.RESOLVED,
            self.dialect.among(alerts.c.event, [event.value for event in events]),
        )
        return [alert_of(row) for row in await self.conn.execute(query)]

    async def count_again(self, changed: Sequence[Alert]) -> None:
        """Write event, count, time, reason and run of alerts that are locked."""
        values: dict[str, list[Any]] = {
            "event": [alert.event.value for alert in changed],
            "summary": [alert.summary for alert in changed],
            "occurrences": [alert.count for alert in changed],
            "last_at": [alert.last_at for alert in changed],
            "reason": [alert.reason for alert in changed],
            "run_id": [alert.run_id for alert in changed],
        }
        await self.dialect.update(self.conn, alerts, {"id": [alert.id for alert in changed]}, values)

    async def resolve(self, ids: Collection[str], now: datetime, by: str | None = None) -> set[str]:
        """Resolve these; answers those that no other transaction had resolved before."""
        this = (self.dialect.among(alerts.c.id, ids), alerts.c.state != AlertState.RESOLVED)
        standing = self.dialect.lock(select(alerts.c.id).where(*this).order_by(alerts.c.id))
        ended = set((await self.conn.execute(standing)).scalars())
        if ended:
            values = {"state": AlertState.RESOLVED.value, "open_of": None, "resolved_at": now, "resolved_by": by}
            these = self.dialect.among(alerts.c.id, sorted(ended))
            await self.conn.execute(update(alerts).where(these).values(remind_at=None, **values))
        return ended

    async def is_storm_open(self, rule_id: str, channel_id: str) -> bool:
        """Whether an alert of this rule is not resolved that the channel was notified of together with others."""
        storm = select(deliveries.c.id).where(
            deliveries.c.alert_id == alerts.c.id,
            deliveries.c.channel_id == channel_id,
            deliveries.c.state == DeliveryState.SENT,
            deliveries.c.event.in_([DeliveryEvent.OPENED, DeliveryEvent.REMINDED]),
            deliveries.c.grouped > 1,
        )
        query = select(alerts.c.id).where(alerts.c.rule_id == rule_id, alerts.c.open_of.is_not(None), storm.exists())
        return (await self.conn.execute(query.limit(1))).first() is not None

    async def acknowledge(self, alert_id: str, by: str, now: datetime) -> None:
        values = {"state": AlertState.ACKNOWLEDGED.value, "acknowledged_by": by, "acknowledged_at": now}
        await self.conn.execute(update(alerts).where(alerts.c.id == alert_id).values(remind_at=None, **values))

    async def snooze(self, alert_id: str, until: datetime) -> None:
        """No reminder before this moment, and one then."""
        values = {"snoozed_until": until, "remind_at": until}
        await self.conn.execute(update(alerts).where(alerts.c.id == alert_id).values(**values))

    async def due_reminders(self, now: datetime, limit: int) -> list[Alert]:
        """Open alerts whose reminder is due, locked; those that another process handles are left out."""
        query = select(alerts).where(alerts.c.remind_at <= now).order_by(alerts.c.remind_at).limit(limit)
        return [alert_of(row) for row in await self.conn.execute(self.dialect.lock(query, skip=True))]

    async def next_reminder(self) -> datetime | None:
        moment: datetime | None = await self.conn.scalar(select(func.min(alerts.c.remind_at)))
        return moment

    async def remind_again(self, moments: Mapping[str, datetime | None]) -> None:
        keys, values = {"id": list(moments)}, {"remind_at": list(moments.values())}
        await self.dialect.update(self.conn, alerts, keys, values)

    async def get(self, tenant_id: str, alert_id: str, *, lock: bool = False) -> Alert | None:
        query = select(alerts).where(alerts.c.tenant_id == tenant_id, alerts.c.id == alert_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else alert_of(row)

    async def several(self, ids: Collection[str]) -> dict[str, Alert]:
        """Of any tenant: for the sender."""
        query = select(alerts).where(self.dialect.among(alerts.c.id, ids))
        return {row.id: alert_of(row) for row in await self.conn.execute(query)}

    async def find(
        self,
        tenant_id: str,
        states: Collection[AlertState],
        page: PageRequest,
        subject_id: str | None = None,
        order: AlertSort | None = None,
    ) -> list[Alert]:
        """Newest first, or in another order."""
        query = select(alerts).where(alerts.c.tenant_id == tenant_id)
        if states:
            query = query.where(alerts.c.state.in_(sorted(states)))
        if subject_id is not None:
            query = query.where(alerts.c.subject_id == subject_id)
        if order is not None:
            by = _SORTED_BY[order.key]
            query = query.order_by(by.desc() if order.down else by.asc())
            if page.cursor is not None:
                query = query.where(beyond_pair(by, alerts.c.id, page.cursor, down=order.down))
        elif page.cursor is not None:
            query = query.where(alerts.c.id < page.cursor)
        return [alert_of(row) for row in await self.conn.execute(query.order_by(alerts.c.id.desc()).limit(page.limit))]

    async def counts(self, tenant_id: str) -> dict[str, int]:
        """Alerts that are not resolved, by state."""
        query = select(alerts.c.state, func.count()).where(
            alerts.c.tenant_id == tenant_id, alerts.c.state != AlertState.RESOLVED
        )
        return {row[0]: row[1] for row in await self.conn.execute(query.group_by(alerts.c.state))}

    # -- what rules ask ------------------------------------------------------------------------------------------------

    async def matching(self, tenant_id: str, schedule_ids: Collection[str], query: FilterQuery) -> set[str]:
        """Those of these schedules that a rule's filter matches."""
        wanted = select(schedules.c.id).where(
            *conditions(tenant_id, query), self.dialect.among(schedules.c.id, schedule_ids)
        )
        return set((await self.conn.execute(wanted)).scalars())

    async def lengthen(
        self,
        streaks: Mapping[tuple[str, str], int],
        first: Mapping[tuple[str, str], datetime],
        tenant_id: str,
        now: datetime,
    ) -> dict[str, tuple[int, datetime]]:
        """Add failures to the streaks of (rule, subject); answers each streak's length and beginning by its key."""
        keys = sorted(streaks)
        named = [open_key(*each) for each in keys]
        columns: dict[str, list[Any]] = {
            "streak_of": named,
            "tenant_id": [tenant_id] * len(keys),
            "rule_id": [rule_id for rule_id, _ in keys],
            "subject_id": [subject_id for _, subject_id in keys],
            "in_a_row": [0] * len(keys),
            "first_at": [first[key] for key in keys],
            "updated_at": [now] * len(keys),
        }
        await self.dialect.insert(self.conn, alert_streaks, columns, conflict="ignore")
        for more in sorted(set(streaks.values())):
            longer = [name for name, each in zip(named, keys, strict=True) if streaks[each] == more]
            this = self.dialect.among(alert_streaks.c.streak_of, longer)
            values = {"in_a_row": alert_streaks.c.in_a_row + more, "updated_at": now}
            await self.conn.execute(update(alert_streaks).where(this).values(**values))
        query = select(alert_streaks.c.streak_of, alert_streaks.c.in_a_row, alert_streaks.c.first_at)
        rows = await self.conn.execute(query.where(self.dialect.among(alert_streaks.c.streak_of, named)))
        return {row.streak_of: (row.in_a_row, row.first_at or now) for row in rows}

    async def end_streaks(self, tenant_ids: Collection[str], subject_ids: Collection[str]) -> set[str]:
        """The failures in a row of these subjects are over; answers the subjects that had any."""
        this = (
            self.dialect.among(alert_streaks.c.tenant_id, tenant_ids),
            self.dialect.among(alert_streaks.c.subject_id, subject_ids),
        )
        ended = set((await self.conn.execute(select(alert_streaks.c.subject_id).where(*this))).scalars())
        if ended:
            await self.conn.execute(delete(alert_streaks).where(*this))
        return ended

    async def endings_since(
        self, schedule_ids: Collection[str], states: Collection[RunState], since: datetime
    ) -> dict[tuple[str, RunState], tuple[int, datetime]]:
        """Runs of these schedules that ended so after this moment: how many, and when the first."""
        query = select(runs.c.schedule_id, runs.c.state, func.count(), func.min(runs.c.finished_at)).where(
            self.dialect.among(runs.c.schedule_id, schedule_ids),
            runs.c.state.in_(sorted(states)),
            runs.c.finished_at > since,
        )
        rows = await self.conn.execute(query.group_by(runs.c.schedule_id, runs.c.state))
        return {(row[0], RunState(row[1])): (row[2], row[3]) for row in rows}

    async def ended(self, tenant_id: str, query: FilterQuery, since: datetime, limit: int) -> Sequence[Any]:
        """Runs of matching schedules that ended since this moment, newest first: for previews."""
        named = (
            *(runs.c.id, runs.c.schedule_id, runs.c.state, runs.c.error, runs.c.origin, schedules.c.name),
            *(runs.c.scheduled_for, runs.c.created_at, runs.c.started_at, runs.c.finished_at),
        )
        wanted = (
            select(*named)
            .join(schedules, schedules.c.id == runs.c.schedule_id)
            .where(runs.c.tenant_id == tenant_id, runs.c.finished_at >= since, *conditions(tenant_id, query))
            .order_by(runs.c.finished_at.desc())
            .limit(limit)
        )
        return (await self.conn.execute(wanted)).all()

    async def reported(self, rule_id: str, subject_ids: Collection[str]) -> dict[str, datetime]:
        """When the newest alert of this rule about each subject was last counted."""
        query = select(alerts.c.subject_id, func.max(alerts.c.last_at)).where(
            alerts.c.rule_id == rule_id, self.dialect.among(alerts.c.subject_id, subject_ids)
        )
        return {row[0]: row[1] for row in await self.conn.execute(query.group_by(alerts.c.subject_id))}

    async def long_runs(self, tenant_id: str, before: datetime, limit: int) -> Sequence[Any]:
        """Runs that began before this moment and have not ended, the longest first."""
        named = (runs.c.id, runs.c.schedule_id, runs.c.kind, runs.c.started_at, schedules.c.name)
        open_ = (runs.c.tenant_id == tenant_id, runs.c.state.in_(sorted(OPEN)))
        query = (
            select(*named)
            .join(schedules, schedules.c.id == runs.c.schedule_id, isouter=True)
            .where(*open_, runs.c.started_at < before)
            .order_by(runs.c.started_at)
            .limit(limit)
        )
        return (await self.conn.execute(query)).all()

    async def first_runs(self, run_ids: Collection[str]) -> dict[str, str]:
        """The first run of each series of repeats."""
        return await first_runs(self.conn, self.dialect, run_ids)

    async def names(self, schedule_ids: Collection[str]) -> dict[str, str]:
        """Of those that are not deleted."""
        query = select(schedules.c.id, schedules.c.name).where(
            self.dialect.among(schedules.c.id, schedule_ids), schedules.c.status != ScheduleStatus.DELETED
        )
        return {row.id: row.name for row in await self.conn.execute(query)}

    async def last_edit(self, tenant_id: str, schedule_id: str) -> tuple[int, datetime, str] | None:
        """The newest version of a schedule, when it was made, and who made it, as the audit log says."""
        query = select(versions.c.version, versions.c.created_at).where(versions.c.schedule_id == schedule_id)
        newest = (await self.conn.execute(query.order_by(versions.c.version.desc()).limit(1))).first()
        if newest is None:
            return None
        edited = (trail.c.tenant_id == tenant_id, trail.c.thing == "schedule", trail.c.thing_id == schedule_id)
        about = select(trail.c.user_id).where(*edited, trail.c.at >= newest.created_at - timedelta(seconds=5))
        user = await self.conn.scalar(about.order_by(trail.c.id).limit(1))
        return newest.version, newest.created_at, user or "unknown"

    async def prune(self, before: datetime, limit: int) -> None:
        """Delete alerts that were resolved before this moment, with their deliveries, and streaks without news."""
        old = select(alerts.c.id).where(alerts.c.resolved_at < before).order_by(alerts.c.resolved_at).limit(limit)
        ids = list((await self.conn.execute(old)).scalars())
        if ids:
            await self.conn.execute(delete(deliveries).where(self.dialect.among(deliveries.c.alert_id, ids)))
            await self.conn.execute(delete(alerts).where(self.dialect.among(alerts.c.id, ids)))
        tests = (deliveries.c.alert_id.is_(None), deliveries.c.ready_at.is_(None), deliveries.c.created_at < before)
        await self.conn.execute(delete(deliveries).where(*tests))
        await self.conn.execute(delete(alert_streaks).where(alert_streaks.c.updated_at < before - timedelta(days=365)))

    async def forget_streaks(self, rule_ids: Collection[str]) -> None:
        streaks = self.dialect.among(alert_streaks.c.rule_id, sorted(rule_ids))
        await self.conn.execute(delete(alert_streaks).where(streaks))


def _open_of(alert: Alert) -> str | None:
    return None if alert.state is AlertState.RESOLVED else open_key(alert.rule_id, alert.subject.id)


def alert_of(row: Any) -> Alert:
    return Alert(
        id=row.id,
        tenant_id=row.tenant_id,
        rule_id=row.rule_id,
        event=AlertEvent(row.event),
        severity=AlertSeverity(row.severity),
        state=AlertState(row.state),
        subject=AlertSubject(SubjectKind(row.subject_kind), row.subject_id, row.subject_name),
        count=row.occurrences,
        # An older version opens alerts without it.
        first_at=row.first_at or row.opened_at,
        opened_at=row.opened_at,
        last_at=row.last_at,
        summary=row.summary,
        reason=row.reason,
        run_id=row.run_id,
        acknowledged_by=row.acknowledged_by,
        acknowledged_at=row.acknowledged_at,
        snoozed_until=row.snoozed_until,
        resolved_at=row.resolved_at,
        resolved_by=row.resolved_by,
        remind_at=row.remind_at,
    )
