"""What a feature passes to the gRPC server: its methods, each with its permission."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from foliot.auth.digest import Pepper
from foliot.auth.identity_port import Identity
from foliot.commands.envelope import Permission, permission_of
from foliot.commands.use_cases import UseCases
from foliot.servers.grpc.running_calls import RunningCalls

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
