"""Prometheus text, from counts in the store and what the nodes report. One registry per answer, none global."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from foliot.domain.access import Caller
from foliot.domain.histogram import Histogram
from foliot.domain.run import RunState
from foliot.domain.schedule import Status
from foliot.doors.rest.asking import Cases, Who
from foliot.usecases import UseCases
from foliot.usecases.health import Numbers

FRESH = 5.0
"""Counting a large table for every scrape would be a load of its own."""

QUEUES = ("default", "scraping", "analysis", "monitoring", "maintenance", "manual")

router = APIRouter(tags=["Health"])


@router.get("/metrics", response_class=Response, summary="Prometheus metrics")
async def metrics(request: Request, cases: Cases, caller: Who) -> Response:
    scrape: Scrape = request.app.state.scrape
    return Response(await scrape.text(cases, caller), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@dataclass(slots=True)
class Scrape:
    """The last answer, while it is fresh."""

    made: tuple[float, bytes] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self, cases: UseCases, caller: Caller) -> bytes:
        async with self.lock:
            now = cases.health.clock.monotonic()
            if self.made is None or not 0 <= now - self.made[0] < FRESH:
                self.made = now, expose(await cases.health.numbers(caller))
            return self.made[1]


def expose(numbers: Numbers) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Snapshot(numbers))
    return generate_latest(registry)


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot(Collector):
    """Numbers taken at one moment, as metric families."""

    numbers: Numbers

    def collect(self) -> Iterator[Metric]:
        yield from self._schedules()
        yield from self._runs()
        yield from self._queues()
        numbers = self.numbers
        yield _histogram("foliot_run_duration_seconds", "How long attempts took.", numbers.duration)
        yield _histogram("foliot_fire_lateness_seconds", "From an instant to its run row.", numbers.lateness)
        yield CounterMetricFamily(
            "foliot_stale_writes", "Writes refused because their attempt was no longer current.", numbers.stale_writes
        )
        yield GaugeMetricFamily("foliot_workers", "Processes that take runs, seen in the last 30 s.", numbers.workers)

    def _schedules(self) -> Iterator[Metric]:
        schedules = GaugeMetricFamily("foliot_schedules", "Schedules by status.", labels=["status"])
        for status in Status:
            schedules.add_metric([status.value], self.numbers.schedules.get(status, 0))
        yield schedules
        total = sum(self.numbers.schedules.values())
        yield GaugeMetricFamily("foliot_schedule_count", "All schedules, deleted ones too.", total)

    def _runs(self) -> Iterator[Metric]:
        counts = self.numbers.runs
        runs = GaugeMetricFamily("foliot_runs", "Runs kept, by state.", labels=["state"])
        for state in RunState:
            runs.add_metric([state.value], counts.get(state, 0))
        yield runs
        yield GaugeMetricFamily("foliot_run_count", "All runs kept.", sum(counts.values()))
        good = counts.get(RunState.SUCCESS, 0) + counts.get(RunState.PARTIAL, 0)
        judged = good + counts.get(RunState.FAILED, 0) + counts.get(RunState.DEAD_LETTER, 0)
        yield GaugeMetricFamily(
            "foliot_run_success_ratio",
            "Of the ended runs kept that were not cancelled.",
            good / judged if judged else 1.0,
        )
        duration = self.numbers.duration
        average = duration.total / duration.count if duration.count else 0.0
        yield GaugeMetricFamily("foliot_run_duration_average_seconds", "Mean duration of an attempt.", average)

    def _queues(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("foliot_queue_depth", "Runs that wait, by queue.", labels=["queue"])
        oldest = GaugeMetricFamily(
            "foliot_queue_oldest_seconds", "How long the oldest has been ready, by queue.", labels=["queue"]
        )
        for name in dict.fromkeys([*QUEUES, *sorted(self.numbers.queues)]):
            queue = self.numbers.queues.get(name) or {"depth": 0, "oldest": None}
            waited = 0.0 if queue["oldest"] is None else (self.numbers.now - queue["oldest"]).total_seconds()
            depth.add_metric([name], queue["depth"])
            oldest.add_metric([name], max(waited, 0.0))
        yield depth
        yield oldest


def _histogram(name: str, documentation: str, histogram: Histogram) -> Metric:
    return HistogramMetricFamily(name, documentation, buckets=histogram.cumulative(), sum_value=histogram.total)
