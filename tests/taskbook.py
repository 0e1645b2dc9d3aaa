"""Tasks for tests: the built-in ones on a given store, and a few that do what a test needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from foliot import TaskContext, task
from foliot.cluster.page_reader import CallResult, Pool, PoolCall, ProgressSink
from foliot.core.egress import Egress, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid
from foliot.core.ports import BackPressure, Clock, no_back_pressure
from foliot.db.database import Database
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.health.probes import JsonService, Probe
from foliot.features.prices.tasks import TaskDependencies, built_in
from foliot.features.tasks.action import TaskAction
from foliot.features.tasks.model.task import TaskCatalogue
from foliot.features.tasks.wiring import tasks_in
from foliot.wakeups.feed import MemoryFeed


class NoPool:
    """For tests in which nothing runs in a process of its own."""

    async def call(
        self, call: PoolCall, tell: ProgressSink, patience: timedelta, room: BackPressure = no_back_pressure
    ) -> CallResult:
        raise AssertionError("no process is started here")


class NoWayOut:
    """For tests in which nothing leaves."""

    def check(self, url: str) -> None:
        raise Invalid("url", "nothing leaves a test")

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        raise AssertionError("no request leaves a test")


async def in_thread(function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str) -> Any:
    """For tests in which pages are friendly."""
    return await asyncio.to_thread(function, body=body, **parameters)


@task("greet", queue="custom", retries=2, tenants=["default", "acme"])
async def greet(ctx: TaskContext, name: str, times: int = 1) -> dict[str, Any]:
    """Greet somebody."""
    for done in range(times):
        ctx.progress(done=done + 1, total=times)
    return {"success": True, "data": f"hello {name}"}


def catalogue(
    store: Database,
    clock: Clock,
    *functions: Any,
    egress: Egress | None = None,
    probes: Iterable[Probe] = (),
    scraper: JsonService | None = None,
) -> TaskCatalogue:
    """The built-in tasks, and these functions."""
    needs = TaskDependencies(
        feed=MemoryFeed(),
        store=store,
        clock=clock,
        fetcher=Fetcher(pages=PageFetcher(egress=egress or NoWayOut()), clock=clock),
        apart=in_thread,
        retention_days=30,
        probes=list(probes),
        scraper=scraper,
    )
    made = TaskCatalogue()
    for one in [*built_in(needs), *(found for function in functions for found in tasks_in(function))]:
        made.add(one)
    return made


def run_task(known: TaskCatalogue, pool: Pool | None = None) -> TaskAction:
    return TaskAction(tasks=known, pool=pool or NoPool())
