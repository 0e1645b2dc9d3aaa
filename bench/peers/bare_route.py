"""The least that a FastAPI route can do for the same rows: a pydantic model, and our statements on raw connections.

Concurrent writes are grouped as Foliot groups them: while one transaction is written, the next requests gather, and
one statement with arrays writes them all. Nothing is checked beyond the model, no trigger is computed, nothing is
encrypted. Reads run the same queries and encode the same rows.

python bench/peers/bare_route.py PORT      with DATABASE_URL; used by bench/interfaces.py
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import uvicorn
from fastapi import FastAPI, Response
from pydantic import BaseModel
from uuid_utils import uuid7

TENANT = "default"
SCOPE = "SELECT set_config('role', 'foliot_tenant', true), set_config('foliot.tenant', $1, true)"
CLAIM = (
    "INSERT INTO crawl_requests (tenant_id, fingerprint, job_id, created_at, expires_at)"
    " SELECT $1, f, j, $4, $5 FROM unnest($2::text[], $3::text[]) AS d(f, j) ON CONFLICT DO NOTHING RETURNING job_id"
)
# Rows and entries of the audit log in one statement, as Foliot writes them.
AUDIT = (
    " INSERT INTO trail (id, tenant_id, at, user_id, key_id, door, verb, thing, thing_id, was, became, waiting_of)"
    " SELECT e, $1, $2, 'local', NULL, 'rest', {verb}, {thing}, t, NULL, b, $1"
    " FROM unnest({arrays}) AS d(e, t, b)"
)
RUNS = (
    "WITH made AS (INSERT INTO runs (id, tenant_id, user_id, schedule_id, open_of, version, kind, origin, state,"
    " ready_at, queue, lane, priority, order_key, max_attempts, timeout_seconds, created_at, action, parent_id)"
    " SELECT i, $1, u, s, s, v, $3, 'manual', 'queued', $2, $4, $4, 5, $5, 4, NULL, $2, a, NULL"
    " FROM unnest($6::text[], $7::text[], $8::text[], $9::int[], $10::text[]) AS d(i, u, s, v, a))"
    + AUDIT.format(verb="$11", thing="$12", arrays="$13::text[], $14::text[], $15::text[]")
)
LAST_RUN = "UPDATE schedules SET last_run_at = $2 WHERE id = ANY($1::text[])"
SCHEDULES = "SELECT * FROM schedules WHERE id = ANY($1::text[]) AND tenant_id = $2 ORDER BY id FOR UPDATE"
VERSION = " INSERT INTO versions (schedule_id, version, tenant_id, spec, action, anchor, created_at, digest, same_as)"
SPAN = " INSERT INTO spans (id, schedule_id, open_of, tenant_id, start_at, version, active, reason)"
STORED = (
    " INSERT INTO stored (tenant_id, slot, bytes) VALUES ($1, 0, {bytes})"
    " ON CONFLICT (tenant_id, slot) DO UPDATE SET bytes = stored.bytes + excluded.bytes"
)
CREATE = (
    "WITH d AS (SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])"
    " AS d(i, n, s, a, g, p)),"
    " w1 AS (INSERT INTO schedules (id, tenant_id, user_id, name, description, tags, type, kind, status, version, spec,"
    " action, anchor, next_at, fired, paused_reason, managed_by, created_at, updated_at)"
    " SELECT i, $1, 'local', n, '', '', 'cron', 'webhook', 'active', 1, s, a, to_timestamp(0),"
    " $2::timestamptz + interval '9 days', 0, '', 'api', $2, $2"
    " FROM d),"
    f" w2 AS ({VERSION} SELECT i, 1, $1, s, a, to_timestamp(0), $2, g, NULL FROM d),"
    f" w3 AS ({SPAN} SELECT p, i, i, $1, $2, 1, true, '' FROM d),"
    f" w4 AS ({STORED.format(bytes='$9')})"
    + AUDIT.format(verb="'create'", thing="'schedule'", arrays="$10::text[], $3::text[], $11::text[]")
)
# A new version with the body of the first, the row, the end of its span and the next one.
TURN = (
    "WITH d AS (SELECT * FROM unnest($3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])"
    " AS d(i, v, n, s, g, p)),"
    f" w1 AS ({VERSION} SELECT i, v, $1, s, '{{}}', to_timestamp(0), $2, g, 1 FROM d),"
    " w2 AS (UPDATE schedules t SET version = v, description = n, status = $9,"
    " next_at = CASE WHEN $11::bool THEN t.next_at END, paused_reason = '', paused_at = $10,"
    " updated_at = $2, spec = s, gap_first = NULL, gap_reason = NULL FROM d WHERE t.id = d.i),"
    " w3 AS (UPDATE spans t SET end_at = $2, open_of = NULL FROM d WHERE t.open_of = d.i RETURNING 1),"
    f" w4 AS ({SPAN} SELECT p, i, i, $1, $2, v, $11, '' FROM d WHERE (SELECT count(*) FROM w3) >= 0),"
    f" w5 AS ({STORED.format(bytes='$12')})"
    + AUDIT.format(verb="$13", thing="'schedule'", arrays="$14::text[], $3::text[], $15::text[]")
)
LIST_RUNS = (
    "SELECT r.*, (SELECT name FROM schedules s WHERE s.id = r.schedule_id) AS schedule_name"
    " FROM runs r WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2"
)
LIST_SCHEDULES = "SELECT * FROM schedules WHERE tenant_id = $1 AND status <> 'deleted' ORDER BY id DESC LIMIT $2"
RUN = (
    "SELECT r.*, (SELECT name FROM schedules s WHERE s.id = r.schedule_id) AS schedule_name"
    " FROM runs r WHERE tenant_id = $1 AND id = $2"
)
ATTEMPTS = "SELECT * FROM attempts WHERE run_id = $1 ORDER BY epoch"
AGEING = timedelta(seconds=120)
DOCUMENTS = ("action", "result", "error", "handle", "progress")

Write = Callable[[Any, list[Any]], Awaitable[list[Any]]]


class Crawl(BaseModel):
    user_id: str
    spider: str
    start_urls: list[str]
    depth: int = 1
    params: dict[str, Any] = {}


class Webhook(BaseModel):
    kind: str
    url: str
    method: str = "POST"


class Schedule(BaseModel):
    name: str
    type: str
    cron_expr: str
    action: Webhook


class Patch(BaseModel):
    description: str


class Group:
    """While one group is written, the next one gathers."""

    def __init__(self, write: Write) -> None:
        self.write, self.waiting, self.busy = write, list[tuple[Any, asyncio.Future[Any]]](), False

    async def ask(self, request: Any) -> Any:
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((request, done))
        if not self.busy:
            self.busy = True
            try:
                while self.waiting:
                    group, self.waiting = self.waiting[:100], self.waiting[100:]
                    async with app.state.pool.acquire() as conn, conn.transaction():
                        await conn.execute(SCOPE, TENANT)
                        answers = await self.write(conn, [one for one, _ in group])
                    for (_, told), answer in zip(group, answers, strict=True):
                        told.set_result(answer)
            finally:
                self.busy = False
        return await done


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    url = os.environ["DATABASE_URL"].replace("+asyncpg", "")
    async with asyncpg.create_pool(url, min_size=10, max_size=20) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


def ids(prefix: str, count: int) -> list[str]:
    return [f"{prefix}_{uuid7().hex}" for _ in range(count)]


async def write_crawls(conn: Any, group: list[Crawl]) -> list[Any]:
    now, jobs = datetime.now(UTC), ids("run", len(group))
    prints = [hashlib.sha256(one.model_dump_json().encode()).hexdigest() for one in group]
    claimed = await conn.fetch(CLAIM, TENANT, prints, jobs, now, now + timedelta(hours=1))
    if len(claimed) != len(group):
        raise RuntimeError("an equal request")
    actions = [
        {"spider": one.spider, "project": "DiscoveryBot", "start_urls": one.start_urls, "depth": one.depth}
        for one in group
    ]
    became = [
        _text({"user_id": one.user_id, "action": {"kind": "crawl", **act}})
        for one, act in zip(group, actions, strict=True)
    ]
    users, texts, nothing = [one.user_id for one in group], [_text(one) for one in actions], [None] * len(group)
    rows = ("crawl", "scraping", now + AGEING, jobs, users, nothing, nothing, texts)
    await conn.execute(RUNS, TENANT, now, *rows, "create", "crawl", ids("aud", len(group)), jobs, became)
    return jobs


async def write_runs(conn: Any, group: list[str]) -> list[Any]:
    now, jobs, nothing = datetime.now(UTC), ids("run", len(group)), [None] * len(group)
    found = {row["id"]: row for row in await conn.fetch(SCHEDULES, sorted(set(group)), TENANT)}
    numbers, users = [found[one]["version"] for one in group], ["local"] * len(group)
    rows = ("webhook", "manual", now + AGEING, jobs, users, group, numbers, nothing)
    told = [_text({"run_id": job}) for job in jobs]
    await conn.execute(RUNS, TENANT, now, *rows, "run_now", "schedule", ids("aud", len(group)), group, told)
    await conn.execute(LAST_RUN, sorted(set(group)), now)
    return [
        {"id": job, "schedule_id": one, "schedule_name": found[one]["name"], "state": "queued", "created_at": now}
        for job, one in zip(jobs, group, strict=True)
    ]


async def write_schedules(conn: Any, group: list[Schedule]) -> list[Any]:
    now, made = datetime.now(UTC), ids("sch", len(group))
    specs = [
        _text({"trigger": {"type": one.type, "cron_expr": one.cron_expr}, "kind": one.action.kind}) for one in group
    ]
    actions = [_text(one.action.model_dump()) for one in group]
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in actions]
    became = [_text(one.model_dump()) for one in group]
    size = 2 * sum(len(spec) + len(act) for spec, act in zip(specs, actions, strict=True))
    columns = (made, [one.name for one in group], specs, actions, digests, ids("spa", len(group)))
    await conn.execute(CREATE, TENANT, now, *columns, size, ids("aud", len(group)), became)
    return [{"id": key, **one.model_dump(), "created_at": now} for key, one in zip(made, group, strict=True)]


async def turn(conn: Any, group: list[tuple[str, str]], state: tuple[str, bool], verb: str) -> list[Any]:
    """A new version of each, active or paused."""
    now = datetime.now(UTC)
    found = {row["id"]: row for row in await conn.fetch(SCHEDULES, sorted({one for one, _ in group}), TENANT)}
    rows = [found[one] for one, _ in group]
    specs, numbers = [row["spec"] for row in rows], [row["version"] + 1 for row in rows]
    digests = [hashlib.sha256(row["action"].encode()).hexdigest() for row in rows]
    became = [_text({"description": text, "version": number}) for (_, text), number in zip(group, numbers, strict=True)]
    status, active = state
    await conn.execute(
        TURN,
        *(TENANT, now, [one for one, _ in group], numbers, [text for _, text in group], specs, digests),
        *(ids("spa", len(group)), status, None if active else now),
        *(active, sum(map(len, specs)), verb, ids("aud", len(group)), became),
    )
    return [
        {**dict(row), "description": text, "version": number, "action": orjson.loads(row["action"])}
        for row, (_, text), number in zip(rows, group, numbers, strict=True)
    ]


async def write_patches(conn: Any, group: list[tuple[str, str]]) -> list[Any]:
    return await turn(conn, group, ("active", True), "patch")


async def write_pauses(conn: Any, group: list[tuple[str, str]]) -> list[Any]:
    return await turn(conn, group, ("paused", False), "pause")


crawls, runs, creates = Group(write_crawls), Group(write_runs), Group(write_schedules)
patches, pauses = Group(write_patches), Group(write_pauses)


@app.post("/crawl")
async def crawl(asked: Crawl) -> dict[str, Any]:
    job = await crawls.ask(asked)
    urls = {"logs_url": f"/jobs/{job}/logs", "status_url": f"/jobs/{job}/status"}
    return {"job_id": job, "scheduled": False, "cached": False, **urls}


@app.post("/api/schedules", status_code=201)
async def create(asked: Schedule) -> Response:
    return _answer(await creates.ask(asked), 201)


@app.post("/api/schedules/{schedule_id}/run-now", status_code=202)
async def run_now(schedule_id: str) -> Response:
    return _answer(await runs.ask(schedule_id), 202)


@app.patch("/api/schedules/{schedule_id}")
async def patch(schedule_id: str, asked: Patch) -> Response:
    return _answer(await patches.ask((schedule_id, asked.description)))


@app.post("/api/schedules/{schedule_id}/pause")
async def pause(schedule_id: str) -> Response:
    return _answer(await pauses.ask((schedule_id, "")))


@app.get("/api/runs")
async def list_runs(limit: int = 50) -> Response:
    return _answer({"items": await _read(LIST_RUNS, TENANT, limit), "next_cursor": None})


@app.get("/api/schedules")
async def list_schedules(limit: int = 50) -> Response:
    return _answer({"items": await _read(LIST_SCHEDULES, TENANT, limit), "next_cursor": None})


@app.get("/api/runs/{run_id}")
async def one_run(run_id: str) -> Response:
    async with app.state.pool.acquire() as conn, conn.transaction(isolation="repeatable_read"):
        await conn.execute(SCOPE, TENANT)
        run = _row(await conn.fetchrow(RUN, TENANT, run_id))
        return _answer({**run, "attempts": [_row(row) for row in await conn.fetch(ATTEMPTS, run_id)]})


async def _read(sql: str, *parameters: Any) -> list[dict[str, Any]]:
    async with app.state.pool.acquire() as conn, conn.transaction(isolation="repeatable_read"):
        await conn.execute(SCOPE, TENANT)
        return [_row(row) for row in await conn.fetch(sql, *parameters)]


def _row(row: Any) -> dict[str, Any]:
    made = dict(row)
    for name in DOCUMENTS:
        if made.get(name) is not None:
            made[name] = orjson.loads(made[name])
    return made


def _answer(body: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(body), status, media_type="application/json")


def _text(document: dict[str, Any]) -> str:
    return orjson.dumps(document).decode()


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
