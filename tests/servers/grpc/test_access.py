"""Every method of the gRPC server × {no token, expired, other tenant, too small a role, owner}. New ones join."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, Role, Thing, Verb
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.usecases import ApiKeys
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.schedules.rpc.jobs import SERVICE, JobMethods, WatchMethod, methods
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import PUBLIC, RpcMethod
from foliot.servers.grpc.server import GrpcServer
from foliot.testing import open_store
from tests.matrix import OURS, THEIRS, Furniture, House, Route, Things, furnish
from tests.rpc import Client, client, opened
from tests.services import wait_for

Codes = grpc.StatusCode
DESCRIPTOR = pb.DESCRIPTOR.services_by_name["SchedulerService"]
NAMES = [method.name for method in DESCRIPTOR.methods]
HOOK = {"kind": "webhook", "url": "https://example.com/hook"}
EVERY_HOUR = pb.ScheduleConfig(type="interval", config={"hours": "1"})


def declared() -> dict[str, RpcMethod]:
    """For looking at: nobody asks it anything."""
    jobs = JobMethods(cast("UseCases", None))
    return dict(methods(jobs, WatchMethod(jobs, cast("Any", None), cast("Any", None))))


def question(name: str, things: Things) -> Any:
    """A request that its owner may make. The owner's call fails for a new method that is missing here."""
    match name:
        case "CreateScheduledJob":
            return pb.CreateScheduledJobRequest(name="Made by the matrix", schedule_config=EVERY_HOUR, action=HOOK)
        case "UpdateScheduledJob":
            return pb.UpdateScheduledJobRequest(job_id=things.schedule_id, name="Renamed")
        case "ListScheduledJobs":
            return pb.ListScheduledJobsRequest()
        case "WatchJob":
            return pb.WatchJobRequest(job_id=things.ended_id)
        case _:
            return GetMessageClass(DESCRIPTOR.methods_by_name[name].input_type)(job_id=things.schedule_id)


@pytest.fixture(scope="module")
def furnished(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Furniture]:
    """Furnished once; each test has a copy."""
    path = tmp_path_factory.mktemp("rpc-matrix") / "furnished.db"
    shutil.copy(migrated_sqlite, path)

    async def furnish_it() -> Furniture:
        async with open_store(f"sqlite+aiosqlite:///{path}") as store:
            return await furnish(store)

    return path, wait_for(furnish_it())


@dataclass(frozen=True, slots=True)
class Guarded:
    """A furnished house with its gRPC door."""

    house: House
    door: GrpcServer

    async def ask(self, name: str, things: Things, bearer: str | None) -> tuple[Any, str, Any]:
        """The code, what was said, and the answer."""
        async with client(self.door, bearer) as caller:
            return await asked(caller, name, question(name, things))


async def asked(caller: Client, name: str, request: Any) -> tuple[Any, str, Any]:
    try:
        return Codes.OK, "", await caller.ask(name, request)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or "", None


@pytest.fixture
async def guarded(furnished: tuple[Path, Furniture], tmp_path: Path) -> AsyncIterator[Guarded]:
    async with house_of(furnished, tmp_path) as house, opened(house.world, house.app.state.identity) as door:
        yield Guarded(house, door)


@asynccontextmanager
async def house_of(furnished: tuple[Path, Furniture], tmp_path: Path) -> AsyncIterator[House]:
    path, furniture = furnished
    shutil.copy(path, tmp_path / "house.db")
    async with open_store(f"sqlite+aiosqlite:///{tmp_path / 'house.db'}") as store:
        yield House.on(store, furniture)


def test_every_method_states_what_it_asks_of_its_caller() -> None:
    table = declared()

    assert set(table) == {f"/{SERVICE}/{name}" for name in NAMES}
    for name, method in table.items():
        verb, thing = method.permission
        assert isinstance(verb, Verb), name
        assert isinstance(thing, Thing), name
        assert method.request is GetMessageClass(DESCRIPTOR.methods_by_name[name.rpartition("/")[2]].input_type)
        assert method.streams is DESCRIPTOR.methods_by_name[name.rpartition("/")[2]].server_streaming
    assert not PUBLIC & set(table)


@pytest.mark.parametrize("name", NAMES)
async def test_strangers_are_told_nothing(guarded: Guarded, name: str) -> None:
    house = guarded.house
    before = [await house.rows(OURS), await house.rows(THEIRS)]

    expired = house.token(OURS, Role.SYSTEM, life=timedelta(minutes=-5))
    told = [await guarded.ask(name, house.ours, bearer) for bearer in (None, expired, "x", f"{expired}x", "y" * 9000)]
    told += [await guarded.ask(name, Things.unknown(), None)]

    assert {code for code, *_ in told} == {Codes.UNAUTHENTICATED}
    assert len({said for _, said, _ in told}) == 1
    assert [await house.rows(OURS), await house.rows(THEIRS)] == before


@pytest.mark.parametrize("name", NAMES)
async def test_too_small_a_role_may_not(guarded: Guarded, name: str) -> None:
    house = guarded.house
    permission = declared()[f"/{SERVICE}/{name}"].permission
    bearer = await house.too_small(Route("GRPC", name, permission, public=False))
    before = await house.rows(OURS)

    answer, unknown = await guarded.ask(name, house.ours, bearer), await guarded.ask(name, Things.unknown(), bearer)

    assert answer[0] is Codes.PERMISSION_DENIED
    assert answer == unknown, "whether there is such a thing is not theirs to know"
    assert await house.rows(OURS) == before


@pytest.mark.parametrize("name", NAMES)
async def test_the_owner_may(guarded: Guarded, name: str) -> None:
    house = guarded.house
    code, said, answer = await guarded.ask(name, house.ours, house.token(OURS, Role.OPERATOR))

    assert code is Codes.OK, said
    assert answer


@pytest.mark.parametrize("name", NAMES)
async def test_another_tenant_sees_and_changes_nothing(guarded: Guarded, name: str) -> None:
    house, unknown = guarded.house, Things.unknown()
    bearer = house.token(THEIRS, Role.ADMIN)
    before = await house.rows(OURS)

    code, said, answer = await guarded.ask(name, house.ours, bearer)
    nobody, said_of_nobody, _ = await guarded.ask(name, unknown, bearer)

    if name not in {"CreateScheduledJob", "ListScheduledJobs"}:
        assert code is Codes.NOT_FOUND
    assert code is nobody
    assert anonymous(said, house.ours) == anonymous(said_of_nobody, unknown)
    assert not any(one in str(answer) for one in house.named)
    assert await house.rows(OURS) == before


def anonymous(said: str, things: Things) -> str:
    """The answer without the names that the question gave."""
    for one in fields(things):
        said = said.replace(str(getattr(things, one.name)), "<it>")
    return said


async def test_the_place_in_a_list_is_no_use_to_another_tenant(guarded: Guarded) -> None:
    house = guarded.house
    async with client(guarded.door, house.token(OURS, Role.OPERATOR)) as ours:
        await ours.ask("CreateScheduledJob", question("CreateScheduledJob", house.ours))
        page = await ours.ask("ListScheduledJobs", pb.ListScheduledJobsRequest(page_size=1))
        assert page.next_page_token
    async with client(guarded.door, house.token(THEIRS, Role.ADMIN)) as theirs:
        request = pb.ListScheduledJobsRequest(page_token=page.next_page_token)
        code, *_ = await asked(theirs, "ListScheduledJobs", request)
        assert code is Codes.INVALID_ARGUMENT


async def test_keys_of_idempotency_are_apart_too(guarded: Guarded) -> None:
    house = guarded.house
    made = set()
    for tenant in (OURS, THEIRS):
        async with client(guarded.door, house.token(tenant, Role.ADMIN)) as caller:
            request = question("CreateScheduledJob", house.ours)
            made.add((await caller.ask("CreateScheduledJob", request, idempotency_key="same")).job_id)

    assert len(made) == 2


async def test_the_tenant_is_the_tokens_whatever_else_is_said(guarded: Guarded) -> None:
    house = guarded.house
    async with client(guarded.door, house.token(THEIRS, Role.ADMIN)) as caller:
        said = {"x_tenant_id": OURS, "tenant_id": OURS, "x_forwarded_user": "ada"}
        job = await caller.ask("CreateScheduledJob", question("CreateScheduledJob", house.ours), **said)

    assert job.tenant_id == THEIRS


async def test_two_tokens_are_none(guarded: Guarded) -> None:
    bearer = f"Bearer {guarded.house.token(OURS, Role.ADMIN)}"
    async with client(guarded.door) as caller:
        twice = [("authorization", bearer), ("authorization", bearer)]
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await caller.stub.ListScheduledJobs(pb.ListScheduledJobsRequest(), metadata=twice)

    assert caught.value.code() is Codes.UNAUTHENTICATED


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_unary", "stream_stream"])
@pytest.mark.parametrize("name", [f"/{SERVICE}/ListScheduledJobs", f"/{SERVICE}/Unheard", "/other.Service/Method"])
async def test_a_stranger_is_turned_away_whatever_the_kind_of_call(guarded: Guarded, kind: str, name: str) -> None:
    async def messages() -> AsyncIterator[bytes]:
        yield b""

    async with client(guarded.door) as caller:
        call = getattr(caller.channel, kind)(name)(messages() if kind.startswith("stream") else b"", timeout=20)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await (call.read() if kind.endswith("stream") else call)

    assert caught.value.code() is Codes.UNAUTHENTICATED


async def test_an_api_key_opens_the_door_and_its_revocation_ends_a_stream(guarded: Guarded) -> None:
    house = guarded.house
    admin = house.token(OURS, Role.ADMIN)
    who = await house.app.state.identity.caller(admin)
    key = await house.world.cases[ApiKeys].create(who, {"name": "watcher", "role": "viewer"})
    async with client(guarded.door, key.text) as caller:
        request = pb.WatchJobRequest(job_id=house.ours.run_id)
        call = caller.stub.WatchJob(request, metadata=caller.metadata())
        assert (await call.read()).state == "queued"
        await house.world.cases[ApiKeys].revoke(who, key.key.id)
        house.world.clock.advance(6)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await to_the_end(call)

    assert caught.value.code() is Codes.UNAUTHENTICATED


async def to_the_end(call: Any) -> None:
    while (await call.read()) is not grpc.aio.EOF:
        pass


async def test_what_was_done_is_on_record_with_its_door(guarded: Guarded) -> None:
    house = guarded.house
    await guarded.ask("PauseScheduledJob", house.ours, house.token(OURS, Role.OPERATOR))

    who = await house.app.state.identity.caller(house.token(OURS, Role.ADMIN))
    (newest, *_) = await house.world.cases[AuditLog].list(who, PageRequest(1))
    assert (newest.door, newest.verb) == ("grpc", "pause")


async def test_local_mode_asks_nobody(furnished: tuple[Path, Furniture], tmp_path: Path) -> None:
    async with house_of(furnished, tmp_path) as house, opened(house.world) as door, client(door, "nonsense") as caller:
        job = await caller.ask("CreateScheduledJob", question("CreateScheduledJob", house.ours))
        run = await caller.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
        await house.world.end(run.run_id, RunState.SUCCESS)

    assert job.tenant_id == LOCAL.tenant_id
