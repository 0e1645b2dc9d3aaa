"""Statements of the interfaces on runs: lists, one run with its attempts and events, dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import func, select, update

from foliot.core.document import rfc3339
from foliot.db.database import Statements, Transaction
from foliot.db.dialects import Batch
from foliot.engine.model.dead_letter_sort import DeadLetterSort
from foliot.engine.model.run import CLAIMABLE, Event, EventLine, EventType, Fence, Origin, RunState, order_key
from foliot.engine.model.views import AttemptView, DeadLetterGroupView, PageRequest, RunRequest, RunView
from foliot.engine.sql import run_items, tenant_limits
from foliot.engine.sql.dead_letter_order import in_group_order
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.leases import fenced
from foliot.engine.sql.log_chunks import LogChunkWriter, position_columns, unpack
from foliot.engine.sql.run_rows import attempt_of, ended_attempts, last_run, one_run, run_pages, several_runs, view_of
from foliot.engine.sql.tables import attempts, log_chunks, runs

GROUP_IDS = 100


@dataclass(frozen=True, slots=True)
class SqlRuns(Statements):
    """Statements of the interfaces on runs."""

    async def add(self, requests: Sequence[RunRequest], now: datetime, beside: Batch | None = None) -> None:
        """Insert runs, and rows of another table with them; by one statement where the database can."""
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
            "action": [self._sealed(request) for request in requests],
            "parent_id": [request.parent_id for request in requests],
            "fills": [request.fills for request in requests],
        }
        columns = run_items.without_lane(columns, columns["kind"])
        columns = run_items.born_parked(columns, requests, now)
        if beside is not None:
            await self.dialect.insert_all(self.conn, [(runs, columns, ""), (*beside, "")])
        else:
            await self.dialect.insert(self.conn, runs, columns)
        payloads = zip(columns["tenant_id"], columns["action"], strict=True)
        await tenant_limits.add_payloads(self.conn, self.dialect, list(payloads))
        await self._note_last_run(requests, now)

    def _sealed(self, request: RunRequest) -> dict[str, Any] | None:
        if request.action is None or self.sealer is None:
            return None if request.action is None else dict(request.action)
        return self.sealer.seal(request.tenant_id, request.action)

    async def _note_last_run(self, requests: Sequence[RunRequest], now: datetime) -> None:
        """A requested run becomes its schedule's last run, like a run of an instant."""
        ids = sorted({request.schedule_id for request in requests if request.schedule_id is not None})
        if ids:
            await self.conn.execute(last_run(self.dialect), {"ids": ids, "now": now})

    async def last_instant(self, schedule_id: str) -> datetime | None:
        """The newest instant of the schedule that has a run; requested runs have no instant."""
        instant: datetime | None = await self.conn.scalar(
            select(func.max(runs.c.scheduled_for)).where(runs.c.schedule_id == schedule_id)
        )
        return instant

    async def get(self, tenant_id: str, run_id: str, *, lock: bool = False) -> RunView | None:
        query = one_run(self.dialect, lock=lock)
        row = (await self.conn.execute(query, {"id": run_id, "tenant": tenant_id})).first()
        return None if row is None else view_of(row)

    async def several(self, tenant_id: str, run_ids: Sequence[str], *, lock: bool = False) -> list[RunView]:
        """The runs that exist, in the order of the ids."""
        found = await self.conn.execute(
            several_runs(self.dialect, lock=lock), {"ids": list(run_ids), "tenant": tenant_id}
        )
        views = {row.id: view_of(row) for row in found}
        return [views[run_id] for run_id in run_ids if run_id in views]

    async def find(self, tenant_id: str, page: PageRequest, **filters: str | None) -> list[RunView]:
        """`filters`: state (or several, comma-separated), schedule_id, kind, queue."""
        given = {name: filters[name] for name in ("schedule_id", "kind", "queue") if filters.get(name)}
        states = tuple(RunState(state) for state in (filters.get("state") or "").split(",") if state)
        after = page.cursor is not None
        values = {"tenant": tenant_id, "most": page.limit, **given} | ({"cursor": page.cursor} if after else {})
        parts = run_pages(tuple(given), states, after=after)
        views = [view_of(row) for part in parts for row in await self.conn.execute(part, values)]
        return views if len(parts) == 1 else sorted(views, key=lambda run: run.id, reverse=True)[: page.limit]

    async def attempts(self, run_ids: Sequence[str], *, whole: bool) -> dict[str, list[AttemptView]]:
        """The ended attempts of each run, oldest first; large responses are truncated unless requested whole."""
        if not run_ids:
            return {}
        views: dict[str, list[AttemptView]] = {}
        for row in await self.conn.execute(ended_attempts(self.dialect, whole=whole), {"ids": list(run_ids)}):
            views.setdefault(row.run_id, []).append(attempt_of(row))
        return views

    async def cancel(self, run_ids: Sequence[str], now: datetime, reason: str, *, at_once: bool = False) -> int:
        """Cancel queued and retrying runs now; request it of running ones, or, `at_once`, end them without their
        attempt. Returns how many were open.
        """
        asked, cut = ([], run_ids) if at_once else (run_ids, [])
        return await cancel_runs(self.conn, self.dialect, asked, now, reason, at_once=cut)

    async def open_ids(self, schedule_id: str, *, waiting_only: bool) -> list[str]:
        query = select(runs.c.id).where(runs.c.open_of == schedule_id)
        if waiting_only:
            query = query.where(runs.c.state.in_(sorted(CLAIMABLE)))
        return list((await self.conn.execute(query.order_by(runs.c.id))).scalars())

    async def neighbours(self, tenant_id: str, schedule_id: str, run_id: str) -> tuple[str | None, str | None]:
        # As in `find`: the schedule's index leads straight to them, the tenant's would not.
        """The runs of a schedule that were made right before and right after this one."""
        mine = (runs.c.schedule_id == schedule_id, func.coalesce(runs.c.tenant_id, "") == tenant_id)
        before = select(runs.c.id).where(*mine, runs.c.id < run_id).order_by(runs.c.id.desc()).limit(1)
        after = select(runs.c.id).where(*mine, runs.c.id > run_id).order_by(runs.c.id).limit(1)
        return await self.conn.scalar(before), await self.conn.scalar(after)

    async def dead_groups(
        self, tenant_id: str, page: PageRequest, sort: DeadLetterSort | None = None, **filters: str | None
    ) -> list[DeadLetterGroupView]:
        """Dead letters grouped by kind and error, compared as stored."""
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
            .limit(page.limit)
        )
        groups = (await self.conn.execute(in_group_order(query, newest, page.cursor, sort))).all()
        members = await self._members(tenant_id, [group.newest for group in groups], filters)
        return [
            DeadLetterGroupView(*_told(error), kind, count, first, last, members.get(newest) or [newest])
            for kind, error, count, first, last, newest in groups
        ]

    async def _members(
        self, tenant_id: str, newest: Sequence[str], filters: dict[str, str | None]
    ) -> dict[str, list[str]]:
        """The newest dead letters of each group, given its newest one: errors are compared by the database alone."""
        if not newest:
            return {}
        alike = (runs.c.kind, runs.c.error)
        ranked = (
            select(
                runs.c.id,
                func.max(runs.c.id).over(partition_by=alike).label("newest"),
                func.row_number().over(partition_by=alike, order_by=runs.c.id.desc()).label("place"),
            )
            .where(*_dead(tenant_id), *_narrowed(filters))
            .subquery()
        )
        query = select(ranked.c.newest, ranked.c.id).where(
            self.dialect.among(ranked.c.newest, newest), ranked.c.place <= GROUP_IDS
        )
        members: dict[str, list[str]] = {}
        for group, run_id in await self.conn.execute(query.order_by(ranked.c.id.desc())):
            members.setdefault(group, []).append(run_id)
        return members

    async def replays(self, run_ids: Sequence[str]) -> dict[str, int]:
        """The number of replays of each dead letter; those without any are left out."""
        sent = (self.dialect.among(runs.c.parent_id, run_ids), runs.c.origin == Origin.REPLAY)
        query = select(runs.c.parent_id, func.count().label("replays")).where(*sent).group_by(runs.c.parent_id)
        return {row.parent_id: row.replays for row in await self.conn.execute(query)}

    async def resolve(self, run_ids: Sequence[str], by: str) -> None:
        """Mark these dead letters as resolved."""
        waiting = (runs.c.state == RunState.DEAD_LETTER, runs.c.resolved_by.is_(None))
        wanted = update(runs).where(self.dialect.among(runs.c.id, run_ids), *waiting)
        await self.conn.execute(wanted.values(resolved_by=by))

    async def events(self, run_id: str, after: int, limit: int) -> list[Event]:
        """Changes of state come from the run and its attempts, lines from their chunks; together without a gap."""
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
        events = [Event(1, row.created_at, EventType.STATE, state=RunState.QUEUED.value)]
        told_by = [column for column in attempts.c if column is not attempts.c.response]
        query = select(*told_by).where(attempts.c.run_id == row.id).order_by(attempts.c.epoch)
        for ended in await self.conn.execute(query):
            events.append(_state(ended.started_seq, ended.started_at, RunState.RUNNING, ended.number))
            end = (ended.ended_seq, ended.ended_at, ended.state, ended.number, ended.error, ended.retry_at)
            events.append(_state(*end))
        numbers = {event.seq for event in events}
        if row.started_seq is not None and row.started_seq not in numbers:
            events.append(_state(row.started_seq, row.attempt_at, RunState.RUNNING, row.attempt))
        if row.final_seq is not None and row.final_seq not in numbers:
            events.append(_state(row.final_seq, row.finished_at, row.state, row.attempt or None, row.error))
        return events

    async def append(self, entries: Sequence[tuple[Fence, Sequence[EventLine]]]) -> set[str]:
        """Append lines to running attempts; returns the ids whose fence still held."""
        by_id = dict(zip((fence.run_id for fence, _ in entries), entries, strict=True))
        columns = (runs.c.id, runs.c.tenant_id, runs.c.epoch, runs.c.token, runs.c.attempt, runs.c.event_seq)
        query = select(*columns, runs.c.log_bytes, runs.c.log_dropped)
        query = query.where(self.dialect.among(runs.c.id, list(by_id)), runs.c.state == RunState.RUNNING)
        held = []
        for row in await self.conn.execute(self.dialect.lock(query.order_by(runs.c.id))):
            fence, lines = by_id[row.id]
            if fenced(row, fence):
                held.append((row, lines))
        if not held:
            return set()
        scribe = LogChunkWriter.new()
        tolds = await scribe.tell_each((row, lines, None) for row, lines in held)
        if scribe.columns["run_id"]:
            await self.dialect.insert(self.conn, log_chunks, scribe.columns)
        keys = {"id": [row.id for row, _ in held], "epoch": [row.epoch for row, _ in held]}
        await self.dialect.update(self.conn, runs, keys, position_columns(tolds))
        return {row.id for row, _ in held}


def _state(
    seq: int, at: datetime, state: str, attempt: int | None, error: Any = None, retry_at: datetime | None = None
) -> Event:
    data = {"error": error} if error else {}
    if retry_at is not None:
        data["retry_at"] = rfc3339(retry_at)
    message = error.get("message", "") if error else ""
    return Event(seq, at, EventType.STATE, state=str(state), attempt=attempt, message=message, data=data or None)


def _told(error: object) -> tuple[str, str]:
    """Code and message of the stored error, also when its document is damaged."""
    document = error if isinstance(error, Mapping) else {}
    return str(document.get("code", "")), str(document.get("message", ""))


def _dead(tenant_id: str) -> tuple[Any, ...]:
    return (runs.c.tenant_id == tenant_id, runs.c.state == RunState.DEAD_LETTER, runs.c.resolved_by.is_(None))


def _narrowed(filters: dict[str, str | None]) -> list[Any]:
    """`filters`: kind, schedule_id, code."""
    narrowed = [runs.c[name] == filters[name] for name in ("kind", "schedule_id") if filters.get(name)]
    if code := filters.get("code"):
        # Errors are stored with their code first, always written the same way.
        narrowed.append(func.substr(runs.c.error, 1, len(_code(code))) == _code(code))
    return narrowed


def _code(code: str) -> str:
    return '{"code":' + orjson.dumps(code).decode() + ","


async def with_attempts(tx: Transaction, runs: Sequence[RunView], *, whole: bool = False) -> list[RunView]:
    """The same runs, each with its ended attempts: one query for all of them."""
    # A run that never started has none.
    found = await SqlRuns(tx).attempts([run.id for run in runs if run.started_at is not None], whole=whole)
    return [replace(run, attempts=tuple(found[run.id])) if run.id in found else run for run in runs]
