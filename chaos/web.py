"""The web of a campaign: pages for articles and pipelines, and a Scrapyd whose spiders finish within two seconds.

Every page that was fetched and every spider that was started is written down before it is answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from aiohttp import web

PAGE = "<html><head><title>Bread</title></head><body><article>{}</article></body></html>"
WORDS = "<p>Prices of bread rose by a tenth over the summer, and bakers expect more of the same before spring.</p>"
RUNS = 1.5
"""Seconds that a spider takes."""
HEAD = b"2027-01-04 12:00:00 [scrapy.core.engine] "
LOG = HEAD + b"DEBUG: Crawled (200) <GET http://x/>\n"
CLOSED = (
    b"2027-01-04 12:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n"
    b"{'downloader/response_count': 1,\n 'finish_reason': 'finished',\n 'item_scraped_count': 1,\n"
    b" 'response_received_count': 1}\n" + HEAD + b"INFO: Spider closed (finished)\n"
)


class Web:
    """Pages below `/page`, a JSON list at `/items`, and Scrapyd's API."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.jobs: dict[str, float] = {}

    def note(self, **what: str) -> None:
        os.write(self.fd, (json.dumps({**what, "seen": time.time()}) + "\n").encode())
        os.fsync(self.fd)

    async def answer(self, asked: web.Request) -> web.StreamResponse:
        what = asked.path.strip("/").partition("/")[0]
        if what in {"page", "list"}:
            self.note(page=asked.path)
            if what == "list":
                return web.json_response([{"n": 1}, {"n": 2}])
            return web.Response(text=PAGE.format(WORDS * 12), content_type="text/html")
        return self.part(asked) if what == "logs" else await self.scrapyd(what, asked)

    async def scrapyd(self, what: str, asked: web.Request) -> web.Response:
        listed = self.listed()
        if what == "schedule.json":
            job = str((await asked.post())["jobid"])
            self.note(job=job)
            self.jobs.setdefault(job, time.monotonic())
            return web.json_response({"status": "ok", "jobid": job})
        if what == "listjobs.json":
            return web.json_response({"status": "ok", "pending": [], **listed})
        if what == "daemonstatus.json":
            return web.json_response(
                {"status": "ok", "pending": 0, **{name: len(jobs) for name, jobs in listed.items()}}
            )
        return web.Response(status=404)

    def listed(self) -> dict[str, list[dict[str, str]]]:
        now = time.monotonic()
        return {
            "running": [{"id": job} for job, since in self.jobs.items() if now - since < RUNS],
            "finished": [{"id": job} for job, since in self.jobs.items() if now - since >= RUNS],
        }

    def part(self, asked: web.Request) -> web.Response:
        """A range of a job's log: a line while it runs, its statistics afterwards."""
        since = self.jobs.get(asked.path.rpartition("/")[2].removesuffix(".log"))
        if since is None:
            return web.Response(status=404)
        text = LOG + (CLOSED if time.monotonic() - since >= RUNS else b"")
        start, _, end = asked.headers["Range"].removeprefix("bytes=").partition("-")
        total = len(text)
        first, last = (int(start), min(int(end), total - 1)) if start else (max(total - int(end), 0), total - 1)
        if first >= total:
            return web.Response(status=416, headers={"Content-Range": f"bytes */{total}"})
        span = {"Content-Range": f"bytes {first}-{last}/{total}"}
        return web.Response(status=206, body=text[first : last + 1], headers=span)


async def main(port: int, path: str) -> None:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", Web(path).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
