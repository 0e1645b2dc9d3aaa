"""Fakes and helpers that ship, for Foliot's own tests and for those of its users."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from foliot.store.database import Database
from foliot.store.migrate import create, migrate

MEMORY = "sqlite+aiosqlite:///:memory:"


class StoppedClock:
    """A clock that moves only when told to."""

    def __init__(self, now: datetime = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, delay: timedelta | float) -> datetime:
        """Move on, and say what time it is then."""
        delay = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
        self._now += delay
        self._monotonic += delay.total_seconds()
        return self._now

    def set(self, now: datetime) -> None:
        """Jump, as a system clock may; the monotonic clock does not."""
        self._now = now


@asynccontextmanager
async def open_store(url: str = MEMORY) -> AsyncIterator[Database]:
    """A store with every table, whose clock is the caller's."""
    store = Database(url, bind_clock=True)
    if ":memory:" in url:
        async with store.engines.write.connect() as conn:
            await create(conn)
            await conn.commit()
    else:
        await migrate(url)
    try:
        yield store
    finally:
        await store.close()
