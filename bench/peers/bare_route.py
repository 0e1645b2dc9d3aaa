"""The least that a FastAPI route can do for the same rows: the model, and our statements on a pool of raw connections.

One transaction for each request: the wall of tenants, the claim or the schedule, then run and entry of the trail.

python bench/peers/bare_route.py PORT      with DATABASE_URL; used by bench/doors.py
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from uuid_utils import uuid7

TENANT = "default"
SCOPE = "SELECT set_config('role', 'foliot_tenant', true), set_config('foliot.tenant', $1, true)"
CLAIM = (
    "INSERT INTO crawl_requests (tenant_id, fingerprint, job_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT DO NOTHING RETURNING job_id"
)
FIND = "SELECT job_id, created_at FROM crawl_requests WHERE tenant_id = $1 AND fingerprint = $2"
# Run and entry of the trail in one statement, as Foliot writes them.
BOTH = (
    "WITH made AS (INSERT INTO runs (id, tenant_id, user_id, schedule_id, open_of, version, kind, origin, state,"
    " ready_at, queue, lane, priority, order_key, max_attempts, timeout_seconds, created_at, action, parent_id)"
    " VALUES ($1, $2, $3, $4, $4, $5, $6, 'manual', 'queued', $7, $8, $8, 5, $9, 4, NULL, $7, $10, NULL))"
    " INSERT INTO trail (id, tenant_id, at, user_id, key_id, door, verb, thing, thing_id, was, became, waiting_of)"
    " VALUES ($11, $2, $7, 'local', NULL, 'rest', $12, $13, $14, NULL, $15, $2)"
)
# Shared: two who want a run of the same schedule do not wait for one another.
SCHEDULE = "SELECT * FROM schedules WHERE id = $1 AND tenant_id = $2 FOR SHARE"
AGEING = timedelta(seconds=120)


class Crawl(BaseModel):
    user_id: str
    spider: str
    start_urls: list[str]
    depth: int = 1
    params: dict[str, Any] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    url = os.environ["DATABASE_URL"].replace("+asyncpg", "")
    async with asyncpg.create_pool(url, min_size=10, max_size=20) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/crawl")
async def crawl(asked: Crawl) -> dict[str, Any]:
    fingerprint = hashlib.sha256(asked.model_dump_json().encode()).hexdigest()
    job, now = f"run_{uuid7().hex}", datetime.now(UTC)
    action = {"spider": asked.spider, "project": "DiscoveryBot", "start_urls": asked.start_urls, "depth": asked.depth}
    became = {"user_id": asked.user_id, "action": {"kind": "crawl", **action}}
    async with app.state.pool.acquire() as conn, conn.transaction():
        await conn.execute(SCOPE, TENANT)
        mine = await conn.fetchval(CLAIM, TENANT, fingerprint, job, now, now + timedelta(hours=1))
        if mine is None:
            found = await conn.fetchrow(FIND, TENANT, fingerprint)
            return {"job_id": found["job_id"], "scheduled": False, "cached": True, "cached_at": found["created_at"]}
        run = (job, TENANT, asked.user_id, None, None, "crawl", now, "scraping", now + AGEING, _text(action))
        await conn.execute(BOTH, *run, f"aud_{uuid7().hex}", "create", "crawl", job, _text(became))
    urls = {"logs_url": f"/jobs/{job}/logs", "status_url": f"/jobs/{job}/status"}
    return {"job_id": job, "scheduled": False, "cached": False, **urls}


@app.post("/api/schedules/{schedule_id}/run-now", status_code=202)
async def run_now(schedule_id: str) -> dict[str, Any]:
    job, now = f"run_{uuid7().hex}", datetime.now(UTC)
    async with app.state.pool.acquire() as conn, conn.transaction():
        await conn.execute(SCOPE, TENANT)
        schedule = await conn.fetchrow(SCHEDULE, schedule_id, TENANT)
        run = (job, TENANT, "local", schedule_id, schedule["version"], "webhook", now, "manual", now + AGEING, None)
        told = ("run_now", "schedule", schedule_id, _text({"run_id": job}))
        await conn.execute(BOTH, *run, f"aud_{uuid7().hex}", *told)
    names = ("id", "tenant_id", "user_id", "schedule_id", "schedule_version", "kind", "created_at", "queue")
    return {**dict(zip(names, run, strict=False)), "schedule_name": schedule["name"], "state": "queued", "attempt": 0}


def _text(document: dict[str, Any]) -> str:
    return orjson.dumps(document).decode()


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
