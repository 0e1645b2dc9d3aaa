"""The ending of an attempt: the judgement in the form that is written, and the counters once it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from foliot.cluster.frames import MonitoredTask, MonitoredTaskEnd
from foliot.core.failure_fingerprint import host_in
from foliot.engine.broker.publisher import Monitor
from foliot.engine.model.outcome import AttemptFacts, RetryPolicy, given_up, judge
from foliot.engine.model.run import FAILURES, Ended, EventLine, Lost, RunState, is_test
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.engine.node_reporter import EngineCounters

log = structlog.get_logger("foliot.engine")


def conclude(
    claimed: ClaimedRun, outcome: Ended, now: datetime, *, lines: Sequence[EventLine] = (), cancelled: bool = False
) -> AttemptEnding:
    """The judgement of an attempt, ready to be written."""
    tried = AttemptFacts(
        claimed.fence.run_id,
        claimed.attempt,
        claimed.max_attempts,
        claimed.spec.retry if claimed.spec is not None else _policy(claimed),
        cancelled or claimed.cancel_requested,
        claimed.replay,
    )
    verdict = judge(tried, outcome, now)
    return AttemptEnding(
        fence=claimed.fence,
        state=verdict.state,
        outcome=verdict.outcome,
        at=now,
        result=verdict.result,
        error=verdict.error,
        response=verdict.response,
        ready_at=verdict.ready_at,
        refund=verdict.refund,
        lost=isinstance(outcome, Lost),
        lines=lines,
        given_up=given_up(replay=claimed.replay),
        changed=verdict.changed,
        host=host_in(str(claimed.config.get("url", ""))) if verdict.state in FAILURES else None,
    )


def _policy(claimed: ClaimedRun) -> RetryPolicy:
    """Of a run without a schedule. A test of a target has its answer either way: nothing is kept."""
    return RetryPolicy(dead_letter=not is_test(claimed.kind, claimed.config))


def announce(
    meter: EngineCounters, monitor: Monitor | None, claimed: ClaimedRun, ending: AttemptEnding, stored: RunState
) -> None:
    """Count an attempt that has ended as it was stored; a run that was given up is also logged."""
    if monitor is not None:
        end = MonitoredTaskEnd(state=stored.value, at=ending.at, result=ending.result, error=ending.error)
        monitor.ended(task_view(claimed), end)
    meter.ended(stored.value, (ending.at - claimed.started_at).total_seconds())
    if stored.final:
        meter.pulse.beat(claimed.queue, ending.at)
    if stored is RunState.DEAD_LETTER:
        error = ending.error or {}
        log.warning(
            "a run became a dead letter: see foliot dead-letter list",
            action="run_given_up",
            tenant_id=claimed.tenant_id,
            schedule_id=claimed.schedule_id,
            run_id=ending.fence.run_id,
            code=error.get("code"),
            error=error.get("message"),
        )


def task_view(claimed: ClaimedRun) -> MonitoredTask:
    """An attempt in the terms of a broker's tools."""
    name = claimed.kind if claimed.schedule_id is None else f"{claimed.kind}.{claimed.schedule_id}"
    return MonitoredTask(
        run_id=claimed.fence.run_id,
        name=name,
        queue=claimed.queue,
        attempt=claimed.attempt,
        started_at=claimed.started_at,
    )
