"""The rows of new and changed schedules: schedule, version and span, column by column for batch statements.

Moves a schedule back that a wrong clock had moved ahead: its spans, its ledger, and the runs made too early.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import new_id
from foliot.db.batch_statements import Change
from foliot.db.database import Transaction
from foliot.db.dialects import Dialect
from foliot.db.sealer import Sealer
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, count_unmade
from foliot.engine.model.run import RunState, order_key
from foliot.engine.model.schedule import FROM_FILE, ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.views import RewindResult
from foliot.engine.sql import quarter_counts, tenant_limits
from foliot.engine.sql.tables import ledger, runs, schedules, spans, versions


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A locked schedule with what its next version refers to."""

    schedule: Schedule
    body_of: int | None
    """The version that holds its action."""
    span_id: str | None
    """Its open span."""


@dataclass(frozen=True, slots=True)
class ScheduleTurn:
    """A schedule that gets a new version."""

    was: StoredSchedule
    became: Schedule

    def sealed(self, sealer: Sealer) -> ScheduleTurn:
        action = sealer.seal(self.became.tenant_id, self.became.action)
        return replace(self, became=replace(self.became, action=action))


VersionHook = Callable[[Transaction, Sequence[Schedule], Sequence[Schedule]], Awaitable[None]]
"""What a feature writes in the transaction that gives schedules a version: as they become, and as they were."""


class VersionHooks:
    """The hooks of a process, kept with its database (`Transaction.cache`)."""

    def __init__(self, *hooks: VersionHook) -> None:
        self._hooks = hooks

    async def after(self, tx: Transaction, became: Sequence[Schedule], was: Sequence[Schedule] = ()) -> None:
        """Run them; `Invalid` refuses the whole change."""
        for hook in self._hooks:
            await hook(tx, became, was)


def turn_rows(turns: Sequence[ScheduleTurn], same_as: Mapping[str, int | None]) -> list[Change]:
    """The new versions, the rows of the schedules, the end of the spans and the next ones, and the stored bytes."""
    became = [turn.became for turn in turns]
    ids, specs = [one.id for one in became], [one.spec.dump() for one in became]
    bodies = [dict(one.action) for one in became]
    kept = [{} if same_as[one.id] is not None else body for one, body in zip(became, bodies, strict=True)]
    versions_made = {
        "schedule_id": ids,
        "version": [one.version for one in became],
        "tenant_id": [one.tenant_id for one in became],
        "spec": specs,
        "action": kept,
        "anchor": [one.spec.anchor for one in became],
        "created_at": [one.updated_at for one in became],
        "digest": [tenant_limits.digest(body) for body in bodies],
        "same_as": [same_as[one.id] for one in became],
    }
    rows = [columns_of(one, spec) for one, spec in zip(became, specs, strict=True)]
    # The next ledger entry belongs to the new version: it merges with nothing.
    cleared = dict.fromkeys(("gap_first", "gap_reason", "fault_next_at"), [None] * len(turns))
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "tenant_id"} | cleared
    keys = {"id": ids, "tenant_id": [one.tenant_id for one in became]}
    ended = [turn for turn in turns if turn.was.span_id is not None]
    begun = [one for one in became if one.status in {ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED}]
    size = sum(
        tenant_limits.size(turn.became.action)
        + 2 * len(spec.encode())
        + tenant_limits.size(body)
        - tenant_limits.size(turn.was.schedule.action)
        - len(_stored_spec(turn, spec).encode())
        for turn, spec, body in zip(turns, specs, kept, strict=True)
    )
    changes = [Change(versions, {}, versions_made), Change(schedules, keys, columns)]
    if ended:
        closed = {"end_at": [turn.became.updated_at for turn in ended], "open_of": [None] * len(ended)}
        changes.append(Change(spans, {"id": [turn.was.span_id for turn in ended]}, closed))
    if begun:
        changes.append(Change(spans, {}, _open_spans(begun)))
    return [*changes, tenant_limits.grown(became[0].tenant_id, size)]


def _open_spans(begun: Sequence[Schedule]) -> dict[str, list[Any]]:
    ids = [one.id for one in begun]
    return {
        "id": [new_id("spa") for _ in begun],
        "schedule_id": ids,
        "open_of": ids,
        "tenant_id": [one.tenant_id for one in begun],
        "start_at": [one.updated_at for one in begun],
        "version": [one.version for one in begun],
        "active": [one.status is ScheduleStatus.ACTIVE for one in begun],
        "reason": [one.paused_reason if one.status is ScheduleStatus.PAUSED else "" for one in begun],
    }


def _stored_spec(turn: ScheduleTurn, became: str) -> str:
    """The spec of the version before; most turns are pauses, which do not change it."""
    spec = turn.was.schedule.spec
    return became if spec is turn.became.spec else spec.dump()


def columns_of(schedule: Schedule, spec: str | None = None) -> dict[str, Any]:
    """The columns of a schedule that edits change; `spec` is its spec as it is stored, where that is known."""
    return {
        "tenant_id": schedule.tenant_id,
        "user_id": schedule.user_id,
        "name": schedule.name,
        "description": schedule.description,
        "tags": _tags_out(schedule.tags),
        "type": schedule.spec.type.value,
        "kind": schedule.spec.kind,
        "status": schedule.status.value,
        "version": schedule.version,
        "spec": schedule.spec.dump() if spec is None else spec,
        "action": dict(schedule.action),
        "anchor": schedule.spec.anchor,
        "next_at": schedule.next_at,
        "last_run_at": schedule.last_run_at,
        "fired": schedule.fired,
        "paused_reason": schedule.paused_reason,
        "paused_at": schedule.paused_at,
        "paused_by": schedule.paused_by,
        "skip_at": schedule.skip_at,
        "skip_by": schedule.skip_by,
        "fault": schedule.fault,
        **_managed(schedule.managed_by),
        "updated_at": schedule.updated_at,
    }


def _managed(by: str) -> dict[str, str | None]:
    if by.startswith(FROM_FILE):
        return {"managed_by": ManagedBy.API.value, "managed_file": by.removeprefix(FROM_FILE)}
    return {"managed_by": str(by), "managed_file": None}


def _tags_out(tags: tuple[str, ...]) -> str:
    return "\n" + "".join(f"{tag}\n" for tag in tags) if tags else ""


def new_rows(added: Sequence[Schedule], sealer: Sealer | None) -> tuple[list[Change], int]:
    """The rows of schedules that are created at one moment, and how many stored bytes they are."""
    if sealer is not None:
        added = [replace(one, action=sealer.seal(one.tenant_id, one.action)) for one in added]
    rows = [columns_of(one) for one in added]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["id"] = [one.id for one in added]
    columns["created_at"] = [one.created_at for one in added]
    bodies: dict[str, list[Any]] = {
        "schedule_id": columns["id"],
        **{name: columns[name] for name in ("version", "tenant_id", "spec", "action", "anchor", "created_at")},
        "digest": [tenant_limits.digest(row["action"]) for row in rows],
    }
    # Each is stored twice: as it stands, and as its first version.
    size = 2 * sum(tenant_limits.size(row["action"]) + len(row["spec"].encode()) for row in rows)
    changes = [Change(schedules, {}, columns), Change(versions, {}, bodies), Change(spans, {}, _open_spans(added))]
    return changes, size


_TICK = timedelta(microseconds=1)


async def rewind(
    conn: AsyncConnection, dialect: Dialect, schedule: Schedule, now: datetime, cut: Sequence[LedgerEntry]
) -> RewindResult:
    """Nothing of this schedule lies beyond `now` afterwards. `cut`: the entries across it, as they end there."""
    await _spans(conn, schedule.id, now)
    await _ledger(conn, dialect, schedule, now, cut)
    early = await _detach(conn, dialect, schedule.id, now)
    mine = (runs.c.schedule_id == schedule.id, runs.c.scheduled_for <= now)
    last: datetime | None = await conn.scalar(select(func.max(runs.c.scheduled_for)).where(*mine))
    values = {"next_at": schedule.next_at, "last_run_at": last, "updated_at": now, "gap_first": None}
    if early:
        values["ahead_until"] = max(early)
    row = update(schedules).where(schedules.c.id == schedule.id, schedules.c.tenant_id == schedule.tenant_id)
    await conn.execute(row.values(**values, gap_reason=None))
    return RewindResult(early, last)


async def _spans(conn: AsyncConnection, schedule_id: str, now: datetime) -> None:
    mine = spans.c.schedule_id == schedule_id
    await conn.execute(delete(spans).where(mine, spans.c.start_at > now, spans.c.open_of.is_(None)))
    await conn.execute(update(spans).where(mine, spans.c.end_at > now).values(end_at=now))
    await conn.execute(update(spans).where(mine, spans.c.start_at > now).values(start_at=now))


async def _ledger(
    conn: AsyncConnection, dialect: Dialect, schedule: Schedule, now: datetime, cut: Sequence[LedgerEntry]
) -> None:
    mine = ledger.c.schedule_id == schedule.id
    columns = (ledger.c.first_at, ledger.c.last_at, ledger.c["count"].label("instants"), ledger.c.fate, ledger.c.reason)
    kept = {(entry.first, entry.fate): entry.count for entry in cut}
    beyond = [
        LedgerEntry(
            max(row.first_at, now + _TICK),
            row.last_at,
            row.instants - kept.get((row.first_at, LedgerKind(row.fate)), 0),
            LedgerKind(row.fate),
            LedgerReason(row.reason),
        )
        for row in await conn.execute(select(*columns).where(mine, ledger.c.last_at > now))
    ]
    await conn.execute(delete(ledger).where(mine, ledger.c.first_at > now))
    for entry in cut:
        this = (mine, ledger.c.first_at == entry.first, ledger.c.fate == entry.fate.value)
        await conn.execute(update(ledger).where(*this).values(last_at=entry.last, count=entry.count))
    gone = count_unmade(schedule.tenant_id, schedule.spec.trigger, beyond, StepBudget(UNMADE_STEPS), by=-1)
    await quarter_counts.add(conn, dialect, gone)


async def _detach(conn: AsyncConnection, dialect: Dialect, schedule_id: str, now: datetime) -> list[datetime]:
    """The runs stay, with the instant they were made for, which counts as settled when its time comes."""
    fired = (runs.c.id, runs.c.scheduled_for, runs.c.priority, runs.c.lane, runs.c.ready_at, runs.c.order_key)
    columns = (*fired, runs.c.poll_at, runs.c.state, runs.c.catchup)
    query = select(*columns).where(runs.c.schedule_id == schedule_id, runs.c.scheduled_for > now)
    rows = (await conn.execute(dialect.lock(query.order_by(runs.c.scheduled_for)))).all()
    if not rows:
        return []
    # A waiting one would wait until its instant, and block every other until then.
    unopened = [row.poll_at is not None and row.state == RunState.QUEUED for row in rows]
    waits = [(row.lane is not None or batch) and row.ready_at > now for row, batch in zip(rows, unopened, strict=True)]
    ready = [now if late else row.ready_at for row, late in zip(rows, waits, strict=True)]
    values = {
        "fills": [row.scheduled_for for row in rows],
        "scheduled_for": [None] * len(rows),
        "ready_at": ready,
        "order_key": [
            order_key(now, row.priority, catchup=row.catchup) if late else row.order_key
            for row, late in zip(rows, waits, strict=True)
        ],
    }
    if any(unopened):
        values["poll_at"] = [at if batch else row.poll_at for row, at, batch in zip(rows, ready, unopened, strict=True)]
    await dialect.update(conn, runs, {"id": [row.id for row in rows]}, values)
    return [row.scheduled_for for row in rows]
