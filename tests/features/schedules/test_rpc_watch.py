"""Watching a run over gRPC: every event once and in order, whenever one comes and however often one comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.engine.model.run import EventLine, EventType, RunState, Succeeded
from foliot.features.schedules.rpc import jobs as watching
from foliot.features.tenants.usecases import Tenants
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.server import GrpcServer
from foliot.testing import open_store
from foliot.wakeups.feed import run_topic
from tests.givens import finish
from tests.rpc import Client, client, opened, seeds_job, violations, world_on
from tests.world import World

Codes = grpc.StatusCode
SOON = 20
"""Seconds; generous, for the machine may have other things to do."""


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


async def begun(ask: Client) -> tuple[str, str]:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    run = await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
    return job.job_id, run.run_id


async def ended(world: World, run_id: str, lines: int = 3) -> None:
    (claimed,) = await world.claim(run_id)
    now = world.clock.now()
    written = [EventLine(now, EventType.LOG, message=f"line {n}") for n in range(lines)]
    await finish(world.store, claimed, Succeeded({"ok": True}), now, written)
    world.feed.wake(run_topic(run_id))


async def first(call: Any) -> pb.JobEvent:
    async with asyncio.timeout(SOON):
        event: pb.JobEvent = await call.read()
        return event


async def rest(call: Any) -> list[pb.JobEvent]:
    found: list[pb.JobEvent] = []
    async with asyncio.timeout(SOON):
        while (event := await call.read()) is not grpc.aio.EOF:
            found.append(event)
    return found


async def test_a_run_that_ended_is_told_whole(ask: Client, world: World) -> None:
    job_id, run_id = await begun(ask)
    await ended(world, run_id)

    events = await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id))

    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {(event.run_id, event.job_id) for event in events} == {(run_id, job_id)}
    assert [event.message for event in events if event.type == "log"] == ["line 0", "line 1", "line 2"]
    states = [event.state for event in events if event.type == "state"]
    assert (states[0], states[-1]) == ("queued", "success")


async def test_it_goes_on_where_it_broke_off(ask: Client, world: World) -> None:
    _, run_id = await begun(ask)
    await ended(world, run_id)
    whole = await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id))

    for after in range(len(whole) + 2):
        assert await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id, after=after)) == whole[after:]


async def test_events_are_told_as_they_happen_and_the_stream_ends_with_the_run(ask: Client, world: World) -> None:
    _, run_id = await begun(ask)
    call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
    assert (await first(call)).state == "queued"

    await ended(world, run_id)

    assert [event.state for event in await rest(call) if event.type == "state"][-1] == "success"


async def test_of_a_job_its_newest_run_is_watched(ask: Client, world: World) -> None:
    job_id, old = await begun(ask)
    await ended(world, old)
    new = (await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job_id))).run_id
    await ended(world, new)

    events = await ask.ask("WatchJob", pb.WatchJobRequest(job_id=job_id))

    assert {event.run_id for event in events} == {new}


async def test_a_job_that_has_not_run_yet(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.ask("WatchJob", pb.WatchJobRequest(job_id=job.job_id))

    assert caught.value.code() is Codes.FAILED_PRECONDITION


async def test_a_number_that_is_none(ask: Client) -> None:
    _, run_id = await begun(ask)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id, after=-1))

    assert set(violations(caught.value)) == {"after"}


async def test_a_stopping_server_says_where_to_go_on(world: World) -> None:
    async with opened(world) as door, client(door) as ask:
        _, run_id = await begun(ask)
        call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
        seen = (await first(call)).seq
        stopping = asyncio.create_task(door.stop())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rest(call)
        await stopping

    assert caught.value.code() is Codes.UNAVAILABLE
    assert f"watch {run_id} again, after {seen}" in (caught.value.details() or "")


async def test_a_reader_who_leaves_is_forgotten(ask: Client, door: GrpcServer, world: World) -> None:
    _, run_id = await begun(ask)
    call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
    await first(call)
    assert door.streams_of == {"default": 1}

    call.cancel()
    async with asyncio.timeout(SOON):
        while door.streams_of:
            world.feed.wake(run_topic(run_id))
            await asyncio.sleep(0.01)
    assert door.streams_of == {}


async def test_readers_who_hang_up_in_the_middle_break_nothing(ask: Client, world: World) -> None:
    _, run_id = await begun(ask)
    for _ in range(30):
        calls = [ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id)) for _ in range(3)]
        world.feed.wake(run_topic(run_id))
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        asked = asyncio.ensure_future(ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=run_id)))
        await asyncio.sleep(0.001)
        asked.cancel()
    await ended(world, run_id)

    assert (await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id)))[-1].state == "success"


async def test_a_tenant_has_so_many_streams_over_both_doors(ask: Client, door: GrpcServer, world: World) -> None:
    _, run_id = await begun(ask)
    await world.cases[Tenants].put(LOCAL, "default", {"limits": {"streams": 2}})
    world.clock.advance(10)
    # One is open at the other door.
    door.streams_of["default"] += 1
    call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
    await first(call)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id))

    assert caught.value.code() is Codes.RESOURCE_EXHAUSTED
    call.cancel()


async def test_a_process_has_so_many_streams(ask: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MOST", 1)
    _, run_id = await begun(ask)
    call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
    await first(call)

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.ask("WatchJob", pb.WatchJobRequest(job_id=run_id))

    assert caught.value.code() is Codes.RESOURCE_EXHAUSTED
    call.cancel()


class Fickle:
    """Believes whoever comes, until it does not."""

    def __init__(self) -> None:
        self.counts = True

    async def caller(self, bearer: str) -> Caller:
        return Caller("acme", bearer, Role.ADMIN)

    async def still(self, caller: Caller) -> bool:
        return self.counts


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
async def test_who_no_longer_counts_is_told_no_more(world: World, busy: bool) -> None:
    who = Fickle()
    async with opened(world, who) as door, client(door, "ada") as ask:
        _, run_id = await begun(ask)
        call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id), metadata=ask.metadata())
        await first(call)

        who.counts = False
        world.clock.advance(watching.RECHECK)
        if busy:
            await ended(world, run_id, lines=50)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rest(call)

    assert caught.value.code() is Codes.UNAUTHENTICATED


async def test_the_database_may_be_away_for_a_while(ask: Client, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from foliot.core.errors import Unavailable
    from foliot.features.runs.usecases.runs import Runs

    _, run_id = await begun(ask)
    call = ask.stub.WatchJob(pb.WatchJobRequest(job_id=run_id))
    await first(call)
    asked = asyncio.Event()

    async def away(*_: Any) -> Any:
        asked.set()
        raise Unavailable("secret address", told="the database did not answer")

    with monkeypatch.context() as patched:
        patched.setattr(Runs, "events", away)
        world.feed.wake(run_topic(run_id))
        await asyncio.wait_for(asked.wait(), SOON)
    await ended(world, run_id)

    assert (await rest(call))[-1].state == RunState.SUCCESS
