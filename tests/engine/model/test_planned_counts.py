"""What is planned, counted without visiting each instant; and hours and days as a zone has them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.time.trigger import Cron, FixedInterval, Rule, Trigger
from foliot.core.time.zone import Granularity, tiles
from foliot.engine.model.planned_counts import PlannedInstants, StepBudget, ahead
from foliot.engine.model.schedule import ScheduleStatus
from tests.givens import HOUR, NOON, schedule, spec

DAY = timedelta(days=1)
PLENTY = 100_000
RULES: list[Rule] = [
    Cron("*/5 * * * *", "Europe/Stockholm"),
    Cron("30 2 * * *", "Europe/Stockholm"),
    Cron("* * * * * *", "UTC"),
    FixedInterval(7, NOON),
    FixedInterval(5400, NOON),
]
SPRING = datetime(2027, 3, 27, 10, tzinfo=UTC)


def edges_of(start: datetime, end: datetime, count: int) -> list[datetime]:
    return [start + (end - start) * place / count for place in range(count)] + [end]


@pytest.mark.parametrize("rule", RULES)
def test_counting_between_edges_finds_what_visiting_would(rule: Rule) -> None:
    trigger, end = Trigger(rule), SPRING + timedelta(hours=20)
    plan = PlannedInstants(trigger, SPRING, end, trigger.count(SPRING, end))
    edges = edges_of(SPRING, end, 24)

    found, exact = plan.spread(edges, StepBudget(PLENTY))

    visited = [trigger.count(low, high) for low, high in itertools.pairwise(edges)]
    assert [found.get(cell, 0) for cell in range(24)] == visited
    assert exact


@given(st.integers(1, 10_000), st.integers(1, 200), st.integers(0, 100))
def test_what_is_beyond_the_budget_is_spread_evenly_and_none_is_lost(count: int, cells: int, late: int) -> None:
    end = NOON + DAY
    plan = PlannedInstants(Trigger(FixedInterval(1, NOON)), NOON + late * DAY / 101, end, count)

    found, exact = plan.spread(edges_of(NOON, end, cells), StepBudget(0))

    assert not exact
    assert sum(found.values()) == count
    assert max(found.values()) - min(found.values()) <= count / max(len(found) - 1, 1) + 2


def test_a_budget_is_spent_once() -> None:
    edges, plan = (
        edges_of(NOON, NOON + DAY, 24),
        PlannedInstants(Trigger(FixedInterval(1, NOON)), NOON, NOON + DAY, 86_400),
    )
    budget = StepBudget(40)

    assert plan.spread(edges, budget)[1]
    assert not plan.spread(edges, budget)[1]


def test_nothing_is_planned_before_the_first_unsettled_instant_nor_beyond_max_runs() -> None:
    hourly = spec(FixedInterval(3600, NOON), max_runs=5)
    plan = ahead(schedule(hourly, next_at=NOON + 2 * HOUR, fired=2), NOON - DAY, NOON + DAY)

    assert plan is not None
    assert list(plan.instants()) == [NOON + 2 * HOUR, NOON + 3 * HOUR, NOON + 4 * HOUR]
    assert plan.spread(edges_of(NOON - DAY, NOON + DAY, 2), StepBudget(0)) == ({1: 3}, False)


def test_runs_that_max_runs_will_have_used_up_before_the_window_are_not_planned_in_it() -> None:
    hourly = spec(FixedInterval(3600, NOON), max_runs=5)

    assert ahead(schedule(hourly, next_at=NOON), NOON + 5 * HOUR, NOON + DAY) is None
    plan = ahead(schedule(hourly, next_at=NOON), NOON + 3 * HOUR, NOON + DAY)
    assert plan is not None
    assert plan.count == 2


@pytest.mark.parametrize(
    "changes", [{"status": ScheduleStatus.PAUSED, "next_at": None}, {"fault": "damaged"}, {"next_at": NOON + 3 * DAY}]
)
def test_what_will_not_fire_is_not_planned(changes: dict[str, object]) -> None:
    assert ahead(schedule(**changes), NOON, NOON + DAY) is None  # type: ignore[arg-type]


def test_a_day_on_which_the_clock_changes_is_shorter_or_longer() -> None:
    spring = tiles(
        datetime(2027, 3, 27, tzinfo=UTC), datetime(2027, 3, 29, tzinfo=UTC), Granularity.DAY, "Europe/Stockholm"
    )
    autumn = tiles(
        datetime(2027, 10, 31, tzinfo=UTC), datetime(2027, 10, 31, 5, tzinfo=UTC), Granularity.DAY, "Europe/Stockholm"
    )

    assert [tile.length / HOUR for tile in spring] == [24, 23, 24]
    assert [tile.local for tile in spring][1:] == ["2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00"]
    assert [tile.length / HOUR for tile in autumn] == [25]


def test_hours_are_those_of_the_zones_clock() -> None:
    found = tiles(NOON, NOON + 2 * HOUR, Granularity.HOUR, "Asia/Kolkata")

    assert [tile.local for tile in found] == [f"2027-01-04T{hour}:00:00+05:30" for hour in (17, 18, 19)]


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)),
    st.sampled_from(
        ["UTC", "Europe/Stockholm", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia"]
    ),
    st.sampled_from(list(Granularity)),
)
def test_tiles_follow_each_other_without_gap_and_cover_what_was_asked(
    moment: datetime, zone: str, granularity: Granularity
) -> None:
    start = moment.replace(tzinfo=UTC)
    end = start + timedelta(days=3)

    found = tiles(start, end, granularity, zone)

    assert found[0].start <= start
    assert found[-1].start < end <= found[-1].end
    assert all(one.end == other.start for one, other in itertools.pairwise(found))
    assert all(
        timedelta() < tile.length <= timedelta(hours=25 if granularity is Granularity.DAY else 2) for tile in found
    )


def test_what_max_runs_has_used_up_is_not_counted_to_the_end_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[timedelta] = []
    count = Trigger.count

    def counted(self: Trigger, start: datetime, end: datetime) -> int:
        spans.append(end - start)
        return count(self, start, end)

    monkeypatch.setattr(Trigger, "count", counted)
    minutely = spec(Cron("* * * * *", "UTC"), max_runs=100)

    assert ahead(schedule(minutely, next_at=NOON), NOON + 900 * 366 * DAY, NOON + 901 * 366 * DAY) is None
    assert max(spans) <= 366 * DAY
