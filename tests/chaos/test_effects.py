"""The rules about what a target saw must fail on histories that break them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaos.effects import violations
from chaos.history import Call, Entry, Era, History, Made, Tried

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)
RULE = {"every": 2, "anchor": START.isoformat()}


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def era(kind: str) -> Era:
    return Era("sch_1", kind, RULE, after(-1), after(9))


def run(place: int, **changes: object) -> Made:
    made = Made(f"run_{place}", "sch_1", after(2 * place), "success", 1, 3, after(2 * place))
    return replace(made, **changes)  # type: ignore[arg-type]


def call(place: int, number: int, seen: float, answered: float | None) -> Call:
    ended = None if answered is None else after(answered)
    return Call(f"run_{place}", number, after(2 * place), after(seen), 200, ended)


def tried(place: int, number: int, began: float, ended: float, outcome: str = "success") -> Tried:
    return Tried(f"run_{place}", number, number, "host:7:ab", outcome, after(began), after(ended))


def test_calls_of_a_run_may_overlap_once_a_lease_is_over() -> None:
    calls = [call(0, 1, 0, None), call(0, 2, 3.2, 4)]

    assert violations(History([era("steady")], [run(0)], calls=calls)) == []


@pytest.mark.parametrize("answered", [None, 2.0])
def test_calls_of_a_run_that_overlap_within_a_lease_are_found(answered: float | None) -> None:
    calls = [call(0, 1, 0, answered), call(0, 2, 1, 4)]

    [found] = violations(History([era("steady")], [run(0)], calls=calls))

    assert "twice at once" in found


def failing(attempt: int, *calls: Call, lost: int | None = None) -> History:
    given_up = run(0, state="dead_letter", attempt=attempt)
    attempts = [] if lost is None else [tried(0, lost, 0, 1, "lost")]
    return History([era("failing")], [given_up], attempts, calls=calls)


THREE = (call(0, 1, 0, 0.1), call(0, 2, 1, 1.1), call(0, 3, 2, 2.1))


def test_a_target_that_always_fails_is_called_once_for_each_attempt() -> None:
    assert violations(failing(3, *THREE)) == []
    assert violations(failing(3, *THREE[1:], lost=1)) == []


@pytest.mark.parametrize(
    "history", [failing(2, *THREE[:2]), failing(3, *THREE[:2]), failing(3, *THREE, call(0, 3, 3, 3.1))]
)
def test_a_call_too_many_or_too_few_of_a_failing_target_is_found(history: History) -> None:
    assert violations(history)


@pytest.mark.parametrize(("seen", "found"), [(9.0, 0), (11.5, 1)])
def test_a_call_long_after_its_cancel_was_acknowledged_is_found(seen: float, found: int) -> None:
    history = History([era("steady")], [run(0)], calls=[call(0, 1, seen, 12)], cancelled_at={"run_0": after(1)})

    assert len(violations(history)) == found


@pytest.mark.parametrize(("began", "found"), [(5.0, 0), (3.0, 1)])
def test_a_buffered_run_that_does_not_wait_is_found(began: float, found: int) -> None:
    attempts = [tried(0, 1, 0, 4), tried(1, 1, began, 6)]

    assert len(violations(History([era("buffer_all")], [run(0), run(1)], attempts))) == found


@pytest.mark.parametrize(("kept", "found"), [(2, 0), (0, 1)])
def test_a_catch_up_that_keeps_an_old_instant_instead_of_the_newest_is_found(kept: int, found: int) -> None:
    missed = Entry("sch_1", after(0), after(2), 2, "catchup_latest")
    runs = [run(kept), run(3)]

    assert len(violations(History([era("latest")], runs, ledger=[missed]))) == found


def test_a_run_made_while_the_one_before_is_open_is_found_where_overlap_is_skipped() -> None:
    attempts = [tried(0, 1, 0, 4), tried(1, 1, 5, 6)]

    assert len(violations(History([era("skip")], [run(0), run(1)], attempts))) == 1


def test_a_call_before_its_instant_is_found() -> None:
    [found] = violations(History([era("steady")], [run(2)], calls=[call(2, 1, 3, 3.1)]))

    assert "before its instant" in found
