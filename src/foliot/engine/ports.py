"""Ports of the engine: actions, their context, and the workers that execute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeGuard

from foliot.core.access import Thing, Verb
from foliot.core.parent_template import ParentRun
from foliot.core.ports import BackPressure, no_back_pressure
from foliot.engine.model.run import Outcome


class ActionLog(Protocol):
    """Writes log lines of the run."""

    def __call__(self, message: str, *, level: str = "info", at: datetime | None = None) -> None:
        """`at`: the time of the line, if not now."""
        ...


class HideValues(Protocol):
    """Registers values that must not be stored, before an action uses them."""

    def __call__(self, *values: str) -> None: ...


def _hide_nothing(*values: str) -> None:
    """For contexts that store nothing."""


class SaveHandle(Protocol):
    """Stores the handle of an effect before the action starts it."""

    async def __call__(self, handle: Mapping[str, Any]) -> None:
        """Returns when the handle is stored; raises `StaleAttempt` when the attempt no longer holds the run."""
        ...


class ReadParent(Protocol):
    """Reads the run that this one follows."""

    async def __call__(self) -> ParentRun | None:
        """None for a run that follows no other, or whose parent was pruned."""
        ...


async def no_parent() -> ParentRun | None:
    """For contexts without a database."""
    return None


class StaleAttempt(Exception):
    """The attempt lost its run: nothing more may be done for it."""


async def _note_nothing(handle: Mapping[str, Any]) -> None:
    """For contexts that store nothing."""


@dataclass(slots=True, kw_only=True)
class ActionContext:
    """What an action may know about its attempt; not frozen, as a claimed run."""

    run_id: str
    tenant_id: str
    schedule_id: str | None
    kind: str
    attempt: int
    max_attempts: int
    scheduled_for: datetime | None
    config: Mapping[str, Any]
    timeout: timedelta
    now: datetime
    log: ActionLog
    progress: Any = None
    hide: HideValues = _hide_nothing
    """Removes these values from every line, result and error of this attempt, in all their usual encodings."""
    note: SaveHandle = _note_nothing
    room: BackPressure = no_back_pressure
    """Back-pressure: buffered lines are bounded; an action that waits here loses none."""
    limit: timedelta | None = None
    """The schedule's own time limit; None when it names none."""
    parent: ReadParent = no_parent


class Action(Protocol):
    """The "what" of a schedule: `features/<feature>/action.py`."""

    kind: str
    timeout: timedelta
    """Hard limit of an attempt when the schedule names none."""

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        ...

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Do it once. Cancelled (asyncio) on cancel, timeout or shutdown: stop the effect and re-raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedRun:
    """One parked run whose check is due."""

    ctx: ActionContext
    """Its lines are stored together with the answer, or not at all."""
    handle: Mapping[str, Any]
    started_at: datetime
    """When the attempt started."""
    cancel: bool = False
    """A cancellation was requested: stop the effect and return `Cancelled`, or `Parked` while it is stopping."""
    ended: bool = False
    """The run was ended from outside: release the effect. Any answer but `Parked` means that it is released."""


class WatchedAction(Action, Protocol):
    """An action whose effect continues elsewhere. Its `perform` starts it, within `timeout`, and returns `Parked`.

    The handle must be stored before the effect can start (`ctx.note`): from then on, whatever happens to the process,
    the run is checked and not started again.
    """

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        """The outcome of each, by run id. Missing runs, and all when it raises, are checked again later."""
        ...


def is_watched(action: Action | None) -> TypeGuard[WatchedAction]:
    """Whether its effects continue elsewhere."""
    return callable(getattr(action, "look", None))


@dataclass(frozen=True, slots=True)
class AttemptTarget:
    """What an attempt would wait for should it hang: a host, a service, a pipeline, a task."""

    name: str
    """As people see it: `example.com:443`, `grpc:billing`."""
    silent: frozenset[str] = frozenset()
    """Error codes that mean no answer; empty for actions that call nothing outside."""

    @property
    def remote(self) -> bool:
        """Whether an attempt does nothing but wait for an external answer."""
        return bool(self.silent)


class AimedAction(Action, Protocol):
    """An action that names its target, so that no target can hold every slot."""

    def target(self, config: Mapping[str, Any]) -> AttemptTarget | None: ...


def target_of(action: Action | None, config: Mapping[str, Any]) -> AttemptTarget | None:
    """The target of an attempt; None where there is none in particular."""
    aim = getattr(action, "target", None)
    found = aim(config) if callable(aim) else None
    return found if isinstance(found, AttemptTarget) else None


class ExaminedAction(Action, Protocol):
    """An action that can ask its target, when a schedule is saved, whether it would accept the request."""

    async def examine(self, tenant_id: str, config: Mapping[str, Any]) -> str | None:
        """`Invalid` when the target refuses. The reason, when it could not be asked: then the attempt will show."""
        ...


def is_examined(action: Action | None) -> TypeGuard[ExaminedAction]:
    """Whether it checks with its target when a schedule is saved."""
    return callable(getattr(action, "examine", None))


def has_defaults(action: Action | None) -> TypeGuard[HasDefaults]:
    return callable(getattr(action, "defaults", None))


def permission_of_kind(action: Action) -> tuple[Verb, Thing] | None:
    """What a caller needs to write its configuration, beside the permission for schedules."""
    return getattr(action, "permission", None)


def is_per_tenant(action: Action) -> TypeGuard[PerTenant]:
    return callable(getattr(action, "check_for", None))


class Actions(Protocol):
    """The registered actions."""

    def get(self, kind: str) -> Action | None: ...

    def kinds(self) -> Sequence[str]: ...


class WorkerPool(Protocol):
    """Executes runs."""

    @property
    def slots(self) -> int:
        """How many runs it executes at once."""
        ...

    def free(self) -> int:
        """How many slots are free. After a zero, a wake-up follows when there is one again."""
        ...

    def room(self) -> int:
        """How many runs could be taken now: also those that will have a slot in a moment."""
        ...

    @property
    def passed_over(self) -> int:
        """How many of the last offered runs are ready and were not admitted: their target or tenant has its share."""
        ...

    async def submit(self, run_ids: Sequence[str]) -> int:
        """Offer runs; a hint, because the row decides. Returns how many were taken."""
        ...


class HasDefaults(Protocol):
    """An action whose configuration determines defaults of its schedule: its queue, its retries."""

    def defaults(self, tenant_id: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Fields of a schedule's document; never raises, because `check` does."""
        ...


class PerTenant(Protocol):
    """An action whose names (of tasks, of services) belong to some tenants, and not to others."""

    def check_for(self, tenant_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """`check`, as this tenant sees it."""
        ...
