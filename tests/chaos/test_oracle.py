"""The oracle and the stopwatch of the campaigns, on cases small enough to be checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from chaos import history, lateness, recovery
from chaos.history import Call, Era, History, Made, Moment, Scribe, Tried
from chaos.kinds import KINDS, cast, rule, timing
from chaos.oracle import expected, instants
from chaos.picture import svg
from chaos.plan import CAMPAIGNS, Plan

START = datetime(2027, 5, 1, 9, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def seconds_of(moments: list[datetime]) -> list[float]:
    return [(moment - START).total_seconds() for moment in moments]


EVERY_TWO = {"every": 2, "anchor": START.isoformat()}


# --- instants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "since", "until", "found"),
    [
        (EVERY_TWO, -5, 4, [0, 2, 4]),
        (EVERY_TWO, 0, 4, [2, 4]),
        (EVERY_TWO, -5, 3.999, [0, 2]),
        ({**EVERY_TWO, "end": after(4).isoformat()}, -5, 9, [0, 2]),
        ({"cron": "*/20 * * * * *"}, 0, 60, [20, 40, 60]),
        ({"cron": "1-59/20 * * * * *"}, 0, 60, [1, 21, 41]),
        ({"cron": "5,7 */2 * * * *"}, -0.5, 130, [5, 7, 125, 127]),
        ({"cron": "0 0 10 * * *"}, 0, 7200, [3600]),
    ],
)
def test_instants_lie_after_the_beginning_and_not_after_the_end(
    rule: dict[str, object], since: float, until: float, found: list[float]
) -> None:
    era = Era("sch_1", "steady", rule, after(since), after(until))

    assert seconds_of(instants(era, after(999))) == found


def test_an_open_era_counts_up_to_the_end_of_the_campaign_and_eras_add_up() -> None:
    eras = [Era("sch_1", "steady", EVERY_TWO, after(-1), after(2)), Era("sch_1", "steady", EVERY_TWO, after(5))]

    assert seconds_of(expected(eras, after(8))["sch_1"]) == [0, 2, 6, 8]


def test_the_oracle_refuses_what_it_cannot_count() -> None:
    with pytest.raises(ValueError, match="of every day"):
        instants(Era("sch_1", "cron", {"cron": "0 0 0 1 * *"}, START, after(1)), START)


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_says_its_rule_alike_to_the_oracle_and_to_the_api(name: str) -> None:
    found = rule(KINDS[name], START, 3)

    said = timing(found)

    assert said.get("cron_expr", said.get("interval_seconds")) == found.get("cron", found.get("every"))
    assert said.get("start_at") == found.get("anchor")


def test_a_cast_makes_as_many_instants_a_second_as_were_asked_for() -> None:
    made = cast(30)

    assert set(made) == set(KINDS)
    assert sum(1 / KINDS[name].every for name in made) == pytest.approx(30, rel=0.05)


# --- recovery ---------------------------------------------------------------------------------------------------------


def moment(seconds: float, who: str, what: str, pid: int = 0) -> Moment:
    return Moment(after(seconds), who, what, pid)


UP = [moment(0, "scheduler-1", "ready", 7), moment(0, "scheduler-2", "ready", 8)]


def test_an_outage_is_when_no_scheduler_works_or_no_database() -> None:
    moments = [
        *UP,
        moment(10, "scheduler-1", "killed"),
        moment(20, "scheduler-2", "frozen"),
        moment(24, "scheduler-1", "ready"),
        moment(30, "database", "down"),
        moment(31, "database", "up"),
    ]

    found = [(seconds_of([a])[0], seconds_of([b])[0]) for a, b in recovery.outages(moments)]

    assert found == [(20, 24), (30, 31)]


def test_only_good_time_counts_and_of_that_the_longest_stretch() -> None:
    bad = [(after(2), after(5)), (after(9), after(10))]

    assert recovery.good_time(after(0), after(11), bad) == 4
    assert recovery.good_time(after(3), after(4), bad) == 0
    assert recovery.good_time(after(3), after(6), bad) == 1


def made(due: float, created: float) -> Made:
    return Made("run_1", "sch_1", after(due), "success", 1, 4, after(created))


def story(run: Made, *faults: Moment, attempts: tuple[Tried, ...] = ()) -> History:
    moments = [*UP, *(moment(seconds_of([one.t])[0], "scheduler-1", "killed", 7) for one in faults)]
    return History([Era("sch_1", "steady", EVERY_TWO, START)], [run], attempts, moments=moments, faults=faults)


@pytest.mark.parametrize(
    ("created", "fault", "complaint"),
    [
        (11.9, "kill", ""),
        (12.5, "kill", "at most 2"),
        (12.5, "freeze", ""),
        (15.5, "freeze", "at most 5"),
    ],
)
def test_an_instant_that_waits_for_another_scheduler_too_long_is_a_violation(
    created: float, fault: str, complaint: str
) -> None:
    found = list(recovery.violations(story(made(10, created), moment(9, "scheduler-1", fault))))

    assert [complaint in one for one in found] == ([True] if complaint else [])


@pytest.mark.parametrize(("started", "sound"), [(17, True), (20, False)])
def test_a_run_whose_worker_was_lost_is_taken_again_in_time(started: float, sound: bool) -> None:
    lost = Tried("run_1", 1, 1, "host:7:ab", "lost", after(10), after(14))
    again = Tried("run_1", 2, 2, "host:8:cd", "success", after(started), after(started + 1))
    kept = story(made(10, 10), moment(11, "scheduler-1", "kill"), attempts=(lost, again))

    assert recovery.worst(kept).taken_again == started - 11
    assert (list(recovery.violations(kept)) == []) is sound


def broken(began: float, *downs: tuple[float, float]) -> History:
    """A run of 10, which began at last; the broker was away from and to."""
    away = [moment(at, "broker", what) for down, up in downs for at, what in ((down, "down"), (up, "up"))]
    tried = Tried("run_1", 1, 1, "host:7:ab", "success", after(began), after(began + 1))
    kept = story(made(10, 10), attempts=(tried,))
    return replace(kept, moments=[*UP, moment(0, "broker", "up"), *away])


@pytest.mark.parametrize(("began", "sound"), [(22, True), (37, False)])
def test_a_run_that_waited_for_the_broker_begins_soon_after_its_return(began: float, sound: bool) -> None:
    kept = broken(began, (9, 20))

    assert recovery.worst(kept).dispatched == began - 20
    assert any("the broker was back" in one for one in recovery.violations(kept)) is not sound


def test_a_broker_that_left_again_before_anything_began_tells_nothing() -> None:
    kept = broken(35, (9, 20), (22, 33))

    assert recovery.dispatched(kept) == [(2.0, after(33))]


def test_what_a_run_waited_is_all_the_time_in_which_somebody_could_have_begun_it() -> None:
    kept = broken(35, (9, 20), (22, 33))

    assert recovery.worst(kept).begun == 2.0
    assert lateness.figures(kept)["waited_p100"] == 4.0


def test_lateness_counts_from_the_instant_to_the_row_and_to_the_first_call() -> None:
    calls = [Call("run_1", 1, after(10), after(12), 200), Call("run_1", 2, after(10), after(14), 200)]
    kept = History([], [made(10, 11)], calls=calls)

    late = lateness.figures(kept)

    assert late["created_p100"] == 1.0
    assert late["called_p50"] == 2.0
    assert lateness.percentile([], 99) == 0.0
    assert lateness.percentile([3.0, 1.0, 2.0], 50) == 2.0


# --- keeping ----------------------------------------------------------------------------------------------------------


def test_a_history_is_read_back_as_it_was_told(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.tell("campaign", name="kill9", seed=1, scale=0.1)
    scribe.tell("era", schedule="sch_1", kind="steady", rule=EVERY_TWO, since=after(0).isoformat())
    scribe.tell("rest", schedule="sch_1", since=after(5).isoformat())
    scribe.tell("era", schedule="sch_1", kind="steady", rule=EVERY_TWO, since=after(7).isoformat())
    scribe.tell("process", who="scheduler-1", what="ready", pid=7)
    scribe.tell("fault", who="scheduler-1", what="freeze", pid=7, until=START.timestamp() + 3)
    scribe.tell("run-now", run="run_m")
    scribe.tell("cancel", run="run_1", state="")
    scribe.close()
    seen = {"call": 1, "webhook_id": "run_1", "attempt": 1, "at": "", "seen": START.timestamp(), "status": 200}
    answered = {"call": 1, "answered": START.timestamp() + 1}
    lines = [json.dumps(seen), json.dumps(answered), '{"call": 2, "cut o']
    (tmp_path / history.CALLS).write_text("\n".join(lines))

    kept = history.read(tmp_path)

    assert [(era.since, era.until) for era in kept.eras] == [(after(0), after(5)), (after(7), None)]
    assert kept.faults[0].until == after(3)
    assert kept.calls == [Call("run_1", 1, None, after(0), 200, after(1))]
    assert kept.manual == {"run_m"}
    assert kept.cancelled == {"run_1": ""}


def test_the_picture_shows_every_process_every_fault_and_every_run() -> None:
    kept = story(made(10, 10.01), moment(9, "scheduler-1", "kill"), moment(12, "scheduler-2", "freeze"))

    drawn = svg(kept)

    root = ET.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert drawn.count("<circle") == 1
    assert "<title>kill scheduler-1</title>" in drawn
    assert "<title>freeze scheduler-2</title>" in drawn
    assert {"scheduler-1", "scheduler-2", "database"} <= {text.text for text in root.iter() if text.text}


def test_every_fault_of_a_campaign_is_one_that_can_be_made(tmp_path: Path) -> None:
    from chaos.faults import Faults

    for name in CAMPAIGNS:
        for fault in Plan(name=name, work=tmp_path).campaign.faults:
            assert hasattr(Faults, f"_{fault}"), fault
