"""Probes: how the health of each thing that Foliot needs or calls is asked for. Their words name no address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from foliot.core.address_book import ServiceAddress
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress

PATIENCE = timedelta(seconds=60)
"""Whoever asks is less patient."""
HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
"""The answer of a gRPC service that is well: field 1, SERVING."""
THERE = frozenset({CallStatus.UNIMPLEMENTED, CallStatus.UNAUTHENTICATED, CallStatus.PERMISSION_DENIED})
"""Whoever answers so is there, and only has no word on its health for us."""


@dataclass(frozen=True, slots=True)
class DatabaseProbe:
    """Asks the database what time it is."""

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
    """Asks something that raises when it is not there."""

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
    """Any answer below 500 shows that somebody is there."""

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
    """Asks the health service of gRPC; a service that has none, or none for us, is there."""

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
        return None if well else "says that it is not serving"
