"""The table of the price history."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, String, Table

from foliot.db.columns import Moment, key
from foliot.db.metadata import metadata

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
