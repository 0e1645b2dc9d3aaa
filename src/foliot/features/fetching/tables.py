"""Tables of hosts: their limits, their pauses, and the turns that processes hold."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table

from foliot.db.metadata import Document, Moment, key, metadata, prose

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
    # What an operator set: rate, concurrency, robots, render. A host with settings is kept.
    Column("settings", Document),
    # Until when its answers pause all tenants, and what the last such answer was; for people.
    Column("paused_until", Moment),
    Column("reason", key(200)),
    # Which processes and spiders had the last turns, so that others come before them.
    Column("taker", key(200)),
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
    # Interval that the tenant itself wants at least, and the path whose answer asked for the pause.
    Column("least_ms", Integer, nullable=False, server_default="0"),
    Column("path", key(200)),
    Column("reason", key(200)),
    Index(None, "next_at"),
)

# Requests that processes are sending or may send now, and those that wait for a turn. Articles count by their leases.
host_turns = Table(
    "host_turns",
    metadata,
    Column("host", key(255), primary_key=True),
    Column("holder", key(200), primary_key=True),
    Column("tenant_id", key(64), primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("waiting", Integer, nullable=False),
    # What a dead process held is free after this.
    Column("until", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "until"),
)

# Hosts whose pages needed a browser: until then `render: auto` asks one at once.
rendered_hosts = Table(
    "rendered_hosts",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("host", key(255), primary_key=True),
    Column("until", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "until"),
)
