"""History of queues: what waited, ran and ended in each quarter of an hour, as sampled once per minute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from foliot.engine.model.quarter_counts import QUARTER

SAMPLED_EACH = timedelta(minutes=1)
HISTORY_KEPT = timedelta(days=8)
EVERY_QUEUE = ""
"""The name under which the slots of all workers are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSample:
    """One queue at one moment. Under `EVERY_QUEUE`: the slots of all live workers, and how many of them are busy."""

    waiting: int = 0
    oldest_ms: int = 0
    """How long the oldest one has waited."""
    running: int = 0
    ended: int = 0
    """Runs that ended within the last minute."""
    slots: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueQuarter:
    """One queue in one quarter of an hour: the highest values that were sampled, and how many runs ended."""

    queue: str
    at: datetime
    waiting: int
    oldest_ms: int
    running: int
    ended: int
    slots: int

    def with_sample(self, sample: QueueSample) -> QueueQuarter:
        return QueueQuarter(
            queue=self.queue,
            at=self.at,
            waiting=max(self.waiting, sample.waiting),
            oldest_ms=max(self.oldest_ms, sample.oldest_ms),
            running=max(self.running, sample.running),
            ended=self.ended + sample.ended,
            slots=max(self.slots, sample.slots),
        )


class HistoryRange(StrEnum):
    """How far the history goes back."""

    DAY = "24h"
    WEEK = "7d"

    @property
    def length(self) -> timedelta:
        return timedelta(hours=24) if self is HistoryRange.DAY else timedelta(days=7)

    @property
    def step(self) -> timedelta:
        return QUARTER if self is HistoryRange.DAY else timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SampledQueue:
    """One queue over time; None where nothing was sampled, because no scheduler was running."""

    name: str
    points: Sequence[QueueQuarter | None]


@dataclass(frozen=True, slots=True)
class SampledQueues:
    """Every queue, and the slots of all workers, in steps of equal length."""

    range: HistoryRange
    at: Sequence[datetime]
    slots: SampledQueue
    queues: Sequence[SampledQueue]


def history(range_: HistoryRange, now: datetime, rows: Iterable[QueueQuarter], first: Sequence[str]) -> SampledQueues:
    """These queues first, then the others by name. A queue without a row in a step that was sampled was empty."""
    step = range_.step
    last = now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % step
    at = [last - step * place for place in reversed(range(range_.length // step))]
    cells: dict[str, dict[int, QueueQuarter]] = {}
    for row in rows:
        place = (row.at - at[0]) // step
        if 0 <= place < len(at):
            mine = cells.setdefault(row.queue, {})
            mine[place] = row if place not in mine else _joined(mine[place], row)
    sampled = cells.pop(EVERY_QUEUE, {})
    names = [*first, *sorted(cells.keys() - set(first))]
    return SampledQueues(
        range_,
        at,
        _series(EVERY_QUEUE, at, sampled, sampled),
        [_series(name, at, sampled, cells.get(name, {})) for name in names],
    )


def _series(
    name: str, at: Sequence[datetime], sampled: Mapping[int, object], cells: Mapping[int, QueueQuarter]
) -> SampledQueue:
    return SampledQueue(
        name,
        [cells.get(place) or (empty(name, moment) if place in sampled else None) for place, moment in enumerate(at)],
    )


def _joined(one: QueueQuarter, other: QueueQuarter) -> QueueQuarter:
    sample = QueueSample(
        waiting=other.waiting, oldest_ms=other.oldest_ms, running=other.running, ended=other.ended, slots=other.slots
    )
    return one.with_sample(sample)


def empty(queue: str, at: datetime) -> QueueQuarter:
    return QueueQuarter(queue=queue, at=at, waiting=0, oldest_ms=0, running=0, ended=0, slots=0)
