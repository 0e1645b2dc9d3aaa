"""Tables of the engine, with constraints that refuse invalid states even when the code does not.

Hot columns (`next_at`, `lane`, `lease_until`, `poll_at`, `open_of`, `buffered_of`) are NULL when cold, so their
indexes stay as small as the open work, also on MariaDB, which has no partial indexes.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    UniqueConstraint,
    text,
)

from foliot.core.time.trigger import TriggerType
from foliot.db.metadata import WITH_RUN, Document, Moment, blob, key, metadata, one_of, prose, tenant, where_set
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.node import NodeRequest
from foliot.engine.model.run import OPEN, Origin, RunState
from foliot.engine.model.schedule import ScheduleStatus

schedules = Table(
    "schedules",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("user_id", key(200), nullable=False, server_default=""),
    Column("name", String(200), nullable=False),
    Column("description", prose(), nullable=False),
    # Each tag between line feeds, so that one LIKE finds a whole tag.
    Column("tags", prose(), nullable=False),
    Column("type", key(16), nullable=False),
    Column("kind", key(64), nullable=False),
    Column("status", key(16), nullable=False),
    Column("version", Integer, nullable=False),
    Column("spec", prose(), nullable=False),
    Column("action", Document, nullable=False),
    Column("anchor", Moment, nullable=False),
    # The cursor: the first instant that is not settled. Moves only forward, by compare-and-set; only a realign sets it
    # back.
    Column("next_at", Moment),
    Column("last_run_at", Moment),
    Column("fired", Integer, nullable=False, server_default="0"),
    # The ledger range that the next equal entry extends.
    Column("gap_first", Moment),
    Column("gap_reason", key(32)),
    Column("paused_reason", String(500), nullable=False, server_default=""),
    Column("paused_at", Moment),
    Column("paused_by", key(200)),
    # The instant with a skip request, and the user; settling passes over it.
    Column("skip_at", Moment),
    Column("skip_by", key(200)),
    # Up to here instants may have runs already, made by a clock that was ahead; settling checks for them.
    Column("ahead_until", Moment),
    # Where it is managed: by clients, or by the file, code or preset that created it.
    Column("managed_by", key(16), nullable=False, server_default="api"),
    Column("managed_file", key(64)),  # of `foliot apply`
    # Why this active row does not fire: it is damaged. `fault_next_at` is where its cursor was, and finds
    # the damaged ones without reading the others.
    Column("fault", prose()),
    Column("fault_next_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint(one_of("status", ScheduleStatus), name="status"),
    CheckConstraint(one_of("type", TriggerType), name="type"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("next_at IS NULL OR status = 'active'", name="cursor"),
    Index("ix_schedules_next_at", "next_at", **where_set("next_at")),  # type: ignore[arg-type]
    Index("ix_schedules_fault", "fault_next_at", **where_set("fault_next_at")),  # type: ignore[arg-type]
    Index(None, "tenant_id", "id"),
    Index(None, "status", "tenant_id"),
    # What was changed or fired last, and what a clock that was ahead has left in the future.
    Index(None, "tenant_id", "updated_at"),
    Index(None, "tenant_id", "last_run_at"),
)

versions = Table(
    "versions",
    metadata,
    Column("schedule_id", key(40), primary_key=True),
    Column("version", Integer, primary_key=True),
    tenant(),
    Column("spec", prose(), nullable=False),
    Column("action", Document, nullable=False),
    Column("anchor", Moment, nullable=False),
    Column("created_at", Moment, nullable=False),
    # Of the action as it is stored: equal ones are kept once, by the first version that has it.
    Column("digest", key(64)),
    Column("same_as", Integer),
)

spans = Table(
    "spans",
    metadata,
    Column("id", key(40), primary_key=True),
    Column("schedule_id", key(40), nullable=False),
    # The schedule's id while the span is open: there is never more than one.
    Column("open_of", key(40), unique=True),
    tenant(),
    Column("start_at", Moment, nullable=False),
    Column("end_at", Moment),
    Column("version", Integer, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("reason", String(500), nullable=False, server_default=""),
    CheckConstraint("(end_at IS NULL) = (open_of IS NOT NULL)", name="open"),
    Index(None, "schedule_id", "id"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("schedule_id", key(40), primary_key=True),
    Column("first_at", Moment, primary_key=True),
    Column("fate", key(16), primary_key=True),
    tenant(),
    Column("last_at", Moment, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("reason", key(32), nullable=False),
    # Who wanted it skipped; and what a calendar calls the day, or the times that are excluded.
    Column("skipped_by", key(200)),
    Column("note", String(200), nullable=False, server_default=""),
    CheckConstraint(one_of("fate", LedgerKind), name="fate"),
    CheckConstraint("count > 0", name="count"),
    CheckConstraint("last_at >= first_at", name="range"),
    Index(None, "tenant_id", "last_at"),  # What a tenant missed lately, without asking each of its schedules.
)

runs = Table(
    "runs",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("user_id", key(200), nullable=False, server_default=""),
    Column("schedule_id", key(40)),
    Column("version", Integer),
    Column("kind", key(64), nullable=False),
    Column("origin", key(16), nullable=False, server_default=Origin.INSTANT),
    Column("state", key(16), nullable=False),
    Column("scheduled_for", Moment),
    Column("ready_at", Moment, nullable=False),
    Column("queue", key(64), nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("order_key", Moment, nullable=False),
    # The queue while the run can be claimed: not buffered, not running, not ended.
    Column("lane", key(64)),
    # When the run was last published to the broker; NULL whenever it gets a lane again.
    Column("offered_at", Moment),
    # The schedule's id while the run is open, so that overlap is judged without reading history.
    Column("open_of", key(40)),
    # The schedule's id while the run waits for its predecessor.
    Column("buffered_of", key(40)),
    # `attempt` is the budget, `epoch` the fence: it rises with every claim and never falls.
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("max_attempts", Integer, nullable=False),
    Column("timeout_seconds", Integer),
    Column("epoch", Integer, nullable=False, server_default="0"),
    # Stays after the ending: a writer whose commit was not acknowledged reads it back.
    Column("token", key(40)),
    Column("lease_until", Moment),
    Column("worker", key(200)),
    # The handle of an effect that continues elsewhere; kept until the run's next attempt.
    Column("handle", Document),
    # When to check a parked run again; also one that was ended from outside, until its effect is released.
    Column("poll_at", Moment),
    # How many times in a row the holder of a noted run disappeared.
    Column("lost_looks", SmallInteger, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default=text("false")),
    # Events are numbered without gaps; 1 is the creation.
    Column("event_seq", BigInteger, nullable=False, server_default="1"),
    Column("started_seq", BigInteger),
    Column("final_seq", BigInteger),
    # Stored bytes of its log, and how many lines of this attempt were dropped beyond the limit.
    Column("log_bytes", BigInteger, nullable=False, server_default="0"),
    Column("log_dropped", BigInteger, nullable=False, server_default="0"),
    Column("created_at", Moment, nullable=False),
    Column("started_at", Moment),
    # `ready_at` as it was at the first start; a retry moves `ready_at`, and lateness must not move with it.
    Column("due_at", Moment),
    # Why it was not started although it was ready; of a run that has a lane.
    Column("waiting", Document),
    Column("attempt_at", Moment),
    Column("finished_at", Moment),
    Column("took_us", BigInteger),  # From its first start to its end; of an ended run that had started.
    Column("changed", Boolean),  # It found a change that counts; NULL stands for no.
    Column("catchup", Boolean),  # It makes up for an instant that no scheduler settled in time; NULL stands for no.
    Column("action", Document),  # Of this run, when it is not the one of its schedule's version.
    Column("result", Document),
    Column("error", Document),
    # What failures that are alike have in common; only failed runs and dead letters have it.
    Column("fingerprint", key(16)),
    Column("parent_id", key(40)),
    Column("resolved_by", key(40)),
    # The instant that this run makes up for: a backfill's, or that of the run it repeats.
    Column("fills", Moment),
    UniqueConstraint("schedule_id", "scheduled_for"),
    CheckConstraint(one_of("state", RunState), name="state"),
    CheckConstraint(one_of("origin", Origin), name="origin"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("priority BETWEEN 1 AND 10", name="priority"),
    CheckConstraint("attempt >= 0 AND attempt <= max_attempts", name="attempt"),
    CheckConstraint("lane IS NULL OR state IN ('queued', 'retrying')", name="lane"),
    CheckConstraint("buffered_of IS NULL OR (state = 'queued' AND lane IS NULL)", name="buffered"),
    CheckConstraint("lease_until IS NULL OR state = 'running'", name="lease"),
    CheckConstraint("poll_at IS NULL OR (handle IS NOT NULL AND lease_until IS NULL)", name="parked"),
    CheckConstraint(f"open_of IS NULL OR {one_of('state', sorted(OPEN))}", name="open"),
    CheckConstraint(f"(finished_at IS NULL) = ({one_of('state', sorted(OPEN))})", name="finished"),
    Index("ix_runs_ready", "lane", "tenant_id", "order_key", **where_set("lane")),  # type: ignore[arg-type]
    Index("ix_runs_offered", "offered_at", **where_set("offered_at")),  # type: ignore[arg-type]
    Index("ix_runs_lease", "lease_until", **where_set("lease_until")),  # type: ignore[arg-type]
    Index("ix_runs_poll", "poll_at", **where_set("poll_at")),  # type: ignore[arg-type]
    Index("ix_runs_open", "open_of", **where_set("open_of")),  # type: ignore[arg-type]
    Index("ix_runs_parent", "parent_id", **where_set("parent_id")),  # type: ignore[arg-type]
    Index("ix_runs_fills", "schedule_id", "fills", **where_set("fills")),  # type: ignore[arg-type]
    Index("ix_runs_buffered", "buffered_of", **where_set("buffered_of")),  # type: ignore[arg-type]
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "state", "id"),
    Index(None, "schedule_id", "id"),
    # Only ended runs: on PostgreSQL every change of an open run would write to these indexes again.
    Index("ix_runs_queue", "tenant_id", "queue", "id", **where_set("finished_at")),  # type: ignore[arg-type]
    Index("ix_runs_kind", "tenant_id", "kind", "id", **where_set("finished_at")),  # type: ignore[arg-type]
    # Counts by time read nothing but this one.
    Index("ix_runs_made", "tenant_id", "state", "created_at", **where_set("finished_at")),  # type: ignore[arg-type]
    # Lists in an order; open runs are few, and sorted as they are read.
    Index("ix_runs_due", "tenant_id", "scheduled_for", "id", **where_set("finished_at")),  # type: ignore[arg-type]
    Index("ix_runs_began", "tenant_id", "started_at", "id", **where_set("finished_at")),  # type: ignore[arg-type]
    Index("ix_runs_took", "tenant_id", "took_us", "id", **where_set("finished_at")),  # type: ignore[arg-type]
    # Runs change their indexed columns three times in a life; free space on the page keeps that cheap (HOT updates).
    postgresql_with={"fillfactor": "70"},
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", key(40), primary_key=True),
    Column("epoch", Integer, primary_key=True),
    tenant(),
    Column("number", Integer, nullable=False),
    Column("worker", key(200)),
    Column("outcome", key(16), nullable=False),
    # Where the run went when this attempt ended.
    Column("state", key(16), nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("ended_at", Moment, nullable=False),
    Column("started_seq", BigInteger, nullable=False),
    Column("ended_seq", BigInteger, nullable=False),
    Column("error", Document),
    Column("response", Document),
    Column("retry_at", Moment),
    info=WITH_RUN,
)

log_chunks = Table(
    "log_chunks",
    metadata,
    Column("run_id", key(40), primary_key=True),
    Column("first_seq", BigInteger, primary_key=True),
    tenant(),
    Column("last_seq", BigInteger, nullable=False),
    Column("data", blob(), nullable=False),
    info=WITH_RUN,
)


nodes = Table(
    "nodes",
    metadata,
    Column("id", key(200), primary_key=True),
    Column("role", key(32), nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False),
    Column("report", Document, nullable=False),
    # An operator's request to this process, which reads it when it reports.
    Column("wish", key(16)),
    CheckConstraint(one_of("wish", NodeRequest), name="wish"),
)

# Only queues that were paused have a row. They belong to the installation, not to a tenant.
queues = Table(
    "queues",
    metadata,
    Column("name", key(64), primary_key=True),
    Column("paused_at", Moment),
    Column("paused_by", key(200), nullable=False, server_default=""),
    Column("reason", String(500), nullable=False, server_default=""),
)

# Sums that cannot be recounted: ended runs that are kept, and the counts of processes that are gone. Each is
# spread over a few slots, so that processes seldom wait for one another's.
tallies = Table(
    "tallies",
    metadata,
    Column("name", key(64), primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
)

# Stored bytes of tenants, spread over a few slots like the sums above; the janitor recounts them.
stored = Table(
    "stored",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("bytes", BigInteger, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

# Counts per quarter of an hour and tenant, kept by the transactions that end runs or settle instants: see
# `engine/model/quarter_counts.py`. Spread over slots like the sums above. By name first: a chart reads a few names.
quarter_counts = Table(
    "quarter_counts",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(32), primary_key=True),
    Column("at", Moment, primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    # Counts whose runs were pruned are found by age.
    Index(None, "at"),
)

# How the newest ended run of a schedule ended, and what ranks it. Kept apart from the schedule, whose row the
# ticker locks: an ending must never wait for that, nor a tick for an ending.
schedule_stats = Table(
    "schedule_stats",
    metadata,
    Column("schedule_id", key(40), primary_key=True),
    tenant(),
    # The newest run that has ended, its state, when it ended, and how long it took.
    Column("run_id", key(40), nullable=False, server_default=""),
    Column("state", key(16)),
    Column("ended_at", Moment),
    Column("took_ms", BigInteger),
    # When that run ended, if it failed; and the last instant that was missed. NULL when cold, like the columns of runs.
    Column("failing_at", Moment),
    Column("missed_at", Moment),
    # Scores that choose the candidates of a ranking: failures fade with every run that ends, and so does a peak of the
    # duration, by one step of the histogram.
    Column("flaky", SmallInteger),
    Column("slow", SmallInteger, nullable=False, server_default="0"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index("ix_schedule_stats_failing", "tenant_id", "failing_at", **where_set("failing_at")),  # type: ignore[arg-type]
    Index("ix_schedule_stats_missed", "tenant_id", "missed_at", **where_set("missed_at")),  # type: ignore[arg-type]
    Index("ix_schedule_stats_flaky", "tenant_id", "flaky", **where_set("flaky")),  # type: ignore[arg-type]
    Index("ix_schedule_stats_slow", "tenant_id", "slow"),
    postgresql_with={"fillfactor": "70"},
)


# Chunks are keyed by the number of their last item, so that one index lookup finds where the next one begins.
crawl_items = Table(
    "crawl_items",
    metadata,
    Column("run_id", key(40), primary_key=True),
    # A crawl that is retried starts from scratch; the items of the attempt before it are not mixed in.
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("last_item", BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    Column("first_item", BigInteger, nullable=False),
    # Stored bytes of this attempt's items, this chunk included.
    Column("bytes_through", BigInteger, nullable=False),
    # Empty: these items were beyond the limit, and are only counted.
    Column("data", blob(), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("first_item > 0 AND last_item >= first_item", name="range"),
    info=WITH_RUN,
)


tenants = Table(
    "tenants",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # What differs from the limits of the settings.
    Column("limits", Document, nullable=False),
    # Allowed targets of its actions; empty: whatever the operator allows.
    Column("egress_allow", Document, nullable=False),
    Column("updated_by", key(200), nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)


# Rows to be locked only: they serialise transactions that count a tenant's things before they add one.
turns = Table(
    "turns",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("thing", key(16), primary_key=True),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
