"""What an alert rule would have reported over the past: judged from the runs and the ledger, without writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.core.failure_fingerprint import told
from foliot.db.database import Transaction
from foliot.engine.model.run import FAILURES, Origin, RunState
from foliot.features.alerts.model.alert import AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import AlertEvent, RuleSettings
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.filters.model import of_schedules
from foliot.features.insights.model.attention import ago
from foliot.features.insights.sql.attention import SqlTroubles

MOST_RUNS = 20_000
"""Runs that a preview reads, newest first."""
MOST_ITEMS = 200
MOST_MISSED = 10_000
UNKNOWN = frozenset({AlertEvent.CHANGED, AlertEvent.QUEUE_STUCK, AlertEvent.WORKER_LOST, AlertEvent.NODE_SILENT})


@dataclass(frozen=True, slots=True)
class PreviewedAlert:
    """One message that the rule would have sent."""

    at: datetime
    event: AlertEvent
    subject: AlertSubject
    would_say: str


@dataclass(frozen=True, slots=True)
class RulePreview:
    """Messages, newest first: at most 200 of `total`; `whole` unless more runs ended than a preview reads."""

    items: Sequence[PreviewedAlert]
    total: int
    whole: bool = True
    unknown: Sequence[AlertEvent] = ()
    """Events of the rule about which nothing is kept: what they would have reported is not in it."""


@dataclass(slots=True)
class _Streak:
    """How a schedule's runs have ended so far."""

    failures: list[datetime] = field(default_factory=list)
    in_a_row: int = 0
    alert: bool = False


async def preview(
    tx: Transaction, tenant_id: str, settings: RuleSettings, now: datetime, over: timedelta
) -> RulePreview:
    """Replay the endings of this time through the rule."""
    query = of_schedules(()).read(settings.filter, now, "filter")
    since = now - over
    rows = await SqlAlerts(tx).ended(tenant_id, query, since, MOST_RUNS)
    items = _replayed(settings, list(reversed(rows)))
    if AlertEvent.MISSED in settings.on:
        gaps = await SqlTroubles(tx).missed(tenant_id, since, now, MOST_MISSED)
        named = {one.schedule_id for one in gaps}
        if settings.filter and named:
            named = await SqlAlerts(tx).matching(tenant_id, named, query)
        for one in (each for each in gaps if each.schedule_id in named):
            subject = AlertSubject(SubjectKind.SCHEDULE, one.schedule_id, one.name)
            says = clipped(f"{one.name} missed {one.count:,} scheduled time{'s' * (one.count > 1)}")
            items.append(PreviewedAlert(one.last, AlertEvent.MISSED, subject, says))
    items.sort(key=lambda item: item.at, reverse=True)
    unknown = [event for event in settings.on if event in UNKNOWN]
    return RulePreview(items[:MOST_ITEMS], len(items), len(rows) < MOST_RUNS, unknown)


def _replayed(settings: RuleSettings, rows: Sequence[Any]) -> list[PreviewedAlert]:
    items: list[PreviewedAlert] = []
    streaks: dict[str, _Streak] = {}
    for row in rows:
        streak = streaks.setdefault(row.schedule_id, _Streak())
        subject = AlertSubject(SubjectKind.SCHEDULE, row.schedule_id, row.name)
        event, says = _judged(settings, streak, RunState(row.state), row)
        if event is not None:
            items.append(PreviewedAlert(row.finished_at, event, subject, says))
        items += _delayed(settings, subject, row)
        if AlertEvent.FINISHED in settings.on:
            says = clipped(f"{row.name} ended: {row.state.replace('_', ' ')}")
            items.append(PreviewedAlert(row.finished_at, AlertEvent.FINISHED, subject, says))
    return items


def _delayed(settings: RuleSettings, subject: AlertSubject, row: Any) -> list[PreviewedAlert]:
    """That it was late, and that it was slow."""
    items = []
    if AlertEvent.LATE in settings.on and row.origin == Origin.INSTANT and row.scheduled_for is not None:
        late = row.created_at - row.scheduled_for
        if late > settings.late_after:
            says = clipped(f"{row.name} was due {ago(late)} before it fired")
            items.append(PreviewedAlert(row.scheduled_for + settings.late_after, AlertEvent.LATE, subject, says))
    if AlertEvent.SLOW in settings.on and settings.slow_after is not None and row.started_at is not None:
        took = row.finished_at - row.started_at
        if took > settings.slow_after:
            says = clipped(f"{row.name} took {ago(took)}")
            items.append(PreviewedAlert(row.started_at + settings.slow_after, AlertEvent.SLOW, subject, says))
    return items


def _judged(settings: RuleSettings, streak: _Streak, state: RunState, row: Any) -> tuple[AlertEvent | None, str]:
    if state is RunState.SUCCESS:
        failed, alert = streak.in_a_row > 0, streak.alert
        streak.in_a_row, streak.alert = 0, False
        if alert or (failed and AlertEvent.RECOVERED in settings.on and not _about_failures(settings)):
            return AlertEvent.RECOVERED, clipped(f"{row.name} works again")
        return None, ""
    event = _event(settings, state)
    if event is None:
        return None, ""
    streak.in_a_row += 1
    streak.failures.append(row.finished_at)
    if streak.alert or not _reached(settings, streak, row.finished_at):
        return None, ""
    streak.alert = True
    code, message = told(row.error)
    return event, clipped(f"{row.name} failed: {message or code}")


def _about_failures(settings: RuleSettings) -> bool:
    return bool({AlertEvent.FAILED, AlertEvent.DEAD_LETTER, AlertEvent.DEGRADED} & set(settings.on))


def _event(settings: RuleSettings, state: RunState) -> AlertEvent | None:
    if state in FAILURES and AlertEvent.FAILED in settings.on:
        return AlertEvent.FAILED
    if state is RunState.DEAD_LETTER and AlertEvent.DEAD_LETTER in settings.on:
        return AlertEvent.DEAD_LETTER
    if state in {RunState.PARTIAL, RunState.DEGRADED} and AlertEvent.DEGRADED in settings.on:
        return AlertEvent.DEGRADED
    return None


def _reached(settings: RuleSettings, streak: _Streak, at: datetime) -> bool:
    after = settings.after
    if after.count is not None and after.within is not None:
        return sum(1 for failure in streak.failures if failure > at - after.within) >= after.count
    return streak.in_a_row >= after.in_a_row
