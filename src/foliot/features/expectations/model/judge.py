"""Judges the facts about a run's data by its expectations and the baseline of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.engine.model.run import AttemptError
from foliot.features.expectations.model.facts import (
    BASELINE_RUNS,
    BROKEN,
    FEWEST_RUNS,
    QUALITY,
    VERDICT,
    DataFacts,
    JudgedExpectation,
    Spread,
    many,
    number,
)
from foliot.features.expectations.model.read import SECONDS, bounds


def judge_data(
    expect: Mapping[str, Any], facts: DataFacts, history: Sequence[DataFacts], now: datetime
) -> list[JudgedExpectation]:
    """Each expectation judged; `history` holds the facts of the newest good runs, newest first."""
    past = list(history[:BASELINE_RUNS])
    items = Spread.of([one.items for one in past])
    judged: list[JudgedExpectation] = []
    for name, wanted in expect.items():
        match name:
            case "items":
                judged.append(_judged(name, wanted, facts.items, items))
            case "items_vs_baseline":
                judged.append(_against_baseline(name, wanted, facts.items, items, len(past)))
            case "errors":
                judged.append(_judged(name, wanted, facts.errors, Spread.of([one.errors for one in past])))
            case "duration":
                took = [one.seconds for one in past if one.seconds is not None]
                judged.append(_judged(name, wanted, facts.seconds, Spread.of(took), "s"))
            case "duplicates":
                judged.append(_duplicates(name, wanted, facts, past))
            case "coverage":
                judged += [_covered(each, share, facts, past) for each, share in wanted.items()]
            case "schema":
                judged += [_typed(each, kind, facts) for each, kind in wanted.items()]
            case _:
                judged.append(_fresh(name, wanted, facts, now))
    return judged


def problem_of(judged: Sequence[JudgedExpectation]) -> AttemptError | None:
    """The error of a run whose data break expectations; None when none is broken."""
    broken = [one for one in judged if one.met is False]
    if not broken:
        return None
    said = "; ".join(
        f"{one.expectation}: {one.got}, expected {one.wanted}" + (f", usually {one.baseline}" if one.baseline else "")
        for one in broken[:5]
    )
    more = f"; and {len(broken) - 5} more" if len(broken) > 5 else ""
    return AttemptError(BROKEN, f"The data broke {many(len(broken), 'expectation')}. {said}{more}"[:1000])


@dataclass(frozen=True, slots=True)
class DataVerdict:
    """The judgement of a run's data, in the form that its result keeps."""

    facts: DataFacts
    judged: Sequence[JudgedExpectation]

    @property
    def problem(self) -> AttemptError | None:
        """Why the run is degraded; None when no expectation is broken."""
        return problem_of(self.judged)

    def into(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result with the facts and the verdict."""
        verdict = [one.to_dict() for one in self.judged]
        return {**result, QUALITY: self.facts.to_dict(), VERDICT: verdict}


def _judged(name: str, wanted: str, got: float | None, spread: Spread | None, unit: str = "") -> JudgedExpectation:
    baseline = None if spread is None else spread.words(unit)
    if got is None:
        return JudgedExpectation(
            expectation=name, wanted=wanted, got="unknown", baseline=baseline, note="the run does not report it"
        )
    met = all(bound.holds(_in_unit(got, given)) for bound, given in bounds(wanted))
    return JudgedExpectation(expectation=name, wanted=wanted, got=f"{number(got)}{unit}", baseline=baseline, met=met)


def _in_unit(got: float, unit: str) -> float:
    return got / SECONDS[unit] if unit in SECONDS else got


def _against_baseline(name: str, wanted: str, got: int, spread: Spread | None, runs: int) -> JudgedExpectation:
    if spread is None or not spread.middle:
        few = f"{many(runs, 'good run')} so far; a baseline needs {FEWEST_RUNS}"
        note = few if spread is None else "the previous good runs had no items"
        return JudgedExpectation(expectation=name, wanted=wanted, got=str(got), note=note)
    share = 100.0 * got / spread.middle
    met = all(bound.holds(share) for bound, _ in bounds(wanted))
    return JudgedExpectation(
        expectation=name, wanted=wanted, got=f"{number(share)}% ({got:,})", baseline=spread.words(), met=met
    )


def _duplicates(name: str, wanted: str, facts: DataFacts, past: Sequence[DataFacts]) -> JudgedExpectation:
    shares = [100.0 * one.duplicates / one.items for one in past if one.duplicates is not None and one.items]
    share = None if facts.duplicates is None else 100.0 * facts.duplicates / facts.items if facts.items else 0.0
    return _judged(name, wanted, share, Spread.of(shares), "%")


def _covered(field_name: str, wanted: str, facts: DataFacts, past: Sequence[DataFacts]) -> JudgedExpectation:
    shares = [share for one in past if field_name in one.coverage and (share := one.share(field_name)) is not None]
    name = f"coverage.{field_name}"
    if (share := facts.share(field_name)) is None:
        return JudgedExpectation(expectation=name, wanted=wanted, got="no items", note="there are no items to check")
    return _judged(name, wanted, share, Spread.of(shares), "%")


def _typed(field_name: str, wanted: str, facts: DataFacts) -> JudgedExpectation:
    wrong = facts.mistyped.get(field_name, 0)
    got = wanted if not wrong else f"{many(wrong, 'item')} of another type"
    return JudgedExpectation(expectation=f"schema.{field_name}", wanted=wanted, got=got, met=not wrong)


def _fresh(name: str, wanted: Mapping[str, str], facts: DataFacts, now: datetime) -> JudgedExpectation:
    said = f"{wanted['field']} {wanted['within']}"
    if facts.newest is None:
        note = f"no item has a date in {wanted['field']}"
        return JudgedExpectation(
            expectation=name, wanted=said, got="no date", met=False if facts.items else None, note=note
        )
    age = max((now - facts.newest).total_seconds(), 0.0)
    met = all(bound.holds(_in_unit(age, given)) for bound, given in bounds(wanted["within"]))
    return JudgedExpectation(expectation=name, wanted=said, got=_age(age), met=met)


def _age(seconds: float) -> str:
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= size:
            return f"{number(seconds / size)}{unit} old"
    return f"{number(seconds)}s old"


def bands(history: Sequence[DataFacts]) -> dict[str, Spread]:
    """The baseline of all that is drawn: `items`, `errors`, `duration` in seconds, `coverage.price` in percent."""
    past = list(history[:BASELINE_RUNS])
    series: dict[str, list[float]] = {
        "items": [one.items for one in past],
        "errors": [one.errors for one in past],
        "duration": [one.seconds for one in past if one.seconds is not None],
    }
    for name in sorted({name for one in past for name in one.coverage}):
        series[f"coverage.{name}"] = [share for one in past if (share := one.share(name)) is not None]
    return {name: spread for name, values in series.items() if (spread := Spread.of(values)) is not None}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An expectation that earlier runs would have met."""

    expectation: str
    value: Any
    why: str


def _range(spread: Spread) -> str:
    low, high = number(spread.low), number(spread.high)
    return low if low == high else f"{low} to {high}"


def suggestions(history: Sequence[DataFacts], sample: DataFacts | None = None) -> list[Suggestion]:
    """What the newest good runs have in common; nothing while they are too few for a baseline.

    `sample`: the first items of the newest one, where the coverage of no field is known.
    """
    past = list(history[:BASELINE_RUNS])
    items = Spread.of([one.items for one in past])
    if items is None:
        return []
    made: list[Suggestion] = []
    runs = f"the last {len(past)} good runs"
    if items.low > 0:
        least = max(int(items.low * 0.9), 1)
        made.append(Suggestion("items", f">= {least}", f"{runs} had {_range(items)} items"))
        made.append(Suggestion("items_vs_baseline", ">= 60%", f"the median of {runs} is {number(items.middle)} items"))
    for name in sorted({name for one in past for name in one.coverage}):
        shares = Spread.of([share for one in past if (share := one.share(name)) is not None])
        if shares is not None and shares.low >= 50:
            why = f"{name} was present in at least {number(shares.low)}% of the items of {runs}"
            made.append(Suggestion(f"coverage.{name}", f">= {int(shares.low * 0.95)}%", why))
    for name in sorted(sample.coverage) if sample is not None else ():
        if sample is not None and (share := sample.share(name)) is not None and share >= 50:
            why = f"{name} was present in {number(share)}% of the first {sample.items:,} items of the last good run"
            made.append(Suggestion(f"coverage.{name}", f">= {int(share * 0.95)}%", why))
    errors = Spread.of([one.errors for one in past])
    if errors is not None:
        most = int(max(errors.high * 2, errors.high + 5))
        made.append(Suggestion("errors", f"<= {most}", f"{runs} had at most {number(errors.high)} errors"))
    return made
