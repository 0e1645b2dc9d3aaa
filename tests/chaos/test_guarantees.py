"""Each violation names the guarantee it breaks, and a mutant is killed by that guarantee's rule alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chaos import checker, effects, lateness
from chaos.history import DELETED, PAUSED, Era, History, Made, Moment, Rest, Tried
from tests.mutants.campaigns import CAMPAIGNS
from tests.mutants.run import Fate, judged

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)
RULE = {"every": 2, "anchor": START.isoformat()}


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def made(place: int, late: float = 0.1) -> Made:
    return Made(f"run_{place}", "sch_1", after(2 * place), "success", 1, 3, after(2 * place + late))


def runs(late: float, count: int = 30) -> History:
    era = Era("sch_1", "steady", RULE, after(-1), after(2 * count - 1))
    return History([era], [made(place, late) for place in range(count)])


def test_punctual_runs_break_nothing_and_late_ones_without_a_fault_break_g8() -> None:
    late = runs(1.5)

    assert list(lateness.violations(runs(0.9))) == []
    assert [one[:3] for one in lateness.violations(late)] == ["G8:"]
    assert list(lateness.violations(replace(late, patience=2.0))) == []


def test_a_run_that_begins_late_breaks_g8_though_it_was_made_in_time() -> None:
    history = runs(0.1)
    begun = [
        Tried(run.id, 1, 1, "host:7:ab", "success", run.created + timedelta(seconds=3), after(99))
        for run in history.runs
    ]

    assert "begun 3.1 s" in next(iter(lateness.violations(replace(history, attempts=begun))))


def test_near_a_fault_lateness_is_recovery() -> None:
    faults = [Moment(after(second), "scheduler-1", "kill") for second in range(0, 60, 10)]

    assert list(lateness.violations(replace(runs(1.5), faults=faults))) == []


@pytest.mark.parametrize("why", [PAUSED, DELETED])
def test_a_run_for_time_at_rest_breaks_g12_and_one_at_no_instant_g1(why: str) -> None:
    history = runs(0.1, 5)
    rest = Rest("sch_1", why, after(9.5), after(20))
    resting = replace(history, runs=[*history.runs, made(6)], rests=[rest])
    elsewhere = replace(history, runs=[*history.runs, made(12)], rests=[rest])

    assert [one[:4] for one in checker._accounted(resting)] == ["G12:"]
    assert [one[:3] for one in checker._accounted(elsewhere)] == ["G1:"]


@pytest.mark.parametrize(("state", "found"), [("cancelled", 0), ("running", 0), ("queued", 1), ("retrying", 1)])
def test_a_cancel_of_a_waiting_run_that_is_only_noted_breaks_g11(state: str, found: int) -> None:
    history = replace(runs(0.1, 2), cancelled={"run_1": state})

    assert [one[:4] for one in effects.violations(history)] == ["G11:"] * found


def test_an_attempt_that_is_stopped_long_after_its_cancel_breaks_g11() -> None:
    attempt = Tried("run_1", 1, 1, "host:7:ab", "cancelled", after(2), after(20))
    history = replace(
        runs(0.1, 2), attempts=[attempt], cancelled={"run_1": "running"}, cancelled_at={"run_1": after(3)}
    )

    assert any(one.startswith("G11: run_1 was stopped only 17.0 s") for one in effects.violations(history))


@pytest.mark.parametrize(
    ("verdict", "violations", "fate"),
    [
        ("BROKEN", ["G4: a", "G8: b"], Fate.KILLED),
        ("BROKEN", ["G4: a", "api-1 ended by itself"], Fate.SURVIVED),
        ("BROKEN", ["G18: a", "G80: b"], Fate.SURVIVED),
        ("sound", [], Fate.SURVIVED),
        ("no verdict", ["G8: b"], Fate.BROKEN),
    ],
)
def test_another_guarantees_violation_kills_no_mutant(verdict: str, violations: list[str], fate: Fate) -> None:
    assert judged("G8", verdict, violations)[0] is fate


def test_every_guarantee_has_a_mutant_that_a_campaign_must_notice() -> None:
    assert {mutant.guarantee for mutant in CAMPAIGNS} == {f"G{number}" for number in range(1, 19)}
