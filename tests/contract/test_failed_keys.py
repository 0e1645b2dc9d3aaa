"""Wrong keys are answered late, at every door; right ones from the same address are not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from fastapi import FastAPI

from foliot.domain.access import Caller, Role
from foliot.doors.rest import create_app
from foliot.identity.claims import Expectations
from foliot.identity.identities import Identities
from foliot.identity.keys import Keys
from foliot.identity.last_use import LastUse
from foliot.identity.tokens import Tokens
from foliot.identity.verifying import hs256
from foliot.proto import scheduler_service_pb2 as pb
from foliot.usecases.throttle import MOST_WAITING, PER_MINUTE, Throttle
from tests.asgi import Client
from tests.rpc import client as rpc_client
from tests.rpc import opened
from tests.tokens import SECRET
from tests.world import KEYRING, World, open_world

ADMIN = Caller("acme", "ada", Role.ADMIN)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


def identities(world: World) -> Identities:
    tokens = Tokens(keys=hs256(SECRET), clock=world.clock, expected=Expectations(audience="foliot"))
    keys = Keys(store=world.store, clock=world.clock, pepper=KEYRING, last_use=LastUse(store=world.store))
    return Identities(tokens, keys)


def wrong(number: int) -> str:
    return f"flt_{number:08x}_{'A' * 43}"


async def test_wrong_keys_wait_and_a_right_one_beside_them_does_not(world: World) -> None:
    app: FastAPI = create_app(world.cases, identity=identities(world))
    app.state.throttle = Throttle(delay=1.0)
    client = Client(app)
    good = f"Bearer {(await world.cases.keys.create(ADMIN, {'name': 'good', 'role': 'viewer'})).text}"

    async def ask(bearer: str) -> tuple[int, float, Any]:
        began = time.monotonic()
        answer = await client.get("/api/schedules", Authorization=bearer)
        return answer.status, time.monotonic() - began, answer.headers.get("retry-after")

    first = [await ask(f"Bearer {wrong(number)}") for number in range(PER_MINUTE)]
    late = [asyncio.create_task(ask(f"Bearer {wrong(PER_MINUTE + number)}")) for number in range(MOST_WAITING + 20)]
    async with asyncio.timeout(20):
        while app.state.throttle.waiting < MOST_WAITING and not all(one.done() for one in late):
            await asyncio.sleep(0)
    beside = [await ask(good) for _ in range(10)]
    held = app.state.throttle.waiting
    told = await asyncio.gather(*late)

    assert {status for status, _, _ in first} == {401}
    assert {status for status, _, _ in told} == {429}
    assert all(wait is not None for _, _, wait in told)
    assert sum(took >= 1.0 for _, took, _ in told) >= MOST_WAITING
    assert {status for status, _, _ in beside} == {200}
    assert held > 0, "the right key was answered while the wrong ones waited"
    world.clock.advance(60)
    assert (await ask(f"Bearer {wrong(9999)}"))[0] == 401


async def test_wrong_keys_wait_at_the_grpc_door_too(world: World) -> None:
    good = (await world.cases.keys.create(ADMIN, {"name": "good", "role": "viewer"})).text
    codes = []
    async with opened(world, identity=identities(world)) as door:
        for number in range(PER_MINUTE + 1):
            async with rpc_client(door, wrong(number)) as asking:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await asking.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())
                codes.append(refused.value.code())
        async with rpc_client(door, good) as asking:
            await asking.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())

    assert set(codes[:-1]) == {grpc.StatusCode.UNAUTHENTICATED}
    assert codes[-1] is grpc.StatusCode.RESOURCE_EXHAUSTED
