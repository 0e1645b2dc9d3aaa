"""What an attempt's outcome makes of its run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from foliot.engine.model.outcome import AttemptFacts, RetryPolicy, Verdict, judge
from foliot.engine.model.run import (
    TRANSITIONS,
    AttemptError,
    Cancelled,
    Ended,
    Failed,
    HandedBack,
    Lost,
    RunState,
    Succeeded,
)
from tests.givens import NO_SPREAD, NOON, SECOND

TRIED = AttemptFacts("run_1", attempt=1, max_attempts=3, policy=NO_SPREAD)
LAST = replace(TRIED, attempt=3)
REFUSED = AttemptError("http_500", "the target answered 500")
ERROR = {"code": "http_500", "message": "the target answered 500"}


def test_success_is_success() -> None:
    assert judge(TRIED, Succeeded({"ok": 1}, response={"status": 200}), NOON) == Verdict(
        RunState.SUCCESS, "success", result={"ok": 1}, response={"status": 200}
    )


def test_success_with_failed_items_is_partial() -> None:
    assert judge(TRIED, Succeeded(partial=True), NOON) == Verdict(RunState.PARTIAL, "partial")


def test_a_failure_is_tried_again_after_its_delay() -> None:
    assert judge(TRIED, Failed(REFUSED, response={"status": 500}), NOON) == Verdict(
        RunState.RETRYING, "failed", error=ERROR, response={"status": 500}, ready_at=NOON + 10 * SECOND
    )


def test_the_last_failure_leaves_a_dead_letter() -> None:
    assert judge(LAST, Failed(REFUSED), NOON) == Verdict(RunState.DEAD_LETTER, "failed", error=ERROR)


def test_the_last_failure_is_only_failed_when_no_dead_letter_is_wanted() -> None:
    unwanted = replace(LAST, policy=replace(NO_SPREAD, dead_letter=False))

    assert judge(unwanted, Failed(REFUSED), NOON) == Verdict(RunState.FAILED, "failed", error=ERROR)


def test_a_permanent_failure_is_not_tried_again() -> None:
    assert judge(TRIED, Failed(REFUSED, permanent=True), NOON).state is RunState.DEAD_LETTER


def test_a_replay_that_fails_for_good_leaves_no_second_letter() -> None:
    replayed = replace(LAST, replay=True)

    assert judge(replayed, Failed(REFUSED), NOON) == Verdict(RunState.FAILED, "failed", error=ERROR)
    assert judge(replayed, Lost(), NOON).state is RunState.FAILED


def test_a_lost_worker_costs_an_attempt() -> None:
    verdict = judge(TRIED, Lost(), NOON)

    assert (verdict.state, verdict.outcome, verdict.refund) == (RunState.RETRYING, "lost", False)
    assert judge(LAST, Lost(), NOON).state is RunState.DEAD_LETTER


def test_a_run_handed_back_is_ready_at_once_and_keeps_its_attempt() -> None:
    verdict = judge(LAST, HandedBack("closing"), NOON)

    assert verdict == Verdict(
        RunState.QUEUED,
        "handed_back",
        error={"code": "handed_back", "message": "closing"},
        ready_at=NOON,
        refund=True,
    )


def test_a_cancelled_run_says_why() -> None:
    assert judge(TRIED, Cancelled("asked"), NOON) == Verdict(
        RunState.CANCELLED, "cancelled", error={"code": "cancelled", "message": "asked"}
    )


@pytest.mark.parametrize("failure", [Failed(REFUSED), Failed(REFUSED, permanent=True), Lost()])
def test_a_cancel_wins_over_another_try(failure: Failed | Lost) -> None:
    assert judge(replace(TRIED, cancel_requested=True), failure, NOON).state is RunState.CANCELLED


@pytest.mark.parametrize("partial", [False, True])
def test_success_wins_over_a_cancel_that_came_too_late(partial: bool) -> None:
    expected = RunState.PARTIAL if partial else RunState.SUCCESS

    assert judge(replace(TRIED, cancel_requested=True), Succeeded(partial=partial), NOON).state is expected


EVERY: dict[type, list[Ended]] = {
    Succeeded: [Succeeded(), Succeeded(partial=True)],
    Failed: [Failed(REFUSED), Failed(REFUSED, permanent=True), Failed(REFUSED, retry_after=timedelta(seconds=5))],
    Cancelled: [Cancelled()],
    HandedBack: [HandedBack()],
    Lost: [Lost()],
}


@pytest.mark.parametrize("attempt", [1, 3])
@pytest.mark.parametrize("dead_letter", [False, True])
@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize("kind", get_args(Ended))
def test_every_outcome_leads_where_a_running_run_may_go(
    kind: type, cancel: bool, dead_letter: bool, attempt: int
) -> None:
    tried = AttemptFacts("run_1", attempt, 3, RetryPolicy(dead_letter=dead_letter), cancel)
    for outcome in EVERY[kind]:
        verdict = judge(tried, outcome, NOON)

        assert verdict.state in TRANSITIONS[RunState.RUNNING]
        assert (verdict.ready_at is not None) == (verdict.state in {RunState.RETRYING, RunState.QUEUED})
