"""Statements on schedules that follow others, as the janitor, the ledger's proof and the interfaces ask them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from foliot.core.parent_template import ParentRun
from foliot.core.time.trigger import After
from foliot.db.database import Statements
from foliot.engine.model.follow import ParentEnd
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql import follow_rows, follow_ups
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.follow_rows import FollowLink
from foliot.engine.sql.follow_tables import follow_ups as ups
from foliot.engine.sql.follow_ups import MOST_REPEATS
from foliot.engine.sql.run_rows import SEEN, view_of
from foliot.engine.sql.schedules import SqlSchedules, schedule_of
from foliot.engine.sql.tables import ledger, runs, schedule_stats, schedules
from foliot.engine.sql.tenant_limits import wait_turn

FOLLOWS = "follows"
MOST_PARENTS_SHOWN = 50
"""Ends that one run may have waited for, as its page shows them."""


@dataclass(frozen=True, slots=True)
class FollowRecord:
    """One end of a parent's run, as a schedule that follows it has accounted for it."""

    run_id: str
    parent_id: str
    at: datetime
    made: str | None
    fate: str | None
    reason: str | None
    state: RunState | None
    """Of the run that it made."""

    @property
    def waits(self) -> bool:
        return self.made is None and self.fate is None


@dataclass(frozen=True, slots=True)
class ChainNode:
    """A schedule of a chain, with how its newest ended run ended."""

    schedule: Schedule
    state: RunState | None
    run_id: str | None


@dataclass(frozen=True, slots=True)
class SqlFollowUps(Statements):
    """Who follows whom, and what became of each end."""

    async def sweep(self, since: datetime, now: datetime, limit: int) -> int:
        """Follow what schedules that have begun to follow others since then have not seen; returns the runs made."""
        made = 0
        for child_id in await follow_rows.newly_followed(self.conn, since, limit):
            made += await follow_ups.sweep(self.conn, self.dialect, child_id, now, cancel_runs)
        return made

    async def forget(self, before: datetime, limit: int) -> int:
        return await follow_rows.forget_links(self.conn, self.dialect, before, limit)

    async def unaccounted(
        self, child_id: str, rule: After, within: tuple[datetime, datetime], limit: int
    ) -> list[ParentEnd]:
        return await follow_ups.unaccounted(self.conn, self.dialect, child_id, rule, within, limit)

    async def wait_turn(self, tenant_id: str) -> None:
        """One schedule of a tenant at a time begins to follow others: two could close a ring that neither sees."""
        await wait_turn(self.conn, self.dialect, tenant_id, FOLLOWS)

    async def of_names(self, tenant_id: str, given: Collection[str]) -> list[tuple[str, str, ScheduleStatus]]:
        return await follow_rows.of_names(self.conn, self.dialect, tenant_id, given)

    async def links_above(self, tenant_id: str, ids: Collection[str]) -> list[FollowLink]:
        return await follow_rows.links_above(self.conn, self.dialect, tenant_id, ids)

    async def links_around(self, tenant_id: str, schedule_id: str) -> list[FollowLink]:
        return await follow_rows.links_around(self.conn, self.dialect, tenant_id, schedule_id)

    async def followers(self, parents: Collection[str], child_id: str) -> Mapping[str, int]:
        return await follow_rows.count_followers(self.conn, self.dialect, parents, child_id)

    async def records(self, schedule_id: str, start: datetime, end: datetime, limit: int) -> list[FollowRecord]:
        """Of [start, end), oldest first."""
        made = runs.alias("other")
        query = select(ups, made.c.state.label("state")).join_from(ups, made, made.c.id == ups.c.made, isouter=True)
        query = query.where(ups.c.schedule_id == schedule_id, ups.c.at >= start, ups.c.at < end)
        rows = await self.conn.execute(query.order_by(ups.c.at, ups.c.run_id).limit(limit))
        return [
            FollowRecord(
                row.run_id,
                row.parent_id,
                row.at,
                row.made,
                row.fate,
                row.reason,
                None if row.state is None else RunState(row.state),
            )
            for row in rows
        ]

    async def chain(self, tenant_id: str, schedule_id: str) -> tuple[list[ChainNode], list[FollowLink]]:
        """The schedules above and below one, itself too, and who follows whom."""
        links = await self.links_around(tenant_id, schedule_id)
        ids = sorted({schedule_id, *(one for link in links for one in link)})
        stats = (schedule_stats.c.state, schedule_stats.c.run_id)
        query = select(schedules, *stats).join_from(
            schedules, schedule_stats, schedule_stats.c.schedule_id == schedules.c.id, isouter=True
        )
        query = query.where(self.dialect.among(schedules.c.id, ids), schedules.c.tenant_id == tenant_id)
        rows = (await self.conn.execute(query.order_by(schedules.c.id))).all()
        found = await SqlSchedules(self.tx).named([schedule_of(row) for row in rows])
        return [
            ChainNode(schedule, None if row.state is None else RunState(row.state), row.run_id or None)
            for schedule, row in zip(found, rows, strict=True)
        ], links

    async def children(self, tenant_id: str, run_id: str, page: PageRequest) -> list[RunView]:
        """The runs that the end of this one made, newest first."""
        mine = select(ups.c.made).where(ups.c.run_id == run_id, ups.c.made.is_not(None))
        query = select(*SEEN).where(runs.c.id.in_(mine), runs.c.tenant_id == tenant_id)
        if page.cursor is not None:
            query = query.where(runs.c.id < page.cursor)
        rows = await self.conn.execute(query.order_by(runs.c.id.desc()).limit(page.limit))
        return [view_of(row) for row in rows]

    async def parents(self, tenant_id: str, run_id: str) -> list[RunView]:
        """The runs whose ends made this one: several where it waited for all of them."""
        mine = select(ups.c.run_id).where(ups.c.made == run_id)
        query = select(*SEEN).where(runs.c.id.in_(mine), runs.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.order_by(runs.c.id).limit(MOST_PARENTS_SHOWN))
        return [view_of(row) for row in rows]

    async def parent_of(self, tenant_id: str, run_id: str) -> ParentRun | None:
        """The run that a run follows. A run that repeats another follows what that followed."""
        columns = (runs.c.id, runs.c.origin, runs.c.parent_id)
        seen: set[str] = set()
        while run_id not in seen and len(seen) < MOST_REPEATS:
            seen.add(run_id)
            query = select(*columns).where(runs.c.id == run_id, runs.c.tenant_id == tenant_id)
            row = (await self.conn.execute(query)).first()
            if row is None or row.parent_id is None:
                return None
            run_id = row.parent_id
            if row.origin == Origin.AFTER:
                break
        shown = (runs.c.id, runs.c.state, runs.c.kind, runs.c.attempt, runs.c.result)
        parent = (
            await self.conn.execute(select(*shown).where(runs.c.id == run_id, runs.c.tenant_id == tenant_id))
        ).first()
        return None if parent is None else ParentRun(*parent)

    async def orphans(self, schedule_id: str, limit: int) -> list[tuple[str, str]]:
        """(run, parent) of runs that claim to follow a run that exists, whose end made another or none."""
        parent = runs.alias("other")
        query = (
            select(runs.c.id, runs.c.parent_id)
            .join_from(runs, parent, parent.c.id == runs.c.parent_id)
            .where(runs.c.schedule_id == schedule_id, runs.c.origin == Origin.AFTER)
            .where(~select(ups.c.made).where(ups.c.made == runs.c.id).correlate(runs).exists())
        )
        return [(row.id, row.parent_id) for row in await self.conn.execute(query.order_by(runs.c.id).limit(limit))]

    async def lost(self, schedule_id: str, limit: int) -> list[tuple[str, str]]:
        """(run of the parent, run that it made) where the latter is gone."""
        made = runs.alias("other")
        query = (
            select(ups.c.run_id, ups.c.made)
            .join_from(ups, made, made.c.id == ups.c.made, isouter=True)
            .where(ups.c.schedule_id == schedule_id, ups.c.made.is_not(None), made.c.id.is_(None))
        )
        return [(row.run_id, row.made) for row in await self.conn.execute(query.order_by(ups.c.run_id).limit(limit))]

    async def counts(self, schedule_id: str) -> tuple[int, int, int]:
        """How many ends are accounted for, how many of those without a run, and how many the ledger has."""
        mine = ups.c.schedule_id == schedule_id
        total = await self.conn.scalar(select(func.count()).where(mine)) or 0
        unmade = select(func.count()).where(mine, ups.c.fate.in_(["skipped", "missed"]))
        entries = select(func.sum(ledger.c["count"])).where(ledger.c.schedule_id == schedule_id)
        kept = await self.conn.scalar(entries.where(ledger.c.fate.in_(["skipped", "missed"])))
        return total, await self.conn.scalar(unmade) or 0, int(kept or 0)
