"""Checks regularly for problems that no run reports: late and missed schedules, stuck queues, lost workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.core.access import KEEPER, Caller, Interface, Role
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.alerts.judge import judge_by, resolve
from foliot.features.alerts.model.alert import ALERTS_TOPIC, AlertFinding, AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import OF_CHECKS, AlertEvent, AlertRuleRecord
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, MissedInstants, missed
from foliot.features.insights.sql.attention import SqlTroubles
from foliot.features.insights.usecases.attention import WINDOW, Attention
from foliot.features.schedules.usecases.change import SKEW
from foliot.wakeups.feed import Feed

EVERY = 15.0
MOST_MISSED = 1000
EVENTS = {
    AttentionKind.LATE: (AlertEvent.LATE,),
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
        findings = [finding for entry in found.items if (finding := _finding(tenant_id, entry, found.at)) is not None]
        now = self.clock.now()
        async with self.store.begin(tenant_id) as tx:
            gaps = await SqlTroubles(tx).missed(tenant_id, now - WINDOW, now + SKEW, MOST_MISSED)
            findings += [missed_finding(tenant_id, one) for one in gaps]
            present = {finding.subject.id for finding in findings}
            # What is open about monitors ends by a ping, which is judged when it arrives.
            standing = [
                alert
                for alert in await SqlAlerts(tx).open_by([rule.id for rule in rules], OF_CHECKS)
                if alert.subject.kind is not SubjectKind.MONITOR
            ]
            known = {(alert.rule_id, alert.subject.id) for alert in standing}
            over = [alert for alert in standing if alert.subject.id not in present]
            await resolve(tx, over, now)
            news = bool(over)
            for rule in rules:
                reported = await SqlAlerts(tx).reported(rule.id, present)
                fresh = [
                    finding
                    for finding in findings
                    if (rule.id, finding.subject.id) not in known
                    # Missed instants stay missed: each is reported once.
                    and not (AlertEvent.MISSED in finding.events and _since(reported, finding) >= finding.at)
                ]
                news |= bool(await judge_by(tx, [rule], fresh, now))
        if news:
            self.feed.wake(ALERTS_TOPIC)


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
    words = "is late" if entry.kind is AttentionKind.LATE else ""
    return AlertFinding(
        tenant_id=tenant_id,
        events=events,
        subject=AlertSubject(kind, subject_id[:100], clipped(entry.title, 200)),
        at=entry.since or now,
        summary=clipped(f"{entry.title} {words}".strip()),
        reason=clipped(entry.reason),
        run_id=entry.run_id,
    )
