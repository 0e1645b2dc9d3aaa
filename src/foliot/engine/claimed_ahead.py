"""Claim-ahead: attempts that are claimed in one large round and wait in memory, for a moment, for a slot.

A round costs the database the same for 50 rows as for 500, and attempts of quick targets end sooner than a round takes.
So a round also claims what is expected to start within `SOON`, judged by how quickly the last attempts of that target
followed each other. What has not started after `LATE` is handed back: it costs no attempt.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from foliot.engine.attempts.attempt import RunningAttempt

MOST = 500
"""Attempts that wait at most; the size of a round."""
SOON = 0.25
"""Seconds within which what is claimed ahead is expected to start."""
LATE = 2.0
"""Seconds after which what has not started is handed back."""
WINDOW = 0.5
"""Seconds over which ends are counted."""
LOOK = 0.1
"""Seconds after which a round is made although many wait: it may find runs of other targets."""


@dataclass(slots=True)
class Pace:
    """How many attempts of one target end in a second, while any are under way."""

    last: float
    """When one ended, or the first of these began, by the monotonic clock."""
    rate: float = 0.0
    """Ends a second in the window before this one."""
    under_way: int = 0
    ended: int = 0
    """In the window that began at `since`."""
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.last

    def begin(self, now: float) -> None:
        if not self.under_way and now - self.last > WINDOW:
            # An idle time says nothing about the pace.
            if self.ended:
                self.rate = self.ended / max(self.last - self.since, SOON)
            self.since = self.last = now
            self.ended = 0
        self.under_way += 1

    def end(self, now: float) -> None:
        self.under_way = max(self.under_way - 1, 0)
        self.ended += 1
        self.last = now
        if now - self.since >= WINDOW:
            self.rate, self.since, self.ended = self.ended / (now - self.since), now, 0

    def ahead(self, now: float) -> int:
        """How many would start within `SOON`; none while it is silent."""
        if self.under_way and now - self.last > SOON:
            return 0
        ended, seconds = self.rate * WINDOW + self.ended, WINDOW + max(now - self.since, 0.0)
        return min(MOST, int(ended / seconds * SOON))


@dataclass(slots=True)
class ClaimedAhead:
    """The attempts that wait, by tenant and target; these take turns."""

    queues: OrderedDict[tuple[str, str], deque[RunningAttempt]] = field(default_factory=OrderedDict)
    by_tenant: Counter[str] = field(default_factory=Counter)
    by_target: Counter[str] = field(default_factory=Counter)
    count: int = 0

    def put(self, flight: RunningAttempt, target: str) -> None:
        tenant = flight.claimed.tenant_id
        self.queues.setdefault((tenant, target), deque()).append(flight)
        self._counted(tenant, target, 1)

    def begin(self, admit: Callable[[RunningAttempt], bool]) -> Iterator[RunningAttempt]:
        """Remove those that `admit` lets start, in turn; the first of a queue that it refuses keeps its place."""
        refused = 0
        while self.queues and refused < len(self.queues):
            key, queue = next(iter(self.queues.items()))
            self.queues.move_to_end(key)
            if not admit(queue[0]):
                refused += 1
                continue
            refused = 0
            yield self._taken(key, queue)

    def before(self, claimed_at: float) -> Iterator[RunningAttempt]:
        """Remove those that were claimed before this moment of the monotonic clock."""
        for key, queue in list(self.queues.items()):
            while queue and queue[0].claimed_at < claimed_at:
                yield self._taken(key, queue)

    def _taken(self, key: tuple[str, str], queue: deque[RunningAttempt]) -> RunningAttempt:
        flight = queue.popleft()
        if not queue:
            del self.queues[key]
        self._counted(*key, -1)
        return flight

    def _counted(self, tenant: str, target: str, change: int) -> None:
        self.count += change
        for counter, name in ((self.by_tenant, tenant), (self.by_target, target)):
            counter[name] += change
            if not counter[name]:
                del counter[name]
