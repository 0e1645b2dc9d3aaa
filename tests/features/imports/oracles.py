"""What other schedulers would do: instants of an import beside those that the source's own library computes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from foliot.core.document import Fields
from foliot.core.time.trigger import Trigger
from foliot.engine.model.trigger_document import TriggerContext, read_trigger

ZONE = "Europe/Stockholm"
ENTRIES = 200
EACH = 250
"""Instants from each start: 500 in all, across both clock changes."""
STARTS = (datetime(2027, 3, 27, 20, tzinfo=UTC), datetime(2027, 10, 30, 20, tzinfo=UTC))
"""A few hours before the clocks change."""
NEAR = timedelta(hours=2)


def trigger_of(document: Mapping[str, Any], now: datetime = STARTS[0]) -> Trigger:
    """The trigger as a server reads it from the document."""
    return read_trigger(Fields("", document), TriggerContext("sch_test", now, "UTC"))


def instants(trigger: Trigger, start: datetime, count: int = EACH) -> list[datetime]:
    """The first instants later than the start."""
    return list(islice(trigger.between(start + timedelta(microseconds=1), start + timedelta(days=365 * 80)), count))


def apart_from_changes(found: Iterable[datetime]) -> list[datetime]:
    """Without the hours around a change of clocks, where schedulers differ and an import says so."""
    return [at for at in found if local(at - NEAR).utcoffset() == local(at + NEAR).utcoffset()]


def generated_field(random_: random.Random, low: int, high: int, *, stars: float = 0.4) -> str:
    """A field of a crontab that all sources understand."""
    kind = random_.random()
    if kind < stars:
        return "*"
    if kind < stars + 0.1:
        return f"*/{random_.randint(2, max(2, (high - low) // 2))}"
    first = random_.randint(low, high)
    if kind < stars + 0.3:
        return str(first)
    last = random_.randint(first, high)
    if kind < stars + 0.4 and last > first:
        return f"{first}-{last}"
    return ",".join(str(value) for value in sorted(random_.sample(range(low, high + 1), random_.randint(2, 4))))


def generated_fields(random_: random.Random) -> list[str]:
    """Minute, hour, day, month, weekday."""
    ranges = ((0, 59, 0.3), (0, 23, 0.5), (1, 28, 0.7), (1, 12, 0.97), (0, 6, 0.7))
    return [generated_field(random_, low, high, stars=stars) for low, high, stars in ranges]


def same(ours: list[datetime], theirs: list[datetime]) -> bool:
    """Whether both name the same instants, but for those near a change of clocks."""
    ours, theirs = apart_from_changes(ours), apart_from_changes(theirs)
    size = min(len(ours), len(theirs))
    return ours[:size] == theirs[:size]


def simulated(next_after: Callable[[datetime], datetime | None], start: datetime, count: int = EACH) -> list[datetime]:
    """Instants of a library that computes one from the one before."""
    found: list[datetime] = []
    at = start
    while len(found) < count and (following := next_after(at)) is not None:
        at = following
        found.append(at.astimezone(UTC))
    return found


def local(moment: datetime) -> datetime:
    return moment.astimezone(ZoneInfo(ZONE))
