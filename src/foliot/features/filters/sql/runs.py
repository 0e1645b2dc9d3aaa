"""Translates a filter to conditions on runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Select, Text, and_, false, func, literal, not_, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import RUN, floor_id
from foliot.db.clock import Elapsed
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.engine.model.quarter_counts import LATE
from foliot.engine.model.run import FAILURES, OPEN, REPEATS, RunState
from foliot.engine.sql.tables import runs, schedules
from foliot.features.filters.model import TEXT, FilterQuery, FilterTerm
from foliot.features.filters.sql.counts import TargetCallers, callers, tests, went_to
from foliot.features.mutes.sql import muted

MOST_SCHEDULES = 5000
"""Schedules with a matching name; of more, the newest."""
FEW = 100
CLOCKS = timedelta(hours=1)
"""The largest difference between the clocks that ids were made with."""
ERRED = sorted([*FAILURES, RunState.CANCELLED, RunState.RETRYING])
"""States in which a run can have an error."""

_ERROR = type_coerce(runs.c.error, Text())
"""Errors are stored as JSON with the code first, always formatted the same way."""
_SCHEDULE_ID = re.compile(r"sch_[0-9a-f]{32}")
_BY_SCHEDULE = ("schedule", "tag")
_PLAIN = ("state", "since", "until")

Condition = ColumnElement[bool]


@dataclass(slots=True)
class RunConditions:
    """Translates one filter. Schedules are looked up first, so that runs are matched by schedule id."""

    conn: AsyncConnection
    dialect: Dialect
    tenant_id: str
    query: FilterQuery
    now: datetime
    few: int = FEW
    """Up to so many schedules, the index by schedule is faster than the one by time."""
    _schedules: dict[int, list[str]] = field(default_factory=dict)
    _callers: dict[int, TargetCallers | None] = field(default_factory=dict)
    _muted: list[str] = field(default_factory=list)
    _bounds: list[Condition] = field(default_factory=list)

    @classmethod
    async def of(
        cls, conn: AsyncConnection, dialect: Dialect, tenant_id: str, query: FilterQuery, now: datetime
    ) -> RunConditions:
        conditions = cls(conn, dialect, tenant_id, query, now)
        for place, term in enumerate(query.terms):
            if term.key in {*_BY_SCHEDULE, TEXT}:
                conditions._schedules[place] = await conditions._named(term)
            elif term.key == "target":
                conditions._callers[place] = await callers(conn, dialect, tenant_id, term.values)
        if query.of("muted"):
            conditions._muted = await muted(conn, tenant_id, now)
        conditions._bounds = await conditions._between()
        return conditions

    def ways(self) -> list[list[Condition]]:
        """Disjoint sets of conditions, each of which an index scan answers in the order of ids."""
        common = self.conditions()
        wanted = self.states()
        if wanted is not None:
            return [[*common, runs.c.state == state] for state in wanted]
        if self._asks("kind", "queue", "target") and not self._by_schedule():
            # Ended runs have indexes by queue and by kind; open ones are few, and have one by state.
            ended = [*common, runs.c.finished_at.is_not(None)]
            return [ended, *([*common, runs.c.state == state] for state in sorted(OPEN))]
        return [common]

    def states(self) -> list[RunState] | None:
        """Which states can match; None when the filter does not limit them."""
        wanted = [{RunState(value) for value in term.values} for term in self.query.of("state") if not term.negated]
        if self._asks("fingerprint"):
            wanted.append(set(FAILURES))
        if self._asks("code"):
            wanted.append(set(ERRED))
        if any(not term.negated and not named for term, named in self._texts()):
            # No schedule has that name: only errors can match.
            wanted.append(set(ERRED))
        if self._asks("resolved", "muted"):
            wanted.append({RunState.DEAD_LETTER})
        return sorted(set.intersection(*wanted)) if wanted else None

    def conditions(self) -> list[Condition]:
        """All but the states that `states` names."""
        conditions = [self._owner(), *self._bounds]
        for place, term in enumerate(self.query.terms):
            if term.key == "state" and not term.negated:
                continue
            condition = self._condition(place, term)
            conditions.append(not_(func.coalesce(condition, false())) if term.negated else condition)
        return conditions

    async def only(self, states: Collection[RunState]) -> RunConditions:
        """The same for these states alone."""
        narrowed = self.query.also(FilterTerm("state", tuple(sorted(states))))
        return await RunConditions.of(self.conn, self.dialect, self.tenant_id, narrowed, self.now)

    def plain(self) -> bool:
        """Whether it has only states and times, which the index of ended runs covers."""
        return all(term.key in _PLAIN and not term.negated for term in self.query.terms)

    def times(self) -> tuple[datetime | None, datetime | None]:
        """Its lower and upper bound of time."""
        since = max((term.at for term in self.query.of("since") if term.at), default=None)
        return since, min((term.at for term in self.query.of("until") if term.at), default=None)

    def near(self) -> list[Condition]:
        """The approximate creation time, by ids alone where those are ordered by time."""
        since, until = self.times()
        exact = [] if since is None else [runs.c.created_at >= since]
        exact += [] if until is None else [runs.c.created_at < until]
        return self._bounds or exact

    def where(self) -> list[Condition]:
        """All conditions in one set, for queries without an order."""
        wanted = self.states()
        return self.conditions() if wanted is None else [*self.conditions(), runs.c.state.in_(wanted)]

    def chosen(self) -> Select[Any]:
        """The statement that chooses runs to act on: for a bulk action, and for a replay that answers at once."""
        return select(runs.c.id).where(*self.where())

    async def oldest(self, limit: int) -> list[str]:
        """The ids of the oldest that match."""
        return list((await self.conn.execute(self.chosen().order_by(runs.c.id).limit(limit))).scalars())

    def _asks(self, *keys: str) -> bool:
        return any(term.key in keys and not term.negated for term in self.query.terms)

    def _texts(self) -> list[tuple[FilterTerm, list[str]]]:
        """Free text, with the schedules whose names contain it."""
        return [(term, self._schedules[at]) for at, term in enumerate(self.query.terms) if term.key == TEXT]

    def _by_schedule(self) -> bool:
        """Whether the filter names so few schedules that the index by schedule is the best."""
        return any(
            len(self._schedules[place]) <= self.few
            for place, term in enumerate(self.query.terms)
            if term.key in _BY_SCHEDULE and not term.negated
        )

    def _owner(self) -> Condition:
        # They have few of the tenant's runs; SQLite, without statistics, must not use the index by tenant.
        few = self._by_schedule() or self._asks("parent")
        return (func.coalesce(runs.c.tenant_id, "") if few else runs.c.tenant_id) == self.tenant_id

    def _condition(self, place: int, term: FilterTerm) -> Condition:  # noqa: C901, PLR0911, PLR0912 -- one arm for each key
        values = term.values
        match term.key:
            case "since":
                return runs.c.created_at >= term.at
            case "until":
                return runs.c.created_at < term.at
            case "schedule" | "tag":
                return self.dialect.among(runs.c.schedule_id, self._schedules[place])
            case "target":
                return went_to(self.dialect, self._callers[place], values)
            case "text":
                return self._said(self._schedules[place], values)
            case "id" | "parent" | "fingerprint":
                column = {"id": runs.c.id, "parent": runs.c.parent_id, "fingerprint": runs.c.fingerprint}[term.key]
                return or_(*(begins(column, value) for value in values))
            case "code":
                return or_(*(_coded(value) for value in values))
            case "exact_code":
                return or_(*(_coded(value, whole=True) for value in values))
            case "late":
                return late(self.now)
            case "took":
                return Elapsed(runs.c.started_at, runs.c.finished_at) >= min(int(value) for value in values)
            case "resolved":
                return and_(runs.c.state == RunState.DEAD_LETTER, runs.c.resolved_by.is_not(None))
            case "muted":
                silent = self.dialect.among(runs.c.fingerprint, self._muted)
                return and_(runs.c.state == RunState.DEAD_LETTER, silent)
            case "replaying":
                return replaying()
            case "repeated":
                return repeated()
            case "test":
                return tests()
            case "worker":
                return or_(*(starred(runs.c.worker, value) for value in values))
            case _:
                return runs.c[term.key].in_(values)

    def _said(self, named: Sequence[str], values: Sequence[str]) -> Condition:
        """Its schedule's name or its error contains the text."""
        erred = and_(runs.c.state.in_(ERRED), *(_says(value) for value in values))
        return or_(self.dialect.among(runs.c.schedule_id, named), erred) if named else erred

    async def _named(self, term: FilterTerm) -> list[str]:
        query = select(schedules.c.id).where(schedules.c.tenant_id == self.tenant_id)
        ids = [value for value in term.values if _SCHEDULE_ID.fullmatch(value)] if term.key == "schedule" else []
        match term.key:
            case "tag":
                said = or_(*(tagged(value) for value in term.values))
            case "schedule":
                said = or_(false(), *(called(value) for value in term.values if value not in ids))
            case _:
                said = and_(*(func.lower(schedules.c.name).contains(v.lower(), autoescape=True) for v in term.values))
        if len(ids) == len(term.values):
            return ids
        query = query.where(said).order_by(schedules.c.id.desc()).limit(MOST_SCHEDULES)
        return [*ids, *(await self.conn.execute(query)).scalars()]

    async def _between(self) -> list[Condition]:
        """Ids begin with their creation time, so they bound the scan, if ids and clock agree."""
        since, until = self.times()
        if (since is None and until is None) or not await self._agree():
            return []
        found = []
        if since is not None:
            found.append(runs.c.id >= floor_id(RUN, max(since - CLOCKS, _EPOCH)))
        if until is not None:
            found.append(runs.c.id < floor_id(RUN, until + CLOCKS))
        return found

    async def _agree(self) -> bool:
        """Whether the oldest and the newest run were created when their ids say."""
        mine = select(runs.c.id, runs.c.created_at).where(runs.c.tenant_id == self.tenant_id).limit(1)
        for query in (mine.order_by(runs.c.id), mine.order_by(runs.c.id.desc())):
            row = (await self.conn.execute(query)).first()
            if row is not None and not (
                floor_id(RUN, row.created_at - CLOCKS) <= row.id < floor_id(RUN, row.created_at + CLOCKS)
            ):
                return False
        return True


_EPOCH = datetime.fromisoformat("1970-01-02T00:00:00+00:00")


def late(now: datetime) -> Condition:
    """Began long after it was ready, or has long been ready and has not begun."""
    due = func.coalesce(runs.c.due_at, runs.c.scheduled_for, runs.c.created_at)
    began = and_(runs.c.started_at.is_not(None), Elapsed(due, runs.c.started_at) > LATE // timedelta(milliseconds=1))
    waits = and_(
        runs.c.started_at.is_(None),
        or_(runs.c.lane.is_not(None), runs.c.poll_at.is_not(None)),
        runs.c.ready_at < literal(now - LATE, Moment()),
    )
    return or_(began, waits)


def _says(words: str) -> Condition:
    """Its error's message contains them: JSON-escaped as it is stored, and after the code."""
    kept = orjson.dumps(words.lower()).decode()[1:-1]
    escaped = kept.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return func.lower(_ERROR).like(f'%"message":"%{escaped}%', escape="/")


def _coded(code: str, *, whole: bool = False) -> Condition:
    """Its error's code begins so, or is this. By equality, which is the same in every collation; order is not."""
    written = orjson.dumps(code).decode()
    head = f'{{"code":{f"{written}," if whole else written[:-1]}'
    return func.substr(_ERROR, 1, len(head)) == head


def replaying() -> Condition:
    """A dead letter whose replay has not ended yet."""
    replay = runs.alias("replay")
    mine = (replay.c.parent_id == runs.c.id, replay.c.origin.in_(sorted(REPEATS)))
    return select(replay.c.id).where(*mine, replay.c.state.in_(sorted(OPEN))).exists()


def repeated() -> Condition:
    """A later run repeats it, whatever the outcome of that."""
    child = runs.alias("child")
    return select(child.c.id).where(child.c.parent_id == runs.c.id, child.c.origin.in_(sorted(REPEATS))).exists()


def tagged(tag: str) -> Condition:
    return schedules.c.tags.contains(f"\n{tag}\n", autoescape=True)


def called(name: str) -> Condition:
    """By id or name, or, with `*` at the end, by a prefix of the name."""
    if _SCHEDULE_ID.fullmatch(name):
        return schedules.c.id == name
    return starred(func.lower(schedules.c.name), name.lower())


def starred(column: Any, value: str) -> Condition:
    """Equal, or, with `*` at the end, a prefix."""
    if value.endswith("*"):
        return column.startswith(value[:-1], autoescape=True)  # type: ignore[no-any-return]
    return column == value  # type: ignore[no-any-return]


def begins(column: Any, value: str) -> Condition:
    """A prefix match as a range, which an index can scan. Only for text with a binary collation."""
    return and_(column >= value, column < value + "\U0010ffff")
