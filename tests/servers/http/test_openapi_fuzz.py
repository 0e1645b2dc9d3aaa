"""Throws generated requests at every operation of the OpenAPI document: no 5xx, and nothing it does not promise."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Role
from foliot.engine.model.run import RunState
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import open_store
from tests.asgi import legible
from tests.declared import openapi
from tests.matrix import OURS, House, furnish
from tests.world import open_world

EXAMPLES = 8


class Elsewhere:
    """Runs an app on the loop where its store lives; schemathesis asks from a loop of its own."""

    def __init__(self, open_house: Callable[[], AbstractAsyncContextManager[tuple[ASGIApp, Ids]]]) -> None:
        self.open_house = open_house
        self.loop = asyncio.new_event_loop()
        self.app: ASGIApp | None = None
        self.ids = Ids()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        here = asyncio.get_running_loop()

        async def back_receive() -> Any:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_call(receive), here))

        async def back_send(message: Any) -> None:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_call(send, message), here))

        if scope["type"] != "http":
            return
        assert self.app is not None
        await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(_call(self.app, scope, back_receive, back_send), self.loop)
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """A house on a thread of its own, with something in it to be found."""
        ready, done = threading.Event(), asyncio.Event()

        async def live() -> None:
            async with self.open_house() as (self.app, self.ids):
                ready.set()
                await done.wait()

        thread = threading.Thread(target=lambda: self.loop.run_until_complete(live()))
        thread.start()
        try:
            assert ready.wait(20)
            yield
        finally:
            self.loop.call_soon_threadsafe(done.set)
            thread.join(10)
            self.loop.close()

    def aim(self, case: schemathesis.Case[Any]) -> None:
        """A known id, half the time, reaches what lies behind the lookup; a foreign one now and then must not."""
        for name, known in self.ids.known.items():
            size = len(str((case.path_parameters or {}).get(name, "")))
            if size % 2:
                case.path_parameters[name] = known[size // 2 % len(known)]


async def _call(function: Any, *args: Any) -> Any:
    return await function(*args)


@dataclass(frozen=True, slots=True)
class Ids:
    """What can be named in a path, and who may ask for it."""

    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bearer: str = ""
    foreign: frozenset[str] = frozenset()
    """What no answer may hold unless it was asked for by name."""


@asynccontextmanager
async def _local() -> AsyncIterator[tuple[ASGIApp, Ids]]:
    """Local mode, with one schedule and one dead letter."""
    async with open_world() as world:
        schedule = await world.schedule()
        run = await world.cases[Schedules].run_now(LOCAL, schedule.id)
        await world.end(run.id, RunState.DEAD_LETTER, {"code": "x", "message": "y"})
        ids = Ids({"schedule_id": [schedule.id], "run_id": [run.id]})
        yield create_app(world.cases, hosts={"testserver"}), ids


@asynccontextmanager
async def _shared() -> AsyncIterator[tuple[ASGIApp, Ids]]:
    """Two tenants behind tokens; one of them asks."""
    async with open_store() as store:
        furniture = await furnish(store)
        house, ours, theirs = House.on(store, furniture), furniture.ours, furniture.theirs
        known = {
            "schedule_id": [ours.schedule_id, theirs.schedule_id],
            "run_id": [ours.run_id, theirs.run_id, ours.letter_id],
            "key_id": [ours.key_id, theirs.key_id],
            "name": [ours.name, theirs.name],
            "tenant_id": [ours.tenant_id, theirs.tenant_id],
        }
        foreign = frozenset({theirs.ended_id, theirs.letter_id, theirs.run_id, theirs.schedule_id, theirs.key_id})
        yield house.app, Ids(known, house.token(OURS, Role.ADMIN), foreign)


local, shared = Elsewhere(_local), Elsewhere(_shared)


@pytest.fixture(scope="module", autouse=True)
def _houses() -> Iterator[None]:
    with local.running(), shared.running():
        yield


# The document hangs on the code alone, so it is read before there is a house behind it.
DOCUMENT = openapi()
in_local_mode = schemathesis.openapi.from_dict(deepcopy(DOCUMENT))
in_local_mode.app = local
with_a_token = schemathesis.openapi.from_dict(deepcopy(DOCUMENT))
with_a_token.app = shared
OPERATIONS = [
    pytest.param(path, method.upper(), id=f"{method.upper()} {path}")
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
]

BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


def throw(document: schemathesis.BaseSchema, path: str, method: str, check: Callable[..., None]) -> None:
    """As the decorator of schemathesis does, which makes all requests up while tests are collected, in each process."""
    chosen = document.include(path=path, method=method)
    [made] = get_all_tests(schema=chosen, test_func=check, settings=BOUNDED, given_kwargs=None)
    assert isinstance(made, Ok), made
    _, test = made.ok()
    test()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.timeout(120)
def test_no_input_makes_a_server_error(path: str, method: str) -> None:
    def check(case: schemathesis.Case[Any]) -> None:
        local.aim(case)
        case.call_and_validate(checks=[not_a_server_error])

    throw(in_local_mode, path, method, check)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.timeout(120)
def test_a_tenant_gets_what_the_document_promises_and_nothing_of_another(path: str, method: str) -> None:
    throw(with_a_token, path, method, _keeps_its_promise)


def _keeps_its_promise(case: schemathesis.Case[Any]) -> None:
    shared.aim(case)
    asked = repr((case.path_parameters, case.query, case.body))

    answer = case.call(headers={"Authorization": f"Bearer {shared.ids.bearer}"})

    case.validate_response(
        answer,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
    # Whoever signs in shows something else than the header, and is told when it does not count.
    assert answer.status_code != 401 or (case.method, case.path) == ("POST", "/api/session")
    text = legible(answer.content)
    assert not {one for one in shared.ids.foreign if one in text and one not in asked}
