"""Regular checks for what no end of a run reports: late or missed schedules, slow runs, stuck queues, lost workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.core.access import KEEPER, Caller, Interface, Role
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.features.alerts.judge import judge_by, resolve
from foliot.features.alerts.model.alert import ALERTS_TOPIC, Alert, AlertFinding, AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import OF_CHECKS, AlertEvent, AlertRuleRecord
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, MissedInstants, ago, late, missed
from foliot.features.insights.sql.attention import SqlTroubles
from foliot.features.insights.usecases.attention import WINDOW, Attention
from foliot.features.schedules.usecases.change import SKEW
from foliot.wakeups.feed import Feed

EVERY = 15.0
MOST_MISSED = MOST_LATE = MOST_SLOW = 10_000
EVENTS = {
    AttentionKind.AHEAD: (AlertEvent.LATE,),
    AttentionKind.DAMAGED: (AlertEvent.LATE,),
    AttentionKind.STALLED_QUEUE: (AlertEvent.QUEUE_STUCK,),
    AttentionKind.NO_WORKER: (AlertEvent.QUEUE_STUCK,),
    AttentionKind.STANDSTILL: (AlertEvent.QUEUE_STUCK,),
    AttentionKind.LOST_WORKER: (AlertEvent.WORKER_LOST, AlertEvent.NODE_SILENT),
}


@dataclass(frozen=True, slots=True)
class ProblemsChecked:
    """How many tenants one round checked."""

    tenants: int
    rest: float


@dataclass(slots=True, kw_only=True)
class AlertChecker:
    """Safe on every node: an alert is open once per rule and subject, whichever process found it."""

    clock: Clock
    store: Database
    feed: Feed
    attention: Attention
    every: float = EVERY
    name: str = "alert_checker"
    topics: Sequence[str] = ()

    async def run_once(self) -> ProblemsChecked:
        async with self.store.glance() as tx:
            rules = [rule for rule in await SqlAlertRules(tx).enabled() if rule.wants(*OF_CHECKS)]
        tenants = sorted({rule.tenant_id for rule in rules})
        for tenant_id in tenants:
            await self._check(tenant_id, [rule for rule in rules if rule.tenant_id == tenant_id])
        return ProblemsChecked(len(tenants), self.every)

    async def _check(self, tenant_id: str, rules: Sequence[AlertRuleRecord]) -> None:
        role = Role.SYSTEM if tenant_id == KEEPER else Role.ADMIN
        found = await self.attention.check(Caller(tenant_id, "alerts", role, Interface.CODE))
        now = self.clock.now()
        entries = (_finding(tenant_id, entry, found.at) for entry in found.items)
        problems = [_Problem(finding) for finding in entries if finding is not None]
        async with self.store.begin(tenant_id) as tx:
            gaps = await SqlTroubles(tx).missed(tenant_id, now - WINDOW, now + SKEW, MOST_MISSED)
            problems += [_Problem(missed_finding(tenant_id, one)) for one in gaps]
            problems += await _late(tx, tenant_id, rules, now)
            problems += await _long_runs(tx, tenant_id, rules, now)
            # What is open about monitors ends by a ping, which is judged when it arrives.
            standing = [
                alert
                for alert in await SqlAlerts(tx).open_by([rule.id for rule in rules], OF_CHECKS)
                if alert.subject.kind is not SubjectKind.MONITOR
            ]
            news = False
            for rule in rules:
                findings = [problem.finding for problem in problems if problem.counts(rule, now)]
                news |= await self._judge(tx, rule, findings, [one for one in standing if one.rule_id == rule.id], now)
        if news:
            self.feed.wake(ALERTS_TOPIC)

    async def _judge(
        self,
        tx: Transaction,
        rule: AlertRuleRecord,
        findings: Sequence[AlertFinding],
        standing: Sequence[Alert],
        now: datetime,
    ) -> bool:
        """Open what is new by this rule, resolve what is over; whether there was any."""
        present = {(finding.subject.id, event) for finding in findings for event in finding.events}
        over = [alert for alert in standing if (alert.subject.id, alert.event) not in present]
        await resolve(tx, over, now)
        known = {alert.subject.id for alert in standing}
        reported = await SqlAlerts(tx).reported(rule.id, {finding.subject.id for finding in findings})
        fresh = [
            finding
            for finding in findings
            if finding.subject.id not in known
            # Missed instants stay missed: each is reported once.
            and not (AlertEvent.MISSED in finding.events and _since(reported, finding) >= finding.at)
        ]
        return bool(await judge_by(tx, [rule], fresh, now)) or bool(over)


@dataclass(frozen=True, slots=True)
class _Problem:
    """A finding; with `began`, it counts only for rules whose time since then has passed."""

    finding: AlertFinding
    began: datetime | None = None

    def counts(self, rule: AlertRuleRecord, now: datetime) -> bool:
        if self.began is None:
            return True
        slow = AlertEvent.SLOW in self.finding.events
        allowed = rule.settings.slow_after if slow else rule.settings.late_after
        return allowed is not None and now - self.began > allowed


async def _late(tx: Transaction, tenant_id: str, rules: Sequence[AlertRuleRecord], now: datetime) -> Sequence[_Problem]:
    """Schedules that are overdue for longer than one of these rules allows: each, where attention sums many up."""
    allowed = min((one.settings.late_after for one in rules if one.wants(AlertEvent.LATE)), default=None)
    if allowed is None:
        return ()
    _, first = await SqlTroubles(tx).overdue(tenant_id, now - allowed, MOST_LATE)
    entries = [(late(one.name, one.schedule_id, one.at, now), one) for one in first if one.at is not None]
    return [
        _Problem(
            AlertFinding(
                tenant_id=tenant_id,
                events=(AlertEvent.LATE,),
                subject=AlertSubject(SubjectKind.SCHEDULE, one.schedule_id, one.name),
                at=one.at or now,
                summary=clipped(f"{one.name} is late"),
                reason=clipped(entry.reason),
            ),
            one.at,
        )
        for entry, one in entries
    ]


async def _long_runs(
    tx: Transaction, tenant_id: str, rules: Sequence[AlertRuleRecord], now: datetime
) -> Sequence[_Problem]:
    """Runs that take longer than one of these rules allows; no statement where none of them asks."""
    limits = [one.settings.slow_after for one in rules if one.wants(AlertEvent.SLOW)]
    allowed = min((one for one in limits if one is not None), default=None)
    if allowed is None:
        return ()
    rows = await SqlAlerts(tx).long_runs(tenant_id, now - allowed, MOST_SLOW)
    return [_Problem(_slow_finding(tenant_id, row, now), row.started_at) for row in rows]


def _slow_finding(tenant_id: str, row: Any, now: datetime) -> AlertFinding:
    subject = AlertSubject(SubjectKind.RUN, row.id, f"{row.kind} run")
    if row.schedule_id is not None:
        subject = AlertSubject(SubjectKind.SCHEDULE, row.schedule_id, row.name or row.schedule_id)
    return AlertFinding(
        tenant_id=tenant_id,
        events=(AlertEvent.SLOW,),
        subject=subject,
        at=row.started_at,
        summary=clipped(f"{subject.name} is slow"),
        reason=f"Its run began {ago(now - row.started_at)} ago and has not ended.",
        run_id=row.id,
    )


def missed_finding(tenant_id: str, one: MissedInstants) -> AlertFinding:
    """Instants of a schedule that passed without a run."""
    instants = "a scheduled time" if one.count == 1 else f"{one.count:,} scheduled times"
    return AlertFinding(
        tenant_id=tenant_id,
        events=(AlertEvent.MISSED,),
        subject=AlertSubject(SubjectKind.SCHEDULE, one.schedule_id, one.name),
        at=one.last,
        summary=clipped(f"{one.name} missed {instants}"),
        reason=clipped(missed("", one.schedule_id, one.count, one.first, one.reason).reason),
    )


def _since(reported: dict[str, datetime], finding: AlertFinding) -> datetime:
    return reported.get(finding.subject.id, finding.at - timedelta(seconds=1))


def _finding(tenant_id: str, entry: AttentionEntry, now: datetime) -> AlertFinding | None:
    events = EVENTS.get(entry.kind)
    if events is None:
        return None
    kind, subject_id = SubjectKind.INSTALLATION, entry.id
    if entry.schedule_id is not None:
        # A schedule can be late and have missed instants: two alerts.
        kind, subject_id = SubjectKind.SCHEDULE, entry.schedule_id
    elif entry.queue is not None:
        kind, subject_id = SubjectKind.QUEUE, entry.queue
    elif entry.worker is not None:
        kind, subject_id = SubjectKind.WORKER, entry.worker[:100]
    return AlertFinding(
        tenant_id=tenant_id,
        events=events,
        subject=AlertSubject(kind, subject_id[:100], clipped(entry.title, 200)),
        at=entry.since or now,
        summary=clipped(entry.title),
        reason=clipped(entry.reason),
        run_id=entry.run_id,
    )
