"""How soon work went on after each fault, measured against guarantee G9.

Time in which nobody could have done it (every scheduler down, or the database) does not count: what is judged is the
longest stretch of good time that an instant, or a run whose worker was lost, had to wait through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chaos.history import History, Moment, Tried
from chaos.kinds import KINDS

Stretch = tuple[datetime, datetime]

LEASE, SWEEP, REST = 30.0, 5.0, 5.0
"""A lost worker's run is taken again within 40 s: lease and sweep, which a time scale shortens, and the rest."""

OFFERED, BROKER_REST = 15.0, 15.0
"""What a broker lost is on its way again within 30 s: unclaimed for half of that, which a time scale shortens."""

FIRED, FIRED_AFTER_OUTAGE = 2.0, 5.0
"""Another scheduler fires within 2 s; after the database was away, or a process with locks fell silent, within 5 s."""

UP = frozenset({"ready", "thawed", "released", "up"})
DOWN = frozenset({"starting", "killed", "frozen", "held", "down"})
GENTLE = frozenset({"kill"})
"""Faults after which the kernel tells the database at once, so that nothing stays locked."""

NEAR = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Worst:
    """The longest waits, in seconds."""

    fired: float
    begun: float
    taken_again: float
    dispatched: float
    """After a broker's return, for the first run that had waited for it."""


FIRING = ("scheduler", "database")
"""Who must be there for an instant to become a run."""
WORKING = ("scheduler", "worker", "database", "broker")
"""And for a run to be performed; where there are no workers, or no broker, none is missed."""


def outages(moments: Sequence[Moment], needed: Sequence[str] = FIRING) -> list[Stretch]:
    """When, of something that is needed, none was there."""
    there: dict[str, dict[str, bool]] = {"scheduler": {"": False}, "database": {"": True}}
    since, found = None, []
    for one in sorted(moments, key=lambda moment: moment.t):
        name = one.who.partition("-")[0]
        if name in needed and one.what in UP | DOWN:
            there.setdefault(name, {})[one.who if "-" in one.who else ""] = one.what in UP
        good = all(any(there[name].values()) for name in needed if name in there)
        if not good and since is None:
            since = one.t
        elif good and since is not None:
            found.append((since, one.t))
            since = None
    return found


def good_time(start: datetime, end: datetime, bad: Iterable[Stretch]) -> float:
    """The longest stretch between the two, in seconds, that no outage touches."""
    longest, place = 0.0, start
    for first, last in bad:
        if last <= place or first >= end:
            continue
        longest = max(longest, (first - place).total_seconds())
        place = max(place, last)
    return max(longest, (end - place).total_seconds(), 0.0)


def firing(history: History) -> list[tuple[float, datetime, str]]:
    """For every instant that had to run: how long it waited in good time, when it was due, and its run."""
    bad = outages(history.moments)
    must = {era.schedule for era in history.eras if KINDS[era.kind].runs_all}
    return [
        (good_time(run.at, run.created, bad), run.at, run.id)
        for run in history.runs
        if run.at is not None and run.schedule in must
    ]


def taken_again(history: History) -> list[tuple[float, Tried]]:
    """For every attempt whose worker was lost: how long the run then waited, in good time, for its next attempt."""
    bad = outages(history.moments, WORKING)
    attempts: dict[tuple[str, int], Tried] = {(one.run, one.epoch): one for one in history.attempts}
    found = []
    for one in history.attempts:
        following = attempts.get((one.run, one.epoch + 1))
        if one.outcome == "lost" and following is not None:
            hit = _hit(history.moments, one)
            found.append((good_time(hit, following.started, bad), one))
    return found


def begun(history: History) -> list[tuple[float, str]]:
    """For every run that had to begin at once: how long it waited, in good time, for its first attempt."""
    bad = outages(history.moments, WORKING)
    return [(good_time(made, start, bad), run) for made, start, run in at_once(history)]


def waited(history: History) -> list[tuple[float, str]]:
    """The same, with all its good time added up."""
    bad = outages(history.moments, WORKING)
    return [((start - made).total_seconds() - _shared(made, start, bad), run) for made, start, run in at_once(history)]


def at_once(history: History) -> list[tuple[datetime, datetime, str]]:
    """Runs that nothing but a free slot had to wait for: when each was made, and when it began."""
    first = {one.run: one.started for one in reversed(history.attempts)}
    schedules = {era.schedule for era in history.eras if KINDS[era.kind].overlap == "allow_all"}
    return [
        (run.created, first[run.id], run.id)
        for run in history.runs
        if run.at is not None and run.schedule in schedules and run.id in first
    ]


def _shared(start: datetime, end: datetime, bad: Iterable[Stretch]) -> float:
    """How much of it lies in outages, in seconds."""
    return sum(max(0.0, (min(end, last) - max(start, first)).total_seconds()) for first, last in bad)


def dispatched(history: History) -> list[tuple[float, datetime]]:
    """For every return of the broker that runs had waited for: how soon the first of them began.

    One that went away again before it could, or was without workers meanwhile, tells nothing.
    """
    bad = outages(history.moments, WORKING)
    first = {one.run: one.started for one in reversed(history.attempts)}
    waits = [(run.created, first[run.id]) for run in history.runs if run.id in first]
    found = []
    for moment in history.moments:
        if (moment.who, moment.what) != ("broker", "up"):
            continue
        began = min((start for made, start in waits if made <= moment.t < start), default=None)
        if began is not None and not any(start < began and moment.t < end for start, end in bad):
            found.append(((began - moment.t).total_seconds(), moment.t))
    return found


def _hit(moments: Sequence[Moment], attempt: Tried) -> datetime:
    """When its worker was struck; without a trace, when the attempt began."""
    pid = int(attempt.worker.split(":")[1]) if attempt.worker.count(":") >= 2 else -1
    struck = [
        one.t
        for one in moments
        if attempt.started <= one.t <= attempt.ended
        and (one.pid == pid or one.who == "database")
        and (one.what in DOWN or one.what in ("cut", "eaten"))
    ]
    return min(struck, default=attempt.started)


def worst(history: History) -> Worst:
    fired, again = firing(history), taken_again(history)
    return Worst(
        round(max((wait for wait, _, _ in fired), default=0.0), 2),
        round(max((wait for wait, _ in begun(history)), default=0.0), 2),
        round(max((wait for wait, _ in again), default=0.0), 2),
        round(max((wait for wait, _ in dispatched(history)), default=0.0), 2),
    )


def violations(history: History) -> Iterable[str]:
    for wait, at, run in firing(history):
        most = _bound(history.faults, at, wait) * history.patience
        if wait > most:
            yield f"G9: {run}, due {at}, waited {wait:.1f} s to be made while a scheduler could have: at most {most:g}"
    most = (OFFERED * history.scale + BROKER_REST) * history.patience
    for wait, run in begun(history):
        if wait > most:
            yield f"G9: {run} waited {wait:.1f} s for its first attempt: at most {most:g}"
    for wait, at in dispatched(history):
        if wait > most:
            yield f"G9: the broker was back at {at}, and no run began for {wait:.1f} s: at most {most:g}"
    most = ((LEASE + SWEEP) * history.scale + REST) * history.patience
    for wait, one in taken_again(history):
        if wait > most:
            told = f"waited {wait:.1f} s for its attempt after {one.number}, which was lost: at most {most:g}"
            yield f"G9: {one.run} {told}"


def _bound(faults: Sequence[Moment], at: datetime, wait: float) -> float:
    last = at + timedelta(seconds=wait)
    near = [one for one in faults if at - NEAR <= one.t <= last]
    return FIRED if all(one.what in GENTLE for one in near) else FIRED_AFTER_OUTAGE
