"""The production clock: monotonic, with a measured offset to the database's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def wall() -> datetime:
    """The system's clock, which may step: a starting point, and authoritative where the database has no clock."""
    return datetime.now(UTC)  # noqa: TID251 -- the one place that asks the system


class StoreClock:
    """Between two measurements only the monotonic clock counts, so that steps of the system's clock have no effect."""

    def __init__(self) -> None:
        self._moment = wall()
        self._monotonic = time.monotonic()

    def now(self) -> datetime:
        return self._moment + timedelta(seconds=time.monotonic() - self._monotonic)

    def monotonic(self) -> float:
        return time.monotonic()

    def adjust(self, moment: datetime, monotonic: float) -> None:
        self._moment, self._monotonic = moment, monotonic

    def suspended(self) -> float:
        """How many seconds this machine was suspended since it started; 0 where the system does not report it."""
        boot = getattr(time, "CLOCK_BOOTTIME", None)
        return 0.0 if boot is None else time.clock_gettime(boot) - time.monotonic()
