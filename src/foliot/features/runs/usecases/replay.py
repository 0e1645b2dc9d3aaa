"""Plans what runs do when they are replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.core.errors import Conflict, Invalid
from foliot.db.database import Transaction
from foliot.engine.model.run import MANUAL_QUEUE
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import RunView
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.runs.model.replay import ReplayOptions, ReplayVersion, edited, gone, own
from foliot.features.schedules.model.document import ActionCheck, read_action


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
            misfit = f"what run {old.id} was given no longer fits its schedule ({wrong})"
            raise Conflict(f"{misfit}: send it again as_of {ReplayVersion.THEN.value}, or edit it") from None


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
