"""Who follows whom: rows written with every version of a schedule of type `after`, and the search for rings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Conflict
from foliot.core.time.trigger import After
from foliot.db.dialects import Dialect
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.follow_tables import follows
from foliot.engine.sql.tables import schedules

MOST_LINKED = 1000
"""Links from a schedule up to the first of its chain."""
MOST_SHOWN = 200
"""Links of a chain that are shown."""


class FollowLink(NamedTuple):
    """One schedule that follows another."""

    parent_id: str
    child_id: str


async def replace_links(
    conn: AsyncConnection, dialect: Dialect, became: Sequence[Schedule], was: Sequence[Schedule] = ()
) -> None:
    """Write whom these schedules follow; no statement where none of them follows or followed any."""
    before = {one.id for one in was if one.spec.trigger.follows is not None}
    stood: dict[str, list[Any]] = {}
    if before:
        mine = dialect.among(follows.c.child_id, sorted(before))
        for row in await conn.execute(select(follows).where(mine)):
            stood.setdefault(row.child_id, []).append(row)
        await conn.execute(delete(follows).where(mine))
    rows = [row for one in became for row in _rows(one, stood.get(one.id, ()))]
    if rows:
        await dialect.insert(conn, follows, {name: [row[name] for row in rows] for name in rows[0]})


def _rows(schedule: Schedule, stood: Sequence[Any]) -> list[dict[str, Any]]:
    """A link that ends stays for a while: the end of a run that it followed may still be on its way."""
    now, active = schedule.updated_at, schedule.status is ScheduleStatus.ACTIVE
    rule = schedule.spec.trigger.follows
    wanted = () if rule is None or schedule.status is ScheduleStatus.DELETED else rule.parents
    known = {row.parent_id: row for row in stood}
    rows = []
    for parent_id in dict.fromkeys([*wanted, *known]):
        old, stands = known.get(parent_id), parent_id in wanted
        goes_on = old is not None and (old.active_until is None or not (stands and active))
        begun = old.active_from if old is not None and goes_on else now
        ended = None if stands and active else now if old is None or old.active_until is None else old.active_until
        rows.append(
            {
                "parent_id": parent_id,
                "child_id": schedule.id,
                "tenant_id": schedule.tenant_id,
                "stands": stands,
                "active_from": begun,
                "active_until": ended,
            }
        )
    return rows


async def links_around(conn: AsyncConnection, dialect: Dialect, tenant_id: str, schedule_id: str) -> list[FollowLink]:
    """Every link of the chain that a schedule is part of: above, below, and beside it."""
    seen, level, links = {schedule_id}, {schedule_id}, set[FollowLink]()
    while level:
        ids = sorted(level)
        mine = or_(dialect.among(follows.c.child_id, ids), dialect.among(follows.c.parent_id, ids))
        query = select(follows.c.parent_id, follows.c.child_id).where(
            mine, follows.c.tenant_id == tenant_id, follows.c.stands.is_(True)
        )
        rows = await conn.execute(query.order_by(follows.c.parent_id, follows.c.child_id).limit(MOST_SHOWN))
        links |= {FollowLink(*row) for row in rows}
        level = {one for link in links for one in link} - seen
        seen |= level
        if len(links) >= MOST_SHOWN:
            break
    return sorted(links)[:MOST_SHOWN]


async def links_above(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, ids: Collection[str]
) -> list[FollowLink]:
    """Every link from these schedules up to those that follow nothing; `Conflict` beyond `MOST_LINKED`. Level by level:
    one query for each, however many schedules it has.
    """
    seen, level, links = set(ids), set(ids), list[FollowLink]()
    while level:
        query = select(follows.c.parent_id, follows.c.child_id).where(
            dialect.among(follows.c.child_id, sorted(level)),
            follows.c.tenant_id == tenant_id,
            follows.c.stands.is_(True),
        )
        found = [FollowLink(*row) for row in await conn.execute(query.limit(MOST_LINKED + 1))]
        links += found
        if len(links) > MOST_LINKED:
            raise Conflict(f"more than {MOST_LINKED} schedules follow one another here")
        level = {link.parent_id for link in found} - seen
        seen |= level
    return links


async def count_followers(
    conn: AsyncConnection, dialect: Dialect, parents: Collection[str], child_id: str
) -> dict[str, int]:
    """How many schedules besides this one follow each of these."""
    query = select(follows.c.parent_id, func.count().label("number")).where(
        dialect.among(follows.c.parent_id, sorted(parents)), follows.c.child_id != child_id, follows.c.stands.is_(True)
    )
    return {row.parent_id: row.number for row in await conn.execute(query.group_by(follows.c.parent_id))}


async def with_names(conn: AsyncConnection, dialect: Dialect, found: Sequence[Schedule]) -> list[Schedule]:
    """The schedules as they are, their triggers with the present names of those that they follow."""
    wanted = {parent for one in found for parent in _parents(one)}
    if not wanted:
        return list(found)
    query = select(schedules.c.id, schedules.c.name).where(dialect.among(schedules.c.id, sorted(wanted)))
    names: dict[str, str] = {row.id: row.name for row in await conn.execute(query)}
    return [_named(one, names) for one in found]


def _parents(schedule: Schedule) -> tuple[str, ...]:
    rule = schedule.spec.trigger.follows
    return () if rule is None else rule.parents


def _named(schedule: Schedule, names: dict[str, str]) -> Schedule:
    trigger = schedule.spec.trigger
    if not isinstance(trigger.rule, After):
        return schedule
    rule = replace(trigger.rule, names=tuple(names.get(parent, parent) for parent in trigger.rule.parents))
    return replace(schedule, spec=replace(schedule.spec, trigger=replace(trigger, rule=rule)))


async def of_names(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, given: Collection[str]
) -> list[tuple[str, str, ScheduleStatus]]:
    """(id, name, status) of the schedules of a tenant with one of these ids or names; deleted ones by id only."""
    query = select(schedules.c.id, schedules.c.name, schedules.c.status).where(schedules.c.tenant_id == tenant_id)
    by_id = query.where(dialect.among(schedules.c.id, sorted(given)))
    by_name = query.where(
        dialect.among(schedules.c.name, sorted(given)), schedules.c.status != ScheduleStatus.DELETED
    ).limit(MOST_LINKED)
    rows = {row.id: row for one in (by_id, by_name) for row in await conn.execute(one)}
    return [(row.id, row.name, ScheduleStatus(row.status)) for row in rows.values()]


async def newly_followed(conn: AsyncConnection, since: datetime, limit: int) -> list[str]:
    """Schedules that began to follow another after this moment."""
    query = select(follows.c.child_id).where(follows.c.active_from > since, follows.c.active_until.is_(None))
    return list((await conn.execute(query.distinct().order_by(follows.c.child_id).limit(limit))).scalars())


async def forget_links(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> int:
    """Delete links that stand no more and ended before this moment."""
    query = select(follows.c.parent_id, follows.c.child_id).where(
        follows.c.active_until < before, follows.c.stands.is_(False)
    )
    rows = (await conn.execute(dialect.lock(query.limit(limit), skip=True))).all()
    for row in rows:
        this = (follows.c.parent_id == row.parent_id, follows.c.child_id == row.child_id)
        await conn.execute(delete(follows).where(*this))
    return len(rows)
