"""Alerts about runs that end: judged in the transaction that ends them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foliot.core.failure_fingerprint import told
from foliot.db.database import Transaction
from foliot.engine.model.run import FAILURES, RunState
from foliot.engine.model.views import RunEnded
from foliot.features.alerts.judge import judge_by
from foliot.features.alerts.model.alert import ALERTS_TOPIC, AlertFinding, AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import OVER_BY_SUCCESS, AlertEvent
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.rules import SqlAlertRules


async def judge_endings(tx: Transaction, ended: Sequence[RunEnded], now: datetime) -> tuple[str, ...]:
    """Open and resolve alerts about these runs; one statement where no rule is enabled."""
    about = {run.schedule_id for run in ended if run.schedule_id is not None}
    known = await SqlAlertRules(tx).enabled({run.tenant_id for run in ended}, about)
    rules = [rule for rule in known if rule.wants(*OVER_BY_SUCCESS)]
    if not rules:
        return ()
    tenants = {rule.tenant_id for rule in rules}
    judged = [run for run in ended if run.tenant_id in tenants]
    names = await SqlAlerts(tx).names({run.schedule_id for run in judged if run.schedule_id is not None})
    # What a deleted schedule had begun is reported to no rule: no success would resolve the alert.
    judged = [run for run in judged if run.schedule_id is None or run.schedule_id in names]
    alone = {run.repeats for run in judged if run.schedule_id is None and run.repeats is not None}
    first = await SqlAlerts(tx).first_runs(alone) if alone else {}
    findings = []
    for run in judged:
        repeated = None if run.repeats is None else first.get(run.repeats, run.repeats)
        findings += findings_of(run, names.get(run.schedule_id or "", ""), repeated)
    return (ALERTS_TOPIC,) if await judge_by(tx, rules, findings, now) else ()


def findings_of(run: RunEnded, name: str, repeated: str | None = None) -> list[AlertFinding]:
    """What rules may want to know of it. A cancelled run is neither a failure nor a recovery.

    Without a schedule, it is about the run that it repeats: the success of a repeat resolves the failure's alert.
    """
    subject = AlertSubject(SubjectKind.RUN, repeated or run.run_id, f"{run.kind} run")
    if run.schedule_id is not None:
        subject = AlertSubject(SubjectKind.SCHEDULE, run.schedule_id, name or run.schedule_id)
    code, message = told(run.error)
    reason = clipped(f"{message} ({code})" if message and code else message or code)

    def finding(words: str, *events: AlertEvent, over: bool = False) -> AlertFinding:
        summary = clipped(f"{subject.name} {words}")
        return AlertFinding(run.tenant_id, events, subject, run.at, summary, reason, run.run_id, over)

    findings = [finding(f"ended: {run.state.value.replace('_', ' ')}", AlertEvent.FINISHED)]
    match run.state:
        case RunState.DEAD_LETTER:
            findings.append(finding("failed", AlertEvent.FAILED, AlertEvent.DEAD_LETTER))
        case state if state in FAILURES:
            findings.append(finding("failed", AlertEvent.FAILED))
        case RunState.PARTIAL:
            findings.append(finding("finished with failures", AlertEvent.DEGRADED))
        case RunState.DEGRADED:
            findings.append(finding("broke an expectation of its data", AlertEvent.DEGRADED))
        case RunState.SUCCESS:
            findings.append(finding("works again", AlertEvent.RECOVERED, over=True))
        case _:
            pass
    return findings
