"""APScheduler 3 on an event loop, its jobs on PostgreSQL, webhooks by aiohttp: many due at one instant.

argv: database URL, how many, URL of the receiver. Prints one JSON object.
"""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

import aiohttp
import uvloop
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import make_url

LONGEST = 120
AT_ONCE = 64
done: list[float] = []
sessions: list[aiohttp.ClientSession] = []


async def call(url: str) -> None:
    async with sessions[0].post(url, json={"job": "orders", "full": False}) as answer:
        await answer.read()
        answer.raise_for_status()
    done.append(time.time())


def scheduler(url: str) -> Any:
    database = make_url(url).set(drivername="postgresql+psycopg")
    store = SQLAlchemyJobStore(database.render_as_string(hide_password=False), tablename="apscheduler_webhooks")
    return AsyncIOScheduler(jobstores={"default": store}, executors={"default": AsyncIOExecutor()}, timezone="UTC")


async def main(url: str, count: int, target: str) -> dict[str, float]:
    from peers import apscheduler3_webhooks as running  # its jobs run in the imported module, not in this one

    running.sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)))
    filling = scheduler(url)
    filling.start(paused=True)
    filling.remove_all_jobs()
    due = time.time() + 3 + count * 0.002
    moment = datetime.fromtimestamp(due, UTC)
    trigger = IntervalTrigger(hours=1, start_date=moment, timezone="UTC")
    name = "peers.apscheduler3_webhooks:call"
    for at in range(count):
        filling.add_job(name, trigger, [target], id=str(at), next_run_time=moment, misfire_grace_time=3600)
    filling.shutdown()
    firing = scheduler(url)
    firing.start()
    due = max(due, time.time())
    await asyncio.sleep(due - time.time())
    used = time.process_time()
    while len(running.done) < count and time.time() < due + LONGEST:  # noqa: ASYNC110 -- jobs tell only a list
        await asyncio.sleep(0.01)
    last = max(running.done) - due
    cpu = (time.process_time() - used) / count * 1e6
    return {"per_second": len(running.done) / last, "last_s": last, "client_cpu_us": cpu}


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 -- where `child` starts us
    print(json.dumps(uvloop.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))), flush=True)
    os._exit(0)
