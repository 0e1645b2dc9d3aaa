"""Answers about the quality of data."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.features.expectations.model.facts import Quarantine, QuarantineState, Spread
from foliot.features.expectations.sql import RunQuality
from foliot.features.expectations.usecases import ScheduleQuality
from foliot.servers.http.schema import CLOSED


@with_config(CLOSED)
class ExpectationVerdict(TypedDict):
    """One expectation, and what came."""

    expectation: str
    """`items`, `items_vs_baseline`, `coverage.price`, …"""
    wanted: str
    got: str
    baseline: str | None
    """The median of the newest good runs, and their range."""
    met: bool | None
    """Null when it could not be judged; `note` says why."""
    note: NotRequired[str]


@declared
class DataFactsAnswer:
    """What is known about the data of one run."""

    items: int
    errors: int
    seconds: float | None
    duplicates: int | None
    coverage: Mapping[str, float]
    """The share of items with a value, in percent, by field."""
    newest: datetime | None


@declared
class QualityRun:
    """The data of one run."""

    run_id: str
    state: RunState
    at: datetime
    """When it ended."""
    facts: DataFactsAnswer | None
    """Of a run without expectations, its counts of items and errors; null where it has none."""
    verdict: list[ExpectationVerdict] | None

    @classmethod
    def of(cls, run: RunQuality) -> QualityRun:
        facts: Any = None
        if run.facts is not None:
            coverage = {name: round(run.facts.share(name) or 0.0, 2) for name in run.facts.coverage}
            facts = DataFactsAnswer(
                items=run.facts.items,
                errors=run.facts.errors,
                seconds=run.facts.seconds,
                duplicates=run.facts.duplicates,
                coverage=coverage,
                newest=run.facts.newest,
            )
        verdict: Any = None if run.verdict is None else list(run.verdict)
        return cls(run_id=run.run_id, state=run.state, at=run.at, facts=facts, verdict=verdict)


@declared
class BaselineBand:
    """The median of the newest good runs, and their range."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, spread: Spread | None) -> BaselineBand | None:
        return None if spread is None else cls(median=spread.middle, low=spread.low, high=spread.high)


@declared
class SuggestedExpectation:
    """An expectation that earlier runs would have met."""

    expectation: str
    value: Any
    why: str


@declared
class ScheduleQualityAnswer:
    """The data of a schedule's newest runs."""

    items: list[QualityRun]
    """Newest first."""
    baseline: BaselineBand | None
    """Of the number of items; null while there are fewer than five good runs."""
    bands: Mapping[str, BaselineBand]
    """The same of `items`, `errors`, `duration` in seconds, and `coverage.price` in percent, of what is known."""
    good_runs: int
    suggestions: list[SuggestedExpectation]

    @classmethod
    def of(cls, quality: ScheduleQuality) -> ScheduleQualityAnswer:
        return cls(
            items=[QualityRun.of(run) for run in quality.runs],
            baseline=BaselineBand.of(quality.baseline),
            bands={
                name: BaselineBand(median=spread.middle, low=spread.low, high=spread.high)
                for name, spread in quality.bands.items()
            },
            good_runs=quality.good_runs,
            suggestions=[
                SuggestedExpectation(expectation=one.expectation, value=one.value, why=one.why)
                for one in quality.suggestions
            ],
        )


@declared
class QuarantineAnswer:
    """The data of a degraded run, and what was decided about them."""

    run_id: str
    state: QuarantineState
    items: int
    decided_at: datetime | None
    decided_by: str | None
    release_id: str | None
    """The run that writes released items to the sinks of a pipeline."""

    @classmethod
    def of(cls, held: Quarantine) -> QuarantineAnswer:
        return cls(
            run_id=held.run_id,
            state=held.state,
            items=held.items,
            decided_at=held.decided_at,
            decided_by=held.decided_by,
            release_id=held.release_id,
        )
