"""Aggregates for timeline and calendar, read through the indexes of runs and ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, union_all

from foliot.db.clock import Elapsed
from foliot.db.database import Statements
from foliot.db.metadata import Moment
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.run import FAILURES, OPEN, Origin, RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.tables import ledger, runs, schedules
from foliot.features.bulk.model import BulkOperation
from foliot.features.bulk.tables import bulks
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.filters.sql import counts as counting
from foliot.features.filters.sql import points
from foliot.features.filters.sql import schedules as schedule_sieve
from foliot.features.filters.sql.runs import RunConditions
from foliot.features.insights.model.history import HistoryBar, HistoryWindow, InstantRanges, RunsRevision
from foliot.features.insights.model.timeline import RunLink, TimelineGrouping
from foliot.features.mutes.sql import mutes

MOST_ENTRIES = 5000
"""Ledger entries in one answer."""
MOST_TROUBLE = 1000
"""Failed runs of each state, and missed ranges, that a choice of schedules considers: the newest."""
Shares = Mapping[RunState, float]
"""The share of the runs of a state that is read; of states that are not in it, all."""
ALL: Shares = MappingProxyType({})
MOST_ROWS = 400
"""Up to so many schedules, their runs are read through the index by schedule."""


@dataclass(frozen=True, slots=True)
class SqlHistory(Statements):
    """Aggregates of past runs."""

    async def change_marker(self, tenant_id: str, now: datetime) -> RunsRevision:
        """Reads the open runs through their index."""
        waiting = (runs.c.tenant_id == tenant_id, runs.c.state.in_(sorted(OPEN)))
        query = select(runs.c.state, func.count(), func.sum(runs.c.epoch)).where(*waiting).group_by(runs.c.state)
        states = [(RunState(state).value, count, int(claims or 0)) for state, count, claims in await self._all(query)]
        newest = await self.conn.scalar(select(func.max(runs.c.id)).where(runs.c.tenant_id == tenant_id))
        counts = {state: count for state, count, _ in sorted(states)}
        return RunsRevision(counts, newest, sum(claims for *_, claims in states), await self._settled(tenant_id, now))

    async def _settled(self, tenant_id: str, now: datetime) -> tuple[object, ...]:
        """A dead letter stores no time of its discarding; the audit log does."""
        discards = (bulks.c.tenant_id == tenant_id, bulks.c.action == BulkOperation.DISCARD)
        discarded = await self.conn.scalar(select(func.max(bulks.c.updated_at)).where(*discards))
        silent = (mutes.c.tenant_id == tenant_id, mutes.c.muted_until > now)
        muted = (await self.conn.execute(select(func.count(), func.max(mutes.c.muted_at)).where(*silent))).one()
        return (str(discarded), *map(str, muted))

    async def revision(self, tenant_id: str) -> tuple[object, ...]:
        """Changes whenever one of the tenant's schedules is created, changed or deleted."""
        columns = (schedules.c.status, func.count(), func.max(schedules.c.updated_at), func.sum(schedules.c.version))
        query = select(*columns).where(schedules.c.tenant_id == tenant_id).group_by(schedules.c.status)
        return tuple(
            sorted((str(status), count, str(at), int(sum_)) for status, count, at, sum_ in await self._all(query))
        )

    async def bars(
        self, tenant_id: str, stretch: HistoryWindow, only: Sequence[str] | None, shares: Shares = ALL
    ) -> list[HistoryBar]:
        """The runs created in the range, aggregated by group, bucket and state; `only` of these schedules.

        Of a state with a share, that random sample is read, and its counts are scaled up.
        """
        key = {
            TimelineGrouping.SCHEDULE: runs.c.schedule_id,
            TimelineGrouping.QUEUE: runs.c.queue,
            TimelineGrouping.TAG: schedules.c.tags,
        }
        sieve = await self._sieve(tenant_id, stretch, only)
        sieve.few = MOST_ROWS
        wanted = select(*self._columns(key[stretch.by], stretch))
        if stretch.by is TimelineGrouping.TAG:
            wanted = wanted.join(schedules, schedules.c.id == runs.c.schedule_id).where(schedules.c.tags != "")
        return await self._bars(wanted, sieve, shares)

    def _columns(self, key: ColumnElement[Any], stretch: HistoryWindow) -> tuple[ColumnElement[Any], ...]:
        began = func.coalesce(runs.c.started_at, runs.c.created_at, type_=Moment())
        return (
            key.label("key"),
            bucket(stretch).label("bucket"),
            runs.c.state.label("state"),
            began.label("began"),
            runs.c.finished_at.label("finished"),
            runs.c.id.label("id"),
        )

    async def _bars(self, wanted: Select[Any], sieve: RunConditions, shares: Shares) -> list[HistoryBar]:
        parts = [wanted.where(*way) for way in await self._ways(sieve, shares)]
        # Aliased in a subquery: some databases do not recognise that the grouped expression is the selected one.
        cut = parts[0].subquery() if len(parts) == 1 else union_all(*parts).subquery()
        query = select(
            cut.c.key,
            cut.c.state,
            func.count().label("runs"),
            func.min(cut.c.began).label("began"),
            func.max(cut.c.finished).label("finished"),
            func.count(cut.c.finished).label("ended"),
            func.min(cut.c.id).label("id"),
        ).group_by(cut.c.key, cut.c.bucket, cut.c.state)
        return [
            HistoryBar(row.key, RunState(row.state), _scaled(row, shares), row.began, _end(row), row.id)
            for row in await self._all(query)
        ]

    async def _ways(self, sieve: RunConditions, shares: Shares) -> list[list[ColumnElement[bool]]]:
        """Disjoint conditions: the runs of sampled states, and those of all others."""
        if not shares:
            return [sieve.where()]
        some = [and_(runs.c.state == state, points.drawn(share)) for state, share in sorted(shares.items())]
        # The ids of the sample are read by an index alone, and then only its rows: no plan reads those of all.
        near = select(runs.c.id).where(runs.c.tenant_id == sieve.tenant_id, *sieve.near())
        parts = [select(near.where(one).subquery()) for one in some]
        ids = list((await self.conn.execute(parts[0] if len(parts) == 1 else union_all(*parts))).scalars())
        since, until = sieve.times()
        within = [runs.c.created_at >= since, runs.c.created_at < until]
        others = runs.c.state.in_(sorted(set(RunState) - set(shares)))
        return [[*sieve.where(), others], [self.dialect.among(runs.c.id, ids), *within]]

    async def number(self, tenant_id: str, stretch: HistoryWindow) -> dict[RunState, int]:
        """How many ended runs were created in the range, by state."""
        ended = (counting.ENDED, stretch.start, stretch.end)
        return await counting.by_state(self.conn, self.dialect, tenant_id, *ended)

    async def rest(
        self,
        tenant_id: str,
        stretch: HistoryWindow,
        query: FilterQuery,
        without: Sequence[str],
        shares: Shares = ALL,
    ) -> list[HistoryBar]:
        """The runs created in the range, of all but these schedules, aggregated by tags and kind, bucket and state.

        The key is the kind, and the schedule's tags, each between line feeds.
        """
        tags = func.coalesce(schedules.c.tags, "")
        sieve = await self._sieve(tenant_id, stretch)
        other = or_(runs.c.schedule_id.is_(None), runs.c.schedule_id.not_in(without))
        wanted = select(*self._columns(runs.c.kind.concat(tags), stretch)).where(other)
        wanted = wanted.join(schedules, schedules.c.id == runs.c.schedule_id, isouter=not query)
        if query:
            wanted = wanted.where(*schedule_sieve.conditions(tenant_id, query))
        return await self._bars(wanted, sieve, shares)

    async def failing(
        self, tenant_id: str, stretch: HistoryWindow, only: Sequence[str] | None, limit: int
    ) -> list[str]:
        """Schedules whose runs in the range failed, most of the newest failures first; `only` among these."""
        parts, sieve = [], await self._sieve(tenant_id, stretch, only)
        for state in sorted(FAILURES):
            mine = (*sieve.where(), runs.c.state == state, runs.c.schedule_id.is_not(None))
            newest = select(runs.c.schedule_id).where(*mine).order_by(runs.c.id.desc()).limit(MOST_TROUBLE)
            parts.append(select(newest.subquery()))
        bad = union_all(*parts).subquery()
        query = (
            select(bad.c.schedule_id)
            .group_by(bad.c.schedule_id)
            .order_by(func.count().desc(), bad.c.schedule_id)
            .limit(limit)
        )
        return [row.schedule_id for row in await self._all(query)]

    async def rare(self, tenant_id: str, stretch: HistoryWindow, limit: int, among: int) -> list[str]:
        # Ids tell the creation time well enough, and this index has nothing else.
        """Of the newest so many schedules, those with the fewest runs in the range, but at least one."""
        sieve = await self._sieve(tenant_id, stretch)
        made = (runs.c.schedule_id == schedules.c.id, *sieve.near())
        number = select(func.count()).select_from(runs).where(*made).scalar_subquery()
        there = (schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED)
        query = select(schedules.c.id, number.label("runs")).where(*there).order_by(schedules.c.id.desc()).limit(among)
        found = sorted((row.runs, row.id) for row in await self._all(query) if row.runs)
        return [schedule_id for _, schedule_id in found[:limit]]

    async def counts(
        self, tenant_id: str, stretch: HistoryWindow, schedule_id: str | None = None
    ) -> list[tuple[int, RunState, int]]:
        """How many runs of each state were created in each bucket."""
        if schedule_id is not None:
            return await self._counted(await self._sieve(tenant_id, stretch, [schedule_id]), stretch)
        # Open runs are few, and found by state; ended ones are counted by an index-only scan.
        still = await self._sieve(tenant_id, stretch, None, FilterTerm("state", tuple(sorted(OPEN))))
        tiles = counting.cut(stretch.start, stretch.end, timedelta(seconds=stretch.width))
        ended = await counting.by_tile(self.conn, self.dialect, tenant_id, tiles)
        return [*ended, *await self._counted(still, stretch)]

    async def _counted(self, sieve: RunConditions, stretch: HistoryWindow) -> list[tuple[int, RunState, int]]:
        cut = select(bucket(stretch).label("bucket"), runs.c.state.label("state")).where(*sieve.where()).subquery()
        query = select(cut.c.bucket, cut.c.state, func.count().label("runs")).group_by(cut.c.bucket, cut.c.state)
        return [(int(row.bucket), RunState(row.state), row.runs) for row in await self._all(query)]

    async def links(self, tenant_id: str, run_ids: Sequence[str]) -> list[RunLink]:
        """Those of these runs that follow another, which may be any."""
        parents = runs.alias("parents")
        mine = (runs.c.tenant_id == tenant_id, runs.c.origin == Origin.AFTER, parents.c.finished_at.is_not(None))
        query = (
            select(
                runs.c.parent_id,
                runs.c.id,
                parents.c.schedule_id.label("parent_key"),
                runs.c.schedule_id,
                parents.c.finished_at,
                func.coalesce(runs.c.started_at, runs.c.created_at, type_=Moment()).label("began_at"),
            )
            .join(parents, parents.c.id == runs.c.parent_id)
            .where(self.dialect.among(runs.c.id, run_ids), *mine)
            .order_by(runs.c.id)
        )
        return [RunLink(*row) for row in await self._all(query) if row.parent_key and row.schedule_id]

    async def missing(self, tenant_id: str, start: datetime, end: datetime) -> list[str]:
        """Schedules of the newest missed instants of [start, end), latest first."""
        query = (
            select(ledger.c.schedule_id)
            .where(ledger.c.tenant_id == tenant_id, ledger.c.last_at >= start, ledger.c.first_at < end)
            .where(ledger.c.fate == LedgerKind.MISSED)
            .order_by(ledger.c.last_at.desc(), ledger.c.schedule_id)
            .limit(MOST_TROUBLE)
        )
        return list(dict.fromkeys(row.schedule_id for row in await self._all(query)))

    async def waiting_schedules(self, tenant_id: str, query: FilterQuery, most: int) -> int:
        """How many schedules that match have an instant to come; not counted beyond `most`."""
        there = (*schedule_sieve.conditions(tenant_id, query), schedules.c.next_at.is_not(None))
        some = select(schedules.c.id).where(*there).limit(most).subquery()
        return int(await self.conn.scalar(select(func.count()).select_from(some)) or 0)

    async def active_schedules(self, tenant_id: str) -> int:
        """How many there are, by an index-only scan."""
        there = (schedules.c.status == ScheduleStatus.ACTIVE, schedules.c.tenant_id == tenant_id)
        return int(await self.conn.scalar(select(func.count()).select_from(schedules).where(*there)) or 0)

    async def unmade_counts(
        self, tenant_id: str, tiles: Sequence[tuple[datetime, datetime]]
    ) -> list[tuple[int, LedgerKind, int]]:
        """How many were missed or skipped in each tile [start, end)."""
        return await counting.unmade(self.conn, self.dialect, tenant_id, tiles)

    async def unmade(
        self, tenant_id: str, start: datetime, end: datetime, only: Sequence[str] | None = None
    ) -> InstantRanges:
        """Instants of [start, end) that were missed or skipped: `only` of these schedules."""
        # Of some schedules, their key finds the entries; the tenant's index would read those of all.
        owner = ledger.c.tenant_id if only is None else func.coalesce(ledger.c.tenant_id, "")
        query = (
            select(ledger, ledger.c["count"].label("instants"))
            .where(owner == tenant_id, ledger.c.last_at >= start, ledger.c.first_at < end)
            .where(ledger.c.fate.in_([LedgerKind.MISSED, LedgerKind.SKIPPED]))
        )
        if only is not None:
            query = query.where(self.dialect.among(ledger.c.schedule_id, only))
        rows = await self._all(query.order_by(ledger.c.last_at.desc()).limit(MOST_ENTRIES + 1))
        more = len(rows) > MOST_ENTRIES
        entries = [
            (
                row.schedule_id,
                LedgerEntry(row.first_at, row.last_at, row.instants, LedgerKind(row.fate), LedgerReason(row.reason)),
            )
            for row in rows
        ]
        return InstantRanges(entries[:MOST_ENTRIES], more)

    async def _sieve(
        self, tenant_id: str, stretch: HistoryWindow, only: Sequence[str] | None = None, *terms: FilterTerm
    ) -> RunConditions:
        """Runs created in the range, bounded by their ids where those are ordered by time."""
        within = FilterQuery((FilterTerm("since", at=stretch.start), FilterTerm("until", at=stretch.end), *terms))
        if only is not None:
            within = within.also(FilterTerm("schedule", tuple(only)))
        return await RunConditions.of(self.conn, self.dialect, tenant_id, within, stretch.end)

    async def _all(self, query: Select[Any]) -> Sequence[Any]:
        return list((await self.conn.execute(query)).all())


def _scaled(row: Any, shares: Shares) -> int:
    share = shares.get(RunState(row.state), 1.0)
    return int(row.runs) if share >= 1 else round(row.runs / share)


def bucket(stretch: HistoryWindow) -> ColumnElement[int]:
    """The bucket in which a run was created."""
    return Elapsed(literal(stretch.start, Moment()), runs.c.created_at) // (stretch.width * 1000)


def _end(row: Any) -> datetime | None:
    return row.finished if row.ended == row.runs else None
