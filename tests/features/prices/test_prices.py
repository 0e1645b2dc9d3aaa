"""Price monitoring from end to end: a shop that changes its prices, visits, the history, and what the analysis says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.cluster.page_reader import AttemptInfo
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.engine.model.run import EventType, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.health.probes import JsonService, ServiceFailed
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.sql import SqlPrices
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tasks.usecases import Tasks
from foliot.features.watches.usecases.history import PageHistory
from foliot.features.watches.usecases.plots import WatchPlots
from foliot.features.watches.usecases.watches import Watches
from foliot.features.watches.wiring import WatchParts, build_watches
from foliot.net.client import HttpEgress
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.scripted_site import ScriptedSite, read_here
from tests.shop import PRODUCTS, Shop, open_shop
from tests.taskbook import catalogue, run_task
from tests.world import NoEgress

DAY = timedelta(days=1)


@dataclass
class Place:
    """A server that watches prices."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    action: Any

    async def run(self, name: str, /, **parameters: Any) -> RunView:
        made = await self.cases[Tasks].run(LOCAL, name, {"parameters": parameters})
        await drain(self.store, self.clock, self.action, patience=50)
        return await self.cases[Runs].get(LOCAL, made.id)

    async def history(self) -> list[PriceObservation]:
        async with self.store.read("default") as tx:
            return list(await SqlPrices(tx).history("default", self.clock.now() - 365 * DAY))


def watching(store: Database, clock: StoppedClock) -> WatchParts:
    pages = Fetcher(pages=PageFetcher(egress=ScriptedSite()), clock=clock)
    return build_watches(store, clock, MemoryFeed(), pages, read_here, NoEgress(), DataJudge(store=store, clock=clock))


@asynccontextmanager
async def opened(scraper: JsonService | None = None) -> AsyncIterator[Place]:
    async with open_store() as store, HttpEgress(loopback=True) as egress:
        clock = StoppedClock()
        known = catalogue(store, clock, egress=egress, scraper=scraper)
        action = run_task(known)
        cases = use_cases(
            store, clock, MemoryFeed(), GivenActions.of(action), tasks=known, visitor=watching(store, clock).visitor
        )
        yield Place(store, clock, cases, action)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with opened() as made:
        yield made


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    async with open_shop() as made:
        yield made


async def test_three_visits_to_a_shop_that_changes_its_prices(place: Place, shop: Shop) -> None:
    first = dict(shop.prices)
    run = await place.run("scrape_competitor_prices", competitor_ids=["amazon"], products=shop.watched())

    assert run.state is RunState.SUCCESS, run.error
    assert (run.result["visited"], run.result["stored"], run.result["failed"]) == (PRODUCTS, PRODUCTS, 0)
    assert run.result["found_by"] == {"json_ld": 13, "microdata": 13, "open_graph": 12, "selector": 12}
    assert {one.product: one.price for one in await place.history()} == first
    assert {one.currency for one in await place.history()} == {"EUR"}

    place.clock.advance(DAY)
    shop.prices["product-3"] *= Decimal("0.8")
    shop.prices["product-4"] *= Decimal("1.1")
    await place.run("scrape_competitor_prices", products=shop.watched())
    place.clock.advance(DAY)
    shop.prices["product-3"] *= Decimal("0.5")
    await place.run("scrape_competitor_prices", products=shop.watched())

    said = (await place.run("comprehensive_price_analysis", competitor_ids=["amazon"], days=7)).result

    assert (said["observations"], said["lines"], said["changed"], said["complete"]) == (150, 50, 1, True)
    lines = {line["product"]: line for line in said["products"]}
    was = first["product-3"]
    assert lines["product-3"] == {
        "competitor": "amazon",
        "product": "product-3",
        "currency": "EUR",
        "price": f"{was * Decimal('0.4'):.2f}",
        "previous": f"{was * Decimal('0.8'):.2f}",
        "change": f"{was * Decimal('-0.4'):.2f}",
        "change_percent": -50.0,
        "change_percent_of_period": -60.0,
        "minimum": f"{was * Decimal('0.4'):.2f}",
        "maximum": f"{was:.2f}",
        "median": f"{was * Decimal('0.8'):.2f}",
        "volatility_percent": 34.02,
        "observations": 3,
        "seen_at": "2027-01-06T12:00:00Z",
    }
    assert lines["product-4"]["change"] == "0.00"
    assert lines["product-4"]["change_percent_of_period"] == 10.0
    assert lines["product-5"]["volatility_percent"] == 0.0
    assert [(one["alert"], one["product"]) for one in said["alerts"]] == [
        ("price_drop", "product-3"),
        ("new_minimum", "product-3"),
    ]


async def test_a_quick_check_looks_at_the_top_products_of_one_competitor(place: Place, shop: Shop) -> None:
    both = [*shop.watched("amazon"), *shop.watched("walmart")]

    run = await place.run("scrape_competitor_prices", competitor_ids=["amazon"], products=both, top_products_only=True)

    assert run.result["visited"] == 5
    assert {(one.competitor, one.product) for one in await place.history()} == {
        ("amazon", f"product-{number}") for number in range(5)
    }


async def test_what_a_shop_does_not_tell_makes_the_run_partial_and_the_rest_is_kept(place: Place, shop: Shop) -> None:
    shop.closed = {"product-1", "product-2"}
    products = [*shop.watched(), {"competitor": "amazon", "product": "gone", "url": "http://127.0.0.1:1/x"}]

    run = await place.run("scrape_competitor_prices", products=products)

    assert run.state is RunState.PARTIAL
    assert (run.result["stored"], run.result["failed"]) == (48, 3)
    assert {one["product"]: one["error"] for one in run.result["failures"]}["product-1"] == "the shop answered 503"
    assert len(await place.history()) == 48


async def test_a_shop_that_tells_nothing_is_a_failed_attempt(place: Place, shop: Shop) -> None:
    shop.closed = set(shop.prices)

    run = await place.run("scrape_competitor_prices", products=shop.watched()[:3])

    assert run.state is RunState.RETRYING
    assert run.error is not None
    assert run.error["message"] == "none of 3 prices could be read; the first: the shop answered 503"


async def test_a_run_that_is_asked_for_again_is_another_visit(place: Place, shop: Shop) -> None:
    products = shop.watched()[:4]
    run = await place.run("scrape_competitor_prices", products=products)
    shop.prices["product-0"] += 5
    again = await place.cases[Runs].retry(LOCAL, run.id)
    await drain(place.store, place.clock, place.action, patience=50)

    assert {one.run_id for one in await place.history()} == {run.id, again.id}
    assert len(await place.history()) == 8


async def test_nothing_to_watch_is_said_and_not_tried_again(place: Place) -> None:
    run = await place.run("scrape_competitor_prices", competitor_ids=["amazon", "walmart"])

    assert run.state is RunState.DEAD_LETTER
    assert run.attempt == 1
    assert run.error is not None
    assert "no product is watched of amazon, walmart" in run.error["message"]
    assert "SCRAPER_SERVICE_URL" in run.error["message"]


async def test_a_page_that_may_not_be_visited_is_not(shop: Shop) -> None:
    async with open_store() as store, HttpEgress(loopback=False) as egress:
        clock = StoppedClock()
        known = catalogue(store, clock, egress=egress)
        action = run_task(known)
        cases = use_cases(store, clock, MemoryFeed(), GivenActions.of(action), tasks=known)
        place = Place(store, clock, cases, action)
        run = await place.run("scrape_competitor_prices", products=shop.watched()[:1])

    assert run.error is not None
    assert "may not be called" in run.error["message"]
    assert shop.visits == []


async def test_progress_is_told_on_the_way(place: Place, shop: Shop) -> None:
    run = await place.run("scrape_competitor_prices", products=shop.watched())

    _, events = await place.cases[Runs].events(LOCAL, run.id, 0, 500)
    steps = [event.data for event in events if event.type is EventType.PROGRESS]
    assert steps[-1] == {"done": 50, "total": 50, "stored": 50, "failed": 0}
    assert len(steps) == 3


# --- through a service ------------------------------------------------------------------------------------------------


class Scraper:
    """A service that answers as it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Mapping[str, Any], AttemptInfo]] = []

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        self.asked.append((method, parameters, attempt))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_the_scraper_service_is_asked_where_there_is_one(shop: Shop) -> None:
    prices = [
        {"competitor": "amazon", "product": "kettle", "price": "19.99", "currency": "EUR", "url": "https://a.test/"},
        {"competitor_id": "amazon", "productId": "mug", "price": 5},
        {"competitor": "amazon", "product": "no price"},
        "nonsense",
    ]
    scraper = Scraper({"prices": prices})
    async with opened(scraper) as place:
        run = await place.run("scrape_competitor_prices", competitor_ids=["amazon"])
        found = [(one.product, one.price, one.currency, one.source) for one in await place.history()]

    assert run.result == {"by": "service", "stored": 2, "answer": None}
    assert found == [("kettle", Decimal("19.99"), "EUR", "service"), ("mug", Decimal(5), "", "service")]
    ((method, parameters, attempt),) = scraper.asked
    assert (method, parameters) == ("ScrapeCompetitorPrices", {"competitor_ids": ["amazon"]})
    assert attempt.run_id == run.id
    assert shop.visits == []


@pytest.mark.parametrize(("permanent", "state"), [(True, RunState.DEAD_LETTER), (False, RunState.RETRYING)])
async def test_a_service_that_fails_is_tried_again_unless_that_is_no_use(permanent: bool, state: RunState) -> None:
    async with opened(Scraper(ServiceFailed("it is away", permanent=permanent))) as place:
        run = await place.run("scrape_competitor_prices", competitor_ids=["amazon"])

    assert run.state is state
    assert run.error == {"code": "task_failed", "message": "it is away"}


# --- looking after the records ----------------------------------------------------------------------------------------


async def test_cleaning_up_deletes_old_runs_and_prices_in_steps(place: Place, shop: Shop) -> None:
    for _ in range(7):
        await place.run("scrape_competitor_prices", products=shop.watched()[:2])
        place.clock.advance(DAY)
    place.clock.advance(DAY)

    run = await place.run("cleanup_old_execution_records", days=5, price_days=5, batch=2)

    assert run.state is RunState.SUCCESS, run.error
    assert run.result["prices"] == 6
    assert len(await place.history()) == 8
    _, events = await place.cases[Runs].events(LOCAL, run.id, 0, 500)
    assert [event.data for event in events if event.type is EventType.PROGRESS][-1] == {"prices": 6}


async def test_a_schedule_of_prices_feeds_a_watch_with_changes_and_a_plot(place: Place, shop: Shop) -> None:
    action = {"kind": "task", "task": "scrape_competitor_prices", "parameters": {"products": shop.watched()}}
    daily = {"name": "Daily", "type": "interval", "interval_seconds": 86_400, "queue": "scraping", "action": action}
    schedule = await place.cases[Schedules].create(LOCAL, daily)
    for round_ in range(3):
        place.clock.advance(DAY)
        await drain(place.store, place.clock, place.action, patience=50)
        if round_ == 0:
            shop.prices["product-3"] *= Decimal("0.8")
    (view,) = await place.cases[Watches].list(LOCAL, PageRequest(10))
    watch = view.watch
    assert (watch.settings.name, watch.pages, watch.schedule_id) == ("Price monitoring", PRODUCTS, schedule.id)
    history = place.cases[PageHistory]
    (listed,) = await history.changes(LOCAL, history.read_changes(""), 10)
    assert list(listed.change.fields) == ["price"]
    plot = await place.cases[WatchPlots].plot(LOCAL, watch.id, None, 8)
    assert (plot.field, plot.unit) == ("price", "EUR")
    assert [point.value for point in plot.pages[0].points] == [
        float(f"{shop.prices['product-3'] / Decimal('0.8'):.2f}"),
        float(f"{shop.prices['product-3']:.2f}"),
    ]
    changed = await place.cases[Watches].change(LOCAL, watch.id, {"when": "drops(price, 10%)"})
    assert changed.watch.settings.when == "drops(price, 10%)"
    assert (await place.cases[Schedules].get(LOCAL, schedule.id)).action == schedule.action
    with pytest.raises(Invalid, match="comes from the runs of scrape_competitor_prices"):
        await place.cases[Watches].change(LOCAL, watch.id, {"urls": ["https://x.example/"]})
    await place.cases[Watches].delete(LOCAL, watch.id)
    assert (await place.cases[Schedules].get(LOCAL, schedule.id)).status is ScheduleStatus.ACTIVE
