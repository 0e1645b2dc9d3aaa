"""Health checks of what Foliot needs and calls: real servers that work, fail or are gone, and the reports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from aiohttp import web
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.core.egress import AddressBook, Scheme, ServiceAddress
from foliot.db.database import Database
from foliot.engine.model.run import EventType, RunState
from foliot.engine.model.views import RunView
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.grpc_calls.action import GrpcCall
from foliot.features.health.probes import DatabaseProbe, GrpcProbe, HttpProbe, Probe
from foliot.features.runs.usecases.runs import Runs
from foliot.features.tasks.usecases import Tasks
from foliot.features.tasks.wiring import build_tasks
from foliot.net.client import HttpEgress
from foliot.net.grpc_client import GrpcEgress
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.redis_server import NoRedis, a_redis
from tests.services import absent, free_port
from tests.taskbook import catalogue, in_thread, run_task

SECRET = "a-password-that-nobody-may-see"


@dataclass
class Place:
    """A server that looks after others."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    action: Any

    @classmethod
    def of(cls, store: Database, *probes: Probe) -> Place:
        clock = StoppedClock()
        known = catalogue(store, clock, probes=probes)
        action = run_task(known)
        return cls(store, clock, use_cases(store, clock, MemoryFeed(), GivenActions.of(action), tasks=known), action)

    async def look(self, **parameters: Any) -> RunView:
        made = await self.cases[Tasks].run(LOCAL, "health_check_services", {"parameters": parameters})
        await drain(self.store, self.clock, self.action, patience=50)
        self.clock.advance(300)
        return await self.cases[Runs].get(LOCAL, made.id)


@pytest.fixture
async def store() -> AsyncIterator[Database]:
    async with open_store() as opened:
        yield opened


@asynccontextmanager
async def answering(status: Callable[[], int]) -> AsyncIterator[ServiceAddress]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status(), text=SECRET)

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield _address("pricing-service", Scheme.HTTP, runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _address(name: str, scheme: Scheme, port: int) -> ServiceAddress:
    return ServiceAddress(name=name, scheme=scheme, host="127.0.0.1", port=port)


@asynccontextmanager
async def grpc_service(state: int | None) -> AsyncIterator[ServiceAddress]:
    """With this health, or without a health service."""
    server = grpc.aio.server()
    if state is not None:
        servicer = health.aio.HealthServicer()
        await servicer.set("", state)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield _address("scraper-service", Scheme.GRPC, port)
    finally:
        await server.stop(0)


async def test_a_service_that_changes_its_state_is_told_once(store: Database) -> None:
    said = [200, 200, 500, 500, 404]
    async with answering(lambda: said[0]) as address, HttpEgress(allow=[address.place], ports=()) as egress:
        place = Place.of(store, DatabaseProbe(store), HttpProbe(address, egress))
        runs = []
        with capture_logs() as logged:
            while said:
                runs.append(await place.look())
                said.pop(0)

    results = [run.result for run in runs]
    assert [one["healthy"] for one in results] == [True, True, False, False, True]
    assert [one["changed"] for one in results] == [
        [],
        [],
        [{"service": "pricing-service", "was": "up", "is": "down", "error": "answered 500"}],
        [],
        [{"service": "pricing-service", "was": "down", "is": "up", "error": None}],
    ]
    since = [one["services"]["pricing-service"]["since"] for one in results]
    assert (since[0] == since[1], since[2] == since[3], len(set(since))) == (True, True, 3)
    assert [run.state is RunState.SUCCESS for run in runs] == [run.result["healthy"] for run in runs]
    assert {run.state for run in runs} == {RunState.SUCCESS, RunState.PARTIAL}
    assert [(one["service"], one["was"]) for one in logged if one.get("action") == "service_changed"] == [
        ("pricing-service", "up"),
        ("pricing-service", "down"),
    ]
    _, events = await place.cases[Runs].events(LOCAL, runs[2].id, 0, 100)
    assert [event.data for event in events if event.type is EventType.PROGRESS] == results[2]["changed"]
    assert "pricing-service was up and is down: answered 500" in [event.message for event in events]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (health_pb2.HealthCheckResponse.SERVING, None),
        (health_pb2.HealthCheckResponse.NOT_SERVING, "reports that it is not serving"),
        (None, None),
    ],
    ids=["serving", "not serving", "no health service"],
)
async def test_a_grpc_service_is_asked_for_its_health(store: Database, state: int | None, error: str | None) -> None:
    async with grpc_service(state) as address:
        calls = GrpcEgress(book=AddressBook({address.name: address}))
        run = await Place.of(store, GrpcProbe(address, calls)).look()
        await calls.close()

    found = run.result["services"]["scraper-service"]
    assert (found["kind"], found["error"]) == ("grpc", error)


async def test_what_is_gone_is_down_and_named_without_its_address(store: Database) -> None:
    port = free_port()
    http, rpc = _address("pricing-service", Scheme.HTTP, port), _address("scraper-service", Scheme.GRPC, port)
    calls = GrpcEgress(book=AddressBook({rpc.name: rpc}))
    async with HttpEgress(allow=[http.place], ports=()) as egress:
        run = await Place.of(store, HttpProbe(http, egress), GrpcProbe(rpc, calls)).look(timeout_seconds=20)
    await calls.close()

    assert run.state is RunState.PARTIAL, "with a service down it is no success"
    assert run.result["down"] == ["pricing-service", "scraper-service"]
    assert "127.0.0.1" not in str(run.result)
    assert str(port) not in str(run.result)


async def test_only_those_that_are_named_and_each_in_its_time(store: Database) -> None:
    class Silent:
        name, kind = "silent", "http"

        async def check(self) -> str | None:
            await asyncio.Event().wait()
            return None

    class Broken:
        name, kind = "broken", "broker"

        async def check(self) -> str | None:
            raise RuntimeError(f"amqp://user:{SECRET}@10.0.0.1")

    place = Place.of(store, DatabaseProbe(store), Silent(), Broken())
    run = await place.look(services=["silent", "broken"], timeout_seconds=0.2)

    assert {name: one["error"] for name, one in run.result["services"].items()} == {
        "silent": "no answer within 0.2 s",
        "broken": "RuntimeError",
    }
    assert SECRET not in str(run.result)
    unknown = await place.look(services=["nowhere"])
    assert unknown.error is not None
    assert unknown.error["message"] == "there is no service nowhere; known are broken, database, silent"


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    try:
        with a_redis(tmp_path) as url:
            yield url
    except NoRedis as missing:
        absent(missing)


async def test_everything_that_the_settings_name_is_looked_at(tmp_path: Path, redis_url: str, store: Database) -> None:
    async with grpc_service(health_pb2.HealthCheckResponse.SERVING) as rpc, answering(lambda: 200) as http:
        environ = {
            "FOLIOT_HOME": str(tmp_path),
            "REDIS_URL": redis_url,
            "CELERY_BROKER_URL": f"amqp://guest:{SECRET}@127.0.0.1:{free_port()}//",
            "SCRAPER_SERVICE_URL": rpc.place,
            "PRICING_SERVICE_URL": http.url,
        }
        settings, clock = Settings.load(environ), StoppedClock()
        calls = GrpcEgress(book=settings.services)
        async with HttpEgress(loopback=True) as egress:
            fetcher = Fetcher(pages=PageFetcher(egress=egress), clock=clock)
            made = build_tasks(settings, store, clock, fetcher, GrpcCall(calls=calls, clock=clock), calls, in_thread)
            await made.start()
            cases = use_cases(store, clock, MemoryFeed(), GivenActions.of(made.action), tasks=made.catalogue)
            run = await Place(store, clock, cases, made.action).look(timeout_seconds=20)
            await made.close()
        await calls.close()

    assert {name: one["state"] for name, one in run.result["services"].items()} == {
        "database": "up",
        "redis": "up",
        "broker": "down",
        "scraper-service": "up",
        "pricing-service": "up",
    }
    assert SECRET not in str(run.result)
