"""The least that a FastAPI route can do for the same rows: the model, and our statements on a pool of raw connections.

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
from uuid import uuid4

import asyncpg
import orjson
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

TENANT = "default"
SCOPE = "SELECT set_config('role', 'foliot_tenant', true), set_config('foliot.tenant', $1, true)"
FIND = "SELECT job_id, created_at, expires_at FROM crawl_requests WHERE tenant_id = $1 AND fingerprint = $2"
REQUEST = (
    "INSERT INTO crawl_requests (tenant_id, fingerprint, job_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)"
    " ON CONFLICT DO NOTHING"
)
RUN = (
    "INSERT INTO runs (id, tenant_id, user_id, schedule_id, open_of, version, kind, origin, state, ready_at, queue,"
    " lane, priority, order_key, max_attempts, timeout_seconds, created_at, action)"
    " VALUES ($1, $2, $3, $4, $4, $5, $6, 'manual', 'queued', $7, $8, $8, 5, $9, 4, NULL, $7, $10)"
)
TRAIL = (
    "INSERT INTO trail (id, tenant_id, at, user_id, door, verb, thing, thing_id, became, waiting_of)"
    " VALUES ($1, $2, $3, 'local', 'rest', $4, $5, $6, $7, $2)"
)
READ = "SELECT * FROM runs WHERE id = $1 AND tenant_id = $2"
SCHEDULE = "SELECT * FROM schedules WHERE id = $1 AND tenant_id = $2 FOR UPDATE"


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
    async with app.state.pool.acquire() as conn:
        async with conn.transaction():
            await conn.execute(SCOPE, TENANT)
            found = await conn.fetchrow(FIND, TENANT, fingerprint)
        if found is not None:
            return {"job_id": found["job_id"], "scheduled": False, "cached": True, "cached_at": found["created_at"]}
        job, now = f"run_{uuid4().hex}", datetime.now(UTC)
        action = orjson.dumps({"kind": "crawl", **asked.model_dump()}).decode()
        async with conn.transaction():
            await conn.execute(SCOPE, TENANT)
            await conn.execute(REQUEST, TENANT, fingerprint, job, now, now + timedelta(hours=1))
            await conn.fetchrow(f"{FIND} FOR UPDATE", TENANT, fingerprint)
            await conn.execute(RUN, job, TENANT, asked.user_id, None, None, "crawl", now, "scraping", now, action)
            await conn.execute(TRAIL, f"aud_{uuid4().hex}", TENANT, now, "create", "crawl", job, action)
            await conn.fetchrow(READ, job, TENANT)
    return {"job_id": job, "scheduled": False, "cached": False, "logs_url": f"/jobs/{job}/logs"}


@app.post("/api/schedules/{schedule_id}/run-now", status_code=202)
async def run_now(schedule_id: str) -> dict[str, Any]:
    job, now = f"run_{uuid4().hex}", datetime.now(UTC)
    async with app.state.pool.acquire() as conn, conn.transaction():
        await conn.execute(SCOPE, TENANT)
        schedule = await conn.fetchrow(SCHEDULE, schedule_id, TENANT)
        await conn.execute(
            RUN, job, TENANT, "local", schedule_id, schedule["version"], "webhook", now, "manual", now, None
        )
        run = await conn.fetchrow(READ, job, TENANT)
        await conn.execute(TRAIL, f"aud_{uuid4().hex}", TENANT, now, "run_now", "schedule", schedule_id, "{}")
    return {name: value for name, value in run.items() if name != "result"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
