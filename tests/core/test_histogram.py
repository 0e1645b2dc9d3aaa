"""Counts of how long things took."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foliot.core.histogram import LATENESS_BUCKETS, Histogram
from foliot.engine.node_reporter import EngineCounters


def test_a_value_counts_in_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram((1.0, 5.0))
    histogram.observe_all([0.5, 1.0, 1.1, 5.0, 7.0])

    assert histogram.counts == [2, 2, 1]
    assert histogram.cumulative() == [("1.0", 2), ("5.0", 4), ("+Inf", 5)]
    assert (histogram.count, histogram.total) == (5, 14.6)


def test_what_came_too_early_counts_as_on_time() -> None:
    histogram = Histogram((1.0,))
    histogram.observe(-0.2)

    assert histogram.counts == [1, 0]


@given(st.lists(st.floats(0, 100)), st.lists(st.floats(0, 100)))
def test_two_processes_add_up(here: list[float], there: list[float]) -> None:
    ours, theirs, both = (Histogram(LATENESS_BUCKETS) for _ in range(3))
    ours.observe_all(here)
    theirs.observe_all(there)
    both.observe_all([*here, *there])

    ours.add(theirs.as_dict())

    assert ours.counts == both.counts
    assert abs(ours.total - both.total) < 1e-6


def test_a_report_of_another_shape_is_left_out() -> None:
    histogram = Histogram((1.0,))
    for strange in ({"counts": [1, 2, 3], "sum": 9}, {"counts": "many"}, {}):
        histogram.add(strange)

    assert (histogram.counts, histogram.total) == ([0, 0], 0.0)


def test_a_meter_reports_what_it_counted() -> None:
    meter = EngineCounters()
    meter.ended("success", 0.2)
    meter.ended("success", 0.3)
    meter.ended("failed", 1.0)

    assert meter.as_dict()["finished"] == {"success": 2, "failed": 1}
    assert meter.as_dict()["duration"]["counts"] == meter.duration.counts
