"""The demo's schedules, as the requests that create them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.features.demo.model import pipeline
from foliot.features.demo.model.site import ARTICLES, PRODUCTS, SHOP
from foliot.features.demo.usecases import SERVICE

SITE = "/api/demo-site"
ECHO = "/api/echo"
TAG = "demo"


def demo_schedules(
    base: str, kinds: Collection[str], now: datetime, *, grpc: bool, pipelines: bool = False
) -> dict[str, Mapping[str, Any]]:
    """Every schedule by name. `base` is this server's own URL; schedules of unavailable action kinds are left out."""
    site = f"{base}{SITE}"
    found = {**_webhooks(base, site), **_tasks(site), "news-articles": _news(site), "launch-day": _launch(base, now)}
    found |= _chain(base)
    if grpc:
        found["own-jobs"] = _grpc()
    if pipelines:
        found[pipeline.SCHEDULE] = _pipeline()
    return {name: document for name, document in found.items() if document["action"]["kind"] in kinds}


def _document(name: str, about: str, tags: tuple[str, ...], action: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    return {"name": name, "description": about, "tags": [TAG, *tags], "action": action, **rest}


def _call(method: str, url: str, body: object = None) -> dict[str, Any]:
    return {"kind": "webhook", "method": method, "url": url, **({} if body is None else {"body": body})}


def _cron(expression: str, zone: str = "UTC") -> dict[str, Any]:
    return {"type": "cron", "cron_expr": expression, "timezone": zone}


def _every(seconds: int) -> dict[str, Any]:
    return {"type": "interval", "interval_seconds": seconds}


def _retry(retries: int, delay: float, *, dead_letter: bool = True) -> dict[str, Any]:
    return {"max_retries": retries, "delay_seconds": delay, "strategy": "exponential", "dead_letter": dead_letter}


def _webhooks(base: str, site: str) -> dict[str, Mapping[str, Any]]:
    documents = (
        _document(
            "nightly-prices",
            "Sends the night's prices to the shop, which was too busy the last three nights. Run it now: it succeeds.",
            ("prices",),
            _call("POST", f"{site}/shop/prices", {"list": "nightly", "currency": "EUR"}),
            **_cron("30 2 * * *", "Europe/Stockholm"),
            retry_policy=_retry(2, 30, dead_letter=False),
        ),
        _document(
            "partner-sync",
            "Sends orders to a partner that was down for a while: 37 are dead letters. The partner is up again.",
            ("orders",),
            _call("POST", f"{site}/partner/orders", {"source": "demo", "orders": 3}),
            **_cron("0 * * * *"),
            retry_policy=_retry(2, 20),
        ),
        _document(
            "stock-sync",
            "Fetches what is in stock, every twenty minutes.",
            ("prices", "stock"),
            _call("GET", f"{site}/shop/stock"),
            **_every(1200),
            overlap="skip",
            retry_policy=_retry(3, 5),
        ),
        _document(
            "quick-check",
            "Checks that the shop answers.",
            ("prices",),
            _call("GET", f"{site}/shop"),
            **_every(4 * 3600),
            queue="monitoring",
        ),
        _document(
            "weekly-report",
            "Sends the week's numbers, on Monday morning in New York.",
            ("reports",),
            _call("POST", f"{base}{ECHO}/reports/weekly", {"report": "weekly"}),
            **_cron("0 8 * * MON", "America/New_York"),
        ),
        _document(
            "month-end",
            "Closes the month, on its first day.",
            ("reports",),
            _call("POST", f"{base}{ECHO}/reports/monthly", {"report": "monthly"}),
            **_cron("0 6 1 * *", "Europe/London"),
        ),
    )
    return {one["name"]: one for one in documents}


def _chain(base: str) -> dict[str, Mapping[str, Any]]:
    """Two schedules that follow others: what was fetched is indexed, and then announced."""
    after_stock = {"type": "after", "after": {"schedule": ["stock-sync"], "outcome": "success"}}
    after_index = {"type": "after", "after": {"schedule": ["stock-index"], "outcome": "success"}}
    documents = (
        _document(
            "stock-index",
            "Indexes what stock-sync has fetched, each time that it succeeded.",
            ("stock",),
            _call("POST", f"{base}{ECHO}/stock/index", {"run": "{{ parent.run_id }}"}),
            **after_stock,
        ),
        _document(
            "stock-news",
            "Announces what is new, when the index is done.",
            ("stock",),
            _call("POST", f"{base}{ECHO}/stock/news", {"run": "{{ parent.run_id }}"}),
            **after_index,
        ),
    )
    return {one["name"]: one for one in documents}


def _tasks(site: str) -> dict[str, Mapping[str, Any]]:
    products = [{"competitor": SHOP, "product": sku, "url": f"{site}/shop/{sku}"} for sku in PRODUCTS]
    prices = {"competitor_ids": [SHOP], "products": products}
    documents = (
        _document(
            "shop-prices",
            "Reads the price of every product in the demo's own shop: a small crawl, without Scrapy.",
            ("prices",),
            {"kind": "task", "task": "scrape_competitor_prices", "parameters": prices},
            **_cron("10 */2 * * *"),
            queue="scraping",
        ),
        _document(
            "health-check",
            "Checks everything that Foliot depends on or calls, every five minutes.",
            ("upkeep",),
            {"kind": "task", "task": "health_check_services", "parameters": {}},
            **_every(300),
            queue="monitoring",
        ),
        _document(
            "price-analysis",
            "Reports every night how the shop's prices moved.",
            ("prices", "reports"),
            {"kind": "task", "task": "comprehensive_price_analysis", "parameters": {"competitor_ids": [SHOP]}},
            **_cron("0 3 * * *", "Europe/Berlin"),
            queue="analysis",
        ),
    )
    return {one["name"]: one for one in documents}


def _news(site: str) -> Mapping[str, Any]:
    wanted = [{"url": f"{site}/news/{name}", "source": "The Daily Demo", "category": "news"} for name in ARTICLES]
    # A page that does not exist, so that a job shows a failure.
    wanted.append({"url": f"{site}/news/lost-page", "source": "The Daily Demo", "category": "news"})
    action = {"kind": "articles", "articles": wanted, "max_age_seconds": 3600}
    about = "Reads the demo's own newspaper, one page of which is missing."
    return _document("news-articles", about, ("news",), action, **_cron("15 */6 * * *"), queue="scraping")


def _launch(base: str, now: datetime) -> Mapping[str, Any]:
    # At midday, so that a restart on the same day makes the same request.
    at = (now + timedelta(days=3)).replace(hour=12, minute=0, second=0, microsecond=0)
    action = _call("POST", f"{base}{ECHO}/launch", {"say": "we are live"})
    return _document("launch-day", "Once, in three days.", ("reports",), action, type="oneoff", run_at=rfc3339(at))


def _pipeline() -> Mapping[str, Any]:
    about = "Fetches the shop's pages, reads their prices and sends them on: a chain of three steps."
    action = {"kind": "pipeline", "pipeline": pipeline.NAME}
    return _document(pipeline.SCHEDULE, about, ("prices",), action, **_cron("40 */3 * * *"))


def _grpc() -> Mapping[str, Any]:
    parameters = {"page_size": 5}
    action = {
        "kind": "grpc",
        "target_service": SERVICE,
        "target_method": "ListScheduledJobs",
        "parameters": parameters,
    }
    return _document(
        "own-jobs", "Lists jobs through this Foliot's own gRPC server.", ("upkeep",), action, **_cron("5 * * * *")
    )
