"""Runs as people ask for them: lists, one with its attempts and events, dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.event import Event, EventType, Line
from foliot.domain.reading import rfc3339
from foliot.domain.run import CLAIMABLE, OPEN, Fence, Origin, RunState, order_key
from foliot.ports import AttemptView, DeadGroup, Page, RunRequest, RunView
from foliot.store.dialects import Dialect
from foliot.store.endings import cancel_runs
from foliot.store.logs import chunk_columns, unpack
from foliot.store.tables import attempts, log_chunks, runs

GROUP_IDS = 100


@dataclass(frozen=True, slots=True)
class SqlRuns:
    """What people ask of runs."""

    conn: AsyncConnection
    dialect: Dialect

    async def add(self, requests: Sequence[RunRequest], now: datetime) -> None:
        count = len(requests)
        columns: dict[str, list[Any]] = {
            "id": [request.id for request in requests],
            "tenant_id": [request.tenant_id for request in requests],
            "user_id": [request.user_id for request in requests],
            "schedule_id": [request.schedule_id for request in requests],
            "open_of": [request.schedule_id for request in requests],
            "version": [request.version for request in requests],
            "kind": [request.kind for request in requests],
            "origin": [request.origin.value for request in requests],
            "state": [RunState.QUEUED.value] * count,
            "ready_at": [now] * count,
            "queue": [request.queue for request in requests],
            "lane": [request.queue for request in requests],
            "priority": [request.priority for request in requests],
            "order_key": [order_key(now, request.priority) for request in requests],
            "max_attempts": [request.max_attempts for request in requests],
            "timeout_seconds": [request.timeout_seconds for request in requests],
            "created_at": [now] * count,
            "action": [None if request.action is None else dict(request.action) for request in requests],
            "parent_id": [request.parent_id for request in requests],
        }
        await self.dialect.insert(self.conn, runs, columns)

    async def get(self, tenant_id: str, run_id: str, *, lock: bool = False) -> RunView | None:
        query = select(runs).where(runs.c.id == run_id, runs.c.tenant_id == tenant_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _view(row)

    async def find(self, tenant_id: str, page: Page, **filters: str | None) -> list[RunView]:
        # A schedule has few of its tenant's runs; SQLite, which keeps no statistics, must not begin with the tenant.
        owner = func.coalesce(runs.c.tenant_id, "") if filters.get("schedule_id") else runs.c.tenant_id
        query = select(runs).where(owner == tenant_id)
        if page.cursor is not None:
            query = query.where(runs.c.id < page.cursor)
        query = _filtered(query, filters).order_by(runs.c.id.desc()).limit(page.limit)
        return [_view(row) for row in await self.conn.execute(query)]

    async def attempts(self, run_id: str) -> list[AttemptView]:
        query = select(attempts).where(attempts.c.run_id == run_id).order_by(attempts.c.epoch)
        return [
            AttemptView(
                epoch=row.epoch,
                number=row.number,
                worker=row.worker,
                outcome=row.outcome,
                started_at=row.started_at,
                ended_at=row.ended_at,
                error=row.error,
                response=row.response,
                retry_at=row.retry_at,
            )
            for row in await self.conn.execute(query)
        ]

    async def cancel(self, run_ids: Sequence[str], now: datetime, reason: str) -> int:
        return await cancel_runs(self.conn, self.dialect, run_ids, now, reason)

    async def open_ids(self, schedule_id: str, *, waiting_only: bool) -> list[str]:
        query = select(runs.c.id).where(runs.c.open_of == schedule_id)
        if waiting_only:
            query = query.where(runs.c.state.in_(sorted(CLAIMABLE)))
        return list((await self.conn.execute(query.order_by(runs.c.id))).scalars())

    async def dead_groups(self, tenant_id: str, page: Page, **filters: str | None) -> list[DeadGroup]:
        """Letters that failed alike stand together: same kind, same error."""
        newest = func.max(runs.c.id).label("newest")
        query = (
            select(
                runs.c.kind,
                runs.c.error,
                func.count(),
                func.min(runs.c.finished_at),
                func.max(runs.c.finished_at),
                newest,
            )
            .where(*_dead(tenant_id), *_narrowed(filters))
            .group_by(runs.c.kind, runs.c.error)
            .order_by(newest.desc())
            .limit(page.limit)
        )
        if page.cursor is not None:
            query = query.having(newest < page.cursor)
        groups = []
        for kind, error, count, first, last, _ in (await self.conn.execute(query)).all():
            wanted = select(runs.c.id).where(
                *_dead(tenant_id), *_narrowed(filters), runs.c.kind == kind, runs.c.error == error
            )
            ids = (await self.conn.execute(wanted.order_by(runs.c.id.desc()).limit(GROUP_IDS))).scalars()
            code, message = (error or {}).get("code", ""), (error or {}).get("message", "")
            groups.append(DeadGroup(code, message, kind, count, first, last, list(ids)))
        return groups

    async def dead_ids(self, tenant_id: str, limit: int, **filters: str | None) -> list[str]:
        query = select(runs.c.id).where(*_dead(tenant_id), ~_on_its_way(), *_narrowed(filters))
        return list((await self.conn.execute(query.order_by(runs.c.id).limit(limit))).scalars())

    async def events(self, run_id: str, after: int, limit: int) -> list[Event]:
        """Changes of state are told by the run and its attempts, lines by their chunks; together they have no gap."""
        row = (await self.conn.execute(select(runs).where(runs.c.id == run_id))).first()
        if row is None or row.event_seq <= after:
            return []
        found = [event for event in await self._states(row) if event.seq > after]
        lines: list[Event] = []
        query = select(log_chunks.c.first_seq, log_chunks.c.data).where(
            log_chunks.c.run_id == run_id, log_chunks.c.last_seq > after, log_chunks.c.first_seq <= after + limit
        )
        # A chunk holds at least one line, so `limit` chunks hold all that can be answered.
        for first_seq, data in await self.conn.execute(query.order_by(log_chunks.c.first_seq).limit(limit)):
            lines += [event for event in unpack(data, first_seq) if event.seq > after]
            if len(lines) >= limit:
                break
        return sorted([*found, *lines], key=lambda event: event.seq)[:limit]

    async def _states(self, row: Any) -> list[Event]:
        told = [Event(1, row.created_at, EventType.STATE, state=RunState.QUEUED.value)]
        query = select(attempts).where(attempts.c.run_id == row.id).order_by(attempts.c.epoch)
        for ended in await self.conn.execute(query):
            told.append(_state(ended.started_seq, ended.started_at, RunState.RUNNING, ended.number))
            told.append(_state(ended.ended_seq, ended.ended_at, ended.state, ended.number, ended.error, ended.retry_at))
        numbers = {event.seq for event in told}
        if row.started_seq is not None and row.started_seq not in numbers:
            told.append(_state(row.started_seq, row.attempt_at, RunState.RUNNING, row.attempt))
        if row.final_seq is not None and row.final_seq not in numbers:
            told.append(_state(row.final_seq, row.finished_at, row.state, row.attempt or None, row.error))
        return told

    async def append(self, entries: Sequence[tuple[Fence, Sequence[Line]]]) -> set[str]:
        by_id = dict(zip((fence.run_id for fence, _ in entries), entries, strict=True))
        query = select(runs.c.id, runs.c.tenant_id, runs.c.epoch, runs.c.token, runs.c.event_seq)
        query = query.where(self.dialect.among(runs.c.id, list(by_id)), runs.c.state == RunState.RUNNING)
        held = []
        for row in await self.conn.execute(self.dialect.lock(query.order_by(runs.c.id))):
            fence, lines = by_id[row.id]
            if (row.epoch, row.token) == (fence.epoch, fence.token):
                held.append((row, lines))
        if not held:
            return set()
        chunks = chunk_columns([(row.id, row.tenant_id, row.event_seq, lines) for row, lines in held])
        await self.dialect.insert(self.conn, log_chunks, chunks)
        keys = {"id": [row.id for row, _ in held], "epoch": [row.epoch for row, _ in held]}
        seqs = [row.event_seq + len(lines) for row, lines in held]
        await self.dialect.update(self.conn, runs, keys, {"event_seq": seqs})
        return {row.id for row, _ in held}


def _view(row: Any) -> RunView:
    return RunView(
        id=row.id,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        schedule_id=row.schedule_id,
        version=row.version,
        kind=row.kind,
        origin=Origin(row.origin),
        state=RunState(row.state),
        scheduled_for=row.scheduled_for,
        ready_at=row.ready_at,
        queue=row.queue,
        priority=row.priority,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        worker=row.worker,
        cancel_requested=row.cancel_requested,
        buffered=row.buffered_of is not None,
        event_seq=row.event_seq,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        result=row.result,
        error=row.error,
        parent_id=row.parent_id,
        resolved_by=row.resolved_by,
        action=row.action,
    )


def _state(
    seq: int, at: datetime, state: str, attempt: int | None, error: Any = None, retry_at: datetime | None = None
) -> Event:
    data = {"error": error} if error else {}
    if retry_at is not None:
        data["retry_at"] = rfc3339(retry_at)
    message = error.get("message", "") if error else ""
    return Event(seq, at, EventType.STATE, state=str(state), attempt=attempt, message=message, data=data or None)


def _filtered(query: Select[Any], filters: dict[str, str | None]) -> Select[Any]:
    if status := filters.get("status"):
        query = query.where(runs.c.state.in_(status.split(",")))
    for name in ("schedule_id", "kind", "queue"):
        if filters.get(name):
            query = query.where(runs.c[name] == filters[name])
    return query


def _dead(tenant_id: str) -> tuple[Any, ...]:
    return (runs.c.tenant_id == tenant_id, runs.c.state == RunState.DEAD_LETTER, runs.c.resolved_by.is_(None))


def _on_its_way() -> Any:
    """A letter whose replay has not ended is not sent again by whoever asks for all of them."""
    replay = runs.alias("replay")
    return select(replay.c.id).where(replay.c.parent_id == runs.c.id, replay.c.state.in_(sorted(OPEN))).exists()


def _narrowed(filters: dict[str, str | None]) -> list[Any]:
    """`filters`: kind, schedule_id, code."""
    narrowed = [runs.c[name] == filters[name] for name in ("kind", "schedule_id") if filters.get(name)]
    if code := filters.get("code"):
        # Errors are stored with their code first, always written the same way.
        narrowed.append(func.substr(runs.c.error, 1, len(_code(code))) == _code(code))
    return narrowed


def _code(code: str) -> str:
    return '{"code":' + orjson.dumps(code).decode() + ","
