"""What the inner storeys ask of the world outside: time, actions, the network, workers, the feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeGuard, runtime_checkable

from foliot.core.ports import Room, always_room
from foliot.engine.model.run import Outcome


class Log(Protocol):
    """Where an action writes lines that people will read with the run."""

    def __call__(self, message: str, *, level: str = "info", at: datetime | None = None) -> None:
        """`at`: when it was said, if not now."""
        ...


class Hide(Protocol):
    """Where an action says which values must not be kept, before it uses them."""

    def __call__(self, *values: str) -> None: ...


def _hide_nothing(*values: str) -> None:
    """For whoever keeps nothing."""


class Note(Protocol):
    """Where an action says how to find its effect again, before it starts it."""

    async def __call__(self, handle: Mapping[str, Any]) -> None:
        """Returns when the handle is kept; raises `Stale` when the run is no longer in these hands."""
        ...


class Stale(Exception):
    """The run was taken away: nothing more may be done for it."""


async def _note_nothing(handle: Mapping[str, Any]) -> None:
    """For whoever keeps nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an action may know about the attempt it is performing."""

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
    log: Log
    progress: Any = None
    hide: Hide = _hide_nothing
    """Takes these values out of every line, result and error of this attempt, in all their usual encodings."""
    note: Note = _note_nothing
    room: Room = always_room
    """Lines that come faster than they are written down are bounded; whoever waits here loses none."""
    limit: timedelta | None = None
    """The schedule's own time limit; None when it names none."""


class Action(Protocol):
    """The "what" of a schedule: one room each under `actions/`."""

    kind: str
    timeout: timedelta
    """Hard limit of an attempt when the schedule names none."""

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        ...

    async def perform(self, ctx: Context) -> Outcome:
        """Do it once. Cancelled (asyncio) on cancel, timeout or shutdown: stop the effect and re-raise."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One parked run whose moment has come."""

    ctx: Context
    """Its lines are kept together with the answer, or not at all."""
    handle: Mapping[str, Any]
    started_at: datetime
    """When the attempt started."""
    cancel: bool = False
    """Somebody asked for an end: stop the effect and answer `Cancelled`, or `Parked` while it is stopping."""
    ended: bool = False
    """The run was ended from outside: let go of the effect. Any answer but `Parked` says that it is done."""


class WatchedAction(Action, Protocol):
    """An action whose effect goes on elsewhere. Its `perform` starts it, within `timeout`, and answers `Parked`.

    An effect that may have started must be noted before (`ctx.note`): from then on, whatever becomes of the process,
    the run is looked at and not started again.
    """

    async def look(self, looks: Sequence[Look]) -> Mapping[str, Outcome]:
        """What has become of each, by run id. Whoever is missing, or raises, is looked at again later and later."""
        ...


def is_watched(action: Action | None) -> TypeGuard[WatchedAction]:
    """Whether its effects go on elsewhere."""
    return callable(getattr(action, "look", None))


@dataclass(frozen=True, slots=True)
class Target:
    """What an attempt would wait for should it hang: a host, a service, a pipeline, a task."""

    name: str
    """As people see it: `example.com:443`, `grpc:billing`."""
    silent: frozenset[str] = frozenset()
    """Codes of failures in which the target said nothing; none where nobody outside is called."""

    @property
    def remote(self) -> bool:
        """Whether an attempt does nothing but wait for an answer from outside."""
        return bool(self.silent)


class AimedAction(Action, Protocol):
    """An action that can say whom it would wait for: no one of them may hold every slot."""

    def target(self, config: Mapping[str, Any]) -> Target | None: ...


def target_of(action: Action | None, config: Mapping[str, Any]) -> Target | None:
    """Whom an attempt would wait for; None where that is nobody in particular."""
    aim = getattr(action, "target", None)
    found = aim(config) if callable(aim) else None
    return found if isinstance(found, Target) else None


class ExaminedAction(Action, Protocol):
    """An action that can ask its target, while a schedule is made, whether the target knows what will be asked."""

    async def examine(self, tenant_id: str, config: Mapping[str, Any]) -> str | None:
        """`Invalid` when the target says no. Why, when it could not be asked: then the attempt will show."""
        ...


def is_examined(action: Action | None) -> TypeGuard[ExaminedAction]:
    """Whether it asks its target beforehand."""
    return callable(getattr(action, "examine", None))


class Actions(Protocol):
    """Every action there is."""

    def get(self, kind: str) -> Action | None: ...

    def kinds(self) -> Sequence[str]: ...


class Workers(Protocol):
    """Who executes."""

    @property
    def slots(self) -> int:
        """How many runs it executes at once."""
        ...

    def free(self) -> int:
        """How many more runs could be taken now. Whoever is told none is woken when there is one again."""
        ...

    @property
    def passed_over(self) -> int:
        """How many of the runs handed over last are ready and were left alone: their target or tenant has its share."""
        ...

    async def submit(self, run_ids: Sequence[str]) -> int:
        """Hand runs over; a hint, for the row decides. Answers how many were taken."""
        ...


@runtime_checkable
class HasDefaults(Protocol):
    """An action whose configuration decides what a schedule that does not say so has: its queue, its retries."""

    def defaults(self, tenant_id: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Fields of a schedule's document; never complains, for whoever reads the configuration does."""
        ...


@runtime_checkable
class PerTenant(Protocol):
    """An action whose names (of tasks, of services) belong to some tenants, and not to others."""

    def check_for(self, tenant_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """What `check` does, as this tenant sees it."""
        ...
