"""A token bucket per address for invalid keys and tokens: beyond its rate, the answers are delayed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from foliot.core.errors import TooMany
from foliot.core.limits import TokenBucket

PER_MINUTE = 120
"""Invalid credentials per minute from one address that are answered at once."""
DELAY = 1.0
"""Seconds by which further answers are delayed."""
MOST_WAITING = 100
"""Answers that are delayed concurrently; further ones are refused without delay, to bound memory."""
REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class FailedLoginDelay:
    """Slows down guessing. Valid keys are never delayed: behind one proxy all callers have the same address."""

    per_minute: int = PER_MINUTE
    delay: float = DELAY
    waiting: int = 0
    _buckets: OrderedDict[str, TokenBucket] = field(init=False, default_factory=OrderedDict)

    async def failed(self, address: str, now: float) -> None:
        """Count an invalid key or token of this address; `TooMany`, after a delay, beyond the rate."""
        bucket = self._buckets.setdefault(address, TokenBucket.full(self.per_minute, now))
        self._buckets.move_to_end(address)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        wait = bucket.take(now)
        if wait is None:
            return
        if self.waiting < MOST_WAITING:
            self.waiting += 1
            try:
                await asyncio.sleep(self.delay)
            finally:
                self.waiting -= 1
        raise TooMany(f"too many invalid keys and tokens: at most {self.per_minute} a minute", retry_after=wait)
