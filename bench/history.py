"""Q12: what ended runs cost, and what moving them out of the hot tables would save; PostgreSQL.

    python bench/history.py [--database URL] [--runs 100000] [--stored 1000000]

TODAY      Foliot's own tables: a run is one row, inserted, claimed and ended, with an attempt and a log chunk
LEAN       the same with the indexes that only lists use left out: what indexes on ended runs cost
SPLIT      the same rows, but an ended run is deleted from the hot table and inserted into a history table that is
           partitioned by time and has the indexes of lists; attempts and log chunks go to partitions at once

WAL bytes per run (EXPLAIN (ANALYZE, WAL), so that other databases of the server do not count), the time to claim 500
ready runs, also among many stored ones, and the time to prune half of them: by DELETE in batches of 1,000 as the
janitor does, or by dropping a partition. All statements are
set-based, 500 runs at a time, in one session; nothing of the engine's own time is in it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import Report

BATCH = 500
LIST_INDEXES = ("ix_runs_kind", "ix_runs_made", "ix_runs_queue", "ix_runs_tenant_id_state_id")
ID = "'run_' || lpad(to_hex({n}), 32, '0')"
LOG = "convert_to(repeat('a line of a log that nobody reads ', 4), 'UTF8')"

AT = "timestamptz '2026-01-01' + n * interval '1 second'"
SCHEDULE = "'sch_' || lpad(to_hex(n % 10000), 32, '0')"
INSERT = f"""INSERT INTO runs (id, tenant_id, user_id, schedule_id, version, kind, origin, state, scheduled_for,
 ready_at, queue, priority, order_key, lane, open_of, max_attempts, created_at)
SELECT {ID.format(n="n")}, 'tenant-' || n % 20, '', {SCHEDULE}, 1, 'webhook', 'instant', 'queued', {AT}, {AT},
 'default', 5, {AT}, 'default', {SCHEDULE}, 4, {AT} FROM generate_series({{first}}, {{last}}) n"""
STORED = (
    INSERT.replace("'queued'", "'success'")
    .replace(f"'default', {SCHEDULE},", "NULL, NULL,")
    .replace("max_attempts, created_at)", "max_attempts, created_at, finished_at)")
    .replace(" FROM generate_series", ", now() FROM generate_series")
)
PICK = f"SELECT id FROM runs WHERE lane = 'default' AND tenant_id = 'tenant-1' ORDER BY order_key LIMIT {BATCH}"
CLAIM = """UPDATE runs SET state = 'running', lane = NULL, epoch = epoch + 1, attempt = attempt + 1, token = 'tok',
 lease_until = now() + interval '30 seconds', worker = 'bench', started_at = now(), attempt_at = now(), event_seq = 2,
 started_seq = 2, due_at = ready_at WHERE id IN (SELECT id FROM runs WHERE lane IS NOT NULL AND id BETWEEN {low} AND
 {high} FOR UPDATE SKIP LOCKED)"""
END = """UPDATE runs SET state = 'success', open_of = NULL, token = NULL, lease_until = NULL, worker = NULL,
 finished_at = now(), final_seq = 3, event_seq = 3, result = '{{"ok": true}}' WHERE id BETWEEN {low} AND {high}"""
ATTEMPTS = """INSERT INTO {table} (run_id, epoch, tenant_id, number, worker, outcome, state, started_at, ended_at,
 started_seq, ended_seq) SELECT id, 1, tenant_id, 1, 'bench', 'succeeded', 'success', now(), now(), 2, 3
 FROM {source} WHERE id BETWEEN {low} AND {high}"""
CHUNKS = f"""INSERT INTO {{table}} (run_id, first_seq, tenant_id, last_seq, data) SELECT id, 1, tenant_id, 2, {LOG}
 FROM {{source}} WHERE id BETWEEN {{low}} AND {{high}}"""
MOVE = """WITH gone AS (DELETE FROM runs WHERE id BETWEEN {low} AND {high} RETURNING *)
 INSERT INTO runs_history ({columns}) SELECT {values} FROM gone"""
ENDED = {
    "state": "'success'", "open_of": "NULL", "token": "NULL", "lease_until": "NULL", "worker": "NULL",
    "finished_at": "now()", "final_seq": "3", "event_seq": "3", "result": "'{\"ok\": true}'",
}  # fmt: skip


@dataclass(slots=True)
class Side:
    """One way to store ended runs."""

    name: str
    base: BenchDatabase
    split: bool = False
    next_run: int = 1
    wal: dict[str, int] = field(default_factory=lambda: {"bytes": 0, "pages": 0})

    async def run(self, sql: str) -> None:
        """Execute it, and add up the WAL that it wrote: bytes, and whole pages among them."""
        plan = (await self.base.rows(f"EXPLAIN (ANALYZE, WAL, TIMING OFF, FORMAT JSON) {sql}"))[0][0]
        top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
        self.wal["bytes"] += top["WAL Bytes"]
        self.wal["pages"] += top["WAL FPI"]

    def bounds(self) -> dict[str, str]:
        first = self.next_run
        self.next_run += BATCH
        low, high = ID.format(n=first), ID.format(n=first + BATCH - 1)
        return {"first": str(first), "last": str(first + BATCH - 1), "low": low, "high": high}

    async def batch(self, columns: list[str]) -> float:
        """A life of 500 runs: created, claimed, ended; returns the seconds of the claim."""
        at, run = self.bounds(), self.run
        await run(INSERT.format(**at))
        began = perf_counter()
        await self.base.rows(PICK)
        await run(CLAIM.format(**at))
        claimed = perf_counter() - began
        if self.split:
            values = ", ".join(ENDED.get(column, column) for column in columns)
            await run(MOVE.format(**at, columns=", ".join(columns), values=values))
        else:
            await run(END.format(**at))
        tail, source = ("_history", "runs_history") if self.split else ("", "runs")
        await run(ATTEMPTS.format(**at, table=f"attempts{tail}", source=source))
        await run(CHUNKS.format(**at, table=f"log_chunks{tail}", source=source))
        return claimed


async def prepare(base: BenchDatabase, side: Side, half: int) -> None:
    await base.empty("runs", "attempts", "log_chunks")
    if side.name == "LEAN":
        for index in LIST_INDEXES:
            await base.run(f"DROP INDEX {index}")
    if not side.split:
        return
    for index in LIST_INDEXES:
        await base.run(f"DROP INDEX IF EXISTS {index}")
    for table, key in (("runs", "id"), ("attempts", "run_id"), ("log_chunks", "run_id")):
        await base.run(f"CREATE TABLE {table}_history (LIKE {table} INCLUDING DEFAULTS) PARTITION BY RANGE ({key})")
        marks = [
            (await base.rows(f"SELECT {each}"))[0][0] for each in ("'run_'", ID.format(n=half), ID.format(n=10**12))
        ]
        for part, low, high in zip((1, 2), marks[:-1], marks[1:], strict=True):
            await base.run(
                f"CREATE TABLE {table}_history_{part} PARTITION OF {table}_history"
                f" FOR VALUES FROM ('{low}') TO ('{high}')"
            )
    await base.run("CREATE UNIQUE INDEX ON runs_history (id)")
    await base.run("CREATE UNIQUE INDEX ON attempts_history (run_id, epoch)")
    await base.run("CREATE UNIQUE INDEX ON log_chunks_history (run_id, first_seq)")
    for columns in ("schedule_id, id", "tenant_id, id", "tenant_id, state, id", "tenant_id, kind, id",
                    "tenant_id, queue, id", "tenant_id, state, created_at", "schedule_id, scheduled_for"):  # fmt: skip
        await base.run(f"CREATE INDEX ON runs_history ({columns})")


async def fill(side: Side, runs: int, columns: list[str], report: Report) -> None:
    """The first tenth warms the tables up: right after a checkpoint every page is written whole."""
    base, claims = side.base, list[float]()
    for _ in range(max(runs // 10 // BATCH, 1)):
        await side.batch(columns)
    side.wal = {"bytes": 0, "pages": 0}
    began, count = perf_counter(), runs // BATCH * BATCH
    for _ in range(runs // BATCH):
        claims.append(await side.batch(columns))
    wall = perf_counter() - began
    report.add(side.name, wal_bytes_per_run=side.wal["bytes"] / count, wal_pages_per_run=side.wal["pages"] / count)
    report.add(side.name, lives_per_second=count / wall)
    report.add(side.name, claim_ms=sorted(claims)[len(claims) // 2] * 1e3)
    size = "pg_total_relation_size({})"
    hot = (await base.rows(f"SELECT {size.format(chr(39) + 'runs' + chr(39))}"))[0][0]
    report.add(side.name, hot_table_mb=hot / 2**20)


async def prune(side: Side, half: int, report: Report) -> None:
    """Half of the runs, as the janitor does it, or as a partition."""
    base, began = side.base, perf_counter()
    side.wal = {"bytes": 0, "pages": 0}
    if side.split:
        for table in ("runs", "attempts", "log_chunks"):
            await base.run(f"DROP TABLE {table}_history_1")
    else:
        for first in range(1, half, 1000):
            low, high = ID.format(n=first), ID.format(n=first + 999)
            for table, key in (("attempts", "run_id"), ("log_chunks", "run_id"), ("runs", "id")):
                await side.run(f"DELETE FROM {table} WHERE {key} BETWEEN {low} AND {high}")
    seconds = perf_counter() - began
    report.add(side.name, prune_seconds=seconds, prune_seconds_per_million=seconds / half * 1e6)
    report.add(side.name, prune_wal_bytes_per_run=side.wal["bytes"] / half)


async def among_many(base: BenchDatabase, stored: int, columns: list[str], report: Report) -> None:
    """The same life with so many ended runs in the tables."""
    name = f"TODAY, {stored:,} ended"
    side = Side(name, base, next_run=stored + 10_000_001)
    first = 10_000_001
    for start in range(first, first + stored, 50_000):
        at = {"first": str(start), "last": str(min(start + 50_000, first + stored) - 1)}
        await base.run(STORED.format(**at))
    await base.settle("runs")
    claims = sorted([await side.batch(columns) for _ in range(20)])
    report.add(name, claim_ms=claims[len(claims) // 2] * 1e3)
    size = (await base.rows("SELECT pg_total_relation_size('runs')"))[0][0]
    report.add(name, hot_table_mb=size / 2**20, wal_bytes_per_run=side.wal["bytes"] / 20 / BATCH)
    report.add(name, wal_pages_per_run=side.wal["pages"] / 20 / BATCH)


async def measure(given: argparse.Namespace, report: Report) -> None:
    for name in ("TODAY", "LEAN", "SPLIT"):
        async with bench_database(given.database) as base:
            side = Side(name, base, split=name == "SPLIT")
            half = given.runs // 2
            await prepare(base, side, half)
            found = await base.rows(
                "SELECT column_name FROM information_schema.columns WHERE table_name = 'runs' ORDER BY ordinal_position"
            )
            await fill(side, given.runs, [row[0] for row in found], report)
            await prune(side, half, report)
            if given.stored and name == "TODAY":
                await among_many(base, given.stored, [row[0] for row in found], report)
            figures = {metric: values[-1] for metric, values in report.figures[name].items()}
            print(f"  {name:8}" + ", ".join(f"{metric} {value:,.1f}" for metric, value in figures.items()), flush=True)
    for other in ("LEAN", "SPLIT"):
        ratio = report.ratio(other, "TODAY", "wal_bytes_per_run")
        report.add(f"{other} : TODAY", wal=ratio, claim=report.ratio(other, "TODAY", "claim_ms"))
    ratio = report.ratio("SPLIT", "TODAY", "wal_bytes_per_run") or 0.0
    report.goal(f"Q12: a split writes {ratio:.2f} x the WAL of today (at most 0.6)", met=ratio <= 0.6)
    pruned = report.middle("TODAY", "prune_seconds_per_million") or 0.0
    report.goal(f"Q12: pruning a million runs takes {pruned:.0f} s today (at most 30)", met=pruned <= 30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument(
        "--stored", type=int, default=1_000_000, help="ended runs among which runs are claimed; 0: none"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("history")
    uvloop.run(measure(given, report))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
