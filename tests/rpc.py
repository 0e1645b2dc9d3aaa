"""The gRPC server of a small Foliot, on a real port of this machine, and clients for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from foliot.app.use_cases import use_cases
from foliot.auth.identity import Identity
from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.engine.model.run import Outcome, Succeeded
from foliot.engine.ports import ActionContext
from foliot.features.schedules.rpc.jobs import scheduler_service
from foliot.proto import scheduler_service_pb2 as pb
from foliot.proto.scheduler_service_pb2_grpc import SchedulerServiceStub
from foliot.servers.grpc.server import GrpcServer, ListenAddress
from foliot.testing import GivenActions, StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.world import KEYRING, Webhook, World

if TYPE_CHECKING:
    from foliot.proto.scheduler_service_pb2_grpc import SchedulerServiceAsyncStub


class Call:
    """Reads what a call of another service needs, and calls nobody."""

    kind = "grpc"
    timeout = timedelta(seconds=300)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        fields = Fields.of("", config)
        service = fields.text("target_service", "", most=200)
        method = fields.text("target_method", "", most=200)
        parameters = fields.value("parameters") or {}
        for name, text in (("target_service", service), ("target_method", method)):
            if not text:
                raise Invalid(name, "is required")
        fields.finish()
        return {"target_service": service, "target_method": method, "parameters": parameters}

    async def perform(self, ctx: ActionContext) -> Outcome:
        return Succeeded()


def world_on(store: Database) -> World:
    clock, feed = StoppedClock(), MemoryFeed()
    actions = GivenActions.of(Webhook(), Call())
    return World(store, clock, use_cases(store, clock, feed, actions, pepper=KEYRING, vault=KEYRING), feed)


@asynccontextmanager
async def opened(world: World, identity: Identity | None = None, **changes: Any) -> AsyncIterator[GrpcServer]:
    """The door of this world, as long as the block lasts."""
    door = GrpcServer(
        cases=world.cases,
        service=scheduler_service,
        listening=ListenAddress(),
        identity=identity,
        pepper=KEYRING,
        **changes,
    )
    await door.start()
    try:
        yield door
    finally:
        await door.stop()


@dataclass(slots=True)
class Client:
    """Calls a door, as somebody."""

    stub: SchedulerServiceAsyncStub
    channel: Any
    bearer: str | None = None

    def metadata(self, **more: str) -> list[tuple[str, str | bytes]]:
        shown = {} if self.bearer is None else {"authorization": f"Bearer {self.bearer}"}
        return [(name.replace("_", "-"), value) for name, value in {**shown, **more}.items()]

    async def ask(self, method: str, request: Any, **metadata: str) -> Any:
        """The answer; of a stream, all of it."""
        call = getattr(self.stub, method)(request, timeout=30, metadata=self.metadata(**metadata))
        if method == "WatchJob":
            return [event async for event in call]
        return await call


@asynccontextmanager
async def client(door: GrpcServer, bearer: str | None = None) -> AsyncIterator[Client]:
    async with grpc.aio.insecure_channel(door.address) as channel:
        # Type checkers are told of two stubs; there is one.
        yield Client(SchedulerServiceStub(channel), channel, bearer)  # type: ignore[arg-type]


def violations(error: Any) -> dict[str, str]:
    """The fields that a status complains about, each with what is wrong."""
    found = detail(error, error_details_pb2.BadRequest)
    return {} if found is None else {one.field: one.description for one in found.field_violations}


def detail(error: Any, kind: Any) -> Any:
    status = (
        rpc_status.from_call(_Told(error)) if isinstance(error, grpc.aio.AioRpcError) else rpc_status.from_call(error)
    )
    for packed in status.details if status is not None else ():
        if packed.Is(kind.DESCRIPTOR):
            found = kind()
            packed.Unpack(found)
            return found
    return None


@dataclass(slots=True)
class _Told:
    """An error of an asynchronous call, as the reader of details wants it."""

    error: Any

    def code(self) -> Any:
        return self.error.code()

    def details(self) -> Any:
        return self.error.details()

    def trailing_metadata(self) -> Any:
        return tuple(self.error.trailing_metadata())


def seeds_job(**changes: Any) -> pb.CreateScheduledJobRequest:
    """What a client of the service writes."""
    said: dict[str, Any] = {
        "name": "Custom Scraping Job",
        "job_type": "SCRAPING",
        "target_service": "scraper-service",
        "target_method": "ScrapeCompetitorPrices",
        "schedule_config": pb.ScheduleConfig(type="cron", config={"hour": "10", "minute": "0"}),
        "parameters": {"competitor_ids": ["amazon"]},
        "description": "Custom job description",
    }
    return pb.CreateScheduledJobRequest(**{**said, **changes})
