"""When pages are visited again: each page's learned rate of change, and the visits that a budget allots it.

A page changes at some rate. Every visit that can read it is one observation: unchanged after this long, or changed at
least once. The rate has a gamma distribution, `shape` and `time`; after a visit it is replaced by the gamma
distribution with the mean and the variance of the exact posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from foliot.core.duration import shown_duration

DAY = 86_400.0
MOST_SHAPE = 20.0
"""What is remembered of earlier changes, about so many: pages change their habits."""
LONGEST_MEMORY = 180 * DAY
"""And of the time without one."""
BINS = 240
_LEAST, _MOST = 1e-9, 1.0
"""Rates per second: once in thirty years to once a second."""


class RevisitAim(StrEnum):
    """What the visits are for."""

    PROMPT = "prompt"
    """Changes are seen soon: visits by the square root of the rate."""
    FRESH = "fresh"
    """What is stored is right as often as possible: pages that change faster than they can be visited get less."""


@dataclass(frozen=True, slots=True)
class RevisitRules:
    """The budget of a watch, and the bounds of the time from one visit of a page to the next."""

    visits: int
    """Per `period`."""
    period: timedelta
    at_most: timedelta
    """The shortest time between two visits of a page."""
    at_least: timedelta
    """The longest."""
    aim: RevisitAim = RevisitAim.PROMPT

    @property
    def per_second(self) -> float:
        return self.visits / self.period.total_seconds()

    @property
    def tick(self) -> timedelta:
        """How often it is looked which pages are due."""
        return min(max(self.at_most / 5, timedelta(seconds=10)), timedelta(minutes=5))

    def as_dict(self) -> dict[str, Any]:
        unit = next((name for name, length in PERIODS.items() if length == self.period), "day")
        return {
            "budget": f"{self.visits}/{unit}",
            "at_most": shown_duration(self.at_most),
            "at_least": shown_duration(self.at_least),
            "aim": self.aim.value,
        }


PERIODS: Mapping[str, timedelta] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}


@dataclass(frozen=True, slots=True)
class ChangeRate:
    """The gamma distribution of a page's changes per second."""

    shape: float
    time: float

    @property
    def mean(self) -> float:
        return self.shape / self.time

    def after(self, seconds: float, *, changed: bool) -> ChangeRate:
        """What a visit so long after the last one teaches."""
        if seconds <= 0:
            return self
        learned = self._changed(seconds) if changed else ChangeRate(self.shape, self.time + seconds)
        kept = min(MOST_SHAPE / learned.shape, LONGEST_MEMORY / learned.time, 1.0)
        return ChangeRate(max(learned.shape * kept, 0.05), max(learned.time * kept, 1.0))

    def _changed(self, seconds: float) -> ChangeRate:
        """The prior times `1 - exp(-rate·seconds)`, matched by its first two moments."""
        shape, ratio = self.shape, math.log1p(seconds / self.time)
        # Each moment is a difference of powers; expm1 keeps its digits where the visit was short.
        lost = [-math.expm1(-(shape + order) * ratio) for order in range(3)]
        mean = shape / self.time * lost[1] / lost[0]
        square = shape * (shape + 1) / self.time**2 * lost[2] / lost[0]
        spread = max(square - mean * mean, mean * mean * 1e-6)
        return ChangeRate(mean * mean / spread, mean / spread)


def first_rate(rules: RevisitRules) -> ChangeRate:
    """Before anything is known: as wide as one observation, around the geometric middle of both bounds."""
    middle = math.sqrt(rules.at_most.total_seconds() * rules.at_least.total_seconds())
    return ChangeRate(0.5, 0.5 * middle)


def pooled_rate(rates: Sequence[ChangeRate], rules: RevisitRules) -> ChangeRate:
    """The prior of a new page: the mean of the watch's other pages, as wide as one observation."""
    known = [rate.mean for rate in rates]
    if len(known) < 5:
        return first_rate(rules)
    mean = sum(known) / len(known)
    return ChangeRate(0.5, 0.5 / max(mean, _LEAST))


@dataclass(frozen=True, slots=True)
class Allotment:
    """How the budget is spread: the interval of a page by its rate."""

    interval: Callable[[float], float]
    """Seconds from one visit of a page with this rate to the next."""
    spent: float
    """Visits per second that this comes to."""


def allot(rates: Sequence[float], rules: RevisitRules, budget: float | None = None) -> Allotment:
    """Intervals whose visits come to the budget, as far as the bounds allow.

    Pages with about the same rate are counted together, so that the work does not grow with the number of pages.
    """
    budget = rules.per_second if budget is None else budget
    bins = _bins(rates)
    shortest, longest = rules.at_most.total_seconds(), rules.at_least.total_seconds()
    wish = _prompt if rules.aim is RevisitAim.PROMPT else _fresh

    def visits(scale: float) -> float:
        return sum(count * _bound(wish(rate, scale), 1 / longest, 1 / shortest) for rate, count in bins)

    low, high = 1e-12, 1e12
    for _ in range(120):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if visits(middle) < budget else (low, middle)
        if high / low < 1.0005:
            break
    scale = math.sqrt(low * high)

    def interval(rate: float) -> float:
        return 1 / _bound(wish(_clipped(rate), scale), 1 / longest, 1 / shortest)

    return Allotment(interval, visits(scale))


def _bound(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _clipped(rate: float) -> float:
    return _bound(rate, _LEAST, _MOST)


def _bins(rates: Sequence[float]) -> list[tuple[float, int]]:
    """Rates in steps of about a tenth, with the number of pages of each."""
    width = math.log(_MOST / _LEAST) / BINS
    counts: dict[int, int] = {}
    for rate in rates:
        place = round(math.log(_clipped(rate) / _LEAST) / width)
        counts[place] = counts.get(place, 0) + 1
    return [(_LEAST * math.exp(place * width), count) for place, count in counts.items()]


def _prompt(rate: float, scale: float) -> float:
    """Visits per second in proportion to the square root of the rate: the least delay of a change, on average."""
    return scale * math.sqrt(rate)


def _fresh(rate: float, scale: float) -> float:
    """Visits per second at which one more makes all pages equally fresher.

    A page visited every `1/f` is right for `f/rate·(1 - exp(-rate/f))` of the time; what one more visit adds to that,
    `(1 - (1 + r)·exp(-r))/rate` with `r = rate/f`, is made the same for all: `1/scale`.
    """
    wanted = rate / scale
    if wanted >= 1:
        return 0.0
    low, high = 1e-9, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        gained = 1 - (1 + middle) * math.exp(-middle)
        low, high = (middle, high) if gained < wanted else (low, middle)
    return rate / math.sqrt(low * high)


@dataclass(slots=True)
class VisitBudget:
    """Token bucket of a watch: what is not spent is kept for a while, and no more than the budget is spent."""

    rules: RevisitRules
    left: float
    at: float
    """Seconds since the epoch."""

    @classmethod
    def of(cls, rules: RevisitRules, stored: Mapping[str, Any], now: float) -> VisitBudget:
        left, at = stored.get("left"), stored.get("at")
        if not isinstance(left, int | float) or not isinstance(at, int | float):
            return cls(rules, 1.0, now)
        budget = cls(rules, float(left), float(at))
        budget.refill(now)
        return budget

    @property
    def most(self) -> float:
        """A tenth of a day's visits, at least those of a few ticks."""
        tick = self.rules.tick.total_seconds()
        return max(self.rules.per_second * max(tick * 10, DAY / 10), 1.0)

    def refill(self, now: float) -> None:
        self.left = min(self.left + max(now - self.at, 0.0) * self.rules.per_second, self.most)
        self.at = max(now, self.at)

    def as_dict(self) -> dict[str, float]:
        return {"left": round(self.left, 3), "at": self.at}


def explained(changes: int, seen: int, rate: ChangeRate | None) -> str:
    """Why a page is visited when it is: `changed in 6 of 9 visits, about every 5 h`."""
    if not seen or rate is None:
        return "not visited yet"
    every = shown_span(1 / max(rate.mean, _LEAST))
    if not changes:
        return f"unchanged in {seen} visit{'s' if seen != 1 else ''}, at most about every {every}"
    return f"changed in {changes} of {seen} visit{'s' if seen != 1 else ''}, about every {every}"


def shown_span(seconds: float) -> str:
    """A length of time as people say it: `2 h 10 min`, `3 d`."""
    minutes = round(seconds / 60)
    if seconds < 59.5:
        return f"{max(round(seconds), 1)} s"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        hours, left = divmod(minutes, 60)
        return f"{hours} h {left} min" if left and hours < 10 else f"{round(minutes / 60)} h"
    return f"{round(minutes / (24 * 60))} d"
