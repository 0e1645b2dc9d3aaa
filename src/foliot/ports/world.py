"""What the inner storeys ask of the world outside: time, actions, the network, workers, the feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from foliot.domain.run import Outcome


class Clock(Protocol):
    """What time it is. Production follows the database's clock; tests stop it."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class Log(Protocol):
    """Where an action writes lines that people will read with the run."""

    def __call__(self, message: str, *, level: str = "info") -> None: ...


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


class Actions(Protocol):
    """Every action there is."""

    def get(self, kind: str) -> Action | None: ...

    def kinds(self) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One HTTP request that leaves the house."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: timedelta = timedelta(seconds=30)
    keep: int = 64 * 1024
    """How much of the body is kept."""
    most: int = 10 * 1024 * 1024
    """How much is read, after decompression, before the rest is refused."""
    tenant_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    elapsed: timedelta


class Egress(Protocol):
    """The one way out to the network."""

    def check(self, url: str) -> None:
        """`Invalid` when no request to this URL could ever be allowed; looks up no names."""
        ...

    async def send(self, request: Outgoing) -> Reply:
        """Raises `EgressRefused` when the address is not allowed, `EgressFailed` when the network failed."""
        ...


class EgressRefused(Exception):
    """The request may not leave: its scheme, port or address is not allowed."""


class EgressFailed(Exception):
    """The request left, or tried to, and no complete answer came back. `code` is one of a few uniform classes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Workers(Protocol):
    """Who executes."""

    def free(self) -> int:
        """How many more runs could be taken now."""
        ...

    async def submit(self, run_ids: Sequence[str]) -> int:
        """Hand runs over; a hint, for the row decides. Answers how many were taken."""
        ...


class Waiter(Protocol):
    """Somebody who wants to be woken."""

    async def wait(self, timeout: float) -> bool:
        """True when woken, False when the time ran out. A wake that came before is not lost."""
        ...


class Feed(Protocol):
    """Wakes and tells. Losing it costs latency, never data."""

    def wake(self, *topics: str) -> None: ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Waiter]: ...


SCHEDULES_TOPIC = "schedules"
RUNS_TOPIC = "runs"


def run_topic(run_id: str) -> str:
    """Those who follow one run."""
    return f"run:{run_id}"
