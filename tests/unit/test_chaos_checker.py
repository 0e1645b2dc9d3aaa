"""The checker of the campaigns must fail on broken histories before its "sound" means anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaos.checker import Call, Entry, History, Made, Rhythm, duplicates, lateness, percentile, violations

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EVERY = timedelta(seconds=2)


def at(place: int) -> datetime:
    return START + EVERY * place


def run(place: int, **changes: object) -> Made:
    made = Made(f"run_{place}", "sch_1", at(place), "success", 1, 1, 4, at(place) + SECOND)
    return replace(made, **changes)  # type: ignore[arg-type]


def call(place: int, **changes: object) -> Call:
    return replace(Call(f"run_{place}", at(place), 1, at(place) + EVERY, 200), **changes)  # type: ignore[arg-type]


RHYTHM = Rhythm(START, EVERY, START + 5 * EVERY, START - SECOND)
SOUND = History(
    {"sch_1": RHYTHM},
    [run(0), run(1, claims=2, attempt=2), run(2, state="dead_letter")],
    [Entry("sch_1", at(3), at(4), 2)],
    [call(0), call(1), call(1, attempt=2), call(2, status=503)],
)


def test_a_sound_history_has_no_violation() -> None:
    assert violations(SOUND) == []
    assert duplicates(SOUND) == 1


BROKEN: dict[str, tuple[Callable[[History], History], str]] = {
    "an instant that ran twice": (lambda h: replace(h, runs=[*h.runs, run(0, id="run_9")]), "has 2 runs"),
    "an instant that was lost": (lambda h: replace(h, ledger=[Entry("sch_1", at(3), at(3), 1)]), "is lost"),
    "everything lost": (lambda h: replace(h, runs=[], ledger=[], calls=[]), "is lost"),
    "a run and a line for one instant": (
        lambda h: replace(h, ledger=[Entry("sch_1", at(2), at(4), 3)]),
        "accounted for twice",
    ),
    "a line that counts too many": (lambda h: replace(h, ledger=[Entry("sch_1", at(3), at(4), 3)]), "counts 3"),
    "a run at no instant": (
        lambda h: replace(h, runs=[*h.runs, run(7, at=at(0) + SECOND)]),
        "none of its instants",
    ),
    "a run after the end": (lambda h: replace(h, runs=[*h.runs, run(5)], calls=[*h.calls, call(5)]), "none of its"),
    "a run of an unknown schedule": (lambda h: replace(h, runs=[*h.runs, run(0, schedule="sch_2")]), "sch_2 ran at"),
    "a run that never ended": (lambda h: replace(h, runs=[run(0, state="running"), *h.runs[1:]]), "never ended"),
    "a run tried too often": (
        lambda h: replace(h, runs=[run(0, attempt=5, claims=5), *h.runs[1:]]),
        "was tried 5 times",
    ),
    "a success nobody saw": (lambda h: replace(h, calls=h.calls[1:]), "the receiver never said so"),
    "a success that was refused": (
        lambda h: replace(h, calls=[call(0, status=500), *h.calls[1:]]),
        "the receiver never said so",
    ),
    "a second id for one instant": (
        lambda h: replace(h, calls=[*h.calls, call(0, webhook_id="run_other")]),
        "which is no run",
    ),
    "a call for the wrong instant": (
        lambda h: replace(h, calls=[call(0, at=at(3)), *h.calls[1:]]),
        "but is the run of",
    ),
    "more calls than claims": (lambda h: replace(h, calls=[*h.calls, call(0), call(0)]), "with 1 claims"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_found_out(name: str) -> None:
    breaking, complaint = BROKEN[name]

    found = violations(breaking(SOUND))

    assert any(complaint in one for one in found), found


def test_instants_are_those_after_the_creation_and_before_the_end() -> None:
    assert RHYTHM.instants() == [at(place) for place in range(5)]
    assert replace(RHYTHM, created=at(1)).instants() == [at(place) for place in (2, 3, 4)]
    assert replace(RHYTHM, created=at(1) - SECOND).instants() == [at(place) for place in (1, 2, 3, 4)]
    assert replace(RHYTHM, end=at(2) + SECOND).instants() == [at(0), at(1), at(2)]
    assert replace(RHYTHM, end=at(2)).instants() == [at(0), at(1)]


def test_lateness_counts_from_the_instant_to_the_row_and_to_the_first_call() -> None:
    late = lateness(SOUND)

    assert late["created_p100"] == 1.0
    assert late["called_p50"] == 2.0
    assert percentile([], 99) == 0.0
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
