"""What a tenant may use at most, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from foliot.core.document import Fields
from foliot.core.errors import Invalid

MOST = 1_000_000_000
"""More than this is no limit any more; whoever wants none says null."""

_DUST = 1e-6
"""What adding up fractions loses: whoever waited as told is let through."""

PAYLOAD = 1024
"""Bytes of a run's own document from which on it counts as stored: the smaller ones come too often to be added up."""
MOST_BYTES = 10**15
"""The same for bytes."""

_RATES = frozenset({"requests_per_minute", "run_now_per_minute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a tenant may use at most; None is no limit."""

    requests_per_minute: int | None = None
    """Of one API process."""
    schedules: int | None = None
    """That are active or paused."""
    concurrent_runs: int | None = None
    """Over all workers; the others wait."""
    run_now_per_minute: int | None = None
    """Runs that people ask for: run now, retry, replay. Of one API process."""
    streams: int | None = None
    """Open at once, of one API process."""
    stored_bytes: int | None = None
    """Of schedules, their versions, and what runs were given beyond them."""

    def but(self, own: Mapping[str, int | None]) -> Limits:
        """These, except where a tenant has its own."""
        return replace(self, **own)

    def as_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LIMITS}


LIMITS = tuple(each.name for each in fields(Limits))
"""Their names."""

UNLIMITED = Limits()


def read_own(where: str, raw: object) -> dict[str, int | None]:
    """A tenant's own limits: a name that is left out follows the settings, a null lifts the limit."""
    given = Fields.of(where, raw)
    own = {name: _limit(given.path(name), name, given.value(name)) for name in LIMITS if name in given.raw}
    given.asked.update(LIMITS)
    given.finish()
    return own


def least(name: str) -> int:
    """A rate of nothing would have no answer to "when again?", so it is at least one."""
    return 1 if name in _RATES else 0


def most(name: str) -> int:
    """The largest number that is a limit."""
    return MOST_BYTES if name == "stored_bytes" else MOST


def _limit(where: str, name: str, got: object) -> int | None:
    if isinstance(got, float) and got.is_integer():
        got = int(got)
    if got is None:
        return None
    if isinstance(got, bool) or not isinstance(got, int) or not least(name) <= got <= most(name):
        raise Invalid(
            where, f"must be a whole number from {least(name)} to {most(name)}, or null for no limit", got=got
        )
    return got


@dataclass(slots=True)
class Bucket:
    """So many a minute: a minute's worth can be taken at once, and what was taken comes back evenly.

    `now` is any clock that never goes back, in seconds.
    """

    per_minute: int
    level: float
    at: float

    @classmethod
    def full(cls, per_minute: int, now: float) -> Bucket:
        return cls(per_minute, per_minute, now)

    def take(self, now: float, cost: int = 1) -> float | None:
        """None when taken; otherwise the seconds after which it can be, and nothing is taken.

        What costs more than the bucket holds is let through when the bucket is full.
        """
        self._refill(now)
        missing = min(cost, self.per_minute) - self.level
        if missing > _DUST:
            return missing * 60 / self.per_minute
        self.level -= cost
        return None

    def give_back(self, cost: int) -> None:
        """What was taken was not used."""
        self.level = min(self.level + cost, float(self.per_minute))

    def resize(self, per_minute: int, now: float) -> None:
        """Another limit from now on: what was taken before stays taken."""
        self._refill(now)
        self.level += per_minute - self.per_minute
        self.per_minute = per_minute

    def _refill(self, now: float) -> None:
        gained = max(now - self.at, 0.0) * self.per_minute / 60
        self.level = min(self.level + gained, float(self.per_minute))
        self.at = max(now, self.at)
