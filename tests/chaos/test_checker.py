"""The checker of the campaigns must fail on broken histories before its "sound" means anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaos.checker import repeated_effects, stale, violations
from chaos.history import Call, Entry, Era, History, Made, Moment, Tried

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EVERY = timedelta(seconds=2)
RULE = {"every": 2, "anchor": START.isoformat()}


def at(place: int) -> datetime:
    return START + EVERY * place


def run(place: int, **changes: object) -> Made:
    made = Made(f"run_{place}", "sch_1", at(place), "success", 1, 4, at(place) + SECOND)
    return replace(made, **changes)  # type: ignore[arg-type]


def tried(place: int, number: int = 1, **changes: object) -> Tried:
    began = at(place) + EVERY * number
    made = Tried(f"run_{place}", number, number, "host:7:ab", "success", began, began + SECOND)
    return replace(made, **changes)  # type: ignore[arg-type]


def call(place: int, number: int = 1, **changes: object) -> Call:
    seen = at(place) + EVERY * number
    made = Call(f"run_{place}", number, at(place), seen, 200, seen + SECOND / 2)
    return replace(made, **changes)  # type: ignore[arg-type]


ERA = Era("sch_1", "none", RULE, START - SECOND, START + 4 * EVERY)
MANUAL = run(9, id="run_m", at=None, created=START)
SOUND = History(
    [ERA],
    [run(0), run(1, attempt=2), run(2, state="cancelled"), MANUAL],
    [
        tried(0),
        tried(1, outcome="lost"),
        tried(1, 2),
        tried(2, outcome="cancelled"),
        tried(9, run="run_m"),
    ],
    [Entry("sch_1", at(3), at(4), 2, "catchup_none")],
    [call(0), call(1), call(1, 2), call(2, answered=None), call(9, run="run_m", at=None)],
    [Moment(START - SECOND, "scheduler-1", "ready", 7)],
    manual=frozenset({"run_m"}),
    cancelled={"run_2": "cancelled"},
)


def test_a_sound_history_has_no_violation() -> None:
    assert violations(SOUND) == []
    assert repeated_effects(SOUND) == 1


Breaking = Callable[[History], History]

BROKEN: dict[str, tuple[Breaking, str]] = {
    "an instant that ran twice": (lambda h: replace(h, runs=[*h.runs, run(0, id="run_x")]), "has 2 runs"),
    "an instant that was lost": (lambda h: replace(h, ledger=[replace(h.ledger[0], last=at(3), count=1)]), "is lost"),
    "everything lost": (lambda h: replace(h, runs=[], attempts=[], ledger=[], calls=[]), "is lost"),
    "a run and a line for one instant": (
        lambda h: replace(h, ledger=[replace(h.ledger[0], first=at(2), count=3)]),
        "accounted for twice",
    ),
    "a line that counts too many": (lambda h: replace(h, ledger=[replace(h.ledger[0], count=3)]), "counts 3"),
    "a line its rules do not allow": (
        lambda h: replace(h, ledger=[replace(h.ledger[0], reason="overlap")]),
        "did not run 2 instants",
    ),
    "a run that should have been missed": (
        lambda h: replace(h, runs=[run(0, created=at(1)), *h.runs[1:]]),
        "catches up 1 s at most",
    ),
    "a run at no instant": (lambda h: replace(h, runs=[*h.runs, run(7, at=at(0) + SECOND)]), "none of its instants"),
    "a run after the pause": (lambda h: replace(h, runs=[*h.runs, run(5)]), "none of its"),
    "a run of an unknown schedule": (lambda h: replace(h, runs=[*h.runs, run(0, schedule="sch_2")]), "sch_2 ran at"),
    "a run that never ended": (
        lambda h: replace(h, runs=[run(0, state="running"), *h.runs[1:]]),
        "did not succeed: running",
    ),
    "a run cancelled by nobody": (
        lambda h: replace(h, runs=[run(0, state="cancelled"), *h.runs[1:]]),
        "did not succeed: cancelled",
    ),
    "a cancelled run that came back": (
        lambda h: replace(h, runs=[*h.runs[:2], run(2), MANUAL]),
        "was cancelled, then became success",
    ),
    "a run tried too often": (lambda h: replace(h, runs=[run(0, attempt=5), *h.runs[1:]]), "was tried 5 times"),
    "a request whose effect was lost": (lambda h: replace(h, runs=h.runs[:3]), "run_m, which is lost"),
    "a request that took effect twice": (
        lambda h: replace(h, runs=[*h.runs, replace(MANUAL, id="run_n")]),
        "no answer named it",
    ),
    "a success nobody saw": (lambda h: replace(h, calls=h.calls[1:]), "the target never said so"),
    "a success that was refused": (
        lambda h: replace(h, calls=[call(0, status=500), *h.calls[1:]]),
        "the target never said so",
    ),
    "a second id for one instant": (lambda h: replace(h, calls=[*h.calls, call(0, run="run_o")]), "which is no run"),
    "a call for the wrong instant": (
        lambda h: replace(h, calls=[call(0, at=at(3)), *h.calls[1:]]),
        "but is the run of",
    ),
    "a call more than there were attempts": (
        lambda h: replace(h, calls=[*h.calls, call(0)]),
        "called 2 times as attempt 1, and the store knows 1",
    ),
    "an attempt the store does not know": (
        lambda h: replace(h, attempts=[tried(0, 2), *h.attempts[1:]]),
        "as attempt 1, and the store knows 0",
    ),
    "an ending written by an attempt that had lost the run": (
        lambda h: replace(h, calls=[*h.calls[:2], call(1, 2, answered=at(9)), *h.calls[3:]]),
        "a stale write was accepted: attempt 2 of run_1",
    ),
    "an ending of an attempt nobody made": (
        lambda h: replace(h, calls=[*h.calls[:2], *h.calls[3:]]),
        "but the target answered it never",
    ),
    "something seen while it happened": (lambda h: replace(h, wrong=["api-1 ended by itself"]), "ended by itself"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_found_out(name: str) -> None:
    breaking, complaint = BROKEN[name]

    found = violations(breaking(SOUND))

    assert any(complaint in one for one in found), found


def test_an_attempt_may_be_recorded_a_moment_before_the_target_noted_its_answer() -> None:
    hasty = replace(SOUND, attempts=[tried(0, ended=at(1) + SECOND / 2 - SECOND / 4), *SOUND.attempts[1:]])

    assert stale(hasty) == []
