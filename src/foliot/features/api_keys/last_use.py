"""Records when keys were last used: in batches, and each key at most once a minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.db.database import Database
from foliot.features.api_keys.sql import SqlKeys

EVERY = timedelta(minutes=1)
MOST = 10_000
"""Keys that are buffered between two rounds."""


@dataclass(frozen=True, slots=True)
class UsesWritten:
    """The result of one round."""

    keys: int
    rest: float


@dataclass(slots=True, kw_only=True)
class LastUse:
    """An actor: requests record in memory, a round writes to the database."""

    store: Database
    period: float = 10.0
    name: str = "last-use"
    topics: Sequence[str] = ()
    _used: dict[str, datetime] = field(init=False, default_factory=dict)
    _written: dict[str, datetime] = field(init=False, default_factory=dict)

    def note(self, key_id: str, now: datetime) -> None:
        """Record a use. No I/O."""
        written = self._written.get(key_id)
        if (written is None or now - written >= EVERY) and (key_id in self._used or len(self._used) < MOST):
            self._used[key_id] = now

    async def run_once(self) -> UsesWritten:
        """Write the uses since the last round; after a failure the next round has them too."""
        used = dict(self._used)
        if used:
            async with self.store.begin() as tx:
                await SqlKeys(tx).note_use(used)
        for key_id, at in used.items():
            if self._used.get(key_id) == at:
                del self._used[key_id]
            self._written.pop(key_id, None)
            self._written[key_id] = at
        while len(self._written) > MOST:
            del self._written[next(iter(self._written))]
        return UsesWritten(len(used), self.period)
