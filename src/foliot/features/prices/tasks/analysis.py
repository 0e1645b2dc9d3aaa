"""`comprehensive_price_analysis`: trends, alerts and cheapest competitors from the price history."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any

from pydantic import Field

from foliot.core.document import rfc3339
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.sql import SqlPrices
from foliot.features.prices.tasks.products import Competitor
from foliot.features.tasks.model.context import TaskContext

MOST = 100_000
"""Maximum observations that one analysis reads, the newest first."""

Percent = Annotated[float, Field(gt=0, le=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTrend:
    """One product at one competitor over the analysed days."""

    competitor: str
    product: str
    currency: str
    price: Decimal
    """The newest."""
    previous: Decimal | None
    """The one before it, in the same currency."""
    first: Decimal
    minimum: Decimal
    maximum: Decimal
    median: Decimal
    volatility: float
    """Standard deviation as a share of the mean, in percent."""
    observations: int
    seen_at: datetime

    @property
    def change(self) -> Decimal | None:
        return None if self.previous is None else self.price - self.previous

    @property
    def change_percent(self) -> float | None:
        return None if self.previous is None else _percent(self.price, self.previous)

    def as_dict(self) -> dict[str, Any]:
        return {
            "competitor": self.competitor,
            "product": self.product,
            "currency": self.currency,
            "price": _shown(self.price),
            "previous": None if self.previous is None else _shown(self.previous),
            "change": None if self.change is None else _shown(self.change),
            "change_percent": self.change_percent,
            "change_percent_of_period": _percent(self.price, self.first),
            "minimum": _shown(self.minimum),
            "maximum": _shown(self.maximum),
            "median": _shown(self.median),
            "volatility_percent": self.volatility,
            "observations": self.observations,
            "seen_at": rfc3339(self.seen_at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertThresholds:
    """Changes that lead to an alert."""

    drop_percent: float
    rise_percent: float
    stale_before: datetime


def lines(history: Sequence[PriceObservation]) -> list[PriceTrend]:
    """One trend per product and competitor; `history` is sorted by both, and by time."""
    made = []
    for (competitor, product), group in groupby(history, key=lambda one: (one.competitor, one.product)):
        seen = list(group)
        # After a change of currency the trend starts again: prices in two currencies cannot be compared.
        currency = seen[-1].currency
        prices = [one.price for one in seen if one.currency == currency]
        made.append(
            PriceTrend(
                competitor=competitor,
                product=product,
                currency=currency,
                price=prices[-1],
                previous=prices[-2] if len(prices) > 1 else None,
                first=prices[0],
                minimum=min(prices),
                maximum=max(prices),
                median=statistics.median(prices),
                volatility=_volatility(prices),
                observations=len(prices),
                seen_at=seen[-1].at,
            )
        )
    return made


def alerts(trends: Sequence[PriceTrend], watch: AlertThresholds) -> list[dict[str, Any]]:
    """Trends above the thresholds, the largest change first."""
    made: list[dict[str, Any]] = []
    for line in sorted(trends, key=lambda line: -abs(line.change_percent or 0)):
        said = {"competitor": line.competitor, "product": line.product, "price": _shown(line.price)}
        change = line.change_percent or 0.0
        if change <= -watch.drop_percent:
            made.append({"alert": "price_drop", **said, "change_percent": change})
        elif change >= watch.rise_percent:
            made.append({"alert": "price_rise", **said, "change_percent": change})
        if line.observations > 2 and line.price == line.minimum < line.maximum and change < 0:
            made.append({"alert": "new_minimum", **said, "change_percent": change})
        if line.seen_at < watch.stale_before:
            made.append({"alert": "not_seen_lately", **said, "seen_at": rfc3339(line.seen_at)})
    return made


def cheapest(trends: Sequence[PriceTrend]) -> dict[str, dict[str, Any]]:
    """For each product that several competitors sell in one currency, the cheapest of them."""
    made = {}
    for product, group in groupby(sorted(trends, key=lambda line: line.product), key=lambda line: line.product):
        sellers = list(group)
        if len(sellers) > 1 and len({line.currency for line in sellers}) == 1:
            least = min(sellers, key=lambda line: line.price)
            made[product] = {"competitor": least.competitor, "price": _shown(least.price), "currency": least.currency}
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceAnalysis:
    """The task: reads the tenant's price history and computes trends and alerts."""

    store: Database
    clock: Clock

    async def run(  # noqa: PLR0913 -- a task has as many arguments as parameters
        self,
        ctx: TaskContext,
        *,
        competitor_ids: Annotated[list[Competitor], Field(max_length=100)] = [],  # noqa: B006 -- read, never changed
        days: Annotated[int, Field(ge=1, le=3650)] = 30,
        drop_percent: Percent = 5.0,
        rise_percent: Percent = 5.0,
        stale_days: Annotated[int, Field(ge=1, le=3650)] = 7,
        limit: Annotated[int, Field(ge=1, le=500)] = 500,
    ) -> dict[str, Any]:
        """Report for each product and competitor how its price moved, and what is worth an alert."""
        now = self.clock.now()
        async with self.store.read(ctx.tenant_id) as tx:
            history = await SqlPrices(tx).history(ctx.tenant_id, now - timedelta(days=days), competitor_ids, MOST)
        trends = lines(history)
        watch = AlertThresholds(
            drop_percent=drop_percent, rise_percent=rise_percent, stale_before=now - timedelta(days=stale_days)
        )
        raised = alerts(trends, watch)
        for alert in raised[:20]:
            ctx.logger.warning(
                "%s: %s at %s, now %s", alert["alert"], alert["product"], alert["competitor"], alert["price"]
            )
        moved = sorted(trends, key=lambda line: (-abs(line.change_percent or 0), line.product, line.competitor))
        ctx.logger.info(
            "%d observations, %d products and competitors, %d alerts", len(history), len(trends), len(raised)
        )
        return {
            "since": rfc3339(now - timedelta(days=days)),
            "until": rfc3339(now),
            "observations": len(history),
            "complete": len(history) < MOST,
            "lines": len(trends),
            "changed": sum(1 for line in trends if line.change),
            "alerts": raised[:limit],
            "alerts_left_out": max(len(raised) - limit, 0),
            "products": [line.as_dict() for line in moved[:limit]],
            "products_left_out": max(len(moved) - limit, 0),
            "cheapest": dict(list(cheapest(trends).items())[:limit]),
        }


def _volatility(prices: Sequence[Decimal]) -> float:
    if len(prices) < 2:
        return 0.0
    mean = statistics.fmean(prices)
    return round(statistics.pstdev([float(price) for price in prices]) / mean * 100, 2) if mean else 0.0


def _percent(now: Decimal, then: Decimal) -> float:
    return round(float((now - then) / then * 100), 2) if then else 0.0


def _shown(price: Decimal) -> str:
    """With two decimal places, more only where the price has more."""
    exact = price.normalize()
    places = -int(exact.as_tuple().exponent)
    return f"{price:.{max(places, 2)}f}"
