"""What a feature passes to the gRPC server: methods with permissions, and running calls that outlive a disconnect."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from google.protobuf.message import Message

from foliot.auth.digest import Pepper
from foliot.auth.identity import Identity
from foliot.commands.envelope import Permission, permission_of
from foliot.commands.use_cases import UseCases

T = TypeVar("T")


@dataclass(slots=True)
class RunningCalls:
    """The handlers that are running."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def finish(self, begun: Coroutine[Any, Any, T]) -> T:
        """Await the result; the handler runs to its end even when the awaiting task is cancelled."""
        task = asyncio.create_task(begun)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def rest(self, seconds: float) -> None:
        """Wait for the running handlers, at most this long."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            # Retrieve the exception: asyncio warns of one that is never retrieved, as when the client is gone.
            task.exception()


HEALTH = ("Check", "List", "Watch")
PUBLIC = frozenset(
    {
        *(f"/grpc.health.v1.Health/{name}" for name in HEALTH),
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    }
)
"""Methods without authentication: health and, where it is enabled, reflection."""


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """One method: the use case whose permission it needs, its request message, and its handler."""

    use_case: Callable[..., object]
    request: type[Message]
    answer: Callable[..., Any]
    streams: bool = False

    @property
    def permission(self) -> Permission:
        return permission_of(self.use_case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a starting server passes to the factories of its services."""

    cases: UseCases
    pepper: Pepper | None
    identity: Identity | None
    streams_of: Counter[str]
    work: RunningCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcService:
    """A service with its methods, by full name; a method that is not in the table is not served."""

    name: str
    methods: Mapping[str, RpcMethod]
    stopping: asyncio.Event
    """Set when the server stops: ends its streams."""
