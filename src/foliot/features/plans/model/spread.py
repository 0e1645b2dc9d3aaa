"""Proposes offsets that flatten the peaks of a queue: another second of the minute, or minute of the hour.

Greedy: schedules with the shortest period are placed first, each where the load of the repeating period is lowest. A
schedule is moved within its minute (`* * * * *`) or within its hour (`0 * * * *`, `30 2 * * 1-5`), and only where the
document fixes the place: one with `H` chooses it already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from foliot.core.time.trigger import Cron
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.plans.model.load import LoadProfile, folded
from foliot.features.plans.model.simulation import SimulatedSchedule, Simulator

_MINUTELY = re.compile(r"(\*(?:/\d+)?) \S+ \S+ \S+ \S+")
_HOURLY = re.compile(r"(\d+) \* \S+ \S+ \S+")
_DAILY = re.compile(r"(\d+) (\d+) \S+ \S+ \S+")
PLACES = 60


@dataclass(frozen=True, slots=True)
class Movable:
    """A schedule that may begin elsewhere: unit and period of its places, and the expression of each place."""

    one: SimulatedSchedule
    unit: int
    period: int
    now: int
    """The present place."""
    expression: Callable[[int], str]

    @property
    def units(self) -> int:
        """How many units a run lasts."""
        return min(-(-self.one.seconds // self.unit), self.period)


def movable(one: SimulatedSchedule) -> Movable | None:
    """None for a schedule that is not moved."""
    rule = one.schedule.spec.trigger.rule
    if not isinstance(rule, Cron) or one.schedule.status is not ScheduleStatus.ACTIVE:
        return None
    text = rule.expression
    if _MINUTELY.fullmatch(text):
        return Movable(one, 1, 60, 0, lambda place: f"{place} {text}" if place else text)
    rest = text.partition(" ")[2]
    if found := _HOURLY.fullmatch(text):
        return Movable(one, 60, 60, int(found[1]), lambda place: f"{place} {rest}")
    if found := _DAILY.fullmatch(text):
        return Movable(one, 60, 1440, int(found[1]), lambda place: f"{place} {rest}")
    return None


def spread(simulator: Simulator, schedules: Sequence[SimulatedSchedule], may_move: Iterable[str]) -> Mapping[str, str]:
    """Better expressions, by the id of the schedule; `may_move` are the ids of those that may be moved."""
    allowed = set(may_move)
    offsets: dict[str, str] = {}
    for queue in sorted({one.schedule.spec.queue for one in schedules}):
        mine = [one for one in schedules if one.schedule.spec.queue == queue]
        places = [movable(one) if one.schedule.id in allowed else None for one in mine]
        moved = [found for found in places if found is not None]
        if moved:
            fixed = [one for one, found in zip(mine, places, strict=True) if found is None]
            offsets |= _placed(simulator, fixed, moved)
    return offsets


def _placed(simulator: Simulator, fixed: Sequence[SimulatedSchedule], moved: Sequence[Movable]) -> dict[str, str]:
    profile = LoadProfile(simulator.seconds)
    for one in fixed:
        played = simulator.play(one)
        profile.add(played.starts, played.ends)
    offsets: dict[str, str] = {}
    for unit, period in ((1, 60), (60, 60), (60, 1440)):
        level = [each for each in moved if (each.unit, each.period) == (unit, period)]
        if not level:
            continue
        # A horizon that begins in the middle of a period would fold places that are not the same.
        skew = int(simulator.start.timestamp()) // unit % period
        counts = profile.counts()
        load = folded(counts, unit, period)
        load = [load[(place - skew) % period] for place in range(period)]
        for move in sorted(level, key=lambda each: -each.one.seconds):
            starts = simulator.play(move.one).starts
            if not starts:
                continue
            # Place 0 by the instants themselves: the hour of a zone is another one in UTC.
            first = (skew + starts[0] // unit - move.now) % period
            best = _best(load, move, first)
            for at in range(move.units):
                load[(first + best + at) % period] += 1
            if best != move.now:
                offsets[move.one.schedule.id] = move.expression(best)
            moves = [at + (best - move.now) * unit for at in starts]
            inside = [at for at in moves if 0 <= at < simulator.seconds]
            profile.add(inside, [at + move.one.seconds for at in inside])
    return offsets


def _best(load: Sequence[int], move: Movable, first: int) -> int:
    """The place with the lowest peak; the present one where none is better."""
    twice = [*load, *load]

    def peak(place: int) -> int:
        low = (first + place) % len(load)
        return max(twice[low : low + move.units])

    return min(range(PLACES), key=lambda place: (peak(place), place != move.now, place))
