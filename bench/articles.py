"""P9: articles per second from the request to the last final row, beside Scrapy, in one run.

    python bench/articles.py [--database URL] [--pages 1000] [--repeats 3]

FOLIOT              the whole path: submitted, taken, fetched through egress, read in processes, written; PostgreSQL
FOLIOT, not read    the same, but what was fetched is not read
EXTRACTOR ALONE     the function that reads, in as many processes as there are cores, over pages in memory
SCRAPY              fetches the same pages; writes nothing
SCRAPY + LIBRARY    and reads them with trafilatura, fast, with metadata, as its manual has it
SCRAPY + EXTRACTOR  and reads them with the function that Foliot uses, which does less for the same fields

Host limits are off on all sides. Server, database and all processes share the cores. Processes are warm on all sides.

`cpu_us` is the processor time that a page takes in all processes of a side: those that fetch, those that read, those of
the database; not in the server of the pages, which is the same for all. `unhindered` is what it comes to per second on
cores that nobody else uses: Scrapy has one of them, the extractor and Foliot all, of which Foliot fetches and writes
with one. Where others use the machine, that ratio says more than the one of the wall clock.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import structlog
import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import Report, Stopwatch, child, children, children_cpu
from pages import PAGES, page, serving

from foliot.actions.articles import Articles
from foliot.actions.articles.extraction import extract
from foliot.actions.articles.fetching import Fetcher
from foliot.cli.process import calm_memory
from foliot.domain.access import LOCAL
from foliot.domain.node import Role
from foliot.domain.run import Problem
from foliot.egress import HttpEgress
from foliot.engine.engine import Engine, Pace
from foliot.engine.gatherer import Gathering
from foliot.feed.memory import MemoryFeed
from foliot.gathering import reading
from foliot.ports.articles import Allowance, Extracted, Missed, Taken, Unchanged
from foliot.settings import Settings
from foliot.store.clock import StoreClock
from foliot.store.database import Database
from foliot.testing import GivenActions
from foliot.usecases import UseCases
from foliot.workers.embedded import EmbeddedWorkers

WHOLE, BARE, ALONE = "FOLIOT", "FOLIOT, not read", "EXTRACTOR ALONE"
SCRAPY, SCRAPY_LIBRARY, SCRAPY_READS = "SCRAPY", "SCRAPY + LIBRARY", "SCRAPY + EXTRACTOR"
SCRAPY_ARGUMENTS = {SCRAPY: [], SCRAPY_LIBRARY: ["library"], SCRAPY_READS: ["ours"]}
TABLES = ("articles", "items", "article_jobs", "hosts", "runs", "attempts", "log_chunks")
UNLIMITED = {"FOLIOT_HOST_RATE": "0", "FOLIOT_HOST_CONCURRENCY": "1000", "FOLIOT_SCRAPE_CONCURRENCY": "64"}
WARM = 40
HTML = "text/html; charset=utf-8"
CORES = os.cpu_count() or 1
FASTER = 4
"""Without reading, so many times more pages are fetched, so that a sample takes about as long."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Fetches as the real one does, and says that every page is an article."""

    fetcher: Fetcher

    async def robots(self, taken: Taken) -> Allowance | Missed:
        return Allowance("")

    async def scrape(self, taken: Taken) -> Extracted | Unchanged | Missed:
        fetched = await self.fetcher.page(taken, {})
        if isinstance(fetched, Missed):
            return fetched
        if fetched.reply.status != 200 or len(fetched.reply.body) < 10_000:
            return Missed(problem=Problem("bench", "This is not the page."), permanent=True)
        return Extracted(title=taken.url)


async def ours(base: BenchDatabase, where: str, count: int, report: Report, *, read: bool) -> None:
    await base.empty(*TABLES)
    strangers = children()
    async with AsyncExitStack() as stack:
        store, clock, feed = Database(base.url), StoreClock(), MemoryFeed()
        stack.push_async_callback(store.close)
        egress = await stack.enter_async_context(HttpEgress(loopback=True))
        made = reading(Settings.load(UNLIMITED), egress, clock)
        stack.push_async_callback(made.close)
        how = made.how if read else replace(made.how, scraper=Unread(Fetcher(egress=egress)))
        actions = GivenActions.of(Articles(store=store, feed=feed, targets=egress))
        cases = UseCases.of(store, clock, feed, actions)
        engine = _engine(store, clock, feed, actions, how)
        await engine.start()
        stack.push_async_callback(engine.stop, 5)
        await _through(base, cases, [f"{where}{number}" for number in range(count, count + WARM)])
        await base.settle(*TABLES[:2])
        calm_memory()
        watch = Stopwatch()
        readers = children_cpu(but=strangers)
        watch.start(await base.server_cpu())
        result = await _through(base, cases, [f"{where}{number}" for number in range(count)])
        watch.stop()
        readers = children_cpu(but=strangers) - readers
        watch.charge(await base.server_cpu())
        if result != {"total": count, "completed": count, "cached": 0, "failed": 0}:
            raise AssertionError(f"{count} articles were asked for: {result}")
        await _verify(base, count + WARM, read=read)
    name = WHOLE if read else BARE
    report.time(name, count, watch)
    whole = watch.client + readers + (watch.server or 0.0)
    report.add(name, readers_cpu_us=readers / count * 1e6, cpu_us=whole / count * 1e6)
    # One process fetches and writes, whatever the number of cores.
    report.add(name, unhindered=min(count / watch.client, CORES * count / whole))
    _say(name, count / watch.wall, whole / count * 1e6)


def _engine(store: Database, clock: StoreClock, feed: MemoryFeed, actions: GivenActions, how: Gathering) -> Engine:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    return Engine(
        node_id="bench",
        clock=clock,
        store=store,
        feed=feed,
        actions=actions,
        pace=Pace(),
        workers_of=lambda executor: EmbeddedWorkers(executor, 10),
        role=Role.UP,
        gathering=how,
    )


async def _through(base: BenchDatabase, cases: UseCases, urls: list[str]) -> Any:
    """Submit them, wait for the end of the job, and give its result."""
    made = await cases.articles.submit(LOCAL, {"articles": urls})
    ended = "SELECT 1 FROM runs WHERE id = ? AND finished_at IS NOT NULL"
    while not await base.rows(ended, [made.run.id]):  # noqa: ASYNC110 -- an event would come from what is measured
        await asyncio.sleep(0.1)
    return (await cases.runs.get(LOCAL, made.run.id)).result


async def _verify(base: BenchDatabase, count: int, *, read: bool) -> None:
    """Each article was scraped by one attempt, and has its text."""
    text = " AND length(content) > 1000" if read else ""
    sql = f"SELECT count(*) FROM articles WHERE status = 'scraped' AND attempt = 1{text}"
    found = (await base.rows(sql))[0][0]
    if found != count:
        raise AssertionError(f"{found} of {count} articles were scraped at the first attempt")


def _warm(body: bytes) -> int:
    """Import what is needed, on a page."""
    return sum("content" in extract(body, HTML, "https://news.example/") for _ in range(5))


def _read_all(bodies: list[bytes]) -> int:
    return sum("content" in extract(body, HTML, "https://news.example/") for body in bodies)


def alone(count: int, report: Report) -> None:
    bodies = [page(number).encode() for number in range(PAGES)]
    shares = [[bodies[number % PAGES] for number in range(core, count, CORES)] for core in range(CORES)]
    with ProcessPoolExecutor(CORES) as pool:
        list(pool.map(_warm, [bodies[0]] * CORES * 2))
        spent, began = children_cpu(), perf_counter()
        read = sum(pool.map(_read_all, shares))
        wall, spent = perf_counter() - began, children_cpu() - spent
    if read != count:
        raise AssertionError(f"{read} of {count} pages were read")
    report.add(ALONE, per_second=count / wall, cpu_us=spent / count * 1e6, unhindered=CORES * count / spent)
    _say(ALONE, count / wall, spent / count * 1e6)


def scrapy(name: str, where: str, count: int, report: Report) -> None:
    if find_spec("scrapy") is None:
        report.note("Scrapy is not installed and is left out: pip install -e '.[bench]'")
        return
    answer = child(["peers/scrapy_pages.py", where, str(count), *SCRAPY_ARGUMENTS[name]])
    report.add(name, **answer, unhindered=1e6 / answer["cpu_us"])
    _say(name, answer["per_second"], answer["cpu_us"])


def _say(name: str, per_second: float, cpu_us: float) -> None:
    print(f"  {name:20}{per_second:>10,.0f}/s{cpu_us:>12,.0f} us of processor time for each", flush=True)


async def measure(given: Any, report: Report) -> None:
    async with bench_database(given.database) as base:
        with serving() as where:
            for _ in range(given.repeats):
                await ours(base, where, given.pages, report, read=True)
                alone(given.pages, report)
                scrapy(SCRAPY_LIBRARY, where, given.pages // 2, report)
                scrapy(SCRAPY_READS, where, given.pages // 2, report)
                await ours(base, where, given.pages * FASTER, report, read=False)
                scrapy(SCRAPY, where, given.pages, report)
    compare(report)


def compare(report: Report) -> None:
    goals = ((WHOLE, SCRAPY_LIBRARY, 3.0), (WHOLE, SCRAPY_READS, None), (WHOLE, ALONE, 0.7), (BARE, SCRAPY, 5.0))
    for name, other, least in goals:
        ratio = report.ratio(name, other)
        if ratio is None:
            continue
        report.add(f"{name} : {other}", ratio=ratio, unhindered=report.ratio(name, other, "unhindered"))
        if least is not None:
            report.goal(f"P9 {name}: {ratio:.2f} x {other} (at least {least:g})", met=ratio >= least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default=POSTGRESQL, help="created and dropped; its name must contain 'bench'")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    report = Report("articles")
    uvloop.run(measure(given, report))
    report.show()
    print(report.write(given.json))


if __name__ == "__main__":
    main()
