"""Finds the schedules and runs that call a webhook target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, String, Text, and_, cast, func, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.run import TEST
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS
from foliot.features.webhooks.model import LONGEST, WEBHOOK

_HEAD = '{"url":"'
"""Webhooks are stored as JSON with the URL first, always formatted the same way."""
_ENDS = ('"', "?", "#")
"""What may follow an address: the end of the URL, its query, its fragment."""

MOST_VERSIONS = 5000
"""Versions of schedules that are listed by number; beyond that, the action of each run is read."""

Condition = ColumnElement[bool]


def goes_to(column: Any, addresses: Sequence[str]) -> Condition:
    """Whether the webhook in this column calls one of these addresses."""
    text = type_coerce(column, Text())
    return or_(*(_goes(text, address) for address in addresses))


def _goes(text: Any, address: str) -> Condition:
    scheme, _, rest = address.partition("://")
    host, slash, beyond = rest.partition("/")
    origin, path = f"{_HEAD}{scheme}://{host}", f"{slash}{beyond}"
    kept = orjson.dumps(path).decode()[1:-1]
    after = len(origin) + 1
    # An address holds only the beginning of a longer path.
    ends = [kept] if len(path) >= LONGEST else [f"{kept}{end}" for end in _ENDS]
    follows: Condition = func.substr(text, after, len(ends[0])).in_(ends)
    if path == "/":
        follows = or_(follows, func.substr(text, after, 1).in_(_ENDS))
    # Host names are case-insensitive, paths are not.
    return and_(func.lower(func.substr(text, 1, len(origin))) == origin, follows)


def tests() -> Condition:
    """Test requests to a target: they are marked at the end of their action."""
    marked = type_coerce(runs.c.action, Text()).like(f'%,"{TEST}":true}}')
    return and_(runs.c.kind == WEBHOOK, runs.c.schedule_id.is_(None), marked)


@dataclass(frozen=True, slots=True)
class TargetCallers:
    """The schedules that call a target. Read before the runs: actions can be large, and runs many."""

    always: Sequence[str]
    """Schedules that never called another."""
    versions: Mapping[str, Sequence[int]]
    """Of the others, the versions that call this one."""


async def callers(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, addresses: Sequence[str]
) -> TargetCallers | None:
    """Schedules that call one of these addresses, or once did; deleted ones too. None: there are too many to list."""
    mine = schedules.join(versions, versions.c.schedule_id == schedules.c.id)
    query = select(versions.c.schedule_id, versions.c.version).select_from(mine)
    query = query.join(BODY, HOLDS).where(schedules.c.tenant_id == tenant_id, goes_to(BODY.c.action, addresses))
    found: dict[str, list[int]] = {}
    rows = (await conn.execute(query.limit(MOST_VERSIONS + 1))).all()
    if len(rows) > MOST_VERSIONS:
        return None
    for schedule_id, version in rows:
        found.setdefault(schedule_id, []).append(version)
    counted = select(versions.c.schedule_id, func.count()).where(dialect.among(versions.c.schedule_id, list(found)))
    every: dict[str, int] = {}
    if found:
        every = {row[0]: row[1] for row in await conn.execute(counted.group_by(versions.c.schedule_id))}
    always = [one for one, numbers in found.items() if len(numbers) == every.get(one)]
    return TargetCallers(always, {one: numbers for one, numbers in found.items() if len(numbers) != every.get(one)})


def went_to(dialect: Dialect, known: TargetCallers | None, addresses: Sequence[str]) -> Condition:
    """Whether a run called it: by its own action, or by that version of its schedule."""
    by_schedule = and_(runs.c.action.is_(None), _sent(dialect, known, addresses))
    return and_(runs.c.kind == WEBHOOK, or_(by_schedule, goes_to(runs.c.action, addresses)))


def _sent(dialect: Dialect, known: TargetCallers | None, addresses: Sequence[str]) -> Condition:
    if known is None:
        then = (
            select(versions.c.version)
            .join(BODY, HOLDS)
            .where(
                versions.c.schedule_id == runs.c.schedule_id,
                versions.c.version == runs.c.version,
                goes_to(BODY.c.action, addresses),
            )
        )
        return then.exists()
    found = dialect.among(runs.c.schedule_id, known.always)
    if known.versions:
        pairs = [f"{one}:{number}" for one, numbers in known.versions.items() for number in numbers]
        pair = runs.c.schedule_id + ":" + cast(runs.c.version, String(12))
        found = or_(found, and_(dialect.among(runs.c.schedule_id, list(known.versions)), dialect.among(pair, pairs)))
    return found
