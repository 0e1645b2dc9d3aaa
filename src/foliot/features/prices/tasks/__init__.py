"""The built-in tasks, and how they are built: dependencies are passed in, there are no globals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.core.access import OPERATORS_OWN, TenantAllowList
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.health.probes import JsonService, Probe
from foliot.features.health.task import HealthCheck
from foliot.features.pipelines.model import IsolatedCall
from foliot.features.prices.tasks.analysis import PriceAnalysis
from foliot.features.prices.tasks.cleanup import RunCleanup
from foliot.features.prices.tasks.scrape import PriceScrape
from foliot.features.prices.tasks.watch import price_watch
from foliot.features.tasks.model.task import Task
from foliot.wakeups.feed import Feed

ALL_TENANTS = TenantAllowList(None)
"""For tasks that read and write the tenant's own data only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDependencies:
    """Dependencies of the built-in tasks."""

    store: Database
    clock: Clock
    fetcher: Fetcher
    apart: IsolatedCall
    """Parses untrusted pages in a process that can be killed."""
    retention_days: int
    probes: Sequence[Probe] = ()
    scraper: JsonService | None = None
    """The external scraper service, if one is configured."""
    scraper_tenants: TenantAllowList = OPERATORS_OWN
    """Tenants that may call it."""
    feed: Feed | None = None
    """With it, runs of schedules feed the watch of prices."""


def built_in(needs: TaskDependencies) -> list[Task]:
    """All built-in tasks."""
    store, clock = needs.store, needs.clock
    cleanup = RunCleanup(store=store, clock=clock, retention_days=needs.retention_days)
    health = HealthCheck(store=store, clock=clock, probes=needs.probes)
    analysis = PriceAnalysis(store=store, clock=clock)
    scraping = PriceScrape(
        store=store,
        clock=clock,
        fetcher=needs.fetcher,
        apart=needs.apart,
        service=needs.scraper,
        tenants=needs.scraper_tenants,
        watch=None if needs.feed is None else price_watch(store, needs.feed),
    )
    return [
        _task("cleanup_old_execution_records", cleanup.run, queue="maintenance", tenants=ALL_TENANTS),
        # Its result names the operator's servers and services, which other tenants must not see.
        _task("health_check_services", health.run, queue="monitoring", retries=0),
        _task("scrape_competitor_prices", scraping.run, queue="scraping", tenants=ALL_TENANTS),
        _task("comprehensive_price_analysis", analysis.run, queue="analysis", tenants=ALL_TENANTS),
    ]


def _task(name: str, function: Callable[..., Any], **said: Any) -> Task:
    return Task(name=name, function=function, built_in=True, **said)
