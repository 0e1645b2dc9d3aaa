"""Counts per quarter of an hour, and how the newest run of each schedule ended.

Revision ID: 0023
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import pairwise

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
FAILED = "state IN ('failed', 'dead_letter')"
MOST_INSTANTS = 10_000
"""Instants of one ledger range that are placed singly; of more, as many points stand for all."""
QUARTER = {
    "postgresql": "to_timestamp(floor(date_part('epoch', {0}) / 900) * 900)",
    "sqlite": "substr({0}, 1, 14) || printf('%02d', CAST(substr({0}, 15, 2) AS INTEGER) / 15 * 15) || ':00.000000'",
    "mysql": "CAST(DATE_FORMAT({0}, '%Y-%m-%d %H:00:00') AS DATETIME(6)) + INTERVAL MINUTE({0}) DIV 15 * 15 MINUTE",
}
MILLIS = {
    "postgresql": "CAST(floor(date_part('epoch', {1} - {0}) * 1000) AS BIGINT)",
    "sqlite": "(((strftime('%s', substr({1}, 1, 19)) - strftime('%s', substr({0}, 1, 19))) * 1000000"
    " + substr({1}, 21, 6) - substr({0}, 21, 6)) / 1000)",
    "mysql": "(TIMESTAMPDIFF(MICROSECOND, {0}, {1}) DIV 1000)",
}
_E12 = (10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82)
STEPS = (*range(10), *(digits * 10**power for power in range(8) for digits in _E12))


def upgrade() -> None:
    """Add the tables, and fill them from what is stored."""
    lite = op.get_bind().dialect.name == "sqlite"

    def readable(*names: str) -> list[sa.CheckConstraint]:
        return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names if lite]

    op.create_table(
        "quarter_counts",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(32), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("slot", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        *readable("at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_quarter_counts_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "name", "at", "slot", name=op.f("pk_quarter_counts")),
    )
    op.create_table(
        "schedule_stats",
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("run_id", key(40), server_default="", nullable=False),
        sa.Column("state", key(16), nullable=True),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.Column("took_ms", sa.BigInteger(), nullable=True),
        sa.Column("failing_at", Moment(), nullable=True),
        sa.Column("missed_at", Moment(), nullable=True),
        sa.Column("flaky", sa.SmallInteger(), nullable=True),
        sa.Column("slow", sa.SmallInteger(), server_default="0", nullable=False),
        *readable("ended_at", "failing_at", "missed_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_schedule_stats_tenant")),
        sa.PrimaryKeyConstraint("schedule_id", name=op.f("pk_schedule_stats")),
        postgresql_with={"fillfactor": "70"},
    )
    count_runs()
    count_ledger()
    fill_stats()
    op.create_index(op.f("ix_quarter_counts_at"), "quarter_counts", ["at"])
    for name in ("failing", "missed", "flaky"):
        column = name if name == "flaky" else f"{name}_at"
        there = sa.text(f"{column} IS NOT NULL")
        columns = ["tenant_id", column]
        op.create_index(
            f"ix_schedule_stats_{name}", "schedule_stats", columns, postgresql_where=there, sqlite_where=there
        )
    op.create_index("ix_schedule_stats_slow", "schedule_stats", ["tenant_id", "slow"])
    for column in ("updated_at", "last_run_at"):
        op.create_index(op.f(f"ix_schedules_tenant_id_{column}"), "schedules", ["tenant_id", column])


def _sql(form: dict[str, str], *columns: str) -> str:
    # A colon would begin a parameter.
    return (
        form["mysql" if "maria" in (name := op.get_bind().dialect.name) else name].format(*columns).replace(":", "\\:")
    )


def count_runs() -> None:
    """Grouped by whole milliseconds first, so that the steps are compared with each duration once."""
    created, took = _sql(QUARTER, "created_at"), _sql(MILLIS, "started_at", "finished_at")
    steps = " ".join(f"WHEN took < {above} THEN 'took.{step}'" for step, above in pairwise(STEPS))
    waited = _sql(MILLIS, "coalesce(due_at, scheduled_for, created_at)", "started_at")
    for name, which, key_of in (
        ("kind", "finished_at IS NOT NULL", "state AS kind"),
        (
            f"CASE {steps} ELSE 'took.{STEPS[-1]}' END",
            "finished_at IS NOT NULL AND started_at IS NOT NULL",
            f"{took} AS took",
        ),
        ("'late'", f"finished_at IS NOT NULL AND started_at IS NOT NULL AND {waited} > 60000", "0 AS late"),
    ):
        column = key_of.rsplit(" ", 1)[-1]
        op.execute(
            "INSERT INTO quarter_counts (tenant_id, name, at, slot, value)"  # noqa: S608 -- texts are ours
            f" SELECT tenant_id, name, at, 0, sum(number) FROM (SELECT tenant_id, {name} AS name, at, number FROM"
            f" (SELECT tenant_id, {column}, at, count(*) AS number FROM"
            f" (SELECT tenant_id, {key_of}, {created} AS at FROM runs WHERE {which}) AS ended"
            f" GROUP BY tenant_id, {column}, at) AS alike) AS named GROUP BY tenant_id, name, at"
        )


def count_ledger() -> None:
    """Ranges within a quarter are counted by the database; the instants of longer ones are taken as evenly spaced."""
    first, last = _sql(QUARTER, "first_at"), _sql(QUARTER, "last_at")
    op.execute(
        "INSERT INTO quarter_counts (tenant_id, name, at, slot, value) SELECT tenant_id, fate, at, 0, sum(number)"  # noqa: S608 -- texts are ours
        f" FROM (SELECT tenant_id, fate, {last} AS at, count AS number FROM ledger"
        f" WHERE fate <> 'pruned' AND {first} = {last}) AS entries GROUP BY tenant_id, fate, at"
    )
    ledger = sa.table(
        "ledger",
        sa.column("tenant_id"),
        sa.column("fate"),
        sa.column("first_at", Moment()),
        sa.column("last_at", Moment()),
        sa.column("count", sa.BigInteger()),
    )
    query = sa.select(*ledger.c).where(ledger.c.fate != "pruned", sa.text(f"{first} <> {last}"))
    counts: Counter[tuple[str, str, datetime]] = Counter()
    for tenant_id, fate, begin, end, count in op.get_bind().execute(query):
        points = max(min(count, MOST_INSTANTS), 2)
        shares = [count * (place + 1) // points - count * place // points for place in range(points)]
        for place, share in enumerate(shares):
            counts[tenant_id, fate, _quarter(begin + (end - begin) * place / (points - 1))] += share
    made = [
        {"tenant_id": tenant_id, "name": fate, "at": at, "slot": 1, "value": value}
        for (tenant_id, fate, at), value in sorted(counts.items())
        if value
    ]
    if made:
        texts, numbers = (
            [sa.column(name, sa.Text()) for name in ("tenant_id", "name")],
            [sa.column(name, sa.BigInteger()) for name in ("slot", "value")],
        )
        op.bulk_insert(sa.table("quarter_counts", sa.column("at", Moment()), *texts, *numbers), made)


def _quarter(moment: datetime) -> datetime:
    return moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)


def fill_stats() -> None:
    took = _sql(MILLIS, "started_at", "finished_at")
    steps = " ".join(f"WHEN peak < {above} THEN {step}" for step, above in enumerate(STEPS[1:]))
    op.execute(
        "INSERT INTO schedule_stats (schedule_id, tenant_id, run_id, state, ended_at, took_ms, failing_at, missed_at,"  # noqa: S608 -- texts are ours
        " flaky, slow) SELECT s.id, s.tenant_id, coalesce(r.id, ''), r.state, r.finished_at,"
        f" {_sql(MILLIS, 'r.started_at', 'r.finished_at')}, CASE WHEN r.{FAILED} THEN r.finished_at END, m.missed_at,"
        f" nullif(floor(1000 * n.bad / n.ended), 0), CASE WHEN peak IS NULL THEN 0 {steps} ELSE {len(STEPS) - 1} END"
        " FROM schedules s LEFT JOIN (SELECT schedule_id, max(id) AS id, count(*) AS ended,"
        f" sum(CASE WHEN {FAILED} THEN 1 ELSE 0 END) AS bad, max({took}) AS peak FROM runs"
        " WHERE finished_at IS NOT NULL AND schedule_id IS NOT NULL GROUP BY schedule_id) n ON n.schedule_id = s.id"
        " LEFT JOIN runs r ON r.id = n.id"
        " LEFT JOIN (SELECT schedule_id, max(last_at) AS missed_at FROM ledger WHERE fate = 'missed'"
        " GROUP BY schedule_id) m ON m.schedule_id = s.id"
        " WHERE r.id IS NOT NULL OR m.missed_at IS NOT NULL"
    )


def downgrade() -> None:
    """Take them away: everything in them can be counted again."""
    for column in ("updated_at", "last_run_at"):
        op.drop_index(op.f(f"ix_schedules_tenant_id_{column}"), "schedules")
    op.drop_table("schedule_stats")
    op.drop_table("quarter_counts")
