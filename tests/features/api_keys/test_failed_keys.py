"""Wrong keys are answered late, at every interface; right ones from the same address are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest
from fastapi import FastAPI

from foliot.app.http import create_app
from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import hs256
from foliot.commands.limits import MOST_WAITING, PER_MINUTE, FailedLoginDelay
from foliot.core.access import Caller, Role
from foliot.features.api_keys.key_cache import KeyCache, LastUse
from foliot.features.api_keys.usecases import ApiKeys as KeysCases
from foliot.proto import scheduler_service_pb2 as pb
from tests.asgi import Answer, Client
from tests.rpc import client as rpc_client
from tests.rpc import opened
from tests.tokens import SECRET
from tests.world import KEYRING, World, open_world

ADMIN = Caller("acme", "ada", Role.ADMIN)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


def identities(world: World) -> CredentialCheck:
    tokens = Tokens(keys=hs256(SECRET), clock=world.clock, expected=Expectations(audience="foliot"))
    keys = KeyCache(store=world.store, clock=world.clock, pepper=KEYRING, last_use=LastUse(store=world.store))
    return CredentialCheck(tokens, keys)


def wrong(number: int) -> str:
    return f"flt_{number:08x}_{'A' * 43}"


async def test_wrong_keys_wait_and_a_right_one_beside_them_does_not(world: World) -> None:
    app: FastAPI = create_app(world.cases, identity=identities(world))
    throttle = app.state.throttle = FailedLoginDelay(delay=600)
    client = Client(app)
    good = (await world.cases[KeysCases].create(ADMIN, {"name": "good", "role": "viewer"})).text

    async def ask(key: str) -> Answer:
        return await client.get("/api/schedules", Authorization=f"Bearer {key}")

    assert {(await ask(wrong(number))).status for number in range(PER_MINUTE)} == {401}
    beyond = range(PER_MINUTE, PER_MINUTE + MOST_WAITING + 20)
    late = [asyncio.create_task(ask(wrong(number))) for number in beyond]
    async with asyncio.timeout(60):
        while sum(one.done() for one in late) < 20 or throttle.waiting < MOST_WAITING:
            await asyncio.sleep(0)

    assert {(await ask(good)).status for _ in range(10)} == {200}
    assert throttle.waiting == MOST_WAITING, "the right key was answered while the wrong ones waited"
    told = [one.result() for one in late if one.done()]
    assert {(one.status, "retry-after" in one.headers) for one in told} == {(429, True)}
    for one in late:
        one.cancel()
    await asyncio.wait(late)
    assert throttle.waiting == 0
    throttle.delay = 0.01
    assert (await ask(wrong(1))).status == 429
    world.clock.advance(60)
    assert (await ask(wrong(1))).status == 401


async def test_wrong_keys_wait_at_the_grpc_door_too(world: World) -> None:
    good = (await world.cases[KeysCases].create(ADMIN, {"name": "good", "role": "viewer"})).text
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
