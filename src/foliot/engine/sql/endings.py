"""Endings of runs: recorded by their attempt, cancelled from outside, and the buffered runs that they release."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, insert, literal, null, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.failure_fingerprint import fingerprint
from foliot.db.batch_statements import Change
from foliot.db.clock import Microseconds
from foliot.db.database import Transaction
from foliot.db.dialects import Dialect
from foliot.db.metadata import Document, Moment
from foliot.engine.model.run import BATCH_KINDS, CLAIMABLE, FAILURES, OPEN, REPEATS, Origin, RunState, order_key
from foliot.engine.model.views import AttemptEnding, EndingsResult, RunEnded
from foliot.engine.sql import follow_ups, quarter_counts, run_items
from foliot.engine.sql.leases import fenced
from foliot.engine.sql.log_chunks import LogChunkWriter, position_columns
from foliot.engine.sql.tables import attempts, log_chunks, runs


class HeldRun(NamedTuple):
    """What ending a run needs to know of its row. Read often: a field costs a third of what it does on a row."""

    id: str
    tenant_id: str
    schedule_id: str | None
    kind: str
    epoch: int
    token: str | None
    state: str
    event_seq: int
    started_seq: int | None
    log_bytes: int
    log_dropped: int
    attempt: int
    attempt_at: datetime | None
    worker: str | None
    priority: int
    catchup: bool | None
    queue: str
    origin: str
    parent_id: str | None
    ready_at: datetime
    cancel_requested: bool
    poll_at: datetime | None
    noted: bool
    """Whether it has a handle."""
    created_at: datetime
    scheduled_for: datetime | None
    due_at: datetime | None
    started_at: datetime | None
    followed: bool
    """Whether schedules follow that of the run."""


_COMPUTED = {"noted": runs.c.handle.is_not(None).label("noted"), "followed": follow_ups.FOLLOWED}
_HELD = tuple(_COMPUTED[name] if name in _COMPUTED else runs.c[name] for name in HeldRun._fields)


@cache
def _held(dialect: Dialect) -> Select[Any]:
    return dialect.lock(select(*_HELD).where(dialect.listed(runs.c.id, "ids")).order_by(runs.c.id))


@cache
def _waiting() -> Select[Any]:
    """Schedules with buffered runs whose predecessors have ended."""
    before = runs.alias("before")
    stands_before = select(before.c.id).where(before.c.open_of == runs.c.buffered_of, before.c.buffered_of.is_(None))
    buffered = select(runs.c.buffered_of).where(runs.c.buffered_of.is_not(None), ~stands_before.exists()).distinct()
    return buffered.limit(bindparam("most"))


@cache
def _waiting_among(dialect: Dialect) -> Select[Any]:
    return _waiting().where(dialect.listed(runs.c.buffered_of, "ids"))


async def finish(
    conn: AsyncConnection, dialect: Dialect, endings: Sequence[AttemptEnding], now: datetime, *, parked: bool = False
) -> EndingsResult:
    """Record a group of endings; one that does not carry the current fence changes nothing.

    `parked`: also of runs that are parked, by the transaction that has ended what they wait for.
    """
    by_id = {ending.fence.run_id: ending for ending in endings}
    held, repeated = list[tuple[HeldRun, AttemptEnding]](), {}
    for row in map(HeldRun._make, await conn.execute(_held(dialect), {"ids": list(by_id)})):
        ending = by_id[row.id]
        if not fenced(row, ending.fence):
            continue
        if row.poll_at is not None and not parked:
            # Parked in the meantime: its next check decides.
            continue
        if row.state == RunState.RUNNING:
            if row.cancel_requested and not ending.state.final:
                # Requested while the attempt was ending: there is no retry to wait for.
                ending = replace(ending, state=RunState.CANCELLED, ready_at=None)
            held.append((row, ending))
        else:
            # Our own fence on an ended run: this ending was committed before and its acknowledgement was lost.
            repeated[row.id] = RunState(row.state)
    states = repeated | {row.id: ending.state for row, ending in held}
    released, final = 0, list[RunEnded]()
    if held:
        await _write(conn, dialect, held, parked=parked)
        ended = [row for row, ending in held if ending.state.final]
        freed = {row.schedule_id for row in ended if row.schedule_id is not None}
        released = await release(conn, dialect, now, sorted(freed)) if freed else 0
        await _resolve(conn, dialect, held)
        ends = [(row, ending.state, ending.at) for row, ending in held if ending.state.final]
        changed = {row.id for row, ending in held if ending.changed}
        followed = [follow_ups.ended(*one, changed=one[0].id in changed) for one in ends if one[0].followed]
        released += await follow_ups.follow(conn, dialect, followed, now, cancel_runs)
        await quarter_counts.add_ended(conn, dialect, ends)
        final = [_ended(row, ending) for row, ending in held if ending.state.final]
    return EndingsResult(states, frozenset(by_id) - states.keys(), released, final)


def _ended(row: HeldRun, ending: AttemptEnding) -> RunEnded:
    repeats = row.parent_id if row.origin in REPEATS else None
    told = (row.id, row.tenant_id, row.schedule_id, row.kind, row.origin, ending.state, ending.at, ending.error)
    return RunEnded(*told, repeats)


EndingHook = Callable[[Transaction, Sequence[RunEnded], datetime], Awaitable[Collection[str]]]
"""What a feature does in the transaction that ends runs; answers topics to wake after the commit."""


class EndingHooks:
    """The hooks of a process, kept with its database (`Transaction.cache`)."""

    def __init__(self, *hooks: EndingHook) -> None:
        self._hooks = hooks

    async def after(self, tx: Transaction, result: EndingsResult, now: datetime) -> EndingsResult:
        """Run them on the runs that have ended; an error rolls the endings back, and they are written again."""
        if not result.ended or not self._hooks:
            return result
        topics = [topic for hook in self._hooks for topic in await hook(tx, result.ended, now)]
        return replace(result, topics=result.topics | frozenset(topics))


async def _write(
    conn: AsyncConnection, dialect: Dialect, held: Sequence[tuple[HeldRun, AttemptEnding]], *, parked: bool
) -> None:
    scribe = LogChunkWriter.new()
    positions = await scribe.tell_each((row, ending.lines, ending.at) for row, ending in held)
    seqs = [position.seq + 1 for position in positions]
    ready = [ending.ready_at or row.ready_at for row, ending in held]
    values: dict[str, list[Any]] = {
        "state": [ending.state.value for _, ending in held],
        "attempt": [row.attempt - ending.refund for row, ending in held],
        "ready_at": ready,
        "order_key": [
            order_key(at, row.priority, catchup=row.catchup) for at, (row, _) in zip(ready, held, strict=True)
        ],
        "lane": [None if ending.state.final else row.queue for row, ending in held],
        "offered_at": [None] * len(held),
        "open_of": [None if ending.state.final else row.schedule_id for row, ending in held],
        "lease_until": [None] * len(held),
        "event_seq": seqs,
        "final_seq": [seq if ending.state.final else None for seq, (_, ending) in zip(seqs, held, strict=True)],
        "finished_at": [ending.at if ending.state.final else None for _, ending in held],
        "took_us": [_took(row.started_at, ending) for row, ending in held],
        "result": [ending.result for _, ending in held],
        "error": [ending.error for _, ending in held],
    }
    if scribe.columns["run_id"]:
        values = {**position_columns(positions), **values}
    if parked:
        values["poll_at"] = [None] * len(held)
    if any(ending.state in FAILURES for _, ending in held):
        values["fingerprint"] = [_alike(row, ending) for row, ending in held]
    if any(ending.changed for _, ending in held):
        values["changed"] = [ending.changed or None for _, ending in held]
    if any(ending.lost for _, ending in held):
        # A worker that lost its lease must not mistake our ending for its own.
        values["token"] = [None if ending.lost else row.token for row, ending in held]
    keys: dict[str, list[Any]] = {"id": [row.id for row, _ in held], "epoch": [row.epoch for row, _ in held]}
    ended: dict[str, list[Any]] = {
        "run_id": keys["id"],
        "epoch": keys["epoch"],
        "tenant_id": [row.tenant_id for row, _ in held],
        "number": [row.attempt for row, _ in held],
        "worker": [row.worker for row, _ in held],
        "outcome": [ending.outcome for _, ending in held],
        "state": values["state"],
        "started_at": [row.attempt_at for row, _ in held],
        "ended_at": [ending.at for _, ending in held],
        "started_seq": [row.started_seq for row, _ in held],
        "ended_seq": seqs,
        "error": values["error"],
        "response": [ending.response for _, ending in held],
        "retry_at": [ending.ready_at for _, ending in held],
    }
    changes = [Change(runs, keys, values), Change(attempts, {}, ended)]
    if scribe.columns["run_id"]:
        changes.append(Change(log_chunks, {}, scribe.columns))
    await dialect.change(conn, changes)
    again = [row.id for row, ending in held if row.noted and not ending.state.final]
    if again:
        # Its next attempt starts from scratch.
        await conn.execute(update(runs).where(dialect.among(runs.c.id, again)).values(handle=None))
    batches = [row.id for row, ending in held if row.kind in BATCH_KINDS and not ending.state.final]
    if batches:
        # Claimed by a version that still did so, and handed back: its items are created without an executor.
        back = update(runs).where(dialect.among(runs.c.id, batches))
        await conn.execute(back.values(lane=None, handle={}, poll_at=runs.c.ready_at))


def _took(started_at: datetime | None, ending: AttemptEnding) -> int | None:
    if started_at is None or not ending.state.final:
        return None
    return (ending.at - started_at) // timedelta(microseconds=1)


def _alike(row: HeldRun, ending: AttemptEnding) -> str | None:
    return fingerprint(row.kind, ending.error, ending.host) if ending.state in FAILURES else None


async def _resolve(conn: AsyncConnection, dialect: Dialect, held: Sequence[tuple[HeldRun, AttemptEnding]]) -> None:
    """A replay that succeeded resolves its dead letter."""
    good = {RunState.SUCCESS, RunState.PARTIAL}
    replays = [row for row, ending in held if row.origin == Origin.REPLAY and ending.state in good]
    if replays:
        letters = {"id": [row.parent_id for row in replays]}
        await dialect.update(conn, runs, letters, {"resolved_by": [row.id for row in replays]})


async def cancel_runs(
    conn: AsyncConnection,
    dialect: Dialect,
    run_ids: Sequence[str],
    now: datetime,
    reason: str,
    *,
    at_once: Sequence[str] = (),
) -> int:
    """Cancel waiting runs now; request it of running ones, or, `at_once`, end them without their attempt.

    Returns how many were open.
    """
    among = (dialect.among(runs.c.id, [*run_ids, *at_once]), runs.c.state.in_(sorted(OPEN)))
    columns = (*quarter_counts.COUNTED, runs.c.state, runs.c.origin, runs.c.parent_id, follow_ups.FOLLOWED)
    query = dialect.lock(select(*columns).where(*among).order_by(runs.c.id))
    found = (await conn.execute(query)).all()
    if not found:
        return 0
    error = {"code": "cancelled", "message": reason}
    cut = dialect.among(runs.c.id, at_once)
    ends = or_(runs.c.state.in_(sorted(CLAIMABLE)), cut)
    # An effect that continues elsewhere is stopped by the next check; the current holder is notified.
    free = or_(cut, runs.c.lease_until.is_(None))
    looked_at = and_(runs.c.state == RunState.RUNNING, runs.c.handle.is_not(None), free)

    def when(value: Any, column: ColumnElement[Any]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        return column, case((ends, value), else_=column)

    await conn.execute(
        update(runs)
        .where(*among)
        # Assignments run left to right on MariaDB: each must see what it needs before that changes.
        .ordered_values(
            (
                runs.c.poll_at,
                case(
                    (looked_at, literal(now, Moment())),
                    # Of a batch without items: there is nothing to look at.
                    (runs.c.state.in_(sorted(CLAIMABLE)), null()),
                    else_=runs.c.poll_at,
                ),
            ),
            (runs.c.cancel_requested, case((ends, runs.c.cancel_requested), else_=true())),
            when(runs.c.event_seq + 1, runs.c.final_seq),
            when(runs.c.event_seq + 1, runs.c.event_seq),
            when(runs.c.epoch + 1, runs.c.epoch),
            when(null(), runs.c.open_of),
            when(null(), runs.c.lease_until),
            when(literal(now, Moment()), runs.c.finished_at),
            when(Microseconds(runs.c.started_at, literal(now, Moment())), runs.c.took_us),
            when(literal(error, Document()), runs.c.error),
            (runs.c.lane, None),
            (runs.c.buffered_of, None),
            when(literal(RunState.CANCELLED.value), runs.c.state),
        )
    )
    if at_once:
        await _cut_off(conn, dialect, at_once, now, error)
    ended = [(row, RunState.CANCELLED, now) for row in found if row.state in CLAIMABLE or row.id in set(at_once)]
    followed = [follow_ups.ended(*one) for one in ended if one[0].followed]
    await follow_ups.follow(conn, dialect, followed, now, cancel_runs)
    await quarter_counts.add_ended(conn, dialect, ended)
    return len(found)


async def _cut_off(
    conn: AsyncConnection, dialect: Dialect, run_ids: Sequence[str], now: datetime, error: Mapping[str, Any]
) -> None:
    """An attempt that is cut off can no longer write its own row."""
    columns = {
        "run_id": runs.c.id,
        "epoch": runs.c.epoch - 1,
        "tenant_id": runs.c.tenant_id,
        "number": runs.c.attempt,
        "worker": runs.c.worker,
        "outcome": literal("cancelled"),
        "state": literal(RunState.CANCELLED.value),
        "started_at": runs.c.attempt_at,
        "ended_at": literal(now, Moment()),
        "started_seq": runs.c.started_seq,
        "ended_seq": runs.c.final_seq,
        "error": literal(error, Document()),
    }
    # Read after the update, which holds the rows: an attempt that ended first has written its row itself.
    written = select(attempts.c.run_id).where(attempts.c.run_id == runs.c.id, attempts.c.epoch == runs.c.epoch - 1)
    cut = select(*columns.values()).where(
        dialect.among(runs.c.id, run_ids),
        runs.c.state == RunState.CANCELLED,
        runs.c.finished_at == now,
        runs.c.started_seq.is_not(None),
        ~written.exists(),
    )
    await conn.execute(insert(attempts).from_select(list(columns), cut))


async def release(
    conn: AsyncConnection, dialect: Dialect, now: datetime, schedule_ids: Sequence[str] | None = None, limit: int = 1000
) -> int:
    """Release the oldest buffered run of each schedule when all its predecessors have ended."""
    if schedule_ids is None:
        waiting = await conn.execute(_waiting(), {"most": limit})
    else:
        waiting = await conn.execute(_waiting_among(dialect), {"most": limit, "ids": list(schedule_ids)})
    queued = sorted(set(waiting.scalars()))
    if not queued:
        return 0
    columns = (
        *(runs.c.id, runs.c.open_of, runs.c.buffered_of, runs.c.queue, runs.c.priority, runs.c.ready_at),
        *(runs.c.scheduled_for, runs.c.kind, runs.c.catchup),
    )
    query = select(*columns).where(dialect.among(runs.c.open_of, queued)).order_by(runs.c.id)
    first: dict[str, Any] = {}
    busy = set()
    for row in await conn.execute(dialect.lock(query)):
        if row.buffered_of is None:
            busy.add(row.open_of)
        elif row.open_of not in first or row.scheduled_for < first[row.open_of].scheduled_for:
            # By their instants: ids are made by the clocks of the processes that fire, and those may differ.
            first[row.open_of] = row
    free = [row for schedule_id, row in first.items() if schedule_id not in busy]
    if not free:
        return 0
    ready = [max(row.ready_at, now) for row in free]
    values: dict[str, list[Any]] = {
        "buffered_of": [None] * len(free),
        "lane": [row.queue for row in free],
        "offered_at": [None] * len(free),
        "ready_at": ready,
        "order_key": [order_key(at, row.priority, catchup=row.catchup) for at, row in zip(ready, free, strict=True)],
    }
    values = run_items.without_lane(values, [row.kind for row in free])
    keys = {"id": [row.id for row in free], "state": [RunState.QUEUED.value] * len(free)}
    return await dialect.update(conn, runs, keys, values)
