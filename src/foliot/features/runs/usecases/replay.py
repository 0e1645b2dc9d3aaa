"""Plans what runs do when they are replayed.

Decides what a replayed run does: by its schedule's settings now, or by those it had when the run was created.

Parameters that were overridden for one run are kept, whichever settings it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

from foliot.core.declaration import Parsed
from foliot.core.errors import Conflict, Invalid
from foliot.core.json_values import check_plain
from foliot.core.secrets import kept
from foliot.db.database import Transaction
from foliot.engine.model.run import MANUAL_QUEUE
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import RunView
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.schedules.model.document import ActionCheck, read_action


class ReplayVersion(StrEnum):
    """Which settings of its schedule a replayed run follows."""

    NOW = "now"
    """The present ones; the old ones where the schedule is gone, damaged, or has another kind of action."""
    THEN = "then"
    """Those of the version the run was created from."""


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of a replay."""

    as_of: ReplayVersion = ReplayVersion.NOW
    patch: Mapping[str, Any] | None = None
    """A merge patch applied to what each of them would send."""

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> ReplayOptions:
        """From their stored form."""
        return cls(ReplayVersion(details.get("as_of", ReplayVersion.THEN)), details.get("patch"))

    def details(self) -> dict[str, Any]:
        """In their stored form."""
        return {"as_of": self.as_of.value} | ({} if self.patch is None else {"patch": dict(self.patch)})


AS_IT_WAS = ReplayOptions(ReplayVersion.THEN)


def gone(kind: str, schedule: Schedule | None) -> str | None:
    """Why a run of this kind cannot follow its schedule's present settings; None when it can."""
    if schedule is None:
        return "it has no schedule"
    if schedule.status is ScheduleStatus.DELETED:
        return "its schedule is deleted"
    if schedule.fault is not None:
        return "its schedule is damaged"
    if schedule.spec.kind != kind:
        return f"its schedule does {schedule.spec.kind} now, no longer {kind}"
    return None


def own(action: Mapping[str, Any], then: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """The overrides of one run: where its parameters differ from those of its schedule then, applied to those of now.
    Parameters that were added stay, those that were removed stay removed. None when nothing was overridden."""
    given = {name: value for name, value in action.items() if name not in then or then[name] != value}
    taken = then.keys() - action.keys()
    if not given and not taken:
        return None
    return {name: value for name, value in now.items() if name not in taken} | given


def merged(document: object, patch: object) -> Any:
    """A JSON merge patch (RFC 7396): objects are merged, null takes away, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    made = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merged(made.get(name), value)
    return made


def edited(kind: str, config: Mapping[str, Any], patch: Mapping[str, Any], check: ActionCheck) -> dict[str, Any]:
    """The configuration with the patch applied; `Invalid` says why it cannot be sent."""
    if not config:
        raise Invalid("patch", "has nothing to change: this action has no payload")
    return read_action("patch", kind, kept("patch", merged(config, patch), config), check)


def _patch(path: str, given: object) -> dict[str, Any] | None:
    if not isinstance(given, Mapping):
        raise Invalid(path, "must be an object: a JSON merge patch of the payload", got=given)
    if "kind" in given:
        raise Invalid(path, "must not change 'kind': a replay is of the same kind")
    check_plain(path, given)
    return dict(given) or None


AS_OF = (
    "By the settings of their schedule `now` (as they were, where it is gone or does something else), or by those of "
    "`then`. What a run was given for itself alone stays in both."
)
PATCH = "A JSON merge patch (RFC 7396) applied to the payload of each."
MergePatch = Annotated[dict[str, Any] | None, Parsed(_patch)]
"""The merge patch of a replay request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What one run does when it is replayed."""

    old: RunView
    version: int | None
    action: Mapping[str, Any] | None
    """Its own, where it differs from that of the version."""
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: int | None
    stays: str | None = None
    """Why it follows its old settings, though the present ones were asked for."""


@dataclass(frozen=True, slots=True)
class ReplayPlanner:
    """Holds the present settings of the runs' schedules and, where needed, their old ones."""

    terms: ReplayOptions
    check: ActionCheck
    schedules: Mapping[str, Schedule]
    then: Mapping[tuple[str, int], Mapping[str, Any]]

    @classmethod
    async def of(
        cls, tx: Transaction, olds: Sequence[RunView], terms: ReplayOptions, check: ActionCheck, *, whole: bool = False
    ) -> ReplayPlanner:
        """Two queries at most, however many runs. `whole`: also load what `config` needs."""
        if not olds:
            return cls(terms, check, {}, {})
        tenant_id = olds[0].tenant_id
        ids = sorted({old.schedule_id for old in olds if old.schedule_id is not None})
        found = await SqlSearch(tx).several_schedules(tenant_id, ids) if ids else []
        differ = [old for old in olds if whole or terms.patch is not None or old.action is not None]
        pairs = {(old.schedule_id, old.version) for old in differ if old.schedule_id and old.version is not None}
        then = await SqlSchedules(tx).actions(tenant_id, pairs) if pairs else {}
        return cls(terms, check, {one.id: one for one in found}, then)

    def course(self, old: RunView) -> ReplayPlan:
        """`Invalid` or `Conflict` where what would be sent is no longer valid."""
        made = self._course(old)
        if self.terms.patch is None:
            return made
        config = self.config(made)
        changed = edited(old.kind, config, self.terms.patch, self.check)
        return made if changed == config else replace(made, action=changed)

    def config(self, made: ReplayPlan) -> Mapping[str, Any]:
        """The whole configuration of the action that it performs."""
        if made.action is not None:
            return made.action
        schedule = self.schedules.get(made.old.schedule_id or "")
        if schedule is not None and made.version == schedule.version and schedule.fault is None:
            return schedule.action
        return self.then.get((made.old.schedule_id or "", made.version or 0), {})

    def _course(self, old: RunView) -> ReplayPlan:
        schedule = self.schedules.get(old.schedule_id or "")
        stays = gone(old.kind, schedule)
        if self.terms.as_of is ReplayVersion.THEN or schedule is None or stays is not None:
            return replace(as_it_was(old), stays=stays if self.terms.as_of is ReplayVersion.NOW else None)
        spec = schedule.spec
        return ReplayPlan(
            old=old,
            version=schedule.version,
            action=self._own(old, schedule),
            queue=MANUAL_QUEUE if old.queue == MANUAL_QUEUE else spec.queue,
            priority=spec.priority,
            max_attempts=spec.retry.max_attempts,
            timeout_seconds=spec.timeout_seconds,
        )

    def _own(self, old: RunView, schedule: Schedule) -> Mapping[str, Any] | None:
        """The overrides of this run alone, applied to its schedule's present action."""
        if old.action is None:
            return None
        then = self.then.get((old.schedule_id or "", old.version or 0), {})
        chosen = own(old.action, then, schedule.action)
        if chosen is None:
            return None
        try:
            return read_action("action", old.kind, chosen, self.check)
        except Invalid as wrong:
            misfit = f"the payload of run {old.id} no longer fits its schedule ({wrong})"
            raise Conflict(f"{misfit}: replay it with as_of {ReplayVersion.THEN.value}, or edit it") from None


def as_it_was(old: RunView) -> ReplayPlan:
    """A plan that repeats the run unchanged."""
    return ReplayPlan(
        old=old,
        version=old.version,
        action=old.action,
        queue=old.queue,
        priority=old.priority,
        max_attempts=old.max_attempts,
        timeout_seconds=old.timeout_seconds,
    )
