"""Many crawls that go on at once, watched by one real worker process: each log is whole, and memory stays flat.

No machine of a test runs so many spiders, so their Scrapyd is made up; everything on our side is real.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from tests.acceptance.house import SECONDS, House
from tests.givens import ask, request
from tests.services import wait_until

CRAWLS, ROUNDS, LINES = int(os.environ.get("WATCHED_CRAWLS", "300")), 3, 20
"""`WATCHED_CRAWLS=1000` is the number that is promised; it differs in time alone."""
HEAD = b"2027-01-04 12:00:00 [scrapy.core.engine] "
CLOSED = (
    b"2027-01-04 12:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n"
    b"{'finish_reason': 'finished',\n 'item_scraped_count': 1,\n 'response_received_count': 1}\n"
    + HEAD
    + b"INFO: Spider closed (finished)\n"
)
ENDED = "SELECT state, attempt, count(*) FROM runs GROUP BY state, attempt"
SAID = "SELECT count(*), min(event_seq) FROM runs WHERE state = 'running'"
UNHEARD = "SELECT count(*) FROM runs WHERE handle IS NULL OR event_seq < {least}"

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(300),
    pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True),
]


class Busy:
    """A Scrapyd with many spiders that all say the same."""

    def __init__(self) -> None:
        self.jobs: Counter[str] = Counter()
        self.state = "running"
        self.said = b""
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(SECONDS)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)

    def say(self, number: int) -> None:
        self.said += b"".join(
            HEAD + b"DEBUG: Crawled (200) <GET http://x/%d/%d>\n" % (number, one) for one in range(LINES)
        )

    def close(self) -> None:
        self.said += CLOSED
        self.state = "finished"

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application()
        app.router.add_route("*", "/{what}{rest:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        self._loop.run_until_complete(web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start())
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _answer(self, asked: web.Request) -> web.StreamResponse:
        what = asked.match_info["what"].partition("/")[0]
        if what == "logs":
            return self._part(asked)
        if what == "items":
            return web.Response(status=404)
        if what == "schedule.json":
            job = str((await asked.post())["jobid"])
            self.jobs[job] += 1
            return web.json_response({"status": "ok", "jobid": job})
        if what == "listjobs.json":
            listed: dict[str, list[dict[str, str]]] = {"pending": [], "running": [], "finished": []}
            listed[self.state] = [{"id": one} for one in self.jobs]
            return web.json_response({"status": "ok", **listed})
        return web.json_response({"status": "ok", "pending": 0, "running": len(self.jobs), "finished": 0})

    def _part(self, asked: web.Request) -> web.Response:
        start, _, end = asked.headers["Range"].removeprefix("bytes=").partition("-")
        total = len(self.said)
        first, last = (int(start), min(int(end), total - 1)) if start else (max(total - int(end), 0), total - 1)
        if first >= total:
            return web.Response(status=416, headers={"Content-Range": f"bytes */{total}"})
        return web.Response(
            status=206, body=self.said[first : last + 1], headers={"Content-Range": f"bytes {first}-{last}/{total}"}
        )


@pytest.fixture
def busy() -> Iterator[Busy]:
    made = Busy()
    made.start()
    yield made
    made.stop()


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        engine = create_async_engine(url)
        async with engine.connect() as connection:
            found = [tuple(row) for row in await connection.execute(text(query))]
        await engine.dispose()
        return found

    return asyncio.run(read())


def none_of(url: str, query: str) -> bool:
    return rows(url, query) == [(0,)]


def crawls(url: str) -> None:
    """All of them, asked for at once."""
    action = {"kind": "crawl", "spider": "any", "start_urls": ["http://127.0.0.1:9/"], "depth": 1, "project": "any"}

    async def write() -> None:
        store = Database(url)
        async with store.read() as tx:
            now = await SqlRetention(tx).time()
        await ask(store, now, *(request(kind="crawl", action=action) for _ in range(CRAWLS)))
        await store.close()

    asyncio.run(write())


def memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def test_one_process_watches_many_crawls_with_flat_memory(house: House, busy: Busy, server_database_url: str) -> None:
    house.environ |= {
        "DATABASE_URL": server_database_url,
        "SCRAPYD_URL": busy.url,
        "FOLIOT_CRAWL_POLL_SECONDS": "1",
        "FOLIOT_LOG_LEVEL": "warning",
        "FOLIOT_EGRESS_ALLOW": "127.0.0.0/8",
    }
    assert house.run("migrate").returncode == 0
    crawls(server_database_url)
    worker = house.start("worker")
    held = []
    for number in range(1, ROUNDS + 1):
        busy.say(number)
        unheard = UNHEARD.format(least=number * LINES)
        heard = wait_until(partial(none_of, server_database_url, unheard), seconds=SECONDS)
        assert heard, f"{rows(server_database_url, SAID)} {house.log.read_text()[-2000:]}"
        held.append(memory(worker.pid))
    busy.close()

    assert wait_until(lambda: rows(server_database_url, ENDED) == [("success", 1, CRAWLS)], seconds=SECONDS)
    assert set(busy.jobs.values()) == {1}
    assert len(busy.jobs) == CRAWLS
    assert held[-1] < held[0] * 1.1, held
    print(f"memory of the worker after each round: {', '.join(f'{each:.0f} MB' for each in held)}")
