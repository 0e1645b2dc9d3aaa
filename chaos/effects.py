"""Rules about what the target saw: overlapping calls, the number of attempts, cancellation, order of buffered runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from chaos.history import Call, Era, History, Made
from chaos.kinds import KINDS
from chaos.oracle import instants

CLAIM = timedelta(seconds=1.5)
"""How long before its call was seen a run may have been claimed, on a busy machine."""

CANCEL = timedelta(seconds=10)
"""After an acknowledged cancel no call begins later than this (G11)."""

CLOCKS = timedelta(milliseconds=500)
WAITING = frozenset({"queued", "retrying"})
WAIT = frozenset({"skip", "buffer_one", "buffer_all"})
"""Overlap policies under which runs of a schedule follow one another."""


def violations(history: History) -> list[str]:
    return [
        *_overlapping(history),
        *_exhausted(history),
        *_after_cancel(history),
        *_early(history),
        *_waits(history),
        *_newest_kept(history),
    ]


def _overlapping(history: History) -> Iterable[str]:
    """Two calls of a run overlap only if the lease of the first could have ended in between (G5)."""
    lease = timedelta(seconds=30 * history.scale)
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in history.calls:
        calls[call.run].append(call)
    for run, seen in calls.items():
        for first, second in pairwise(sorted(seen, key=lambda call: call.seen)):
            overlap = first.answered is None or second.seen < first.answered
            if overlap and second.seen - first.seen < lease - CLAIM:
                apart = (second.seen - first.seen).total_seconds()
                lasts = lease.total_seconds()
                yield f"G5: {run} was called twice at once, {apart:.1f} s apart: a lease lasts {lasts:g} s"


def _exhausted(history: History) -> Iterable[str]:
    """A target that always fails is called once for each attempt that is allowed, then the run is given up (G10)."""
    failing = {era.schedule for era in history.eras if KINDS[era.kind].fails}
    made = Counter((call.run, call.attempt) for call in history.calls)
    lost = {(one.run, one.number) for one in history.attempts if one.outcome == "lost"}
    for run in history.runs:
        if run.schedule not in failing or run.state == "cancelled":
            continue
        if run.attempt != run.max_attempts:
            yield f"G10: {run.id} was given up after {run.attempt} of {run.max_attempts} attempts"
        for number in range(1, run.max_attempts + 1):
            calls = made[run.id, number]
            if calls != 1 and not (calls == 0 and (run.id, number) in lost):
                yield f"G10: {run.id} was called {calls} times as attempt {number} of {run.max_attempts}, not once"


def _after_cancel(history: History) -> Iterable[str]:
    bound = CANCEL * max(1.0, history.patience)
    for call in history.calls:
        acknowledged = history.cancelled_at.get(call.run)
        if acknowledged is not None and call.seen > acknowledged + bound:
            late = (call.seen - acknowledged).total_seconds()
            yield f"G11: {call.run} was called {late:.1f} s after its cancel was acknowledged"
    for one in history.attempts:
        acknowledged = history.cancelled_at.get(one.run)
        if acknowledged is not None and one.ended > acknowledged + bound and one.outcome == "cancelled":
            late = (one.ended - acknowledged).total_seconds()
            yield f"G11: {one.run} was stopped only {late:.1f} s after its cancel was acknowledged"
    for run, state in history.cancelled.items():
        if state in WAITING:
            yield f"G11: {run} was waiting, and its cancel was answered with {state}: it ends at once"


def _early(history: History) -> Iterable[str]:
    """No instant is called before it has come, whatever the clock of the process that fired it says (G16)."""
    for call in history.calls:
        if call.at is not None and call.seen < call.at - CLOCKS:
            yield f"G16: {call.run} was called {(call.at - call.seen).total_seconds():.1f} s before its instant"


def _waits(history: History) -> Iterable[str]:
    """With `skip` no run is made, and with a buffer none begins, before the one before it has ended (G13)."""
    kinds = {era.schedule: KINDS[era.kind] for era in history.eras}
    began: dict[str, datetime] = {}
    ended: dict[str, datetime] = {}
    for one in history.attempts:
        began[one.run] = min(one.started, began.get(one.run, one.started))
        ended[one.run] = max(one.ended, ended.get(one.run, one.ended))
    queues: dict[str, list[tuple[datetime, Made]]] = defaultdict(list)
    for run in history.runs:
        overlap = kinds[run.schedule].overlap if run.schedule in kinds else ""
        if run.at is not None and run.id in began and overlap in WAIT:
            queues[run.schedule].append((run.at, run))
    for waiting in queues.values():
        ordered = [run for _, run in sorted(waiting, key=lambda one: one[0])]
        for first, second in pairwise(ordered):
            start = second.created if kinds[second.schedule].overlap == "skip" else began[second.id]
            if start < ended[first.id] - CLOCKS:
                yield f"G13: {second.id} did not wait for {first.id}, which had not ended"


def _newest_kept(history: History) -> Iterable[str]:
    """Catch-up drops the oldest: the instant after a missed stretch has a run (G3)."""
    ran = {(run.schedule, run.at) for run in history.runs}
    eras: dict[str, list[Era]] = defaultdict(list)
    for era in history.eras:
        eras[era.schedule].append(era)
    finish = max((run.created for run in history.runs), default=None)
    for entry in history.ledger:
        if finish is None or entry.reason not in {"catchup_latest", "catchup_all"}:
            continue
        for era in eras[entry.schedule]:
            following = _next(instants(era, finish), entry.first, entry.last)
            if following is not None and (entry.schedule, following) not in ran:
                missed = f"missed instants up to {entry.last}, and the newer one at {following} as well"
                yield f"G3: {entry.schedule} {missed}"


def _next(owed: Sequence[datetime], first: datetime, last: datetime) -> datetime | None:
    """The instant after the last of these, in the era that has them."""
    if not any(first <= at <= last for at in owed):
        return None
    return next((at for at in sorted(owed) if at > last), None)
