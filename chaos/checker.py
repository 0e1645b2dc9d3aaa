"""Judges the history of a campaign. Pure, and independent of Foliot: what must exist comes from the oracle.

Each violation begins with the guarantee that it breaks, as in `G6: …`; what breaks none of them has no such prefix.

Lower bounds: every instant is accounted for, every success was seen by the target. Upper bounds: no instant twice, no
call without an attempt that the store knows, no ending written by an attempt that had lost its run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from chaos import chains, effects, lateness, recovery, repeats
from chaos.history import DELETED, History
from chaos.kinds import KINDS
from chaos.oracle import expected

GOOD = frozenset({"success", "partial"})
GIVEN_UP = frozenset({"dead_letter", "failed"})
"""A replay that fails again is `failed`: its dead letter stays."""
CLOCKS = timedelta(milliseconds=500)
"""How far a process's idea of the database's time may be from the target's; a stale write is off by a lease."""


def violations(history: History) -> list[str]:
    """What must not be; empty when the campaign is sound."""
    return [
        *history.wrong,
        *_accounted(history),
        *_lines(history),
        *_ended(history),
        *_asked(history),
        *_delivered(history),
        *_called_for(history),
        *_known_attempts(history),
        *stale(history),
        *effects.violations(history),
        *repeats.violations(history),
        *chains.violations(history),
        *recovery.violations(history),
        *lateness.violations(history),
    ]


def finish(history: History) -> datetime:
    """The last moment anything could be due; eras that only their rule ends are counted up to it."""
    ends = [era.until for era in history.eras if era.until is not None]
    return max([*ends, *(run.created for run in history.runs)], default=datetime.min.replace(tzinfo=UTC))


def _accounted(history: History) -> Iterable[str]:
    """One run or one place in the ledger per instant, and none besides."""
    covered: dict[str, Counter[datetime]] = defaultdict(Counter)
    doubled = Counter((run.schedule, run.at) for run in history.runs if run.at is not None)
    for (schedule, at), count in doubled.items():
        if count > 1:
            yield f"G1: {schedule} has {count} runs for {at}"
        covered[schedule][at] += 1
    owed = expected(history.eras, finish(history))
    for entry in history.ledger:
        within = [at for at in owed.get(entry.schedule, ()) if entry.first <= at <= entry.last]
        if len(within) != entry.count:
            yield f"G2: {entry.schedule} counts {entry.count} from {entry.first} to {entry.last}, not {len(within)}"
        covered[entry.schedule].update(within)
    for schedule, found in covered.items():
        known = set(owed.get(schedule, ()))
        yield from (_unowed(history, schedule, at) for at in found if at not in known)
    for schedule, instants in owed.items():
        for at in instants:
            if covered[schedule][at] != 1:
                word = "accounted for twice" if covered[schedule][at] else "lost"
                yield f"{'G1' if covered[schedule][at] else 'G2'}: {schedule}: the instant {at} is {word}"


def _unowed(history: History, schedule: str, at: datetime) -> str:
    """A run or a ledger entry for what the oracle does not count: time at rest (G12), or no instant at all."""
    told = f"{schedule} ran at {at}, which is none of its instants"
    for rest in history.rests:
        if rest.schedule == schedule and rest.since < at and (rest.until is None or at <= rest.until):
            return f"G12: {told}: it was {rest.why} at {rest.since}"
    return f"G1: {told}"


def _lines(history: History) -> Iterable[str]:
    """A schedule has only lines that its rules allow, and runs nothing later than they allow."""
    kinds = {era.schedule: era.kind for era in history.eras}
    for entry in history.ledger:
        kind = kinds.get(entry.schedule, "steady")
        if entry.reason not in KINDS[kind].reasons:
            guarantee = "G3" if entry.reason.startswith("catchup") else "G13"
            told = f"{entry.schedule} ({kind}) did not run {entry.count} instants from {entry.first}: {entry.reason}"
            yield f"{guarantee}: {told}"
    for run in history.runs:
        latest = KINDS[kinds.get(run.schedule, "steady")].latest
        if run.at is not None and latest is not None and run.created - run.at > timedelta(seconds=latest + 0.1):
            late = run.created - run.at
            yield f"G3: {run.id} was made {late} late, and its schedule catches up {latest:g} s at most"


def _ended(history: History) -> Iterable[str]:
    kinds = {era.schedule: era.kind for era in history.eras}
    deleted = {rest.schedule for rest in history.rests if rest.why == DELETED}
    for run in history.runs:
        kind = KINDS[kinds.get(run.schedule, "steady")]
        may_be_cancelled = run.id in history.cancelled or kind.cancels or run.schedule in deleted
        wanted = GIVEN_UP if kind.fails else GOOD
        if run.state not in wanted and not (run.state == "cancelled" and may_be_cancelled):
            word = "was not given up" if kind.fails else "did not succeed"
            given_up = run.state in GIVEN_UP or (kind.fails and run.attempt >= run.max_attempts)
            guarantee = "G11" if run.state == "cancelled" else "G10" if given_up else "G4"
            yield f"{guarantee}: {run.id} {word}: {run.state} after {run.attempt} attempts"
        if run.attempt > run.max_attempts:
            yield f"G10: {run.id} was tried {run.attempt} times, at most {run.max_attempts} were allowed"


def _asked(history: History) -> Iterable[str]:
    """A request that was answered has had its effect, once."""
    by_hand = {run.id for run in history.runs if run.at is None and run.origin != chains.AFTER}
    by_many = {run.id for run in history.runs if repeats.unnamed(history, run)}
    yield from (f"G4: run-now was answered with {run}, which is lost" for run in sorted(history.manual - by_hand))
    unknown = sorted(by_hand - history.manual - by_many)
    yield from (f"G14: {run} was made by hand, and no answer named it" for run in unknown)
    states = {run.id: run.state for run in history.runs}
    for run, answered in history.cancelled.items():
        if answered == "cancelled" and states.get(run) != "cancelled":
            yield f"G11: {run} was cancelled, then became {states.get(run)}"


def _delivered(history: History) -> Iterable[str]:
    """A run that says it succeeded has been answered well by the target."""
    answered = {call.run for call in history.calls if 200 <= call.status < 300}
    for run in history.runs:
        if run.kind == "webhook" and run.state in GOOD and run.id not in answered:
            yield f"G7: {run.id} succeeded, but the target never said so"


def _called_for(history: History) -> Iterable[str]:
    """Whoever is called twice for an instant can tell: the id is the same, and it is the run's."""
    runs = {run.id: run for run in history.runs}
    for run_id, at in {(call.run, call.at) for call in history.calls}:
        run = runs.get(run_id)
        if run is None:
            yield f"G7: the target was called with {run_id}, which is no run"
        elif run.at is not None and run.at != at:
            yield f"G7: {run_id} was called for {at}, but is the run of {run.at}"


def _known_attempts(history: History) -> Iterable[str]:
    """Extra effects are attempts that the store knows: as many calls as attempts at most, by number."""
    known = Counter((one.run, one.number) for one in history.attempts)
    made = Counter((call.run, call.attempt) for call in history.calls)
    for (run, number), calls in made.items():
        if calls > known[run, number]:
            yield f"G5: {run} was called {calls} times as attempt {number}, and the store knows {known[run, number]}"


def stale(history: History) -> list[str]:
    """Endings that stand in the store although their attempt could not have written them.

    A success belongs to the attempt it was written for: the target answered that very attempt, and before.
    """
    answered: dict[tuple[str, int], datetime] = {}
    for call in history.calls:
        if call.answered is not None and 200 <= call.status < 300:
            token = (call.run, call.attempt)
            answered[token] = min(call.answered, answered.get(token, call.answered))
    found = []
    elsewhere = {run.id for run in history.runs if run.kind != "webhook"}
    for one in history.attempts:
        if one.outcome not in GOOD or one.run in elsewhere:
            continue
        when = answered.get((one.run, one.number))
        if when is None or when > one.ended + CLOCKS:
            said = "never" if when is None else f"only at {when}"
            found.append(
                f"G6: a stale write was accepted: attempt {one.number} of {one.run} succeeded at {one.ended}, "
                f"but the target answered it {said}"
            )
    return found


def repeated_effects(history: History) -> int:
    """Calls that were answered well beyond the first of their run: allowed (G7), and worth knowing."""
    good = Counter(call.run for call in history.calls if 200 <= call.status < 300)
    return sum(count - 1 for count in good.values())
