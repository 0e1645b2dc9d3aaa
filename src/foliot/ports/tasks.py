"""What is asked of tasks: which there are, a process to run one in, and which schedules code or a preset has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

from foliot.domain.access import Tenants
from foliot.ports.world import Room, always_room


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task as people see it."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: Tenants
    """Who may see and run it."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    retries: int | None
    timeout_seconds: int | None
    schedule: Mapping[str, Any] | None
    """The schedule that its code declares, as the request that makes it."""
    parameters: Mapping[str, Any]
    """What it takes, as a JSON Schema."""


class Tasks(Protocol):
    """Every task that this process knows."""

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        """Those that this tenant may run, in the order of their names."""
        ...

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        """None also when it is another tenant's."""
        ...

    def faults(self) -> Sequence[str]:
        """Why modules could not be loaded, a sentence each."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What a task may know about the attempt that it is."""

    run_id: str
    tenant_id: str
    schedule_id: str | None
    attempt: int
    max_attempts: int
    scheduled_for: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function to be run in another process: where it is found, and what it is given, as JSON."""

    module: str
    function: str
    task: str
    """Its name; empty for a function of our own that is no task, and is simply called."""
    parameters: Mapping[str, Any]
    attempt: Attempt
    body: bytes = b""
    """Bytes that a function of our own is given as `body`: as they are, for JSON could not hold them."""
    weight: int = 1
    """As how many calls it counts: a process is replaced after so many."""


class Tell(Protocol):
    """What a function in another process says meanwhile."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a function ended: with a result, or with an error; both plain JSON."""

    result: Any = None
    partial: bool = False
    error: str | None = None
    """What it raised, in a line."""
    trace: str = ""
    retry_after: float | None = None
    permanent: bool = False


class ProcessDied(Exception):
    """The process in which a function ran is gone, and nobody here ended it."""


class Pool(Protocol):
    """Processes for what would keep this one busy."""

    async def call(self, call: Call, tell: Tell, patience: timedelta, room: Room = always_room) -> Told:
        """Run it. Cancelled (asyncio): the function is asked to stop, and its process killed if it does not.

        After each thing that it says `room` is waited for, and with us the process that goes on talking.

        Raises `TimeoutError` when it has not ended in time, and `ProcessDied` when its process did.
        """
        ...


class ServiceFailed(Exception):
    """A service did not do what was asked. `permanent` when asking again would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class Service(Protocol):
    """One service of the address book, called by JSON in and out."""

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: Attempt, patience: timedelta) -> Any:
        """Raises `ServiceFailed`."""
        ...


class Probe(Protocol):
    """Looks whether something that Foliot needs, or calls, is there."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """database, redis, broker, http or grpc."""
        ...

    async def check(self) -> str | None:
        """None when it is well, else what is wrong in a few words, without address, user or password."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A schedule that a preset makes."""

    name: str
    """What the preset calls it; its own name is in the document."""
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Schedules that belong together."""

    name: str
    title: str
    description: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Parameters that can be given when it is loaded, each with what it is; every task that takes one gets it."""
    schedules: Sequence[Planned] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A schedule that code or a preset has made."""

    tenant_id: str
    source: str
    name: str
    schedule_id: str | None
    wanted: str
    """Digest of what was asked for."""
    made: Mapping[str, Any]
    """The document as it was made: a schedule that differs was edited by somebody."""


class Declarations(Protocol):
    """Which schedules code and presets have made, so that nothing is made twice."""

    async def take(self, tenant_id: str, source: str, name: str) -> Declared | None:
        """The entry, locked; whoever asks for the same waits. None when this transaction is the first to ask."""
        ...

    async def put(self, declared: Declared) -> None:
        """Only after `take`."""
        ...

    async def of(self, tenant_id: str, source: str) -> Sequence[Declared]: ...

    async def drop(self, tenant_id: str, source: str, name: str) -> None: ...
