"""Probes of databases, brokers, HTTP and gRPC services. Their messages contain no addresses.

Protocols of the probes and services that a health check calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from foliot.cluster.page_reader import AttemptInfo
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, ServiceAddress
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress


class ServiceFailed(Exception):
    """A service did not do what was asked. `permanent` when a retry would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class JsonService(Protocol):
    """A service of the address book, called with JSON."""

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        """Raises `ServiceFailed`."""
        ...


class Probe(Protocol):
    """Checks one dependency or called service."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """database, redis, broker, http or grpc."""
        ...

    async def check(self) -> str | None:
        """None when it is healthy, else a short description without address, user or password."""
        ...


PATIENCE = timedelta(seconds=60)
"""An upper bound; the caller's own timeout is shorter."""
HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
"""The health response of a gRPC service that serves: field 1, SERVING."""
THERE = frozenset({CallStatus.UNIMPLEMENTED, CallStatus.UNAUTHENTICATED, CallStatus.PERMISSION_DENIED})
"""Statuses of a service that is up, but has no health service or does not let us use it."""


@dataclass(frozen=True, slots=True)
class DatabaseProbe:
    """Asks the database for its time."""

    store: Database
    name: str = "database"
    kind: str = "database"

    async def check(self) -> str | None:
        try:
            async with self.store.read() as tx:
                await SqlRetention(tx).time()
        except Unavailable as away:
            return away.told
        return None


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """Calls a function that raises when its service is down."""

    name: str
    kind: str
    ask: Callable[[], Awaitable[None]]

    async def check(self) -> str | None:
        try:
            await self.ask()
        except Unavailable as away:
            return away.told if away.told != str(away) else "does not answer"
        except OSError:
            return "cannot be reached"
        return None


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """Any status below 500 shows that the service is up."""

    address: ServiceAddress
    egress: Egress
    kind: str = "http"

    @property
    def name(self) -> str:
        return self.address.name

    async def check(self) -> str | None:
        request = OutgoingRequest(
            method="GET", url=self.address.url + ("" if self.address.path else "/"), timeout=PATIENCE
        )
        try:
            reply = await self.egress.send(request)
        except EgressRefused:
            return "may not be called"
        except EgressFailed as failed:
            return failed.message
        return f"answered {reply.status}" if reply.status >= 500 else None


@dataclass(frozen=True, slots=True)
class GrpcProbe:
    """Calls the standard gRPC health service; a service without it, or that refuses us, counts as up."""

    address: ServiceAddress
    calls: GrpcEgress
    kind: str = "grpc"

    @property
    def name(self) -> str:
        return self.address.name

    async def check(self) -> str | None:
        question = GrpcRequest(service=self.name, path=HEALTH, messages=[b""], timeout=PATIENCE, most=1024)
        try:
            answers = await self.calls.call(question)
        except EgressRefused:
            return "may not be called"
        except CallFailed as failed:
            return None if failed.status in THERE else f"{failed.status}: {failed.message}"
        well = answers.messages and answers.messages[0] == SERVING
        return None if well else "reports that it is not serving"
