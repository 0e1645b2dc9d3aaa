"""Statements on the price history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, String, Table, delete, select

from foliot.db.database import Statements
from foliot.db.metadata import Moment, key, metadata
from foliot.features.prices.model import PriceObservation
from foliot.pages.price import PLACES

prices = Table(
    "prices",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("competitor", key(64), primary_key=True),
    Column("product", key(200), primary_key=True),
    # One observation for each run, however many attempts it has.
    Column("run_id", key(40), primary_key=True),
    Column("at", Moment, nullable=False),
    # In millionths, so that every database stores the same number.
    Column("amount", BigInteger, nullable=False),
    Column("currency", key(8), nullable=False),
    Column("url", String(2048), nullable=False),
    Column("source", key(16), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("amount >= 0", name="amount"),
    Index(None, "tenant_id", "at"),
)


@dataclass(frozen=True, slots=True)
class SqlPrices(Statements):
    """One row per run, competitor and product."""

    async def add(self, observations: Sequence[PriceObservation]) -> None:
        """Adds observations; idempotent by run, competitor and product, so that a retry of the run changes nothing."""
        # Deduplicated here: databases differ about a key that is twice in one statement. The first is kept.
        first = {(seen.tenant_id, seen.competitor, seen.product, seen.run_id): seen for seen in reversed(observations)}
        unique = list(first.values())
        if not unique:
            return
        columns: dict[str, list[Any]] = {
            name: [getattr(seen, name) for seen in unique]
            for name in ("tenant_id", "competitor", "product", "run_id", "at", "currency", "url", "source")
        }
        columns["amount"] = [int(seen.price.scaleb(PLACES).to_integral_value()) for seen in unique]
        await self.dialect.insert(self.conn, prices, columns, conflict="ignore")

    async def history(
        self, tenant_id: str, since: datetime, competitors: Collection[str] = (), limit: int = 100_000
    ) -> Sequence[PriceObservation]:
        """By competitor, product and time, oldest first; of all competitors when none is named."""
        where = [prices.c.tenant_id == tenant_id, prices.c.at >= since]
        if competitors:
            where.append(self.dialect.among(prices.c.competitor, sorted(competitors)))
        # The newest, when there are more than the limit.
        query = select(prices).where(*where).order_by(prices.c.at.desc()).limit(limit)
        observations = [_observation(row) for row in await self.conn.execute(query)]
        return sorted(observations, key=lambda seen: (seen.competitor, seen.product, seen.at, seen.run_id))

    async def prune(self, tenant_id: str, before: datetime, limit: int) -> int:
        """Deletes up to `limit` older observations."""
        old = (prices.c.tenant_id == tenant_id, prices.c.at < before)
        query = select(prices.c.at).where(*old).order_by(prices.c.at).offset(limit - 1).limit(1)
        last = (await self.conn.execute(query)).scalar_one_or_none()
        # Observations of the same moment are deleted together.
        until = () if last is None else (prices.c.at <= last,)
        return (await self.conn.execute(delete(prices).where(*old, *until))).rowcount


def _observation(row: Any) -> PriceObservation:
    return PriceObservation(
        tenant_id=row.tenant_id,
        competitor=row.competitor,
        product=row.product,
        run_id=row.run_id,
        at=row.at,
        price=Decimal(row.amount).scaleb(-PLACES).normalize() + 0,
        currency=row.currency,
        url=row.url,
        source=row.source,
    )
