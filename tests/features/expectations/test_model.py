"""Expectations: how they are read, and how facts are judged by them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.core.errors import Invalid, InvalidMany
from foliot.features.expectations.model.facts import BASELINE_RUNS, DataFacts
from foliot.features.expectations.model.judge import judge_data, problem_of, suggestions
from foliot.features.expectations.model.read import read_expect
from foliot.features.expectations.profile import ItemProfile

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


def facts(items: int, **more: Any) -> DataFacts:
    return DataFacts(items=items, **more)


def judged(expect: dict[str, Any], got: DataFacts, history: list[DataFacts] | None = None) -> dict[str, bool | None]:
    return {one.expectation: one.met for one in judge_data(read_expect(expect), got, history or [], NOON)}


def test_the_stored_form_is_read_again_unchanged() -> None:
    raw = {
        "items": 100,
        "items_vs_baseline": ">=60%, <= 200%",
        "coverage": {"price": "95%", "title": 99},
        "errors": 5,
        "duplicates": "2%",
        "duration": "30m",
        "freshness": {"field": "published_at", "within": "2d"},
        "schema": {"price": "number"},
    }
    stored = read_expect(raw)

    assert stored == {
        "items": ">= 100",
        "items_vs_baseline": ">= 60%, <= 200%",
        "coverage": {"price": ">= 95%", "title": ">= 99%"},
        "errors": "<= 5",
        "duplicates": "<= 2%",
        "duration": "<= 30m",
        "freshness": {"field": "published_at", "within": "<= 2d"},
        "schema": {"price": "number"},
    }
    assert read_expect(stored) == stored


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"itmes": ">= 1"}, "expect.itmes"),
        ({}, "expect"),
        ({"items": "many"}, "expect.items"),
        ({"items": ">= 60%"}, "expect.items"),
        ({"items": ">= 1, <= 2, <= 3"}, "expect.items"),
        ({"items": True}, "expect.items"),
        ({"coverage": {}}, "expect.coverage"),
        ({"coverage": {"price": "95"}}, "expect.coverage.price"),
        ({"schema": {"price": "money"}}, "expect.schema.price"),
        ({"duration": "30 parsecs"}, "expect.duration"),
        ({"freshness": {"within": "2d"}}, "expect.freshness.field"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_its_place(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_expect(raw)
    errors = refusal.value.errors if isinstance(refusal.value, InvalidMany) else [refusal.value]
    assert [one.field for one in errors] == [field]


def test_a_kind_of_action_refuses_what_it_cannot_judge() -> None:
    with pytest.raises(Invalid, match="cannot be judged"):
        read_expect({"duplicates": "<= 2%"}, kinds={"items"})


def test_bounds_hold_at_their_edge_and_not_beyond() -> None:
    expect = {"items": ">= 100", "errors": "<= 5", "coverage": {"price": "95%"}}

    assert judged(expect, facts(100, errors=5, coverage={"price": 95})) == {
        "items": True,
        "errors": True,
        "coverage.price": True,
    }
    assert judged(expect, facts(99, errors=6, coverage={"price": 94})) == {
        "items": False,
        "errors": False,
        "coverage.price": False,
    }


def test_without_five_good_runs_there_is_no_baseline_and_no_verdict() -> None:
    expect = read_expect({"items_vs_baseline": ">= 60%"})
    (one,) = judge_data(expect, facts(3), [facts(500)] * 4, NOON)

    assert (one.met, one.note) == (None, "4 good runs so far; a baseline needs 5")
    assert problem_of([one]) is None


def test_the_baseline_is_the_median_of_the_newest_good_runs() -> None:
    history = [facts(500)] * BASELINE_RUNS + [facts(10)] * 100
    (one,) = judge_data(read_expect({"items_vs_baseline": ">= 60%"}), facts(299), history, NOON)

    assert (one.met, one.got, one.baseline) == (False, "59.8% (299)", "500")


def test_an_empty_template_breaks_everything_that_is_expected() -> None:
    expect = {"items": ">= 10", "items_vs_baseline": ">= 60%", "coverage": {"price": "95%"}}
    history = [facts(50, coverage={"price": 50})] * 6
    problem = problem_of(judge_data(read_expect(expect), facts(0), history, NOON))

    assert problem is not None
    assert problem.code == "expectation_broken"
    assert "items: 0, expected >= 10, usually 50" in problem.message


def test_freshness_is_the_age_of_the_newest_date() -> None:
    expect = {"freshness": {"field": "at", "within": "2d"}}

    assert judged(expect, facts(1, newest=NOON - timedelta(days=2)))["freshness"] is True
    assert judged(expect, facts(1, newest=NOON - timedelta(days=2, seconds=1)))["freshness"] is False
    assert judged(expect, facts(1))["freshness"] is False


def test_of_a_thousand_healthy_series_fewer_than_one_in_a_hundred_is_degraded() -> None:
    """Noise of up to fifteen percent around a level, and a few missing prices, is healthy."""
    dice = random.Random(7)
    expect = read_expect({"items_vs_baseline": ">= 60%", "coverage": {"price": "90%"}, "errors": "<= 5"})
    wrong = 0
    for _ in range(1000):
        level, noise = dice.randint(20, 5000), dice.uniform(0, 0.15)
        series = []
        for _ in range(BASELINE_RUNS + 1):
            items = max(round(dice.gauss(level, level * noise)), 1)
            missing = sum(dice.random() < 0.01 for _ in range(min(items, 100)))
            series.append(facts(items, errors=dice.randint(0, 3), coverage={"price": items - missing * items // 100}))
        wrong += problem_of(judge_data(expect, series[0], series[1:], NOON)) is not None

    assert wrong < 10


def test_suggestions_would_have_been_met_by_the_runs_that_they_come_from() -> None:
    history = [facts(480 + each, errors=each % 3, coverage={"price": 480}) for each in range(20)]
    expect: dict[str, Any] = {}
    for one in suggestions(history):
        name, _, field = one.expectation.partition(".")
        if field:
            expect.setdefault(name, {})[field] = one.value
        else:
            expect[name] = one.value

    assert expect["items"] == ">= 432"
    assert all(problem_of(judge_data(read_expect(expect), run, history, NOON)) is None for run in history)
    assert suggestions(history[:4]) == []


def test_a_profile_counts_values_types_and_duplicates() -> None:
    expect = read_expect(
        {
            "coverage": {"price": "1%", "offer.url": "1%"},
            "schema": {"price": "number"},
            "duplicates": "<= 2%",
            "freshness": {"field": "at", "within": "1d"},
        }
    )
    profile = ItemProfile(expect)
    profile.add({"price": 3, "offer": {"url": "https://shop.example/1"}, "at": "2026-11-18T11:00:00Z"})
    profile.add({"price": "3 €", "offer": {"url": " "}, "at": "yesterday"})
    profile.add({"offer": None, "price": ""})
    profile.add({"price": "", "offer": None})
    profile.add("no mapping")

    got = profile.facts(errors=2, seconds=1.5)
    assert got == DataFacts(
        items=5,
        errors=2,
        seconds=1.5,
        duplicates=1,
        coverage={"price": 2, "offer.url": 1},
        mistyped={"price": 1},
        newest=NOON - timedelta(hours=1),
    )
    assert DataFacts.from_dict(got.to_dict()) == got
