"""How late runs were made and called; without faults they are made within 1 s and begun within 2 s (G8)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from chaos import recovery
from chaos.history import History
from chaos.kinds import KINDS

CREATED, STARTED = 1.0, 2.0
"""Seconds after its instant at p99, without faults, within which a run is made and its first attempt begins."""

BEFORE, AFTER = timedelta(seconds=15), timedelta(seconds=3)
"""An instant with a fault so long before or after it says nothing about the time without faults."""

ENOUGH = 20
"""With fewer instants a percentile says nothing."""


def violations(history: History) -> Iterable[str]:
    due = {run.id: run.at for run in history.runs if run.at is not None and _quiet(history, run.at)}
    prompt = {era.schedule for era in history.eras if KINDS[era.kind].runs_all}
    made = [(due[run.id], run.created) for run in history.runs if run.id in due and run.schedule in prompt]
    begun = [(due[run], start) for _, start, run in recovery.at_once(history) if run in due]
    for what, pairs, most in (("made", made, CREATED), ("begun", begun, STARTED)):
        late, bound = percentile([(end - at).total_seconds() for at, end in pairs], 99), most * history.patience
        if len(pairs) >= ENOUGH and late > bound:
            yield f"G8: runs were {what} {late:.1f} s after their instant at p99 without faults: at most {bound:g}"


def _quiet(history: History, at: datetime) -> bool:
    return not any(at - BEFORE <= fault.t and (fault.t <= at + AFTER) for fault in history.faults)


def figures(history: History) -> dict[str, float]:
    """Seconds from the instant to the run's creation, and to the first call, outages and all.

    `waited` leaves out the time in which nobody could have worked: all of it, not the longest stretch alone.
    """
    created = [(run.created - run.at).total_seconds() for run in history.runs if run.at is not None]
    waited = [wait for wait, _ in recovery.waited(history)]
    first: dict[str, float] = {}
    for call in history.calls:
        if call.at is not None:
            late = (call.seen - call.at).total_seconds()
            first[call.run] = min(late, first.get(call.run, late))
    return {
        **{f"created_p{share}": percentile(created, share) for share in (50, 95, 99, 100)},
        **{f"called_p{share}": percentile(list(first.values()), share) for share in (50, 95, 99, 100)},
        **{f"waited_p{share}": percentile(waited, share) for share in (50, 95, 99, 100)},
    }


def percentile(values: Sequence[float], share: float) -> float:
    if not values:
        return 0.0
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * share / 100) - 1))], 3)
