"""Simulates a week of a schedule's history by the scheduler's own rules. Pure: `sql.py` writes it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.core.failure_fingerprint import host_in
from foliot.core.ids import RUN, id_at, new_id
from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.outcome import AttemptFacts, judge
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.run import (
    EXCHANGE,
    AttemptError,
    Cancelled,
    Ended,
    EventLine,
    EventType,
    Failed,
    Fence,
    RunState,
    Succeeded,
)
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.settle import DueSchedule, NewRun, SchedulePlan, settle
from foliot.engine.model.views import AttemptEnding
from foliot.features.demo.model.site import PRODUCTS, SHOP


@dataclass(frozen=True, slots=True)
class DemoAttempt:
    """One attempt: how it ended, after how long, and its log lines (offset, level, message)."""

    outcome: Ended
    seconds: float
    lines: Sequence[tuple[float, str, str]] = ()


@dataclass(frozen=True, slots=True)
class InstantIndex:
    """An instant by its position in the history: 0 is the last one, 1 the one before."""

    at: datetime
    back: int

    def dice(self, name: str) -> random.Random:
        return random.Random(f"{name}:{self.at.isoformat()}")  # noqa: S311 -- sample data, not a secret


Life = Callable[[InstantIndex], Sequence[DemoAttempt]]
"""The attempts of a run. The schedule's retry policy decides how many are used; the last one repeats."""

LETTERS = 37
"""How many orders the partner did not accept, and so are dead letters."""
FAILED_NIGHTS = 3


def run_histories(host: str) -> Mapping[str, Life]:
    """By schedule. A schedule that is missing here has no history."""
    return {
        "nightly-prices": lambda one: _nightly(one, host),
        "partner-sync": lambda one: _partner(one, host),
        "stock-sync": lambda one: _stock(one, host),
        "quick-check": lambda one: [_webhook("GET", host, 200, one.dice("quick").uniform(0.01, 0.09))],
        "weekly-report": lambda one: [_webhook("POST", host, 200, one.dice("weekly").uniform(0.2, 0.8))],
        "shop-prices": _prices,
        "health-check": _health,
        "price-analysis": _analysis,
        "own-jobs": _own_jobs,
    }


def _nightly(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("nightly")
    if one.back < FAILED_NIGHTS:
        return [_webhook("POST", host, 429, dice.uniform(0.1, 0.3), attempt, 3) for attempt in (1, 2, 3)]
    return [_webhook("POST", host, 200, dice.uniform(2.5, 4.5), 1, 3)]


def _partner(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("partner")
    if one.back < LETTERS:
        return [_webhook("POST", host, 503, dice.uniform(0.8, 2.1), attempt, 3) for attempt in (1, 2, 3)]
    return [_webhook("POST", host, 200, dice.uniform(0.15, 0.6), 1, 3)]


def _stock(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("stock")
    chance = dice.random()
    if chance < 0.01:
        said = [(0.0, "info", f"GET to {host}, attempt 1 of 4")]
        return [DemoAttempt(Cancelled("a stop was requested"), dice.uniform(5, 20), said)]
    if chance < 0.08:
        return [_webhook("GET", host, 503, dice.uniform(0.5, 2), 1, 4), _webhook("GET", host, 200, 0.2, 2, 4)]
    # Now and then it runs past its next instant, which is then skipped.
    slow = chance > 0.985
    return [_webhook("GET", host, 200, dice.uniform(1300, 1900) if slow else dice.uniform(0.05, 0.9), 1, 4)]


_PHRASES = {200: "200 OK", 429: "429 Too Many Requests", 503: "503 Service Unavailable"}


def _webhook(method: str, host: str, status: int, seconds: float, attempt: int = 1, most: int = 4) -> DemoAttempt:
    """An attempt with the log lines that the webhook action writes."""
    milliseconds = round(seconds * 1000)
    good = status < 300
    said = [
        (0.0, "info", f"{method} to {host}, attempt {attempt} of {most}"),
        (
            seconds,
            "info" if good else "warning",
            f"The target answered {_PHRASES[status]} after {milliseconds} ms",
        ),
    ]
    body = '{"taken": true}' if good else '{"error": "come back later"}'
    response: dict[str, Any] = {
        "status": status,
        "headers": {"content-type": "application/json"},
        "body": body,
        "truncated": False,
        "duration_ms": milliseconds,
    }
    if good:
        return DemoAttempt(Succeeded(result={"status": status}, response=response), seconds, said)
    problem = AttemptError(f"http_{status}", f"The target answered {_PHRASES[status]}.")
    return DemoAttempt(Failed(problem, response=response), seconds, said)


def _prices(one: InstantIndex) -> Sequence[DemoAttempt]:
    dice = one.dice("prices")
    lost = sorted(dice.sample(sorted(PRODUCTS), 1)) if dice.random() < 0.12 else []
    seconds, total = dice.uniform(0.4, 1.6), len(PRODUCTS)
    said = [(seconds * 0.6, "warning", f"{sku} at {SHOP}: the shop answered 503") for sku in lost]
    result = {
        "by": "visits",
        "visited": total,
        "stored": total - len(lost),
        "failed": len(lost),
        "found_by": {"json_ld": total - len(lost)},
        "failures": [{"competitor": SHOP, "product": sku, "error": "the shop answered 503"} for sku in lost],
    }
    return [DemoAttempt(Succeeded(result=result, partial=bool(lost)), seconds, said)]


def _health(one: InstantIndex) -> Sequence[DemoAttempt]:
    latency = round(one.dice("health").uniform(0.2, 1.4), 3)
    service = {"kind": "database", "state": "up", "error": None, "latency_ms": latency, "at": rfc3339(one.at)}
    service["since"] = rfc3339(one.at - timedelta(minutes=5 * 500))
    result = {"healthy": True, "down": [], "changed": [], "services": {"database": service}}
    return [DemoAttempt(Succeeded(result=result), latency / 1000 + 0.004)]


def _analysis(one: InstantIndex) -> Sequence[DemoAttempt]:
    seconds = one.dice("analysis").uniform(0.05, 0.3)
    said = [(seconds, "info", f"Looked at the prices of {len(PRODUCTS)} products at {SHOP}")]
    return [DemoAttempt(Succeeded(result={"products": len(PRODUCTS), "competitors": [SHOP]}), seconds, said)]


def _own_jobs(one: InstantIndex) -> Sequence[DemoAttempt]:
    seconds = one.dice("own").uniform(0.004, 0.03)
    return [DemoAttempt(Succeeded(result={"jobs": 5}), seconds)]


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One attempt: when it began, on which worker, and its ending, which carries the fencing token."""

    started_at: datetime
    worker: str
    ending: AttemptEnding


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run of a schedule from its instant to its end."""

    id: str
    schedule: Schedule
    new: NewRun
    created_at: datetime
    attempts: Sequence[PastAttempt]

    @property
    def fence(self) -> Fence:
        """The fencing token of its last attempt."""
        return self.attempts[-1].ending.fence


@dataclass(frozen=True, slots=True)
class PastAccount:
    """A schedule's history: its runs and ledger entries, and the cursor after the last instant."""

    runs: Sequence[PastRun]
    ledger: Sequence[LedgerEntry]
    last: SchedulePlan


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """Counts of deleted rows."""

    schedules: int
    runs: int


WEEK = timedelta(days=7)
SEEN = timedelta(milliseconds=3)
"""Delay from an instant to the creation of its run, and again to its start."""
WORKER = "demo"
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no scheduler was running."""

    start: datetime
    end: datetime

    def over(self, moment: datetime) -> datetime:
        """When what was due at this moment was settled."""
        return self.end if self.start <= moment < self.end else moment


@dataclass(slots=True)
class SettledPast:
    """What has been settled so far."""

    due: DueSchedule
    runs: list[PastRun] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    last: SchedulePlan | None = None


def settled_week(schedule: Schedule, life: Life, until: datetime, night: Outage) -> PastAccount | None:
    """Everything from its first instant up to `until`; None when there was nothing."""
    spec, first = schedule.spec, schedule.next_at
    if first is None or first > until:
        return None
    spoken = DueSchedule(
        schedule.id, schedule.tenant_id, schedule.user_id, schedule.version, spec.dump(), spec.anchor, next_at=first
    )
    past = SettledPast(spoken)
    while past.due.next_at <= until:
        seen = min(night.over(past.due.next_at), until)
        plan = settle(past.due, seen, _open(past.runs, seen))
        for new in plan.runs:
            later = spec.trigger.count(new.scheduled_for + _TICK, until + _TICK)
            tries = life(InstantIndex(new.scheduled_for, later))
            past.runs.append(_run(schedule, new, tries, seen + SEEN, until))
        past.ledger += plan.ledger
        past.last = plan
        if plan.next_at is None:
            break
        past.due = replace(
            past.due,
            next_at=plan.next_at,
            fired=plan.fired,
            gap_first=plan.gap_first,
            gap_reason=plan.gap_reason,
            last_run_at=plan.last_run_at,
        )
    return None if past.last is None else PastAccount(past.runs, _merged(past.ledger), past.last)


def _open(runs: Sequence[PastRun], now: datetime) -> list[OpenRun]:
    """Only the newest can still be open: nothing here overlaps."""
    return [OpenRun(run.id, RunState.RUNNING) for run in runs[-1:] if run.attempts[-1].ending.at > now]


def _merged(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Adjacent entries merged, as the ledger stores them."""
    merged: dict[tuple[datetime, str], LedgerEntry] = {}
    for entry in entries:
        key = (entry.first, entry.fate.value)
        before = merged.get(key)
        merged[key] = entry if before is None else replace(entry, count=before.count + entry.count)
    return list(merged.values())


def _run(schedule: Schedule, new: NewRun, tries: Sequence[DemoAttempt], created: datetime, until: datetime) -> PastRun:
    run = PastRun(id=id_at(RUN, created), schedule=schedule, new=new, created_at=created, attempts=[])
    made = _attempts(run, tries, until)
    if made is None:
        # It would end in the future: it becomes a quick success instead.
        left = max((until - created - 2 * SEEN).total_seconds(), 0.001)
        good = DemoAttempt(Succeeded(result={"status": 200}), min(left, 0.05))
        made = _attempts(run, [good], until + timedelta(seconds=1))
    return replace(run, attempts=made or [])


def _exchanged(
    run: PastRun, number: int, seconds: float, response: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The response of a webhook with the request that it answered and how long its phases took."""
    action = run.schedule.action
    if run.schedule.spec.kind != "webhook" or response is None:
        return response
    total = round(seconds * 1000, 1)
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": run.id,
        "X-Foliot-Attempt": str(number),
        "X-Foliot-Scheduled-For": rfc3339(run.new.scheduled_for),
    }
    timing = {"connect_ms": 0.4, "first_byte_ms": max(total - 1, 0.1), "total_ms": total}
    request = {"method": action.get("method", "POST"), "url": action["url"], "headers": headers}
    return {**response, EXCHANGE: {"request": request, "timing": timing}}


def _attempts(run: PastRun, tries: Sequence[DemoAttempt], until: datetime) -> list[PastAttempt] | None:
    """The attempts that the schedule's retry policy leads to; None when they have not ended by then."""
    attempts: list[PastAttempt] = []
    spec, begins = run.schedule.spec, max(run.created_at, run.new.ready_at) + SEEN
    for number in range(1, spec.retry.max_attempts + 1):
        tried = tries[min(number, len(tries)) - 1]
        ends = begins + timedelta(seconds=tried.seconds)
        verdict = judge(AttemptFacts(run.id, number, spec.retry.max_attempts, spec.retry), tried.outcome, ends)
        ending = AttemptEnding(
            fence=Fence(run.id, number, new_id("tok")),
            state=verdict.state,
            outcome=verdict.outcome,
            at=ends,
            result=verdict.result,
            error=verdict.error,
            response=_exchanged(run, number, tried.seconds, verdict.response),
            ready_at=verdict.ready_at,
            lines=[
                EventLine(begins + timedelta(seconds=at), EventType.LOG, level, said) for at, level, said in tried.lines
            ],
            host=host_in(str(run.schedule.action.get("url", ""))),
        )
        attempts.append(PastAttempt(begins, WORKER, ending))
        if ends > until:
            return None
        if verdict.ready_at is None:
            return attempts
        begins = verdict.ready_at + SEEN
    return attempts
