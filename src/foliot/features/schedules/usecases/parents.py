"""Resolves the schedules that a request wants to follow, and refuses unknown ones and rings."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.time.trigger import After, TriggerType, follow
from foliot.db.database import Transaction
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.follow_rows import FollowLink
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.schedules import SqlSchedules

FIELD = "after.schedule"
MOST_FOLLOWERS = 100
"""Schedules that follow one: the transaction that ends its runs makes theirs."""
MOST_NAMED = 20


def follows_others(raw: object) -> bool:
    """Whether a request names schedules to follow."""
    return isinstance(raw, Mapping) and raw.get("type") == TriggerType.AFTER and isinstance(raw.get("after"), Mapping)


def changes_parents(raw: object) -> bool:
    """Whether a patch may change what a schedule follows."""
    return isinstance(raw, Mapping) and (raw.get("type") == TriggerType.AFTER or raw.get("after") is not None)


def named(raw: object) -> tuple[str, ...]:
    """What a request names as parents; nothing where it is invalid, which is reported when it is read."""
    if not follows_others(raw):
        return ()
    try:
        return follow(raw["after"]).parents  # type: ignore[index]
    except Invalid:
        return ()


def with_parents(raw: object, ids: Mapping[str, str], names: Mapping[str, str]) -> object:
    """The request with ids in place of names, and the names beside them."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("after"), Mapping):
        return raw
    parents = list(dict.fromkeys(ids.get(parent, parent) for parent in named(raw)))
    follow = {**raw["after"], "schedule": parents, "names": [names.get(parent, parent) for parent in parents]}
    return {**raw, "after": follow} if parents else raw


async def resolved(tx: Transaction, tenant_id: str, raw: object, own_id: str, before: After | None = None) -> object:
    """The request with the ids of the schedules that its own would follow."""
    wanted = named(raw)
    if not wanted:
        return raw
    # Before anything is read: what another transaction is about to add would close the ring.
    await SqlFollowUps(tx).wait_turn(tenant_id)
    kept = set() if before is None else set(before.parents)
    ids = await _ids(tx, tenant_id, wanted, kept)
    parents = sorted({ids[parent] for parent in wanted})
    links = [FollowLink(parent, own_id) for parent in parents]
    above = [] if own_id in parents else await SqlFollowUps(tx).links_above(tenant_id, parents)
    names = {**await _names(tx, tenant_id, [*links, *above]), own_id: name_of(raw)}
    refuse_ring(own_id, [*links, *above], names)
    for parent, number in (await SqlFollowUps(tx).followers(parents, own_id)).items():
        if number >= MOST_FOLLOWERS:
            raise Invalid(FIELD, f"already has {MOST_FOLLOWERS} followers, the maximum", got=parent)
    return with_parents(raw, ids, names)


def name_of(raw: object) -> str:
    name = raw.get("name") if isinstance(raw, Mapping) else None
    return name if isinstance(name, str) else "it"


async def _ids(tx: Transaction, tenant_id: str, wanted: Collection[str], kept: Collection[str]) -> dict[str, str]:
    """The ids of these schedules. One that was deleted stays where it stood: its follower may still be edited."""
    rows = await SqlFollowUps(tx).of_names(tenant_id, wanted)
    ids: dict[str, str] = {}
    for place, parent in enumerate(wanted):
        there = {row[0] for row in rows if row[2] is not ScheduleStatus.DELETED or row[0] in kept}
        by_id = parent in there
        matches = [parent] if by_id else [row[0] for row in rows if row[1] == parent and row[0] in there]
        if len(matches) > 1:
            raise Invalid(f"{FIELD}[{place}]", f"is the name of {len(matches)} schedules: give the id", got=parent)
        if not matches:
            raise await unknown(tx, tenant_id, place, parent)
        ids[parent] = matches[0]
    return ids


async def unknown(tx: Transaction, tenant_id: str, place: int, parent: str) -> Invalid:
    names = await SqlSchedules(tx).some_names(tenant_id, MOST_NAMED * 10)
    close = difflib.get_close_matches(parent[:100], names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return Invalid(f"{FIELD}[{place}]", f"is not the id or the name of a schedule{hint}", got=parent)


async def _names(tx: Transaction, tenant_id: str, links: Sequence[FollowLink]) -> dict[str, str]:
    ids = {one for link in links for one in link}
    return {row[0]: row[1] for row in await SqlFollowUps(tx).of_names(tenant_id, ids)}


def refuse_ring(own: str, links: Sequence[FollowLink], names: Mapping[str, str]) -> None:
    """`Invalid`, naming the ring, where following these links upwards leads back to the schedule."""
    above: dict[str, list[str]] = {}
    for link in links:
        above.setdefault(link.child_id, []).append(link.parent_id)
    way: dict[str, str] = {}
    level = [own]
    while level:
        here, level = level, []
        for child in here:
            for parent in above.get(child, ()):
                if parent == own:
                    raise Invalid(FIELD, f"would create a cycle: {_ring(own, child, way, names)}")
                if parent not in way:
                    way[parent] = child
                    level.append(parent)


def _ring(own: str, last: str, way: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """From the schedule up to its parents and back: "A after B after A"."""
    chain = [own, last]
    while chain[-1] != own:
        chain.append(way[chain[-1]])
    return " after ".join(repr(names.get(one, one)) for one in reversed(chain))
