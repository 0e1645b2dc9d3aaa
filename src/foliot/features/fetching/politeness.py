"""The rules of politeness: intervals and concurrency of hosts, slow-down and recovery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Politeness:
    """Default rate limit of a host: interval and concurrency."""

    interval: timedelta = timedelta()
    """Between the starts of two requests; zero: no limit."""
    together: int = 8
    """Maximum concurrent requests to a host."""
    lead: timedelta = timedelta()
    """How long after the claim the first request starts, where a host has an interval."""


SLICE = timedelta(milliseconds=250)
"""How far ahead one claim allocates start times, so that hosts with short intervals do not cost a claim per page."""

SLOWEST = timedelta(minutes=1)
SLOW_START = timedelta(milliseconds=500)
"""The first interval of a host that had none, when it is slowed down."""


def allowance(manners: Politeness, interval: timedelta, in_flight: int) -> int:
    """How many requests to a host one claim may allocate now."""
    room = max(manners.together - in_flight, 0)
    return room if not interval else min(room, max(1, SLICE // interval))


LONG = timedelta(milliseconds=500)
"""Longer intervals are kept exactly; shorter ones on average."""


def leeway(interval: timedelta) -> timedelta | None:
    """How late a request may start before it comes too close to the next one; None without an interval."""
    if not interval:
        return None
    if interval <= LONG:
        return max(interval / 5, timedelta(milliseconds=50))
    return min(max(interval / 20, timedelta(milliseconds=50)), timedelta(milliseconds=250))


def spacing(interval: timedelta) -> timedelta:
    """From one start time to the next: a long interval holds even when the first request starts late."""
    return interval if interval <= LONG else interval + (leeway(interval) or timedelta())


def courtesy(interval: timedelta) -> timedelta:
    """How long the process that had the last turn leaves the next one to others that wait."""
    return min(interval / 4, timedelta(milliseconds=250))


def slower(interval: timedelta) -> timedelta:
    """The interval after a 429 or 503: doubled."""
    return min(max(interval * 2, SLOW_START), SLOWEST)


def quicker(interval: timedelta, least: timedelta) -> timedelta:
    """The interval after a good answer: a tenth shorter, down to `least`."""
    return max(least, interval * 0.9)
