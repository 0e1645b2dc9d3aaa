"""Formats metrics as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from foliot.core.histogram import Histogram
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.stall import StandstillReason
from foliot.features.health.usecases import MetricNumbers

MOST_QUEUES = 100
OTHERS = "(others)"
"""No queue can have this name."""


def expose(numbers: MetricNumbers, refused: Mapping[str, int] | None = None) -> bytes:
    """`refused` is of this process alone: rejections by each limit."""
    registry = CollectorRegistry()
    registry.register(_SnapshotCollector(numbers, refused or {}))
    return generate_latest(registry)


def expose_standstills(seconds: Mapping[str, float]) -> bytes:
    """The only metrics of a process whose store is unavailable."""
    registry = CollectorRegistry()
    registry.register(_StandstillCollector(seconds))
    return generate_latest(registry)


@dataclass(frozen=True, slots=True, eq=False)
class _StandstillCollector(Collector):
    """For how long work has stood still, by reason; every reason has its series."""

    seconds: Mapping[str, float]

    def collect(self) -> Iterator[Metric]:
        text = "Seconds for which due work has not started, by the reason that a process sees; 0 once it starts."
        family = GaugeMetricFamily("foliot_standstill_seconds", text, labels=["reason"])
        for why in StandstillReason:
            family.add_metric([why.value], self.seconds.get(why.value, 0.0))
        yield family


@dataclass(frozen=True, slots=True, eq=False)
class _SnapshotCollector(Collector):
    """Numbers of one moment, as metric families."""

    numbers: MetricNumbers
    refused: Mapping[str, int]

    def collect(self) -> Iterator[Metric]:
        yield from self._schedules()
        yield from self._runs()
        yield from self._queues()
        numbers = self.numbers
        yield _histogram("foliot_run_duration_seconds", "Duration of attempts.", numbers.duration)
        yield _histogram(
            "foliot_fire_lateness_seconds", "Seconds from a scheduled time to the row of its run.", numbers.lateness
        )
        yield CounterMetricFamily(
            "foliot_stale_writes", "Writes refused because their attempt was no longer current.", numbers.stale_writes
        )
        pages = CounterMetricFamily(
            "foliot_pages_rendered", "Pages rendered by a browser, by outcome.", labels=["outcome"]
        )
        for outcome, name in (("rendered", "pages_rendered"), ("failed", "pages_not_rendered")):
            pages.add_metric([outcome], numbers.browsers.get(name, 0))
        yield pages
        yield CounterMetricFamily(
            "foliot_page_requests_refused",
            "Connections of rendered pages that the egress proxy refused.",
            numbers.browsers.get("page_requests_refused", 0),
        )
        yield from self._alerts()
        limited = CounterMetricFamily("foliot_limited", "Requests that a tenant's limit refused.", labels=["limit"])
        for name, count in self.refused.items():
            limited.add_metric([name], count)
        yield limited
        yield GaugeMetricFamily(
            "foliot_workers", "Processes that execute runs, seen in the last 30 s.", numbers.workers
        )
        yield GaugeMetricFamily(
            "foliot_worker_slots", "How many runs these processes can execute at once.", numbers.slots
        )
        yield GaugeMetricFamily("foliot_worker_free", "How many more runs these processes could take.", numbers.free)
        yield GaugeMetricFamily(
            "foliot_attempts_outside", "Attempts that wait for an answer and hold no slot.", numbers.outside
        )
        yield GaugeMetricFamily(
            "foliot_breakers_open", "Circuit breakers that are not closed, over all tenants.", numbers.breakers
        )
        yield GaugeMetricFamily(
            "foliot_schedulers", "Processes that fire schedules, seen in the last 30 s.", numbers.schedulers
        )
        yield from _StandstillCollector(numbers.standstills).collect()

    def _schedules(self) -> Iterator[Metric]:
        schedules = GaugeMetricFamily("foliot_schedules", "Schedules by status.", labels=["status"])
        for status in ScheduleStatus:
            schedules.add_metric([status.value], self.numbers.schedules.get(status, 0))
        yield schedules
        total = sum(self.numbers.schedules.values())
        yield GaugeMetricFamily("foliot_schedule_count", "All schedules, including deleted ones.", total)

    def _runs(self) -> Iterator[Metric]:
        counts = self.numbers.runs
        runs = GaugeMetricFamily("foliot_runs", "Stored runs, by state.", labels=["state"])
        for state in RunState:
            runs.add_metric([state.value], counts.get(state, 0))
        yield runs
        yield GaugeMetricFamily("foliot_run_count", "All stored runs.", sum(counts.values()))
        yield GaugeMetricFamily("foliot_parked", "Parked runs, whose work continues elsewhere.", self.numbers.parked)
        good = counts.get(RunState.SUCCESS, 0) + counts.get(RunState.PARTIAL, 0)
        bad = (RunState.DEGRADED, RunState.FAILED, RunState.DEAD_LETTER)
        judged = good + sum(counts.get(state, 0) for state in bad)
        yield GaugeMetricFamily(
            "foliot_run_success_ratio",
            "Share of successes among the stored runs that ended and were not cancelled.",
            good / judged if judged else 1.0,
        )
        duration = self.numbers.duration
        average = duration.total / duration.count if duration.count else 0.0
        yield GaugeMetricFamily("foliot_run_duration_average_seconds", "Mean duration of an attempt.", average)

    def _alerts(self) -> Iterator[Metric]:
        standing = GaugeMetricFamily("foliot_alerts", "Alerts that are not resolved, by state.", labels=["state"])
        for state in ("open", "acknowledged"):
            standing.add_metric([state], self.numbers.alerts.get(state, 0))
        yield standing
        waiting = GaugeMetricFamily(
            "foliot_alert_deliveries_waiting", "Messages that wait to be sent, by kind of channel.", labels=["kind"]
        )
        for kind, count in sorted(self.numbers.waiting.items()):
            waiting.add_metric([kind], count)
        yield waiting
        sent = CounterMetricFamily(
            "foliot_alert_deliveries", "Attempts to send a message, by channel and outcome.", labels=["kind", "outcome"]
        )
        for name, count in sorted(self.numbers.deliveries.items()):
            kind, _, outcome = name.rpartition("_")
            sent.add_metric([kind, outcome], count)
        yield sent
        yield _histogram(
            "foliot_alert_delay_seconds", "From an alert's change to its accepted message.", self.numbers.alert_delay
        )

    def _queues(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("foliot_queue_depth", "Waiting runs, by queue.", labels=["queue"])
        oldest = GaugeMetricFamily(
            "foliot_queue_oldest_seconds", "How long the oldest waiting run has been ready, by queue.", labels=["queue"]
        )
        running = GaugeMetricFamily("foliot_runs_in_flight", "Running runs, by queue.", labels=["queue"])
        paused = GaugeMetricFamily("foliot_queue_paused", "1 for a queue that is paused.", labels=["queue"])
        for name, queue in _named(self.numbers).items():
            waited = 0.0 if queue["oldest"] is None else (self.numbers.now - queue["oldest"]).total_seconds()
            depth.add_metric([name], queue["depth"])
            oldest.add_metric([name], max(waited, 0.0))
            running.add_metric([name], queue["in_flight"])
            paused.add_metric([name], queue["paused"])
        yield depth
        yield oldest
        yield running
        yield paused


def _named(numbers: MetricNumbers) -> dict[str, Mapping[str, Any]]:
    """The built-in and the fullest queues by name, the rest as one: tenants choose names, and a series never ends."""
    queues: dict[str, dict[str, Any]] = {
        name: {
            **(numbers.queues.get(name) or {"depth": 0, "oldest": None}),
            "in_flight": numbers.in_flight.get(name, 0),
            "paused": int(name in numbers.paused),
        }
        for name in {*KNOWN_QUEUES, *numbers.queues, *numbers.in_flight, *numbers.paused}
    }

    def rank(name: str) -> tuple[bool, int, str]:
        return name not in KNOWN_QUEUES, -(queues[name]["depth"] + queues[name]["in_flight"]), name

    ranked = sorted(queues, key=rank)
    named: dict[str, Mapping[str, Any]] = {name: queues[name] for name in ranked[:MOST_QUEUES]}
    if rest := [queues[name] for name in ranked[MOST_QUEUES:]]:
        waiting = [queue["oldest"] for queue in rest if queue["oldest"] is not None]
        sums = {of: sum(queue[of] for queue in rest) for of in ("depth", "in_flight", "paused")}
        named[OTHERS] = {**sums, "oldest": min(waiting, default=None)}
    return named


def _histogram(name: str, documentation: str, histogram: Histogram) -> Metric:
    return HistogramMetricFamily(name, documentation, buckets=histogram.cumulative(), sum_value=histogram.total)
