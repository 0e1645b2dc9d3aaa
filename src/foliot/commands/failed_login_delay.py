"""A token bucket per address for keys and tokens that do not count: whoever shows many of them is answered late."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from foliot.core.errors import TooMany
from foliot.core.limits import TokenBucket

PER_MINUTE = 120
"""Wrong ones from one address that are answered at once."""
DELAY = 1.0
"""Seconds that the others wait for their answer."""
MOST_WAITING = 100
"""Answers that are held back at once; beyond, they are refused without a wait, so that waiting costs nothing here."""
REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class FailedLoginDelay:
    """Slows strangers. Right keys never pass here: behind one proxy everybody has the same address."""

    per_minute: int = PER_MINUTE
    delay: float = DELAY
    waiting: int = 0
    _buckets: OrderedDict[str, TokenBucket] = field(init=False, default_factory=OrderedDict)

    async def failed(self, address: str, now: float) -> None:
        """A key or token from here did not count; `TooMany`, after a wait, when that was so too often lately."""
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
        raise TooMany(f"too many wrong keys and tokens: {self.per_minute} a minute are heard", retry_after=wait)
