"""The schedules of a tenant by name, and the ids of those that the documents of a file follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from foliot.core.errors import Invalid
from foliot.engine.model.schedule import Schedule
from foliot.engine.sql.follow_rows import FollowLink
from foliot.features.schedules.usecases.parents import follows_others, named, refuse_ring, with_parents


@dataclass(frozen=True, slots=True)
class ScheduleNames:
    """The schedules of the tenant, by id and by name."""

    by_id: Mapping[str, Schedule]
    by_name: Mapping[str, list[Schedule]]

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> ScheduleNames:
        by_name: dict[str, list[Schedule]] = {}
        for one in schedules:
            by_name.setdefault(one.name, []).append(one)
        return cls({one.id: one for one in schedules}, by_name)


@dataclass(slots=True)
class DocumentParents:
    """Ids of the schedules that documents follow: others of the same file first, then stored ones."""

    names: ScheduleNames
    ids: Mapping[str, str]
    """Of the documents, by name."""
    _links: list[FollowLink] = field(default_factory=list)

    def resolved(self, raw: object) -> object:
        if not follows_others(raw) or not isinstance(raw, Mapping):
            return raw
        found = {parent: self._id(place, parent) for place, parent in enumerate(named(raw))}
        own = self.ids[str(raw["name"]).strip()]
        self._links += [FollowLink(parent, own) for parent in found.values()]
        called = {one: name for name, one in self.ids.items()}
        called.update({one.id: one.name for one in self.names.by_id.values() if one.id not in called})
        refuse_ring(own, [*self._links, *self._standing()], called)
        return with_parents(raw, found, {one: called.get(one, one) for one in found.values()})

    def _standing(self) -> list[FollowLink]:
        """The links of stored schedules that no document is about."""
        mine = set(self.ids.values())
        return [
            FollowLink(parent, one.id)
            for one in self.names.by_id.values()
            if one.id not in mine and one.spec.trigger.follows is not None
            for parent in one.spec.trigger.follows.parents
        ]

    def _id(self, place: int, parent: str) -> str:
        if parent in self.ids:
            return self.ids[parent]
        if parent in self.names.by_id:
            return parent
        found = self.names.by_name.get(parent, [])
        if len(found) > 1:
            raise Invalid(f"after.schedule[{place}]", f"is the name of {len(found)} schedules: give the id", got=parent)
        if not found:
            raise Invalid(f"after.schedule[{place}]", "is neither in these documents nor a schedule", got=parent)
        return found[0].id
