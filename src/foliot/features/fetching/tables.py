"""Tables of hosts: their limits, their pauses, and the turns that processes hold."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table

from foliot.db.metadata import Moment, key, metadata, prose

# Rate limits are shared by all tenants: together they never exceed the limit of a host.
hosts = Table(
    "hosts",
    metadata,
    Column("host", key(255), primary_key=True),
    # No request to this host starts before this moment.
    Column("next_at", Moment, nullable=False),
    # Interval learnt from its answers, and crawl delay of its robots.txt; in milliseconds.
    Column("interval_ms", Integer, nullable=False, server_default="0"),
    Column("crawl_delay_ms", Integer, nullable=False, server_default="0"),
    Column("robots", prose()),
    Column("robots_at", Moment),
    Index(None, "next_at"),
)

# Pauses that answers caused for one tenant; they hold for all once another tenant is paused too.
host_pauses = Table(
    "host_pauses",
    metadata,
    Column("host", key(255), primary_key=True),
    Column("tenant_id", key(64), primary_key=True),
    Column("next_at", Moment, nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("interval_ms", Integer, nullable=False, server_default="0"),
    Index(None, "next_at"),
)
