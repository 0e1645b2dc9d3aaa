"""What is known of the data of a run, what became of them, and the spread of earlier runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Any

from foliot.core.document import moment
from foliot.core.errors import Invalid

EXPECT = "expect"
"""Key of an action's configuration."""
QUALITY = "quality"
"""Key of a run's result: the facts about its data."""
VERDICT = "verdict"
"""Key of a run's result: each expectation with what was wanted, what came, and whether it was met."""
BROKEN = "expectation_broken"
"""Error code of a degraded run."""

QUARANTINE = "quarantine"
"""Key of a pipeline's result: its items are withheld from the sinks."""
RELEASE = "release_of"
"""Key of a configuration: the run whose withheld items are written to the sinks. No request can set it."""

BASELINE_RUNS = 20
"""The baseline is the median of so many of the newest good runs."""
FEWEST_RUNS = 5
"""With fewer good runs there is no baseline, and nothing is judged by it."""


_COUNTS = (
    ("visited", ("error", "blocked"), ("error", "blocked", "removed")),
    ("items", ("errors", "failed"), ()),
    ("completed", ("failed",), ()),
)
"""Of watches, of crawls and pipelines, and of batches: the count of items, those of errors, and what is no item."""


class QuarantineState(StrEnum):
    """What becomes of the data of a degraded run."""

    HELD = "held"
    RELEASED = "released"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """The data of a degraded run, and what was decided about them."""

    run_id: str
    state: QuarantineState = QuarantineState.HELD
    items: int = 0
    decided_at: datetime | None = None
    decided_by: str | None = None
    release_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What is known about the data of one run."""

    items: int = 0
    errors: int = 0
    seconds: float | None = None
    duplicates: int | None = None
    """None where repeated items are not looked for."""
    coverage: Mapping[str, int] = field(default_factory=dict)
    """How many items have a value for each field that is looked at."""
    mistyped: Mapping[str, int] = field(default_factory=dict)
    """How many items have a value of another type than the schema says, by field."""
    newest: datetime | None = None
    """The newest date among the items."""

    def to_dict(self) -> dict[str, Any]:
        """As a run's result keeps it."""
        facts: dict[str, Any] = {"items": self.items, "errors": self.errors}
        if self.seconds is not None:
            facts["seconds"] = round(self.seconds, 3)
        if self.duplicates is not None:
            facts["duplicates"] = self.duplicates
        if self.coverage:
            facts["coverage"] = dict(self.coverage)
        if self.mistyped:
            facts["mistyped"] = dict(self.mistyped)
        if self.newest is not None:
            facts["newest"] = self.newest.isoformat()
        return facts

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> DataFacts:
        """The reverse of `to_dict`."""
        newest = raw.get("newest")
        return cls(
            items=int(raw.get("items") or 0),
            errors=int(raw.get("errors") or 0),
            seconds=raw.get("seconds"),
            duplicates=raw.get("duplicates"),
            coverage=raw.get("coverage") or {},
            mistyped=raw.get("mistyped") or {},
            newest=datetime.fromisoformat(newest) if isinstance(newest, str) else None,
        )

    @classmethod
    def of_result(cls, result: Mapping[str, Any]) -> DataFacts | None:
        """What the result of a run says about its data; of one without expectations, the counts of its kind."""
        if isinstance(facts := result.get(QUALITY), Mapping):
            return cls.from_dict(facts)
        for items, errors, left_out in _COUNTS:
            if isinstance(count := result.get(items), int):
                bad = sum(int(result.get(name) or 0) for name in errors)
                less = sum(int(result.get(name) or 0) for name in left_out)
                return cls(items=max(count - less, 0), errors=bad)
        return None

    def share(self, name: str) -> float | None:
        """The share of items with a value for this field, in percent; None without items."""
        return 100.0 * self.coverage.get(name, 0) / self.items if self.items else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedExpectation:
    """One expectation and what came."""

    expectation: str
    """`items`, `coverage.price`."""
    wanted: str
    got: str
    baseline: str | None = None
    met: bool | None = None
    """None when it could not be judged; `note` says why."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As a run's result keeps it."""
        document = {
            "expectation": self.expectation,
            "wanted": self.wanted,
            "got": self.got,
            "baseline": self.baseline,
            "met": self.met,
        }
        return document | ({"note": self.note} if self.note else {})


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of a series of earlier runs, and its range."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Collection[float]) -> Spread | None:
        """None for fewer runs than a baseline needs."""
        if len(values) < FEWEST_RUNS:
            return None
        return cls(median(values), min(values), max(values))

    def words(self, unit: str = "") -> str:
        if self.low == self.high:
            return f"{number(self.middle)}{unit}"
        return f"{number(self.middle)}{unit} ({number(self.low)} to {number(self.high)}{unit})"


def number(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0").replace(",", "") if value % 1 else f"{int(value)}"


def many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def age_of(text: object) -> datetime | None:
    """The date in a field of an item, if it is one."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        return moment("date", text)
    except Invalid:
        pass
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def seconds_between(start: datetime, end: datetime) -> float:
    return max((end - start) / timedelta(seconds=1), 0.0)
