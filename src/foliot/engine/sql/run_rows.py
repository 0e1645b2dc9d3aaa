"""Rows of runs and attempts as views, and the statements that read them, each built once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Update, bindparam, case, func, null, or_, select, type_coerce, update

from foliot.db.dialects import Dialect
from foliot.db.metadata import Document
from foliot.engine.model.run import EXCHANGE, OPEN, Origin, RunState
from foliot.engine.model.views import AttemptView, RunView
from foliot.engine.sql.tables import attempts, runs, schedules

NAME = select(schedules.c.name).where(schedules.c.id == runs.c.schedule_id).scalar_subquery().label("schedule_name")
"""The current name of a run's schedule."""

BRIEF = 2048
"""Characters of a response that lists show."""

_STORED = {"buffered": "buffered_of", "put_off": "waiting"}
_NAMES = tuple(one.name for one in fields(RunView) if one.name not in {"attempts", "schedule_name"})
"""Its fields, in their order, that are stored with the run."""
_COLUMNS = tuple(runs.c[_STORED.get(name, name)] for name in _NAMES)
SEEN = (*_COLUMNS, NAME)
"""What a view is made of: a list reads no other columns, because the driver decodes each value of each row."""
_ORIGINS = {each.value: each for each in Origin}
_STATES = {each.value: each for each in RunState}
_SHAPES = 256
"""Kinds of lists whose statements are kept: by filters, and by the states that are asked for."""


@cache
def one_run(dialect: Dialect, *, lock: bool) -> Select[Any]:
    query = _seen(lock=lock).where(runs.c.id == bindparam("id"), runs.c.tenant_id == bindparam("tenant"))
    return dialect.lock(query) if lock else query


@cache
def several_runs(dialect: Dialect, *, lock: bool) -> Select[Any]:
    mine = (dialect.listed(runs.c.id, "ids"), runs.c.tenant_id == bindparam("tenant"))
    query = _seen(lock=lock).where(*mine).order_by(runs.c.id)
    return dialect.lock(query) if lock else query


@lru_cache(maxsize=_SHAPES)
def run_pages(names: tuple[str, ...], states: tuple[RunState, ...], *, after: bool) -> tuple[Select[Any], ...]:
    """Newest first, by the filters of these names; several statements where one would read too many rows."""
    # A schedule has few of its tenant's runs; SQLite, which keeps no statistics, must not begin with the tenant.
    owner = func.coalesce(runs.c.tenant_id, "") if "schedule_id" in names else runs.c.tenant_id
    query = _seen().where(owner == bindparam("tenant"))
    if after:
        query = query.where(runs.c.id < bindparam("cursor"))
    for name in names:
        query = query.where(runs.c[name] == bindparam(name))
    query = query.order_by(runs.c.id.desc()).limit(bindparam("most"))
    if "schedule_id" in names or not names:
        return (query.where(runs.c.state.in_(states)) if states else query,)
    return tuple(_parts(query, states))


@cache
def ended_attempts(dialect: Dialect, *, whole: bool) -> Select[Any]:
    columns: list[ColumnElement[Any]] = list(attempts.c)
    if not whole:
        # A page of full responses could be as large as all of our memory.
        short = func.length(attempts.c.response) <= BRIEF
        brief = type_coerce(case((short, attempts.c.response)), Document).label("response")
        columns = [brief if column.name == "response" else column for column in columns]
    query = select(*columns).where(dialect.listed(attempts.c.run_id, "ids"))
    return query.order_by(attempts.c.run_id, attempts.c.epoch)


@cache
def last_run(dialect: Dialect) -> Update:
    stale = or_(schedules.c.last_run_at.is_(None), schedules.c.last_run_at < bindparam("now"))
    return update(schedules).where(dialect.listed(schedules.c.id, "ids"), stale).values(last_run_at=bindparam("now"))


def _seen(*, lock: bool = False) -> Select[Any]:
    """Runs with their schedules' names; a locking read leaves the names out, to lock no schedule."""
    return select(*_COLUMNS, null()) if lock else select(*SEEN)


def view_of(row: Any) -> RunView:
    """A row that begins with `SEEN`."""
    view = RunView(*row[: len(SEEN)])
    view.origin, view.state, view.buffered = _ORIGINS[view.origin], _STATES[view.state], view.buffered is not None
    return view


def attempt_of(row: Any) -> AttemptView:
    response = dict(row.response or {})
    exchange = response.pop(EXCHANGE, None) or {}
    return AttemptView(
        epoch=row.epoch,
        number=row.number,
        worker=row.worker,
        outcome=row.outcome,
        started_at=row.started_at,
        ended_at=row.ended_at,
        error=row.error,
        response=response or None,
        retry_at=row.retry_at,
        request=exchange.get("request"),
        timing=exchange.get("timing"),
    )


def _parts(query: Select[Any], wanted: Sequence[RunState]) -> list[Select[Any]]:
    """Ended runs, which have indexes by queue and by kind, and open ones, of which there are few."""
    ended = [state for state in wanted if state.final]
    waiting = [state for state in wanted or sorted(OPEN) if not state.final]
    parts = []
    if ended or not wanted:
        part = query.where(runs.c.finished_at.is_not(None))
        parts.append(part.where(runs.c.state.in_(ended)) if ended else part)
    # One by one: for several states at once, SQLite would scan all runs in their order.
    parts += [query.where(runs.c.state == state) for state in waiting]
    return parts
