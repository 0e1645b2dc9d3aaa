"""The instants at which a cron expression fires in a zone, with Debian cron's rules for clock changes.

A fixed time (neither minute nor hour starts with `*`) that a clock change skips fires once, at the first instant after
it; one that a clock change repeats fires at the first of the two. All other expressions follow real time: they fire at
each instant whose wall-clock time they name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from foliot.core.time.cron import parse
from foliot.core.time.zone import EARLIEST, LATEST, OffsetSpan, spans, zone_info

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
KEPT = 64
AHEAD = 16


class Fires:
    """One expression in one zone. Fire times are cached, because many schedules share an expression."""

    __slots__ = ("_fixed", "_memory", "_times", "_zone")

    def __init__(self, expression: str, zone: str) -> None:
        zone_info(zone)
        self._times = parse(expression).times
        self._fixed = self._times.fixed
        self._zone = zone
        # Every fire later than the first element up to the last. Replaced whole, so threads may share it.
        self._memory: list[datetime] = []

    def after(self, moment: datetime) -> datetime | None:
        """The first fire later than the moment."""
        memory = self._memory
        if memory and memory[0] <= moment < memory[-1]:
            return memory[bisect_right(memory, moment)]
        return self._recall(memory, moment)

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The fires in [start, end)."""
        low, high = _ceiling(start), _ceiling(end)
        while low < high and (fire := self._at_or_after(low)) is not None and fire < high:
            yield EPOCH + timedelta(seconds=fire)
            low = fire + 1

    def count(self, start: datetime, end: datetime) -> int:
        """How many fires lie in [start, end), without visiting each."""
        return self._count(_ceiling(start), _ceiling(end))

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        """The last fires of [start, end), oldest first; a binary search by count finds where they begin."""
        low, high = _ceiling(start), _ceiling(end)
        if limit < 1 or low >= high:
            return []
        reach = 60
        while high - reach > low and self._count(high - reach, high) < limit:
            reach *= 4
        floor, begin = max(low, high - reach), high
        while begin - floor > 1:  # no later start than `floor` is known to hold enough, none from `begin` on does
            middle = (floor + begin) // 2
            if self._count(middle, high) < limit:
                begin = middle
            else:
                floor = middle
        return list(self.between(EPOCH + timedelta(seconds=floor), end))

    def _recall(self, memory: list[datetime], moment: datetime) -> datetime | None:
        """Compute the next fire, and cache it when it is adjacent to the cached range."""
        if memory and moment >= memory[-1]:
            following = self._following(memory[-1])
            if following is None:
                return None
            if moment < following:
                self._memory = self._extended(memory[-KEPT:], following)
                return following
        found = self._following(moment)
        if found is not None:
            self._memory = [moment, found]
        return found

    def _extended(self, memory: list[datetime], following: datetime) -> list[datetime]:
        """Compute further ahead the longer the cache has been used, so that a first question stays cheap."""
        longer = [*memory, following]
        for _ in range(min(len(memory), AHEAD)):
            further = self._following(longer[-1])
            if further is None:
                break
            longer.append(further)
        return longer

    def _following(self, moment: datetime) -> datetime | None:
        fire = self._at_or_after((moment - EPOCH) // SECOND + 1)
        return None if fire is None else EPOCH + timedelta(seconds=fire)

    def _at_or_after(self, moment: int) -> int | None:
        """The first fire at or after an epoch second."""
        moment = max(moment, EARLIEST)
        floor = wall = -1
        for span in spans(self._zone, moment):
            low = self._wall(span, moment)
            if not floor <= low <= wall:
                wall = self._times.at_or_after(low)
            floor = low
            # A time that was skipped lies before the span's first wall-clock time: it fires as the span begins.
            fire = max(wall - span.offset, span.start)
            if fire < span.end:
                return fire
        return None

    def _count(self, low: int, high: int) -> int:
        low, high = max(low, EARLIEST), min(high, LATEST)
        total = 0
        for span in spans(self._zone, low):
            if span.start >= high:
                break
            first, last = self._wall(span, low), min(high, span.end) + span.offset
            opening = span.start + span.offset
            if first < opening and self._times.count(first, opening) and not self._times.count(opening, opening + 1):
                total += 1
            total += self._times.count(max(first, opening), last)
        return total

    def _wall(self, span: OffsetSpan, moment: int) -> int:
        """The earliest wall-clock time that may fire in the span at or after the moment."""
        if not self._fixed:
            return max(moment, span.start) + span.offset
        reached = span.start + span.before
        return reached if moment <= span.start else max(moment + span.offset, reached)


@lru_cache(maxsize=4096)
def fires(expression: str, zone: str) -> Fires:
    """The shared fire times of an expression in a zone."""
    return Fires(expression, zone)


def _ceiling(moment: datetime) -> int:
    return -((EPOCH - moment) // SECOND)
