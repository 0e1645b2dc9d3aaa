"""The clock of production: monotonic, with an offset to the database that is measured now and then."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


def wall() -> datetime:
    """The system's clock, which may step; only a starting point, and the truth where the database has no clock."""
    return datetime.now(UTC)  # noqa: TID251 -- the one place that asks the system


class StoreClock:
    """Between two measurements only the monotonic clock counts, so that no step of the system's clock is seen."""

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
        """For how many seconds this machine has slept since it started; 0 where the system does not tell."""
        boot = getattr(time, "CLOCK_BOOTTIME", None)
        return 0.0 if boot is None else time.clock_gettime(boot) - time.monotonic()
