"""The tasks that Foliot brings along. Each is given what it needs: nothing here reaches for a global."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.core.access import OPERATORS_OWN, TenantAllowList
from foliot.core.egress import Egress
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.health.model import JsonService, Probe
from foliot.features.health.task import HealthCheck
from foliot.features.pipelines.model.ports import IsolatedCall
from foliot.features.prices.tasks.analysis import PriceAnalysis
from foliot.features.prices.tasks.cleanup import RunCleanup
from foliot.features.prices.tasks.scrape import PriceScrape
from foliot.features.tasks.model.task import Task

EVERYBODY = TenantAllowList(None)
"""For tasks that read and write nothing but what is the tenant's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDependencies:
    """What the built-in tasks are given."""

    store: Database
    clock: Clock
    egress: Egress
    apart: IsolatedCall
    """Reads strangers' pages, in a process that can be killed."""
    retention_days: int
    probes: Sequence[Probe] = ()
    scraper: JsonService | None = None
    """The service that scrapes for us, where there is one."""
    scraper_tenants: TenantAllowList = OPERATORS_OWN
    """Who may call it."""


def built_in(needs: TaskDependencies) -> list[Task]:
    """All of them."""
    store, clock = needs.store, needs.clock
    cleanup = RunCleanup(store=store, clock=clock, retention_days=needs.retention_days)
    health = HealthCheck(store=store, clock=clock, probes=needs.probes)
    analysis = PriceAnalysis(store=store, clock=clock)
    scraping = PriceScrape(
        store=store,
        clock=clock,
        egress=needs.egress,
        apart=needs.apart,
        service=needs.scraper,
        tenants=needs.scraper_tenants,
    )
    return [
        _task("cleanup_old_execution_records", cleanup.run, queue="maintenance", tenants=EVERYBODY),
        # It names the operator's servers and services, and whether they are up: nothing for other tenants.
        _task("health_check_services", health.run, queue="monitoring", retries=0),
        _task("scrape_competitor_prices", scraping.run, queue="scraping", tenants=EVERYBODY),
        _task("comprehensive_price_analysis", analysis.run, queue="analysis", tenants=EVERYBODY),
    ]


def _task(name: str, function: Callable[..., Any], **said: Any) -> Task:
    return Task(name=name, function=function, built_in=True, **said)
