"""Whether a failed attempt is tried again, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.engine.model.outcome import MAX_DELAY, RETRY_AFTER_CAP, BackoffStrategy, NoRetry, RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Lost
from tests.givens import NOON

FAILED = Failed(AttemptError("http_500", "no"))


def delays(policy: RetryPolicy, count: int) -> list[float]:
    return [policy.delay(retry) for retry in range(1, count + 1)]


def test_exponential_doubles_up_to_its_cap() -> None:
    assert delays(RetryPolicy(delay_seconds=10, max_delay_seconds=100), 5) == [10, 20, 40, 80, 100]


def test_linear_adds_up_to_its_cap() -> None:
    policy = RetryPolicy(BackoffStrategy.LINEAR, delay_seconds=10, max_delay_seconds=35)

    assert delays(policy, 4) == [10, 20, 30, 35]


def test_fixed_stays() -> None:
    assert delays(RetryPolicy(BackoffStrategy.FIXED, delay_seconds=7), 3) == [7, 7, 7]


def test_the_hundredth_delay_is_the_cap_and_no_overflow() -> None:
    assert RetryPolicy(delay_seconds=MAX_DELAY, max_delay_seconds=MAX_DELAY).delay(100) == MAX_DELAY


def test_three_retries_are_one_first_attempt_and_three_more() -> None:
    policy = RetryPolicy(max_retries=3)
    verdicts = [policy.decide("run_1", attempt, policy.max_attempts, FAILED, NOON) for attempt in range(1, 5)]

    assert [type(verdict) for verdict in verdicts] == [RetryAt, RetryAt, RetryAt, NoRetry]


def test_no_retries_means_one_attempt() -> None:
    assert RetryPolicy(max_retries=0).decide("run_1", 1, 1, FAILED, NOON) == NoRetry(dead_letter=True)


def test_a_lost_attempt_is_tried_again_at_once_for_its_lease_made_it_wait_already() -> None:
    assert RetryPolicy().decide("run_1", 1, 4, Lost(), NOON) == RetryAt(NOON)
    assert RetryPolicy().decide("run_1", 4, 4, Lost(), NOON) == NoRetry(dead_letter=True)


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (timedelta(seconds=42), timedelta(seconds=42)),
        (timedelta(days=3), RETRY_AFTER_CAP),
    ],
)
def test_a_target_may_ask_for_patience_but_not_for_ever(asked: timedelta, granted: timedelta) -> None:
    failure = Failed(AttemptError("http_429", "slow down"), retry_after=asked)

    assert RetryPolicy().decide("run_1", 1, 4, failure, NOON) == RetryAt(NOON + granted)


def test_patience_asked_for_buys_no_further_attempt() -> None:
    failure = Failed(AttemptError("http_429", "slow down"), retry_after=timedelta(seconds=5))

    assert RetryPolicy().decide("run_1", 4, 4, failure, NOON) == NoRetry(dead_letter=True)


POLICIES = st.builds(
    RetryPolicy,
    st.sampled_from(BackoffStrategy),
    max_retries=st.integers(0, 100),
    delay_seconds=st.floats(0, 1000),
    max_delay_seconds=st.floats(1000, MAX_DELAY),
    jitter=st.floats(0, 1),
    dead_letter=st.booleans(),
)


@given(POLICIES, st.uuids().map(str), st.integers(1, 100))
def test_the_same_question_gets_the_same_answer_within_the_cap(policy: RetryPolicy, run: str, attempt: int) -> None:
    first, again = (policy.decide(run, attempt, policy.max_attempts, FAILED, NOON) for _ in range(2))

    assert first == again
    if isinstance(first, RetryAt):
        assert attempt <= policy.max_retries
        assert timedelta(0) <= first.moment - NOON <= timedelta(seconds=policy.max_delay_seconds)


def test_jitter_spreads_runs_that_failed_together() -> None:
    policy = RetryPolicy(jitter=0.5)

    assert len({policy.decide(f"run_{at}", 1, 4, FAILED, NOON) for at in range(50)}) > 45


@given(POLICIES)
def test_a_policy_survives_being_stored(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_dict(policy.as_dict()) == policy


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"strategy": "hope"}, "retry_policy.strategy"),
        ({"max_retries": 101}, "retry_policy.max_retries"),
        ({"max_retries": True}, "retry_policy.max_retries"),
        ({"delay_seconds": -1}, "retry_policy.delay_seconds"),
        ({"delay_seconds": float("nan")}, "retry_policy.delay_seconds"),
        ({"jitter": 1.1}, "retry_policy.jitter"),
        ({"dead_letter": "yes"}, "retry_policy.dead_letter"),
        ({"delay_seconds": 60, "max_delay_seconds": 30}, "retry_policy.max_delay_seconds"),
        ({"retries": 3}, "retry_policy.retries"),
        ([], "retry_policy"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_field(raw: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        RetryPolicy.from_dict(raw)

    assert refused.value.field == field
