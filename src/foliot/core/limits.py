"""Limits of a tenant, and the token bucket for rates.

Limits for HTML pages and selectors, checked by counting before anything is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated

from annotated_types import Interval

from foliot.core.document import Fields
from foliot.core.errors import Invalid

MOST = 1_000_000_000
"""Larger values are refused; no limit at all is written as null."""

_DUST = 1e-6
"""Tolerance for rounding errors: a client that waited for its Retry-After is let through."""

PAYLOAD = 1024
"""A run's own document counts as stored from this many bytes on: smaller ones are too frequent to add up."""
MOST_BYTES = 10**15
"""The same for bytes."""

_RATES = frozenset({"requests_per_minute", "run_now_per_minute", "catchup_rate"})


Bytes = Annotated[int, Interval(ge=0, le=MOST_BYTES)]
Count = Annotated[int, Interval(ge=0, le=MOST)]
Rate = Annotated[int, Interval(ge=1, le=MOST)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLimits:
    """What a tenant may use at most; None is no limit."""

    requests_per_minute: Rate | None = None
    """Of one API process."""
    schedules: Count | None = None
    """That are active or paused."""
    concurrent_runs: Count | None = None
    """Over all workers; further runs wait."""
    run_now_per_minute: Rate | None = None
    """Manual runs: run now, retry, replay. Of one API process."""
    streams: Count | None = None
    """Open at once, of one API process."""
    stored_bytes: Bytes | None = None
    """Of schedules, their versions, and documents given to runs."""
    catchup_rate: Rate | None = None
    """Runs per minute and queue that make up for an outage; further ones wait."""

    def but(self, own: Mapping[str, int | None]) -> TenantLimits:
        """These limits, overridden by those that a tenant has of its own."""
        return replace(self, **own)

    def as_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LIMITS}


LIMITS = tuple(each.name for each in fields(TenantLimits))
"""Their names."""

UNLIMITED = TenantLimits()


def read_own(where: str, raw: object) -> dict[str, int | None]:
    """A tenant's own limits: a missing name follows the settings, null removes the limit."""
    given = Fields.of(where, raw)
    own = {name: _limit(given.path(name), name, given.value(name)) for name in LIMITS if name in given.raw}
    given.asked.update(LIMITS)
    given.finish()
    return own


def least(name: str) -> int:
    """At least one: a rate of zero has no Retry-After."""
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
class TokenBucket:
    """Token bucket per minute: allows a burst of one minute's worth, and refills evenly.

    `now` is any monotonic clock, in seconds.
    """

    per_minute: int
    level: float
    at: float

    @classmethod
    def full(cls, per_minute: int, now: float) -> TokenBucket:
        return cls(per_minute, per_minute, now)

    def take(self, now: float, cost: int = 1) -> float | None:
        """None when taken; otherwise the seconds to wait, and nothing is taken.

        A cost above the capacity is accepted when the bucket is full.
        """
        self._refill(now)
        missing = min(cost, self.per_minute) - self.level
        if missing > _DUST:
            return missing * 60 / self.per_minute
        self.level -= cost
        return None

    def give_back(self, cost: int) -> None:
        """Return tokens that were not used."""
        self.level = min(self.level + cost, float(self.per_minute))

    def resize(self, per_minute: int, now: float) -> None:
        """Change the limit; tokens that were taken stay taken."""
        self._refill(now)
        self.level += per_minute - self.per_minute
        self.per_minute = per_minute

    def _refill(self, now: float) -> None:
        gained = max(now - self.at, 0.0) * self.per_minute / 60
        self.level = min(self.level + gained, float(self.per_minute))
        self.at = max(now, self.at)


MOST_TAGS = 250_000
"""Of a page that is searched by selectors."""
MOST_COMBINATORS = 50
"""Length of one alternative of a selector; what browsers copy out has a dozen parts or two."""
MOST_SIBLINGS = 2
"""`~` in one alternative: each one scans all following siblings of every element found so far."""
MOST_NESTED = 3
"""Predicates of an XPath inside one another: each is evaluated for all that the one around it looks at."""

NOT_WEB = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"})
"""Python codecs that no page uses: host names and source text, some of them with quadratic cost."""

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]")
STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_SIDEWAYS = re.compile(r"\b(?:following|preceding)(?:-sibling)?\s*::")
_COMBINATOR = re.compile(r"\s*[>+~]\s*|\s+")


class TooMuch(ValueError):
    """A limit was exceeded; the message says which."""


def count_tags(page: bytes | str, most: int = MOST_TAGS) -> int:
    """The number of tags of a page; `TooMuch` above the limit."""
    tags = page.count(b"<" if isinstance(page, bytes) else "<")  # type: ignore[arg-type]
    if tags > most:
        raise TooMuch(f"it has {tags:,} tags; at most {most:,} are read")
    return tags


def check_selector(selector: str) -> str:
    """Checks that a selector can be evaluated in time; `TooMuch` otherwise."""
    for alternative in _QUOTED.sub("", selector).split(","):
        combinators = [one.strip() for one in _COMBINATOR.findall(alternative.strip())]
        if len(combinators) > MOST_COMBINATORS:
            raise TooMuch(f"has {len(combinators)} combinators; at most {MOST_COMBINATORS} are allowed")
        if combinators.count("~") > MOST_SIBLINGS:
            raise TooMuch(f"has {combinators.count('~')} combinators ~; at most {MOST_SIBLINGS} are allowed")
    return selector


def check_xpath(path: str) -> str:
    """An XPath that can be evaluated in time; `TooMuch` otherwise."""
    bare = STRING.sub("", path)
    steps = bare.replace("//", "/").count("/")
    if steps > MOST_COMBINATORS:
        raise TooMuch(f"has {steps} steps; at most {MOST_COMBINATORS} are allowed")
    if (sideways := len(_SIDEWAYS.findall(bare))) > MOST_SIBLINGS:
        raise TooMuch(f"uses following or preceding axes {sideways} times; at most {MOST_SIBLINGS} are allowed")
    depth = deepest = 0
    for sign in bare:
        depth += (sign == "[") - (sign == "]")
        deepest = max(deepest, depth)
    if deepest > MOST_NESTED:
        raise TooMuch(f"nests predicates {deepest} deep; at most {MOST_NESTED} levels are allowed")
    return path
