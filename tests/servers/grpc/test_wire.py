"""The gRPC server against garbage, floods and dropped connections; and what reflection reveals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.protobuf.struct_pb2 import Struct
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from grpc_health.v1 import health_pb2, health_pb2_grpc

from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL
from foliot.core.errors import Contended, Unavailable
from foliot.engine.model.run import Succeeded
from foliot.features.schedules.rpc.jobs import scheduler_service
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tenants.usecases import Tenants
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc import server
from foliot.servers.grpc.server import GrpcServer, ListenAddress
from foliot.testing import open_store
from tests.givens import finish
from tests.rpc import Client, client, detail, opened, seeds_job, violations, world_on
from tests.world import KEYRING, World

Codes = grpc.StatusCode
SERVICE = "/foliot.v1.SchedulerService"
SOON = 20


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_store() as store:
        yield world_on(store)


@pytest.fixture
async def door(world: World) -> AsyncIterator[GrpcServer]:
    async with opened(world) as made:
        yield made


@pytest.fixture
async def ask(door: GrpcServer) -> AsyncIterator[Client]:
    async with client(door) as made:
        yield made


async def failed(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def alive(ask: Client) -> bool:
    return bool((await ask.ask("CreateScheduledJob", seeds_job())).status == "active")


# --- bytes ------------------------------------------------------------------------------------------------------------

GARBAGE = [
    b"\xff" * 100,
    b"\x0a\x05abc",  # cut off
    b"\x0a\x02\xff\xfe",  # a name that is not UTF-8
    b"\x08\x01",  # a number where text is due: an unknown field, and so no name
    b"\x32" + b"\xff\xff\xff\xff\x0f",  # parameters of four thousand million bytes
]


@pytest.mark.parametrize("method", ["CreateScheduledJob", "UpdateScheduledJob"])
async def test_bytes_that_are_no_message_are_the_callers_mistake(ask: Client, method: str) -> None:
    raw = ask.channel.unary_unary(f"{SERVICE}/{method}")
    for garbage in GARBAGE:
        error = await failed(raw(garbage))
        assert error.code() in {Codes.INVALID_ARGUMENT, Codes.NOT_FOUND}, garbage
    assert await alive(ask)


async def test_bytes_on_a_stream_too(ask: Client) -> None:
    call = ask.channel.unary_stream(f"{SERVICE}/WatchJob")(b"\xff\xff")

    error = await failed(call.read())

    assert (error.code(), set(violations(error))) == (Codes.INVALID_ARGUMENT, {"WatchJobRequest"})


def nested(depth: int) -> bytes:
    """Parameters in each other so deep that no reader follows; written by hand, for no writer would."""
    inner = b""
    for _ in range(depth):
        value = b"\x2a" + _length(inner) + inner
        entry = b"\x0a\x01a\x12" + _length(value) + value
        inner = b"\x0a" + _length(entry) + entry
    return b"\x0a\x04Deep\x32" + _length(inner) + inner


def _length(raw: bytes) -> bytes:
    number, made = len(raw), bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


async def test_parameters_nested_without_end(ask: Client) -> None:
    for depth in (60, 1000, 20_000):
        error = await failed(ask.channel.unary_unary(f"{SERVICE}/CreateScheduledJob")(nested(depth)))
        assert error.code() is Codes.INVALID_ARGUMENT
    assert await alive(ask)


async def test_a_message_of_a_hundred_megabytes(door: GrpcServer, ask: Client) -> None:
    large = seeds_job(description="x" * 100_000_000)
    options = [("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(door.address, options=options) as channel:
        error = await failed(channel.unary_unary(f"{SERVICE}/CreateScheduledJob")(large.SerializeToString()))

    assert error.code() is Codes.RESOURCE_EXHAUSTED
    assert await alive(ask)


async def test_parameters_larger_than_a_schedule_may_have(ask: Client) -> None:
    error = await failed(ask.stub.CreateScheduledJob(seeds_job(parameters={"x": "y" * 300_000})))

    assert (error.code(), set(violations(error))) == (Codes.INVALID_ARGUMENT, {"parameters"})


async def test_complaints_always_fit_into_a_status(ask: Client) -> None:
    """Clients refuse a status whose metadata has more than 8 KiB, and then nobody hears what was wrong."""
    long = "\N{SNOWMAN}" * 2000
    config = {f"{long}{n}": long for n in range(50)}
    request = seeds_job(
        name=long,
        timezone=long,
        overlap=long,
        queue=long,
        job_type=long,
        schedule_config=pb.ScheduleConfig(type="cron", config=config),
    )

    error = await failed(ask.stub.CreateScheduledJob(request))
    assert error.code() is Codes.INVALID_ARGUMENT
    assert violations(error)
    assert size(error) < 6000

    error = await failed(ask.stub.CreateScheduledJob(seeds_job(tags=[long] * 30, name=long, overlap=long)))
    assert error.code() is Codes.INVALID_ARGUMENT
    assert len(violations(error)) >= 2
    assert size(error) < 6000

    error = await failed(ask.stub.CreateScheduledJob(seeds_job(overlap=long)))
    assert (set(violations(error)), size(error) < 6000) == ({"overlap"}, True)


def size(error: grpc.aio.AioRpcError) -> int:
    """Bytes of a status on the wire, where details are written in base64."""
    return len((error.details() or "").encode()) + sum(len(value) * 4 // 3 for _, value in error.trailing_metadata())


async def test_a_result_deeper_or_larger_than_a_message_may_be_is_still_told(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    deep: Any = "bottom"
    for _ in range(60):
        deep = {"in": [deep]}
    for result, told in (
        ([1, 2**60], {"value": [1.0, str(2**60)]}),
        ("text", {"value": "text"}),
        ({"n": [0] * 400_000}, None),
        ({"deep": deep}, None),
    ):
        run = await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
        (claimed,) = await world.claim(run.run_id)
        await finish(world.store, claimed, Succeeded(result), world.clock.now())

        status = await ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=run.run_id))

        assert status.status == "success"
        assert told is None or _plain(status.result) == told
        assert status.result.fields


def _plain(struct: Struct) -> Any:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(struct)


# --- what goes wrong inside -------------------------------------------------------------------------------------------


async def test_a_surprise_is_logged_and_not_told(
    ask: Client, monkeypatch: pytest.MonkeyPatch, logged: list[MutableMapping[str, Any]]
) -> None:
    async def broken(*_: Any) -> Any:
        raise ZeroDivisionError("postgresql://user:password@db")

    monkeypatch.setattr(Schedules, "get", broken)
    error = await failed(ask.stub.GetScheduledJob(pb.GetScheduledJobRequest(job_id="sch_" + "0" * 32)))

    assert error.code() is Codes.INTERNAL
    assert error.details() == "an internal error occurred; the server's log has the details"
    assert "ZeroDivision" not in str(error)
    assert [(line["action"], line["method"]) for line in logged] == [("call_failed", f"{SERVICE}/GetScheduledJob")]


@pytest.mark.parametrize("kind", [Unavailable, Contended])
async def test_a_database_that_is_away_is_told_without_its_address(
    ask: Client, monkeypatch: pytest.MonkeyPatch, kind: type[Unavailable]
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise kind("connection to db.internal:5432 as foliot failed", told="the database did not answer")

    monkeypatch.setattr(Schedules, "list", away)
    error = await failed(ask.stub.ListScheduledJobs(pb.ListScheduledJobsRequest()))

    assert (error.code(), error.details()) == (Codes.UNAVAILABLE, "the database did not answer")
    assert "internal" not in str(error.trailing_metadata())
    assert detail(error, RetryInfo).retry_delay.seconds == 1
    assert detail(error, ErrorInfo).reason == "UNAVAILABLE"


async def test_whoever_names_no_deadline_gets_one(ask: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.05)
    done = asyncio.Event()

    async def slow(*_: Any) -> Any:
        await done.wait()

    monkeypatch.setattr(Schedules, "get", slow)
    async with asyncio.timeout(SOON):
        error = await failed(ask.stub.GetScheduledJob(pb.GetScheduledJobRequest(job_id="sch_" + "0" * 32)))

    assert error.code() is Codes.DEADLINE_EXCEEDED
    done.set()


async def test_a_change_that_has_begun_is_made_though_its_caller_hangs_up(
    ask: Client, door: GrpcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, room = asyncio.Event(), asyncio.Event(), Limiter.room

    async def held(self: Limiter, *rest: Any) -> int | None:
        began.set()
        await asyncio.wait_for(go_on.wait(), SOON)
        return await room(self, *rest)

    monkeypatch.setattr(Limiter, "room", held)
    call = asyncio.ensure_future(ask.ask("CreateScheduledJob", seeds_job()))
    await asyncio.wait_for(began.wait(), SOON)
    call.cancel()
    await asyncio.sleep(0.2)  # let the library notice
    go_on.set()

    await door._work.rest(SOON)
    assert len((await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())).jobs) == 1


async def test_a_tenant_may_ask_so_often(ask: Client, world: World) -> None:
    await world.cases[Tenants].put(LOCAL, "default", {"limits": {"requests_per_minute": 2}})
    world.clock.advance(10)
    question = pb.ListScheduledJobsRequest()
    for _ in range(2):
        await ask.ask("ListScheduledJobs", question)

    error = await failed(ask.stub.ListScheduledJobs(question))

    assert error.code() is Codes.RESOURCE_EXHAUSTED
    assert detail(error, ErrorInfo).reason == "TOO_MANY"
    waited = detail(error, RetryInfo).retry_delay
    assert waited.seconds + waited.nanos / 1e9 == pytest.approx(30, abs=1)
    world.clock.advance(30)
    await ask.ask("ListScheduledJobs", question)


async def test_runs_and_schedules_are_limited_too(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    await world.cases[Tenants].put(LOCAL, "default", {"limits": {"schedules": 1, "run_now_per_minute": 1}})
    world.clock.advance(10)

    assert (await failed(ask.stub.CreateScheduledJob(seeds_job()))).code() is Codes.RESOURCE_EXHAUSTED
    await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
    error = await failed(ask.stub.ExecuteJobNow(pb.ExecuteJobRequest(job_id=job.job_id)))
    assert error.code() is Codes.RESOURCE_EXHAUSTED


# --- what it tells of itself ------------------------------------------------------------------------------------------


async def test_it_says_that_it_is_well_until_it_stops(world: World) -> None:
    async with opened(world) as door, grpc.aio.insecure_channel(door.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", "foliot.v1.SchedulerService"):
            answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=""))
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        stopping = asyncio.create_task(door.stop())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch.cancel()
        await stopping


async def test_strangers_cannot_hold_all_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_ANONYMOUS", 2)
    async with opened(world) as door, grpc.aio.insecure_channel(door.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        calls = [stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(2)]
        for call in calls:
            await call.read()

        error = await failed(stub.Watch(health_pb2.HealthCheckRequest()).read())

        assert error.code() is Codes.RESOURCE_EXHAUSTED
        await stub.Check(health_pb2.HealthCheckRequest())
        for call in calls:
            call.cancel()


async def test_a_method_that_is_not_there(ask: Client) -> None:
    for name in (f"{SERVICE}/Obliterate", "/nobody.Knows/This", "/"):
        error = await failed(ask.channel.unary_unary(name)(b""))
        assert error.code() is Codes.UNIMPLEMENTED


async def test_two_doors_cannot_share_a_port(door: GrpcServer, world: World) -> None:
    from foliot.core.errors import Conflict

    second = GrpcServer(cases=world.cases, service=scheduler_service, listening=ListenAddress(port=door.port))
    with pytest.raises(Conflict, match="FOLIOT_GRPC_PORT"):
        await second.start()
    await second.stop()

    third = GrpcServer(
        cases=world.cases, service=scheduler_service, listening=ListenAddress(port=door.port), needed=False
    )
    await third.start()
    assert "FOLIOT_GRPC_PORT" in third.closed
    await third.stop()


async def test_a_door_that_never_opened_can_be_stopped(world: World) -> None:
    await GrpcServer(cases=world.cases, service=scheduler_service, listening=ListenAddress()).stop()


async def test_with_a_certificate_it_speaks_tls_only(world: World) -> None:
    certificate, key = _certificate()
    door = GrpcServer(
        cases=world.cases,
        service=scheduler_service,
        pepper=KEYRING,
        listening=ListenAddress(certificate=certificate, key=key),
    )
    await door.start()
    try:
        trust = grpc.ssl_channel_credentials(certificate)
        target = f"localhost:{door.port}"
        async with grpc.aio.secure_channel(target, trust) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            assert (await stub.Check(health_pb2.HealthCheckRequest(), timeout=SOON)).status == 1
        async with grpc.aio.insecure_channel(target) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            error = await failed(stub.Check(health_pb2.HealthCheckRequest(), timeout=SOON))
            assert error.code() is Codes.UNAVAILABLE
    finally:
        await door.stop()


def _certificate() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)  # noqa: TID251 -- a real client compares it with its real clock
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), written


def test_its_limits_are_stated() -> None:
    options = dict(server.OPTIONS)

    assert options["grpc.max_receive_message_length"] == 4 * 1024 * 1024
    assert options["grpc.so_reuseport"] == 0
