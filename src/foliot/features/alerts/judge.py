"""Judges findings by the alert rules: opens, counts and resolves alerts, and adds their deliveries.

Runs in the transaction of what it judges (the end of a run, a check that finds a schedule late, a ping), so that no
alert is lost and none is opened twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import groupby
from operator import add

from foliot.core.errors import Invalid
from foliot.core.ids import new_id
from foliot.db.database import Transaction
from foliot.engine.model.run import RunState
from foliot.features.alerts.model.alert import (
    ALERT,
    DELIVERY,
    GATHER,
    Alert,
    AlertFinding,
    AlertState,
    Delivery,
    DeliveryEvent,
    DeliveryState,
    SubjectKind,
)
from foliot.features.alerts.model.rule import COUNTED, OF_ENDINGS, OVER_BY_SUCCESS, AlertEvent, AlertRuleRecord
from foliot.features.alerts.sql.alerts import SqlAlerts, open_key
from foliot.features.alerts.sql.deliveries import SqlDeliveries
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.features.filters.model import of_schedules

ONE_SHOT = frozenset({AlertEvent.RECOVERED, AlertEvent.FINISHED, AlertEvent.CHANGED})
"""Events that report something once: their alerts are resolved from the start."""
RulesByTenant = Mapping[str, Sequence[AlertRuleRecord]]


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How many failures a threshold has counted, and when the first of them ended."""

    failures: int
    since: datetime

    def __add__(self, other: FailureCount) -> FailureCount:
        return FailureCount(self.failures + other.failures, min(self.since, other.since))


@dataclass(frozen=True, slots=True)
class Hit:
    """A finding that a rule is about, the event under which it is, and the failures that the rule has counted."""

    rule: AlertRuleRecord
    finding: AlertFinding
    event: AlertEvent
    failures: FailureCount | None = None

    @classmethod
    def of(cls, rule: AlertRuleRecord, finding: AlertFinding) -> Hit:
        return cls(rule, finding, rule.wants(*finding.events) or finding.events[0])

    @property
    def key(self) -> str:
        return open_key(self.rule.id, self.finding.subject.id)


@dataclass(slots=True)
class Judged:
    """How many alerts were opened, counted again and resolved."""

    opened: list[Alert] = field(default_factory=list)
    counted: int = 0
    resolved: list[Alert] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.opened or self.counted or self.resolved)


async def judge(tx: Transaction, findings: Sequence[AlertFinding], now: datetime) -> Judged:
    """Open, count and resolve alerts by the enabled rules of the findings' tenants."""
    rules: Sequence[AlertRuleRecord] = ()
    if findings:
        tenants, subjects = {finding.tenant_id for finding in findings}, {finding.subject.id for finding in findings}
        rules = await SqlAlertRules(tx).enabled(tenants, subjects)
    return await judge_by(tx, rules, findings, now)


async def judge_by(
    tx: Transaction, rules: Sequence[AlertRuleRecord], findings: Sequence[AlertFinding], now: datetime
) -> Judged:
    """The same by these rules."""
    judged = Judged()
    by_tenant = {tenant_id: list(group) for tenant_id, group in groupby(_sorted(rules), lambda rule: rule.tenant_id)}
    for wave in _waves([finding for finding in findings if finding.tenant_id in by_tenant]):
        await _judge_wave(tx, wave, by_tenant, now, judged)
    return judged


def _sorted(rules: Sequence[AlertRuleRecord]) -> list[AlertRuleRecord]:
    return sorted(rules, key=lambda rule: (rule.tenant_id, rule.id))


def _waves(findings: Sequence[AlertFinding]) -> Iterator[list[AlertFinding]]:
    """Groups in which each subject fails or recovers, not both: a group is judged with a few statements."""
    wave: list[AlertFinding] = []
    over: dict[str, bool] = {}
    for finding in findings:
        if over.setdefault(finding.subject.id, finding.over) is not finding.over:
            yield wave
            wave, over = [], {finding.subject.id: finding.over}
        wave.append(finding)
    if wave:
        yield wave


async def _judge_wave(
    tx: Transaction,
    wave: Sequence[AlertFinding],
    rules: Mapping[str, Sequence[AlertRuleRecord]],
    now: datetime,
    judged: Judged,
) -> None:
    ends = [finding for finding in wave if finding.over]
    if ends:
        await _recover(tx, ends, rules, now, judged)
    hits: list[Hit] = []
    for tenant_id, of_tenant in rules.items():
        findings = [finding for finding in wave if finding.tenant_id == tenant_id and not finding.over]
        for rule in of_tenant:
            wanted = [finding for finding in findings if rule.wants(*finding.events)]
            hits += [Hit.of(rule, finding) for finding in await matching(tx, rule, wanted, now)]
    if hits:
        await _open(tx, await _over_threshold(tx, hits, now), now, judged)


async def _recover(
    tx: Transaction,
    ends: Sequence[AlertFinding],
    rules: Mapping[str, Sequence[AlertRuleRecord]],
    now: datetime,
    judged: Judged,
) -> None:
    """Resolve what is open about these subjects; where failures had been counted, report the recovery."""
    tenants, subjects = {end.tenant_id for end in ends}, {end.subject.id for end in ends}
    about = {event for end in ends for event in end.events}
    recovered = AlertEvent.RECOVERED in about
    streaks = await SqlAlerts(tx).end_streaks(tenants, subjects) if recovered else set()
    # A schedule that runs again is no longer late, and what it missed is over.
    events = about | (OVER_BY_SUCCESS if recovered else set())
    standing = [alert for alert in await SqlAlerts(tx).open_about(tenants, subjects) if alert.event in events]
    await resolve(tx, standing, now)
    judged.resolved += standing
    failed = streaks | {alert.subject.id for alert in standing}
    reports = []
    for end in ends:
        if not recovered or end.subject.id not in failed:
            continue
        for rule in rules[end.tenant_id]:
            # A rule about failures reports the recovery by the end of its alert.
            if rule.wants(AlertEvent.RECOVERED) and not rule.wants(*COUNTED):
                reports += [Hit.of(rule, found) for found in await matching(tx, rule, [end], now)]
    if reports:
        await _open(tx, reports, now, judged)


async def matching(
    tx: Transaction, rule: AlertRuleRecord, findings: Sequence[AlertFinding], now: datetime
) -> list[AlertFinding]:
    """The findings that the rule's schedule or filter names; a filter excludes what is no schedule."""
    if rule.schedule_id is not None:
        return [finding for finding in findings if finding.subject.id == rule.schedule_id]
    if not findings or not rule.settings.filter:
        return list(findings)
    ids = {finding.subject.id for finding in findings if finding.subject.kind is SubjectKind.SCHEDULE}
    if not ids:
        return []
    try:
        query = of_schedules(()).read(rule.settings.filter, now, "filter")
    except Invalid:
        # Saved by a version whose filters knew more.
        return []
    named = await SqlAlerts(tx).matching(rule.tenant_id, ids, query)
    return [finding for finding in findings if finding.subject.id in named]


async def _over_threshold(tx: Transaction, hits: Sequence[Hit], now: datetime) -> list[Hit]:
    """Those whose rule's number of failures is reached; failures in a row are counted under the lock of their row."""
    counted = [hit for hit in hits if hit.event in COUNTED]
    in_a_row: dict[str, FailureCount] = {}
    for tenant_id in sorted({hit.rule.tenant_id for hit in counted}):
        of_tenant = [hit for hit in counted if hit.rule.tenant_id == tenant_id]
        streaks = Counter((hit.rule.id, hit.finding.subject.id) for hit in of_tenant)
        first: dict[tuple[str, str], datetime] = {}
        for hit in of_tenant:
            key = (hit.rule.id, hit.finding.subject.id)
            first[key] = min(first.get(key, hit.finding.at), hit.finding.at)
        found = await SqlAlerts(tx).lengthen(streaks, first, tenant_id, now)
        in_a_row |= {key: FailureCount(*each) for key, each in found.items()}
    recent = await _recent(tx, counted, now)
    reached = []
    for hit in hits:
        after = hit.rule.settings.after
        if hit.event not in COUNTED:
            reached.append(hit)
        elif after.count is not None and after.within is not None:
            failures = _within(hit, after.within, recent[after.within], now)
            if failures is not None and failures.failures >= after.count:
                reached.append(replace(hit, failures=failures))
        elif in_a_row[hit.key].failures >= after.in_a_row:
            reached.append(replace(hit, failures=in_a_row[hit.key]))
    return reached


RecentEndings = Mapping[tuple[str, RunState], tuple[int, datetime]]


async def _recent(tx: Transaction, hits: Sequence[Hit], now: datetime) -> dict[timedelta, RecentEndings]:
    """How the runs of these have ended lately, for each time that a threshold names."""
    found: dict[timedelta, RecentEndings] = {}
    for within in {hit.rule.settings.after.within for hit in hits}:
        if within is None:
            continue
        of_span = [hit for hit in hits if hit.rule.settings.after.within == within]
        states = {state for hit in of_span for state in hit.rule.settings.counted}
        found[within] = await SqlAlerts(tx).endings_since(
            {hit.finding.subject.id for hit in of_span}, states, now - within
        )
    return found


def _within(hit: Hit, within: timedelta, recent: RecentEndings, now: datetime) -> FailureCount | None:
    """The failures of its subject that its rule counts: runs of a schedule, or the pings of a monitor."""
    subject = hit.finding.subject.id
    runs = (recent.get((subject, state)) for state in hit.rule.settings.counted)
    found = [FailureCount(*each) for each in runs if each is not None]
    found += [FailureCount(1, at) for at in hit.finding.failed_at if at > now - within]
    return reduce(add, found) if found else None


async def _open(tx: Transaction, hits: Sequence[Hit], now: datetime, judged: Judged) -> None:
    standing = await SqlAlerts(tx).open_of(sorted({hit.key for hit in hits}))
    new: dict[str, tuple[AlertRuleRecord, Alert]] = {}
    again: dict[str, Alert] = {}
    for hit in hits:
        key = hit.key
        if hit.event in ONE_SHOT:
            new[f"{key}:{len(new)}"] = (hit.rule, _alert(hit, now))
        elif key in standing:
            again[key] = _counted(again.get(key, standing[key]), hit)
        elif key in new:
            new[key] = (hit.rule, _counted(new[key][1], hit))
        else:
            new[key] = (hit.rule, _alert(hit, now))
        if key in new and hit.failures is not None:
            # Those of this transaction are among the counted.
            new[key] = (hit.rule, replace(new[key][1], count=hit.failures.failures))
    if again:
        await SqlAlerts(tx).count_again(list(again.values()))
        judged.counted += len(again)
    if new:
        stored = await SqlAlerts(tx).add([alert for _, alert in new.values()])
        opened = [(rule, alert) for rule, alert in new.values() if alert.id in stored]
        await _deliver(tx, opened, now)
        judged.opened += [alert for _, alert in opened]


def _alert(hit: Hit, now: datetime) -> Alert:
    rule, finding = hit.rule, hit.finding
    settings, once = rule.settings, hit.event in ONE_SHOT
    return Alert(
        id=new_id(ALERT),
        tenant_id=rule.tenant_id,
        rule_id=rule.id,
        event=hit.event,
        severity=settings.severity,
        state=AlertState.RESOLVED if once else AlertState.OPEN,
        subject=finding.subject,
        count=1 if hit.failures is None else hit.failures.failures,
        first_at=finding.at if hit.failures is None else hit.failures.since,
        opened_at=finding.at,
        last_at=finding.at,
        summary=finding.summary,
        reason=finding.reason,
        run_id=finding.run_id,
        resolved_at=now if once else None,
        remind_at=None if once or settings.remind_every is None else now + settings.remind_every,
    )


def _counted(alert: Alert, hit: Hit) -> Alert:
    finding = hit.finding
    # What was late or slow and now fails is over when it succeeds, not when it is no longer late.
    fails = alert.event not in OF_ENDINGS and hit.event in COUNTED
    return replace(
        alert,
        event=hit.event if fails else alert.event,
        summary=finding.summary if fails else alert.summary,
        count=alert.count + 1,
        last_at=max(alert.last_at, finding.at),
        reason=finding.reason,
        run_id=finding.run_id or alert.run_id,
    )


async def _deliver(tx: Transaction, opened: Sequence[tuple[AlertRuleRecord, Alert]], now: datetime) -> None:
    new = [
        delivery(alert, channel_id, DeliveryEvent.OPENED, now)
        for rule, alert in opened
        for channel_id in rule.settings.to
    ]
    if new:
        await SqlDeliveries(tx).add(new)


async def resolve(tx: Transaction, standing: Sequence[Alert], now: datetime, by: str | None = None) -> None:
    """Resolve these alerts, and notify every channel that was notified of them."""
    ids = await SqlAlerts(tx).resolve([alert.id for alert in standing], now, by) if standing else set()
    if not ids:
        # Another process found at the same time that they are over.
        return
    await SqlDeliveries(tx).skip(ids, DeliveryEvent.REMINDED)
    told = await SqlDeliveries(tx).channels_told(ids)
    new = [
        delivery(alert, channel_id, DeliveryEvent.RESOLVED, now)
        for alert in standing
        if alert.id in ids
        for channel_id in sorted(told.get(alert.id, ()))
    ]
    if new:
        await SqlDeliveries(tx).add(new)


async def end_silently(
    tx: Transaction, rule_ids: Collection[str], now: datetime, by: str, *, kept: Collection[AlertEvent] = ()
) -> None:
    """Resolve alerts of rules that are deleted, disabled or no longer about their events, without a message."""
    over = [event for event in AlertEvent if event not in kept]
    standing = await SqlAlerts(tx).open_by(rule_ids, over)
    ids = await SqlAlerts(tx).resolve([alert.id for alert in standing], now, by) if standing else set()
    for event in (DeliveryEvent.OPENED, DeliveryEvent.REMINDED) if ids else ():
        await SqlDeliveries(tx).skip(ids, event)
    if not kept:
        await SqlAlerts(tx).forget_streaks(rule_ids)


def delivery(alert: Alert, channel_id: str, event: DeliveryEvent, now: datetime) -> Delivery:
    """A message about this alert that waits to be sent."""
    return Delivery(
        id=new_id(DELIVERY),
        tenant_id=alert.tenant_id,
        alert_id=alert.id,
        rule_id=alert.rule_id,
        channel_id=channel_id,
        event=event,
        state=DeliveryState.PENDING,
        attempts=0,
        ready_at=now + GATHER,
        created_at=now,
    )
