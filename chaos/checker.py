"""Judges the history of a campaign. Pure, and independent of Foliot: instants are computed here, with a pencil.

Lower bounds: every instant is accounted for, every success was seen by the receiver. Upper bounds: no instant twice, no
call without a run, no more calls than attempts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

FINAL = frozenset({"success", "partial", "failed", "dead_letter", "cancelled"})
GOOD = frozenset({"success", "partial"})


@dataclass(frozen=True, slots=True)
class Rhythm:
    """An interval schedule: start + k * every, before the end, after its creation."""

    start: datetime
    every: timedelta
    end: datetime
    created: datetime

    def instants(self) -> list[datetime]:
        first = max(0, math.floor((self.created - self.start) / self.every) + 1) if self.created >= self.start else 0
        last = math.ceil((self.end - self.start) / self.every)
        return [self.start + self.every * place for place in range(first, last)]


@dataclass(frozen=True, slots=True)
class Made:
    """A run, as its row says; `claims` is how often it was claimed."""

    id: str
    schedule: str
    at: datetime
    state: str
    claims: int
    attempt: int
    max_attempts: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger."""

    schedule: str
    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Call:
    """What the receiver saw, outside the system."""

    webhook_id: str
    at: datetime
    """For which instant, by the header."""
    attempt: int
    seen: datetime
    status: int


@dataclass(frozen=True, slots=True)
class History:
    """Everything there is to judge."""

    rhythms: Mapping[str, Rhythm]
    runs: Sequence[Made]
    ledger: Sequence[Entry] = ()
    calls: Sequence[Call] = ()


def violations(history: History) -> list[str]:
    """What must not be; empty when the campaign is sound."""
    return [
        *_accounted(history),
        *_ended(history),
        *_delivered(history),
        *_called_for(history),
        *_not_too_often(history),
    ]


def _accounted(history: History) -> Iterable[str]:
    """One run or one place in the ledger per instant, and none besides."""
    covered: dict[str, Counter[datetime]] = defaultdict(Counter)
    doubled = Counter((run.schedule, run.at) for run in history.runs)
    for (schedule, at), count in doubled.items():
        if count > 1:
            yield f"{schedule} has {count} runs for {at}"
        covered[schedule][at] += 1
    expected = {schedule: rhythm.instants() for schedule, rhythm in history.rhythms.items()}
    for entry in history.ledger:
        within = [at for at in expected.get(entry.schedule, ()) if entry.first <= at <= entry.last]
        if len(within) != entry.count:
            yield f"{entry.schedule} counts {entry.count} from {entry.first} to {entry.last}, not {len(within)}"
        covered[entry.schedule].update(within)
    for schedule, found in covered.items():
        known = set(expected.get(schedule, ()))
        yield from (f"{schedule} ran at {at}, which is none of its instants" for at in found if at not in known)
    for schedule, instants in expected.items():
        for at in instants:
            if covered[schedule][at] != 1:
                word = "lost" if not covered[schedule][at] else "accounted for twice"
                yield f"{schedule}: the instant {at} is {word}"


def _ended(history: History) -> Iterable[str]:
    for run in history.runs:
        if run.state not in FINAL:
            yield f"{run.id} never ended: {run.state}"
        if run.attempt > run.max_attempts:
            yield f"{run.id} was tried {run.attempt} times, at most {run.max_attempts} were allowed"


def _delivered(history: History) -> Iterable[str]:
    """A run that says it succeeded has been answered well by the receiver."""
    answered = {call.webhook_id for call in history.calls if 200 <= call.status < 300}
    for run in history.runs:
        if run.state in GOOD and run.id not in answered:
            yield f"{run.id} succeeded, but the receiver never said so"


def _called_for(history: History) -> Iterable[str]:
    """Whoever is called twice for an instant can tell: the id is the same, and it is the run's."""
    runs = {run.id: run for run in history.runs}
    for webhook_id, at in {(call.webhook_id, call.at) for call in history.calls}:
        run = runs.get(webhook_id)
        if run is None:
            yield f"the receiver was called with {webhook_id}, which is no run"
        elif run.at != at:
            yield f"{webhook_id} was called for {at}, but is the run of {run.at}"


def _not_too_often(history: History) -> Iterable[str]:
    calls = Counter(call.webhook_id for call in history.calls)
    for run in history.runs:
        if calls[run.id] > run.claims:
            yield f"{run.id} was called {calls[run.id]} times with {run.claims} claims"


def duplicates(history: History) -> int:
    """Calls that were answered well beyond the first of their run: allowed (G7), and worth knowing."""
    good = Counter(call.webhook_id for call in history.calls if 200 <= call.status < 300)
    return sum(count - 1 for count in good.values())


def lateness(history: History) -> dict[str, float]:
    """Seconds from the instant to the run's creation, and to the first call."""
    created = [(run.created - run.at).total_seconds() for run in history.runs]
    first: dict[str, float] = {}
    for call in history.calls:
        late = (call.seen - call.at).total_seconds()
        first[call.webhook_id] = min(late, first.get(call.webhook_id, late))
    return {
        **{f"created_p{share}": percentile(created, share) for share in (50, 95, 99, 100)},
        **{f"called_p{share}": percentile(list(first.values()), share) for share in (50, 95, 99, 100)},
    }


def percentile(values: Sequence[float], share: float) -> float:
    if not values:
        return 0.0
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * share / 100) - 1))], 3)
