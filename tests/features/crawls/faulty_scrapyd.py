"""What test_crawl_faults.py and test_crawl_bounds.py share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from foliot.engine.model.run import Failed, Outcome, Parked
from foliot.testing import StoppedClock
from tests.following import PACE, Followed

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Faulty:
    """Answers as Scrapyd does, except where it was told otherwise."""

    jobs: dict[str, str] = field(default_factory=dict)
    files: dict[str, Callable[[int, int], bytes] | bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Of files that are made up as they are read."""
    instead: dict[str, Answer] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    items_url: str | None = "/items/x.jl"
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        what = request.path.strip("/").partition("/")[0]
        self.asked[what] += 1
        if what in self.instead:
            return await self.instead[what](request)
        if what in ("logs", "items"):
            return self.part(request)
        return web.json_response({"status": "ok", **getattr(self, what.removesuffix(".json"))(await request.post())})

    def daemonstatus(self, _: Any) -> dict[str, Any]:
        return {"pending": 0, "running": len(self.jobs), "finished": 0}

    def listjobs(self, _: Any) -> dict[str, Any]:
        return {
            state: [{"id": job, "items_url": self.items_url} for job, its in self.jobs.items() if its == state]
            for state in ("pending", "running", "finished")
        }

    def schedule(self, form: Any) -> dict[str, Any]:
        self.jobs[form["jobid"]] = "running"
        return {"jobid": form["jobid"]}

    def cancel(self, form: Any) -> dict[str, Any]:
        return {"prevstate": self.jobs.get(form["job"])}

    def part(self, request: web.Request) -> web.StreamResponse:
        kind = request.path.strip("/").partition("/")[0]
        content = self.files.get(kind)
        if content is None:
            return web.Response(status=404)
        total = self.sizes[kind] if callable(content) else len(content)
        start, _, end = request.headers["Range"].removeprefix("bytes=").partition("-")
        first, last = (int(start), int(end)) if start else (max(total - int(end), 0), total)
        if first >= total:
            return web.Response(status=416, headers={"Content-Range": f"bytes */{total}"})
        last = min(last, total - 1)
        body = content(first, last + 1) if callable(content) else content[first : last + 1]
        self.sent += len(body)
        return web.Response(status=206, body=body, headers={"Content-Range": f"bytes {first}-{last}/{total}"})


def code(outcome: Outcome | None) -> str:
    assert isinstance(outcome, Failed), outcome
    return outcome.problem.code


async def lost(run: Followed, clock: StoppedClock) -> Outcome:
    """Looks until it is too late; the crawl is not given up before."""
    assert isinstance(await run.look(), Parked)
    clock.advance(PACE.lost_after / 2)
    assert isinstance(await run.look(), Parked)
    clock.advance(PACE.lost_after)
    return await run.look()


async def hangs(_: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    raise AssertionError
