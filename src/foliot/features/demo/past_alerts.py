"""The alerts of the demo's past week: its history judged by a rule, as it would have been when it happened."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime

from foliot.db.database import Transaction
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import Origin
from foliot.engine.model.views import RunEnded
from foliot.features.alerts.checks import missed_finding
from foliot.features.alerts.endings import findings_of
from foliot.features.alerts.judge import judge_by
from foliot.features.alerts.model.alert import AlertFinding
from foliot.features.alerts.model.rule import RULE, AlertEvent, AlertRuleRecord, RuleSettings, Threshold
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.features.demo.model.week import PastAccount
from foliot.features.insights.model.attention import MissedInstants

RULE_ID = f"{RULE}_{hashlib.sha256(b'demo').hexdigest()[:32]}"
"""Of the one demo of an installation: it is deleted with the demo."""


async def add_alerts(
    tx: Transaction,
    rule: AlertRuleRecord,
    accounts: Mapping[str, PastAccount],
    acknowledged: tuple[str, str],
    at: datetime,
) -> None:
    """Create the rule and its alerts. `acknowledged`: the schedule whose alert a user has seen, and that user."""
    if await SqlAlertRules(tx).get(rule.tenant_id, rule.id) is not None:
        return
    await SqlAlertRules(tx).add(rule)
    found = [finding for name, account in accounts.items() for finding in _telling(name, account)]
    # In order of time, as their ids are.
    for finding in sorted(found, key=lambda each: each.at):
        await judge_by(tx, [rule], [finding], finding.at)
    for alert in await SqlAlerts(tx).open_by([rule.id], [AlertEvent.FAILED]):
        if alert.subject.name == acknowledged[0]:
            await SqlAlerts(tx).acknowledge(alert.id, acknowledged[1], at)


def demo_rule(tenant_id: str, user_id: str, tag: str, at: datetime) -> AlertRuleRecord:
    """Without channels: its alerts are only shown."""
    settings = RuleSettings(
        "demo: failing or missed", (AlertEvent.FAILED, AlertEvent.MISSED), filter=f"tag:{tag}", after=Threshold(3)
    )
    return AlertRuleRecord(
        id=RULE_ID, tenant_id=tenant_id, settings=settings, created_by=user_id, created_at=at, updated_at=at
    )


def _telling(name: str, account: PastAccount) -> Iterator[AlertFinding]:
    """What opens, counts or resolves an alert: failures, missed instants, and the first success after them."""
    bad = False
    for finding in sorted(_findings(name, account), key=lambda each: each.at):
        if bad or not finding.over:
            yield finding
        bad = not finding.over


def _findings(name: str, account: PastAccount) -> Iterator[AlertFinding]:
    for run in account.runs:
        last = run.attempts[-1].ending
        ended = RunEnded(
            run.id,
            run.schedule.tenant_id,
            run.schedule.id,
            run.schedule.spec.kind,
            Origin.INSTANT.value,
            last.state,
            last.at,
            last.error,
        )
        yield from (finding for finding in findings_of(ended, name) if AlertEvent.FINISHED not in finding.events)
    for entry in account.ledger:
        if entry.fate is LedgerKind.MISSED and account.runs:
            schedule = account.runs[0].schedule
            missed = MissedInstants(schedule.id, name, entry.count, entry.first, entry.last, entry.reason.value)
            yield missed_finding(schedule.tenant_id, missed)
