"""Learned rates of change, and how a budget of visits is spread over pages."""

from __future__ import annotations

import math
import random
from datetime import timedelta

import pytest

from foliot.features.watches.model.revisit import (
    ChangeRate,
    RevisitAim,
    RevisitRules,
    VisitBudget,
    allot,
    explained,
    first_rate,
    shown_span,
)

HOUR = 3600.0
RULES = RevisitRules(5000, timedelta(days=1), timedelta(minutes=15), timedelta(days=7))


def test_what_a_visit_teaches_has_the_moments_of_the_exact_posterior() -> None:
    prior = ChangeRate(2.0, 10 * HOUR)
    seconds = 3 * HOUR
    after = prior._changed(seconds)
    # Numerically: the prior's density times the chance of at least one change.
    steps = [at / (200 * HOUR) for at in range(1, 20_000)]
    weights = [x**1.0 * math.exp(-x * prior.time) * -math.expm1(-x * seconds) for x in steps]
    mean = sum(x * w for x, w in zip(steps, weights, strict=True)) / sum(weights)
    square = sum(x * x * w for x, w in zip(steps, weights, strict=True)) / sum(weights)
    assert after.mean == pytest.approx(mean, rel=0.001)
    assert after.shape / after.time**2 == pytest.approx(square - mean**2, rel=0.005)


@pytest.mark.parametrize("interval", [60.0, HOUR, 24 * HOUR])
@pytest.mark.parametrize("every", [2 * HOUR, 10 * HOUR, 100 * HOUR])
def test_a_rate_is_learned_within_a_factor_of_two(every: float, interval: float) -> None:
    chance, rate = random.Random(7), first_rate(RULES)
    # A page that changes far faster than it is visited is seen to change at each visit: then only a bound is learned.
    visits = max(200, int(40 * every / interval))
    for _ in range(min(visits, 100_000)):
        rate = rate.after(interval, changed=chance.random() < -math.expm1(-interval / every))
    true = 1 / every
    if interval < 3 * every:
        assert true / 2 < rate.mean < true * 2.2
    else:
        assert rate.mean > 1 / interval


def test_learning_stays_finite_at_the_extremes() -> None:
    for changed in (True, False):
        for seconds in (0.0, 1e-6, 1.0, 1e9):
            rate = first_rate(RULES)
            for _ in range(2000):
                rate = rate.after(seconds, changed=changed)
            assert math.isfinite(rate.mean)
            assert rate.mean > 0
            assert rate.shape > 0


def test_visits_follow_the_square_root_of_the_rate_and_come_to_the_budget() -> None:
    rates = [1 / (HOUR * 2**step) for step in range(10) for _ in range(20)]
    rules = RevisitRules(2000, timedelta(days=1), timedelta(minutes=10), timedelta(days=60))
    spread = allot(rates, rules)
    assert spread.spent * 86_400 == pytest.approx(2000, rel=0.01)
    assert sum(86_400 / spread.interval(rate) for rate in rates) == pytest.approx(2000, rel=0.03)
    assert spread.interval(rates[-1]) / spread.interval(rates[0]) == pytest.approx(math.sqrt(2**9), rel=0.01)


@pytest.mark.parametrize("aim", list(RevisitAim))
def test_no_page_is_visited_more_or_less_often_than_the_bounds_say(aim: RevisitAim) -> None:
    chance = random.Random(3)
    rates = [10 ** chance.uniform(-7, -2) for _ in range(500)]
    for visits in (10, 5000, 10_000_000):
        rules = RevisitRules(visits, timedelta(days=1), timedelta(minutes=15), timedelta(days=7), aim)
        spread = allot(rates, rules)
        waits = [spread.interval(rate) for rate in rates]
        assert min(waits) >= 15 * 60 - 1e-6
        assert max(waits) <= 7 * 86_400 + 1e-6


def test_fresh_spends_less_than_prompt_on_pages_that_change_faster_than_they_can_be_visited() -> None:
    rates = [1 / 30.0] * 10 + [1 / (6 * HOUR)] * 90
    prompt = allot(rates, RULES)
    fresh = allot(rates, RevisitRules(5000, RULES.period, RULES.at_most, RULES.at_least, RevisitAim.FRESH))
    assert fresh.interval(rates[0]) > prompt.interval(rates[0])
    assert fresh.interval(rates[-1]) < prompt.interval(rates[-1])


def test_a_budget_is_kept_over_restarts_and_never_exceeded() -> None:
    budget = VisitBudget.of(RULES, {}, 1000.0)
    spent = 0
    now = 1000.0
    for _ in range(2000):
        now += 90
        budget = VisitBudget.of(RULES, budget.as_dict(), now)
        take = int(budget.left)
        budget.left -= take
        spent += take
    assert spent == pytest.approx((now - 1000) * RULES.per_second, rel=0.005)
    idle = VisitBudget.of(RULES, budget.as_dict(), now + 86_400 * 30)
    assert idle.left == pytest.approx(500), "a month that was slept through is not caught up"


def test_every_next_visit_explains_itself() -> None:
    assert explained(6, 9, ChangeRate(1.0, 5 * HOUR)) == "changed in 6 of 9 visits, about every 5 h"
    assert explained(0, 1, ChangeRate(1.0, 80 * HOUR)) == "unchanged in 1 visit, at most about every 3 d"
    assert explained(0, 0, None) == "not visited yet"
    assert [shown_span(seconds) for seconds in (0.2, 59, 600, 7800, 86_400, 30 * 86_400)] == [
        "1 s", "59 s", "10 min", "2 h 10 min", "1 d", "30 d",
    ]  # fmt: skip
