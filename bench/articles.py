"""P9, Q9: articles per second from the request to the last final row, beside Scrapy, in one run.

    python bench/articles.py [--database URL] [--pages 1000] [--repeats 3]

FOLIOT              the whole path: submitted, taken, fetched through egress, read in processes, written; PostgreSQL
FOLIOT, not read    the same, but what was fetched is not read
LIBRARY ALONE       trafilatura as its manual has it, fast, with metadata, over pages in memory, a process for each core
EXTRACTOR ALONE     the same with the function that Foliot uses, which does less for the same fields
SCRAPY              fetches the same pages; writes nothing
SCRAPY + LIBRARY    and reads them with trafilatura as its manual has it
SCRAPY + EXTRACTOR  and reads them with the function that Foliot uses
2 x SCRAPY + …      the same in two processes at once, each with half of the pages

Host limits are off on all sides. Server, database and all processes share the cores. Processes are warm on all sides.
Foliot has one process that is asked, and workers: one where pages are read, for readers are processes already; as many
as there are cores where they are not; each has up to 128 requests under way. Scrapy is one process and has 64: more
make it slower (the last argument of `bench/peers/scrapy_pages.py`).

`cpu_us` is the processor time that a page takes in all processes of a side: those that fetch, those that read, those of
the database; not in the server of the pages, which is the same for all. `unhindered` is what it comes to per second on
cores that nobody else uses: Scrapy has one of them, the others all. Where others use the machine, that ratio says more
than the one of the wall clock.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import uvloop
from database import POSTGRESQL, BenchDatabase, bench_database
from measuring import Report, Stopwatch, child, children_cpu
from pages import PAGES, page, serving
from peers.reading import library
from scraping import Used, engine, workers

from foliot.cli.process import calm_memory
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.engine.model.node import NodeRole
from foliot.features.articles.model import MOST_ARTICLES
from foliot.features.articles.usecases import Articles
from foliot.features.runs.usecases.runs import Runs
from foliot.pages.article import extract

WHOLE, BARE = "FOLIOT", "FOLIOT, not read"
ALONE, LIBRARY = "EXTRACTOR ALONE", "LIBRARY ALONE"
SCRAPY, SCRAPY_LIBRARY, SCRAPY_READS = "SCRAPY", "SCRAPY + LIBRARY", "SCRAPY + EXTRACTOR"
TWO_READ = "2 x SCRAPY + EXTRACTOR"
SCRAPY_ARGUMENTS = {SCRAPY: [], SCRAPY_LIBRARY: ["library"], SCRAPY_READS: ["ours"]}
TABLES = ("articles", "items", "article_jobs", "hosts", "runs", "attempts", "log_chunks")
WARM = 40
URL = "https://news.example/"
CORES = os.cpu_count() or 1
FASTER = 9
"""Without reading, so many times more pages are fetched, up to what a job may have: a sample takes about as long."""


async def ours(base: BenchDatabase, where: str, count: int, report: Report, *, read: bool) -> None:
    await base.empty(*TABLES)
    many = 1 if read else CORES
    async with AsyncExitStack() as stack:
        cases = await engine(stack, base.url, NodeRole.UP)
        hands = stack.enter_context(workers(many, base.url, read=read))
        await _through(base, cases, [f"{where}{number}" for number in range(count, count + WARM)])
        await base.settle(*TABLES[:2])
        calm_memory()
        watch = Stopwatch()
        before = [hand.used for hand in hands]
        watch.start(await base.server_cpu())
        result = await _through(base, cases, [f"{where}{number}" for number in range(count)])
        watch.stop()
        used = [hand.used.since(earlier) for hand, earlier in zip(hands, before, strict=True)]
        watch.charge(await base.server_cpu())
        if result != {"total": count, "completed": count, "cached": 0, "failed": 0}:
            raise AssertionError(f"{count} articles were asked for: {result}")
        await _verify(base, count + WARM, read=read)
    _told(WHOLE if read else BARE, count, watch, used, report)


def _told(name: str, count: int, watch: Stopwatch, used: list[Used], report: Report) -> None:
    """What it took: of who was asked, of who fetched, of who read, and of the database."""
    readers, fetchers = sum(one.readers for one in used), sum(one.own for one in used)
    whole = watch.client + fetchers + readers + (watch.server or 0.0)
    report.time(name, count, watch)
    report.add(name, fetchers_cpu_us=fetchers / count * 1e6, readers_cpu_us=readers / count * 1e6)
    report.add(name, cpu_us=whole / count * 1e6)
    # None of the processes can have more than a core.
    busiest = max(watch.client, *(one.own for one in used))
    report.add(name, unhindered=min(count / busiest, CORES * count / whole))
    _say(name, count / watch.wall, whole / count * 1e6)


async def _through(base: BenchDatabase, cases: UseCases, urls: list[str]) -> Any:
    """Submit them, wait for the end of the job, and give its result."""
    made = await cases[Articles].submit(LOCAL, {"articles": urls})
    ended = "SELECT 1 FROM runs WHERE id = ? AND finished_at IS NOT NULL"
    while not await base.rows(ended, [made.run.id]):  # noqa: ASYNC110 -- an event would come from what is measured
        await asyncio.sleep(0.1)
    return (await cases[Runs].get(LOCAL, made.run.id)).result


async def _verify(base: BenchDatabase, count: int, *, read: bool) -> None:
    """Each article was scraped by one attempt, and has its text."""
    text = " AND length(content) > 1000" if read else ""
    sql = f"SELECT count(*) FROM articles WHERE status = 'scraped' AND attempt = 1{text}"
    found = (await base.rows(sql))[0][0]
    if found != count:
        raise AssertionError(f"{found} of {count} articles were scraped at the first attempt")


def _ours(body: bytes) -> bool:
    return "content" in extract(body, "text/html; charset=utf-8", URL)


def _librarys(body: bytes) -> bool:
    return bool(library(body.decode(), URL))


def _read_all(reads: Callable[[bytes], bool], bodies: list[bytes]) -> int:
    return sum(map(reads, bodies))


def alone(name: str, count: int, report: Report) -> None:
    reads = _ours if name == ALONE else _librarys
    bodies = [page(number).encode() for number in range(PAGES)]
    shares = [[bodies[number % PAGES] for number in range(core, count, CORES)] for core in range(CORES)]
    with ProcessPoolExecutor(CORES) as pool:
        list(pool.map(_read_all, [reads] * CORES * 2, [bodies[:5]] * CORES * 2))
        spent, began = children_cpu(), perf_counter()
        read = sum(pool.map(_read_all, [reads] * CORES, shares))
        wall, spent = perf_counter() - began, children_cpu() - spent
    if read != count:
        raise AssertionError(f"{read} of {count} pages were read")
    report.add(name, per_second=count / wall, cpu_us=spent / count * 1e6, unhindered=CORES * count / spent)
    _say(name, count / wall, spent / count * 1e6)


def scrapy(name: str, where: str, count: int, report: Report) -> None:
    if find_spec("scrapy") is None:
        report.note("Scrapy is not installed and is left out: pip install -e '.[bench]'")
        return
    answer = child(["peers/scrapy_pages.py", where, str(count), *SCRAPY_ARGUMENTS[name]])
    report.add(name, **answer, unhindered=1e6 / answer["cpu_us"])
    _say(name, answer["per_second"], answer["cpu_us"])


def two_scrapys(where: str, count: int, report: Report) -> None:
    """Both start at the same time; their rates add up, because each measures its own pages only."""
    if find_spec("scrapy") is None:
        return
    command = ["peers/scrapy_pages.py", where, str(count // 2), *SCRAPY_ARGUMENTS[SCRAPY_READS]]
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(child, [command, command]))
    rate = sum(answer["per_second"] for answer in answers)
    cpu_us = sum(answer["cpu_us"] for answer in answers) / len(answers)
    report.add(TWO_READ, per_second=rate, cpu_us=cpu_us, unhindered=2e6 / cpu_us)
    _say(TWO_READ, rate, cpu_us)


def _say(name: str, per_second: float, cpu_us: float) -> None:
    print(f"  {name:20}{per_second:>10,.0f}/s{cpu_us:>12,.0f} us of processor time for each", flush=True)


async def measure(given: Any, report: Report) -> None:
    async with bench_database(given.database) as base:
        with serving() as where:
            for _ in range(given.repeats):
                await ours(base, where, given.pages, report, read=True)
                alone(ALONE, given.pages, report)
                alone(LIBRARY, given.pages, report)
                scrapy(SCRAPY_LIBRARY, where, given.pages // 2, report)
                scrapy(SCRAPY_READS, where, given.pages // 2, report)
                two_scrapys(where, given.pages, report)
                await ours(base, where, min(given.pages * FASTER, MOST_ARTICLES), report, read=False)
                scrapy(SCRAPY, where, given.pages, report)
    compare(report)


def compare(report: Report) -> None:
    goals = (
        ("Q9", WHOLE, SCRAPY_LIBRARY, 3.0),
        ("P9", WHOLE, SCRAPY_READS, 3.0),
        ("Q9", WHOLE, TWO_READ, 1.5),
        ("P9", WHOLE, LIBRARY, 0.7),
        ("P9", WHOLE, ALONE, 0.7),
        ("Q9", BARE, SCRAPY, 5.0),
    )
    for goal, name, other, least in goals:
        ratio = report.ratio(name, other)
        if ratio is None:
            continue
        report.add(f"{name} : {other}", ratio=ratio, unhindered=report.ratio(name, other, "unhindered"))
        report.goal(f"{goal} {name}: {ratio:.2f} x {other} (at least {least:g})", met=ratio >= least)
    for other in (SCRAPY_LIBRARY, SCRAPY_READS):
        if (theirs := report.ratio(other, WHOLE, "cpu_us")) is not None:
            report.goal(f"Q9 {WHOLE}: {theirs:.2f} x {other} per CPU second (at least 2)", met=theirs >= 2)


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
