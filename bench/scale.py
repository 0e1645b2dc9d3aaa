"""A hundred million runs a day, scaled down: what one run costs, measured, and what a day comes to, by arithmetic.

    python bench/scale.py [--database URL] [--a-day 100000000] [--part 0.1] [--seconds 30] [--keep]

The real engine fires schedules and executes no-ops at this part of the rate, for so long; PostgreSQL. Measured: the
processor time of Foliot and of PostgreSQL's sessions per run, bytes per run in the tables and indexes, WAL bytes per
run (of the whole server, so use one that does nothing else), connections. A smaller part makes a run dearer, because
batches are smaller. The rest is multiplication, printed line by line, so that
every factor can be replaced by one's own. What runs do is not in it: add the processor time of your own work.

`--keep` measures in a database that `idle.py --keep` has filled, among everything that is stored there, and leaves it
as it was, but for the runs that this makes: how much dearer firing, claims and endings are with so much behind them.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from time import process_time

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from filling import stay_quiet
from lateness import STREAM, TABLES, store_schedules
from measuring import Report, percentile
from noop import Noop, noop_engine

from foliot.cli.process import calm_memory
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.ports import ActionContext
from foliot.wakeups.feed import MemoryFeed

DAY = 86_400
PERIOD = 10
SLOTS = 100
USED = 0.7
"""Share of a core that is planned for: the rest is for peaks."""
RETENTION = 30
QUIET, IDLE_WAL = 3, 10_000
STORED = ("runs", "attempts", "log_chunks", "ledger")


async def simulate(base: BenchDatabase, rate: float, seconds: int, report: Report, *, keep: bool) -> None:
    if keep:
        await stay_quiet(base.url)
        await described(base, report)
    else:
        await base.empty(*TABLES)
    store, clock, late = Database(base.url), StoreClock(), list[float]()

    def note(ctx: ActionContext) -> None:
        if ctx.scheduled_for is not None:
            late.append((clock.now() - ctx.scheduled_for).total_seconds() * 1e3)

    engine = noop_engine(store, clock, MemoryFeed(), Noop(note), SLOTS)
    count = max(int(rate * PERIOD), 1)
    first = clock.now() + timedelta(seconds=5 + QUIET)
    step = timedelta(seconds=PERIOD) / count
    await store_schedules(store, [first + step * at for at in range(count)], PERIOD, clock.now())
    await base.settle("schedules", "versions")
    before = await _stored(base)
    written = await _wal(base)
    await asyncio.sleep(QUIET)
    others = (await _wal(base, written)) / QUIET
    if others > IDLE_WAL:
        report.note(f"the server writes {others / 2**20:.1f} MiB/s of WAL for others, which counts here too")
    try:
        await engine.start()
        calm_memory()
        # One period first, so that every page of the tables has been written since the checkpoint.
        await asyncio.sleep(5 + PERIOD)
        await stretch(base, seconds, late, report)
    finally:
        await engine.stop(10)
        await store.close()
    report.add("measured", stored_bytes_per_run=(await _stored(base) - before) / max(len(late), 1))
    if keep:
        await base.run(f"DELETE FROM versions WHERE schedule_id IN (SELECT id FROM schedules WHERE name = '{STREAM}')")
        await base.run(f"DELETE FROM schedules WHERE name = '{STREAM}'")


async def stretch(base: BenchDatabase, seconds: int, late: Sequence[float], report: Report) -> None:
    """What the runs of so many seconds cost, and how late they start."""
    wal, client, server, at = await _wal(base), process_time(), await base.server_cpu() or 0.0, len(late)
    await asyncio.sleep(seconds)
    made = len(late) - at
    if made < 1:
        raise SystemExit("no run was executed: give it more --seconds, or a larger --part")
    report.add("measured", runs_per_second=made / seconds, foliot_cpu_us=(process_time() - client) / made * 1e6)
    report.add("measured", postgresql_cpu_us=((await base.server_cpu() or 0.0) - server) / made * 1e6)
    report.add("measured", wal_bytes_per_run=(await _wal(base, wal)) / made)
    for share in (50, 99):
        report.add("measured", **{f"started_p{share}_ms": percentile(late[at:], share / 100)})
    connections = await base.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
    report.add("measured", connections=connections[0][0] - 1)


async def described(base: BenchDatabase, report: Report) -> None:
    """What is stored, by the statistics of the tables: counting ten million rows takes longer than the rest."""
    query = "SELECT relname, reltuples::bigint, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
    for name, rows, size in await base.rows(query):
        if name in ("schedules", *STORED):
            report.note(f"{name}: {rows:,} rows, {size / 2**30:.1f} GiB with indexes")


async def _stored(base: BenchDatabase) -> int:
    sizes = [f"pg_total_relation_size('{table}')" for table in STORED]
    return int((await base.rows(f"SELECT {' + '.join(sizes)}"))[0][0])


async def _wal(base: BenchDatabase, since: int = 0) -> int:
    return int((await base.rows("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))[0][0]) - since


def arithmetic(report: Report, a_day: int) -> None:
    """A day of such runs."""
    one = {metric: values[-1] for metric, values in report.figures["measured"].items()}
    rate = a_day / DAY
    cores = rate * one["foliot_cpu_us"] / 1e6
    served = rate * one["postgresql_cpu_us"] / 1e6
    processes = max(1, -(-cores // USED))
    disk = one["stored_bytes_per_run"] * a_day
    lines = {
        f"{a_day:,} runs a day": f"{rate:,.0f} runs/s on average",
        f"x {one['foliot_cpu_us']:,.0f} us in Foliot": f"{cores:.2f} cores, {processes:.0f} processes at {USED:.0%}",
        f"x {one['postgresql_cpu_us']:,.0f} us in PostgreSQL": f"{served:.2f} cores",
        f"x {one['connections']:,.0f} connections per process": f"{processes * one['connections']:,.0f} connections",
        f"x {one['wal_bytes_per_run']:,.0f} bytes of WAL": f"{one['wal_bytes_per_run'] * rate / 2**20:,.1f} MiB/s, "
        f"{one['wal_bytes_per_run'] * a_day / 2**30:,.0f} GiB a day",
        f"x {one['stored_bytes_per_run']:,.0f} bytes stored": f"{disk / 2**30:,.0f} GiB a day, "
        f"{disk * RETENTION / 2**40:,.1f} TiB with {RETENTION} days of retention",
        "two dead versions of a row per run": f"{2 * rate:,.0f}/s for autovacuum",
        "a peak of four times the average": f"{4 * cores:.1f} + {4 * served:.1f} cores",
    }
    width = max(map(len, lines)) + 2
    print()
    for factor, result in lines.items():
        print(f"{factor:{width}}{result}")


async def measure(given: argparse.Namespace, report: Report) -> None:
    async with bench_database(given.database, keep=given.keep) as base:
        await simulate(base, given.a_day / DAY * given.part, given.seconds, report, keep=given.keep)
    arithmetic(report, given.a_day)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--a-day", type=int, default=100_000_000)
    parser.add_argument("--part", type=float, default=0.1, help="share of that rate which is simulated")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--keep", action="store_true", help="among what `idle.py --keep` has stored there")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("scale")
    uvloop.run(measure(given, report))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
