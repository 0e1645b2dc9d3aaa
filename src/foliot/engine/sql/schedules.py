"""Schedules, their versions, spans and ledger."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import Select, and_, bindparam, exists, func, insert, or_, select, update

from foliot.core.errors import Invalid
from foliot.core.ids import new_id
from foliot.core.time.trigger import OneOff, Trigger
from foliot.db.batch_statements import Change
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import DamagedDocument
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason, VersionSpan
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import FROM_FILE, ManagedBy, Schedule, ScheduleSpec, ScheduleStatus, load_spec
from foliot.engine.model.views import PageRequest, RewindResult
from foliot.engine.sql import follow_rows, tenant_limits
from foliot.engine.sql.schedule_rows import (
    ScheduleTurn,
    StoredSchedule,
    VersionHooks,
    columns_of,
    new_rows,
    rewind,
    turn_rows,
)
from foliot.engine.sql.tables import ledger, runs, schedules, spans, versions

_STORED = select(
    schedules,
    select(func.coalesce(versions.c.same_as, versions.c.version))
    .where(versions.c.schedule_id == schedules.c.id, versions.c.version == schedules.c.version)
    .scalar_subquery()
    .label("body_of"),
    select(spans.c.id).where(spans.c.open_of == schedules.c.id).scalar_subquery().label("span_id"),
)

_ROW = cast("Any", namedtuple)("_ROW", schedules.c.keys())  # noqa: PYI024 -- its fields are those of the table
_WIDTH = len(_ROW._fields)
_STATUSES = {each.value: each for each in ScheduleStatus}
_MANAGERS = {each.value: each for each in ManagedBy}
_API = ManagedBy.API


@cache
def _one(dialect: Dialect, *, lock: bool) -> Select[Any]:
    mine = (schedules.c.id == bindparam("id"), schedules.c.tenant_id == bindparam("tenant"))
    query = select(schedules).where(*mine)
    return dialect.lock(query) if lock else query


@cache
def _listed(dialect: Dialect) -> Select[Any]:
    mine = (dialect.listed(schedules.c.id, "ids"), schedules.c.tenant_id == bindparam("tenant"))
    return select(schedules).where(*mine)


@cache
def _locked(dialect: Dialect, *, whole: bool, skip: bool) -> Select[Any]:
    """Locks schedules in the order of their ids; `whole`: for an edit."""
    mine = (dialect.listed(schedules.c.id, "ids"), schedules.c.tenant_id == bindparam("tenant"))
    query = (_STORED if whole else select(schedules)).where(*mine)
    return dialect.lock(query.order_by(schedules.c.id), skip=skip)


@cache
def _page(*, after: bool) -> Select[Any]:
    """Newest first."""
    query = select(schedules).where(schedules.c.tenant_id == bindparam("tenant"))
    query = query.where(schedules.c.id < bindparam("cursor")) if after else query
    return query.order_by(schedules.c.id.desc()).limit(bindparam("most"))


@cache
def _kept(*, after: bool) -> Select[Any]:
    """The page of a list without a filter."""
    return _filtered(_page(after=after), {})


@dataclass(frozen=True, slots=True)
class SqlSchedules(Statements):
    """Statements of the interfaces on schedules."""

    async def add(self, added: Sequence[Schedule], *beside: Change) -> None:
        """Insert schedules of one tenant, with their first versions and spans and rows beside, in one round trip."""
        rows, size = new_rows(added, self.sealer)
        await self.dialect.change(self.conn, [*rows, tenant_limits.grown(added[0].tenant_id, size), *beside])
        await follow_rows.replace_links(self.conn, self.dialect, added)
        await self.tx.cache(VersionHooks).after(self.tx, added)

    async def add_sealed(self, added: Sequence[Schedule], *beside: Change) -> int:
        """The same for schedules whose credentials are encrypted already. The caller adds the returned stored bytes.

        Their total is one row, and locked from its first update on: a long transaction updates it at its end.
        """
        rows, size = new_rows(added, None)
        await self.dialect.change(self.conn, [*rows, *beside])
        await follow_rows.replace_links(self.conn, self.dialect, added)
        await self.tx.cache(VersionHooks).after(self.tx, added)
        return size

    async def get(self, tenant_id: str, schedule_id: str, *, lock: bool = False) -> Schedule | None:
        query = _one(self.dialect, lock=lock)
        row = (await self.conn.execute(query, {"id": schedule_id, "tenant": tenant_id})).first()
        return None if row is None else (await self.named([schedule_of(row)]))[0]

    async def by_ids(self, tenant_id: str, schedule_ids: Collection[str]) -> dict[str, Schedule]:
        """Those of these schedules that exist, without the names of the schedules that they follow."""
        query = _listed(self.dialect)
        found = await self.conn.execute(query, {"ids": list(schedule_ids), "tenant": tenant_id})
        return {row.id: schedule_of(row) for row in found}

    async def named(self, found: Sequence[Schedule]) -> list[Schedule]:
        """The same with the names of the schedules that they follow: a statement only where one does."""
        return await follow_rows.with_names(self.conn, self.dialect, found)

    async def free(self, tenant_id: str, schedule_ids: Collection[str]) -> dict[str, Schedule]:
        """Locks and returns the rows that no other transaction holds (`SKIP LOCKED`), by id."""
        query = _locked(self.dialect, whole=False, skip=True)
        found = await self.conn.execute(query, {"ids": list(schedule_ids), "tenant": tenant_id})
        return {row.id: schedule_of(row) for row in found}

    async def actions_by_id(self, tenant_id: str, schedule_ids: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """The present actions of those of these schedules that exist and can be read."""
        query = select(schedules.c.id, schedules.c.action).where(schedules.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.where(self.dialect.among(schedules.c.id, schedule_ids)))
        return {row.id: row.action for row in rows if not isinstance(row.action, DamagedDocument)}

    async def find(self, tenant_id: str, page: PageRequest, **filters: str | None) -> list[Schedule]:
        """`filters`: status, type, kind, tag, q."""
        after = page.cursor is not None
        query = _filtered(_page(after=after), filters) if any(filters.values()) else _kept(after=after)
        values = {"tenant": tenant_id, "most": page.limit} | ({"cursor": page.cursor} if after else {})
        return await self.named([schedule_of(row) for row in await self.conn.execute(query, values)])

    async def some_names(self, tenant_id: str, limit: int) -> list[str]:
        """Names of the newest schedules, to suggest one of them."""
        query = select(schedules.c.name).where(
            schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED
        )
        return list((await self.conn.execute(query.order_by(schedules.c.id.desc()).limit(limit))).scalars())

    async def save(self, schedule: Schedule) -> None:
        """Write the row as it is given, under its present version."""
        where = (schedules.c.id == schedule.id, schedules.c.tenant_id == schedule.tenant_id)
        if self.sealer is not None:
            schedule = replace(schedule, action=self.sealer.seal(schedule.tenant_id, schedule.action))
        values = columns_of(schedule)
        if schedule.fault is None:
            values["fault_next_at"] = None
        await self.conn.execute(update(schedules).where(*where).values(**values))

    async def stored(
        self, tenant_id: str, schedule_ids: Collection[str], *, skip_locked: bool = True
    ) -> dict[str, StoredSchedule]:
        """Locks schedules for an edit, by id; those that another transaction holds are skipped, or waited for."""
        query = _locked(self.dialect, whole=True, skip=skip_locked)
        found = await self.conn.execute(query, {"ids": list(schedule_ids), "tenant": tenant_id})
        return {row.id: StoredSchedule(schedule_of(row), row.body_of, row.span_id) for row in found}

    async def turn(self, turns: Sequence[ScheduleTurn], *beside: Change) -> None:
        """Write new versions of schedules that are locked, with their spans and rows beside, in one round trip."""
        if self.sealer is not None:
            turns = [one.sealed(self.sealer) for one in turns]
        known = {one.became.id: await self._same_body(one) for one in turns}
        await self.dialect.change(self.conn, [*turn_rows(turns, known), *beside])
        became, was = [one.became for one in turns], [one.was.schedule for one in turns]
        await follow_rows.replace_links(self.conn, self.dialect, became, was)
        await self.tx.cache(VersionHooks).after(self.tx, became, was)

    async def _same_body(self, turn: ScheduleTurn) -> int | None:
        """The earlier version that holds the same action; a body is stored once."""
        if turn.became.action == turn.was.schedule.action and turn.was.body_of is not None:
            return turn.was.body_of
        digest = tenant_limits.digest(dict(turn.became.action))
        mine = (versions.c.schedule_id == turn.became.id, versions.c.digest == digest, versions.c.same_as.is_(None))
        same_as: int | None = await self.conn.scalar(select(func.min(versions.c.version)).where(*mine))
        return same_as

    async def turn_span(self, schedule: Schedule, now: datetime, *, active: bool, reason: str = "") -> None:
        """Close the open span at `now` and open the next one."""
        await self.end_span(schedule.id, now)
        await self.conn.execute(
            insert(spans).values(
                id=new_id("spa"),
                schedule_id=schedule.id,
                open_of=schedule.id,
                tenant_id=schedule.tenant_id,
                start_at=now,
                version=schedule.version,
                active=active,
                reason=reason,
            )
        )

    async def end_span(self, schedule_id: str, now: datetime) -> None:
        await self.conn.execute(update(spans).where(spans.c.open_of == schedule_id).values(end_at=now, open_of=None))

    async def rewind(self, schedule: Schedule, now: datetime, cut: Sequence[LedgerEntry]) -> RewindResult:
        """Undo what lies beyond `now`, and set the cursor where this schedule, which is locked, has it.

        `cut`: the ledger's entries across `now`, as they end there. Runs that were made too early stay.
        """
        return await rewind(self.conn, self.dialect, schedule, now, cut)

    async def ahead(self, soon: datetime, limit: int, tenant_id: str | None = None) -> list[tuple[str, str, str]]:
        """(tenant, id, name) of those that have settled instants later than this moment, which has not come."""
        if tenant_id is not None and not await self._maybe_ahead(tenant_id, soon):
            return []
        line = (ledger.c.schedule_id == schedules.c.id, ledger.c.first_at == schedules.c.gap_first)
        settled = or_(schedules.c.last_run_at > soon, exists().where(*line, ledger.c.last_at > soon))
        broken = or_(schedules.c.updated_at > soon, and_(schedules.c.next_at > soon, settled))
        query = select(schedules.c.tenant_id, schedules.c.id, schedules.c.name).where(
            schedules.c.status.in_([ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED]), schedules.c.fault.is_(None), broken
        )
        if tenant_id is not None:
            query = query.where(schedules.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.order_by(schedules.c.id).limit(limit))
        return [(tenant, schedule_id, name) for tenant, schedule_id, name in rows]

    async def _maybe_ahead(self, tenant_id: str, soon: datetime) -> bool:
        """Whether anything of this tenant is later than this moment, by one look into each index."""
        looks = [
            select(table.c.tenant_id).where(table.c.tenant_id == tenant_id, table.c[column] > soon).limit(1)
            for table, column in ((schedules, "updated_at"), (schedules, "last_run_at"), (ledger, "last_at"))
        ]
        return any([await self.conn.scalar(look) is not None for look in looks])

    async def spans(self, schedule_id: str) -> list[VersionSpan]:
        query = select(spans).where(spans.c.schedule_id == schedule_id).order_by(spans.c.start_at, spans.c.id)
        return [
            VersionSpan(row.start_at, row.end_at, row.version, row.active, row.reason)
            for row in await self.conn.execute(query)
        ]

    async def actions(
        self, tenant_id: str, of: Collection[tuple[str, int]]
    ) -> dict[tuple[str, int], Mapping[str, Any]]:
        """What these versions, (schedule's id, number), do; one that is gone or cannot be read is left out."""
        if not of:
            return {}
        query = select(versions.c.schedule_id, versions.c.version, tenant_limits.BODY.c.action)
        query = query.join(tenant_limits.BODY, tenant_limits.HOLDS).where(
            versions.c.tenant_id == tenant_id,
            self.dialect.among(versions.c.schedule_id, sorted({schedule_id for schedule_id, _ in of})),
            versions.c.version.in_(sorted({version for _, version in of})),
        )
        return {
            (row.schedule_id, row.version): row.action
            for row in await self.conn.execute(query)
            if (row.schedule_id, row.version) in of and not isinstance(row.action, DamagedDocument)
        }

    async def specs(self, schedule_id: str) -> dict[int, ScheduleSpec | str]:
        """Every version; a damaged one is its error."""
        query = select(versions.c.version, versions.c.spec, versions.c.anchor).where(
            versions.c.schedule_id == schedule_id
        )
        return {version: spec_of(text, anchor) for version, text, anchor in await self.conn.execute(query)}

    async def ledger(self, schedule_id: str, start: datetime, end: datetime) -> list[tuple[int, LedgerEntry]]:
        """Entries (with their version) that touch [start, end), oldest first."""
        query = select(ledger, ledger.c.count.label("instants")).where(
            ledger.c.schedule_id == schedule_id, ledger.c.first_at < end, ledger.c.last_at >= start
        )
        return [
            (
                row.version,
                LedgerEntry(
                    row.first_at,
                    row.last_at,
                    row.instants,
                    LedgerKind(row.fate),
                    LedgerReason(row.reason),
                    row.skipped_by,
                    row.note,
                ),
            )
            for row in await self.conn.execute(query.order_by(ledger.c.first_at))
        ]

    async def instants(
        self, schedule_id: str, start: datetime, end: datetime, limit: int
    ) -> list[tuple[datetime, str, RunState]]:
        """Runs made from instants of [start, end), oldest first: (instant, run id, state)."""
        query = select(runs.c.scheduled_for, runs.c.id, runs.c.state).where(
            runs.c.schedule_id == schedule_id, runs.c.scheduled_for >= start, runs.c.scheduled_for < end
        )
        rows = await self.conn.execute(query.order_by(runs.c.scheduled_for).limit(limit))
        return [(at, run_id, RunState(state)) for at, run_id, state in rows]

    async def fills(
        self, schedule_id: str, start: datetime, end: datetime
    ) -> list[tuple[datetime, str, RunState, Origin]]:
        """Runs that make up for instants of [start, end): (instant, run id, state, origin)."""
        query = select(runs.c.fills, runs.c.id, runs.c.state, runs.c.origin).where(
            runs.c.schedule_id == schedule_id, runs.c.fills >= start, runs.c.fills < end
        )
        rows = await self.conn.execute(query.order_by(runs.c.fills, runs.c.id))
        return [(at, run_id, RunState(state), Origin(origin)) for at, run_id, state, origin in rows]

    async def ids(self, after: str, limit: int, tenant_id: str | None = None) -> list[tuple[str, str]]:
        """(tenant, id) of every schedule, deleted ones too, in order of id."""
        query = select(schedules.c.tenant_id, schedules.c.id).where(schedules.c.id > after)
        if tenant_id is not None:
            query = query.where(schedules.c.tenant_id == tenant_id)
        return [
            (tenant, found) for tenant, found in await self.conn.execute(query.order_by(schedules.c.id).limit(limit))
        ]

    async def faults(self, limit: int) -> list[tuple[str, str]]:
        query = select(schedules.c.id, schedules.c.fault).where(schedules.c.fault_next_at.is_not(None))
        query = query.order_by(schedules.c.fault_next_at).limit(limit)
        return [(found, fault or "") for found, fault in await self.conn.execute(query)]


def schedule_of(row: Any) -> Schedule:
    """A row that begins with all columns of schedules; a damaged one is shown as such."""
    stored = _ROW._make(row[:_WIDTH])
    spec = spec_of(stored.spec, stored.anchor)
    fault = stored.fault
    if isinstance(spec, str):
        # A damaged row is still shown, so that a person can see and mend it; it names no instant.
        fault = fault or spec
        created = stored.created_at
        spec = ScheduleSpec(trigger=Trigger(OneOff(created), end_at=created), kind=stored.kind)
    return Schedule(
        id=stored.id,
        tenant_id=stored.tenant_id,
        user_id=stored.user_id,
        name=stored.name,
        description=stored.description,
        tags=tuple(tag for tag in stored.tags.split("\n") if tag) if stored.tags else (),
        spec=spec,
        action=stored.action,
        status=_STATUSES[stored.status],
        version=stored.version,
        next_at=stored.next_at,
        last_run_at=stored.last_run_at,
        fired=stored.fired,
        paused_reason=stored.paused_reason,
        fault=fault,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        # A value that only a newer Foliot knows is no reason to refuse an edit.
        managed_by=_manager(stored.managed_by, stored.managed_file),
        paused_at=stored.paused_at,
        paused_by=stored.paused_by,
        skip_at=stored.skip_at,
        skip_by=stored.skip_by,
    )


def _manager(word: str, file: str | None) -> str:
    return _MANAGERS.get(word, _API) if file is None else FROM_FILE + file


def spec_of(text: str, anchor: datetime) -> ScheduleSpec | str:
    """The settings that a version stores; a damaged one is its error."""
    try:
        return load_spec(text, anchor)
    except Invalid as error:
        return str(error)


def _filtered(query: Select[Any], filters: dict[str, str | None]) -> Select[Any]:
    status = filters.get("status")
    query = (
        query.where(schedules.c.status == status)
        if status
        else query.where(schedules.c.status != ScheduleStatus.DELETED)
    )
    for name in ("type", "kind"):
        if filters.get(name):
            query = query.where(schedules.c[name] == filters[name])
    if tag := filters.get("tag"):
        query = query.where(schedules.c.tags.contains(f"\n{tag}\n", autoescape=True))
    if words := filters.get("q"):
        query = query.where(func.lower(schedules.c.name).contains(words.lower(), autoescape=True))
    return query
