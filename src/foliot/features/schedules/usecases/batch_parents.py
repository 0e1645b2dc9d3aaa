"""Resolves the schedules that those of a batch follow: existing ones, and others of the same batch, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foliot.core.errors import Invalid
from foliot.core.ids import SCHEDULE
from foliot.db.database import Transaction
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.follow_rows import FollowLink
from foliot.engine.sql.follows import SqlFollowUps
from foliot.features.schedules.usecases.parents import (
    FIELD,
    MOST_FOLLOWERS,
    follows_others,
    name_of,
    named,
    refuse_ring,
    unknown,
    with_parents,
)


@dataclass(frozen=True, slots=True)
class LinkedBatch:
    """The documents of a batch with ids in place of the names of parents."""

    documents: Sequence[object]
    ids: Mapping[int, str]
    """The ids that schedules will have which others of the batch may follow, by place."""
    refused: Mapping[int, Invalid]
    parents: Mapping[int, frozenset[int]]
    """Which places of the batch each place follows."""

    def with_descendants(self, refused: set[int]) -> dict[int, Invalid]:
        """Why those are refused that follow these places, directly or not."""
        found: dict[int, Invalid] = {}
        more = True
        while more:
            lost = {
                place: parents & (refused | found.keys())
                for place, parents in self.parents.items()
                if place not in refused and place not in found and parents & (refused | found.keys())
            }
            for place, gone in lost.items():
                names = ", ".join(sorted(name_of(self.documents[one]) for one in gone))
                found[place] = Invalid(FIELD, f"was refused: {names}")
            more = bool(lost)
        return found


async def link(tx: Transaction, tenant_id: str, wanted: Sequence[object], new_id: Callable[[str], str]) -> LinkedBatch:
    """One query for all names, however many schedules follow others."""
    asked = {place: named(raw) for place, raw in enumerate(wanted) if follows_others(raw)}
    if not any(asked.values()):
        return LinkedBatch(wanted, {}, {}, {})
    ids = {place: new_id(SCHEDULE) for place in range(len(wanted))}
    places = {schedule_id: place for place, schedule_id in ids.items()}
    known, names = await _known(
        tx, tenant_id, wanted, ids, {parent for parents in asked.values() for parent in parents}
    )
    refused: dict[int, Invalid] = {}
    found: dict[int, dict[str, str]] = {}
    for place, parents in asked.items():
        try:
            found[place] = {parent: await _one(tx, tenant_id, (at, parent), known) for at, parent in enumerate(parents)}
        except Invalid as wrong:
            refused[place] = wrong
    refused |= _rings(wanted, ids, found) | await _crowded(tx, found)
    inside = {place: frozenset(places[one] for one in its.values() if one in places) for place, its in found.items()}
    documents = [with_parents(raw, found.get(place, {}), names) for place, raw in enumerate(wanted)]
    return LinkedBatch(documents, ids, refused, inside)


async def _known(
    tx: Transaction, tenant_id: str, wanted: Sequence[object], ids: Mapping[int, str], parents: set[str]
) -> tuple[dict[str, set[str]], dict[str, str]]:
    """The ids that each id or name may mean, and the names by id."""
    known: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    for schedule_id, name, status in await SqlFollowUps(tx).of_names(tenant_id, parents):
        if status is not ScheduleStatus.DELETED:
            known.setdefault(name, set()).add(schedule_id)
            known[schedule_id] = {schedule_id}
            names[schedule_id] = name
    for place, raw in enumerate(wanted):
        if (name := name_of(raw)) in parents:
            known.setdefault(name, set()).add(ids[place])
            names[ids[place]] = name
    return known, names


async def _one(tx: Transaction, tenant_id: str, at: tuple[int, str], known: Mapping[str, set[str]]) -> str:
    place, parent = at
    matches = sorted(known.get(parent, ()))
    if len(matches) > 1:
        raise Invalid(f"{FIELD}[{place}]", f"is the name of {len(matches)} schedules: give the id", got=parent)
    if not matches:
        raise await unknown(tx, tenant_id, place, parent)
    return matches[0]


def _rings(
    wanted: Sequence[object], ids: Mapping[int, str], found: Mapping[int, Mapping[str, str]]
) -> dict[int, Invalid]:
    """A ring can only go through new schedules: what exists follows none of them."""
    links = [FollowLink(parent, ids[place]) for place, parents in found.items() for parent in parents.values()]
    names = {schedule_id: name_of(wanted[place]) for place, schedule_id in ids.items()}
    rings = {}
    for place in found:
        try:
            refuse_ring(ids[place], links, names)
        except Invalid as ring:
            rings[place] = ring
    return rings


async def _crowded(tx: Transaction, found: Mapping[int, Mapping[str, str]]) -> dict[int, Invalid]:
    wanted = Counter(parent for parents in found.values() for parent in parents.values())
    there = await SqlFollowUps(tx).followers(sorted(wanted), "") if wanted else {}
    full = {parent for parent, number in wanted.items() if number + there.get(parent, 0) > MOST_FOLLOWERS}
    error = Invalid(FIELD, f"would have more than {MOST_FOLLOWERS} followers, the maximum")
    return {place: error for place, parents in found.items() if full & set(parents.values())}
