"""The watch that price monitoring feeds: its pages are the products, with their versions, changes and plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foliot.db.database import Database
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.tasks.products import WatchedProduct
from foliot.features.watches.usecases.fed import FedVisit, FedWatch, recorder_of
from foliot.wakeups.feed import Feed

NAME = "Price monitoring"
TASK = "scrape_competitor_prices"
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "price": {"type": "price"},
    "product": {"type": "text", "optional": True},
    "competitor": {"type": "text", "optional": True},
}


def price_watch(store: Database, feed: Feed) -> FedWatch:
    recorder = recorder_of(store, feed)
    return FedWatch(
        store=store, recorder=recorder, name=NAME, task=TASK, fields=FIELDS, tags=("price-monitoring",)
    )  # fmt: skip


def read_visit(price: PriceObservation) -> FedVisit:
    amount = {"amount": f"{price.price:.2f}", "currency": price.currency or None}
    return FedVisit(price.url, {"price": amount, "product": price.product, "competitor": price.competitor})


def missed_visit(product: WatchedProduct, why: str) -> FedVisit:
    return FedVisit(product.url, {}, why)
