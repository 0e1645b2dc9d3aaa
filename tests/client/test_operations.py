"""Every operation of the client, called once against a real server, blocking and asynchronous."""

from __future__ import annotations

import asyncio
import inspect
import keyword
import re
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import pytest

from clients.python.document import Described, Document
from clients.python.methods import Method, grouped
from foliot.app.http import create_app
from foliot.client import AsyncFoliot, AsyncItems, Foliot, Items, Unavailable
from foliot.client import types as t
from foliot.commands.envelope import UseCases
from foliot.core.access import Role
from foliot.testing import open_store
from tests.client.server import Served, serving
from tests.declared import openapi
from tests.matrix import OURS, Furniture, House, Route, Things, furnish, routes
from tests.services import wait_for
from tests.world import URL

SESSIONS = {"sessions.begin", "sessions.end"}
PLANS = {"plans.plan", "plans.apply", "schedules.take_over"}
ELSEWHERE = SESSIONS | PLANS
"""What needs more than one call: tests of their own."""
NOT_HERE = {"pages.reextract_dry_run"}
"""What this server has no readers for."""


@dataclass(frozen=True)
class Named:
    """A method of the client, and the operation that it calls."""

    group: str
    name: str
    one: Described

    def __str__(self) -> str:
        return f"{self.group}.{self.name}"


@cache
def methods() -> list[Named]:
    document = Document(openapi())
    return [
        Named(group, written, one)
        for group, those in grouped(document).items()
        for name, one in those
        for text in Method(document, group, name, one, asynchronous=False).written()
        for written in re.findall(r"def (\w+)", text)
    ]


@cache
def known_routes() -> dict[str, Route]:
    return {str(route): route for route in routes(create_app(cast("UseCases", None)))}


def route_of(one: Described) -> Route:
    return known_routes()[f"{one.verb.upper()} {one.path}"]


READS = [named for named in methods() if named.one.verb == "get"]
WRITES = [named for named in methods() if named.one.verb != "get"]


@pytest.fixture(scope="module")
def furnished(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Furniture]:
    path = tmp_path_factory.mktemp("client") / "furnished.db"
    shutil.copy(migrated_sqlite, path)

    async def made() -> Furniture:
        async with open_store(f"sqlite+aiosqlite:///{path}") as store:
            return await furnish(store)

    return path, wait_for(made())


@pytest.fixture
async def house(furnished: tuple[Path, Furniture], tmp_path: Path) -> AsyncIterator[House]:
    path, furniture = furnished
    shutil.copy(path, tmp_path / "house.db")
    async with open_store(f"sqlite+aiosqlite:///{tmp_path / 'house.db'}") as store:
        yield House.on(store, furniture)


@dataclass(frozen=True)
class Caller:
    """Calls methods by their names, as a program would."""

    house: House
    served: Served
    asynchronous: bool

    async def call(self, named: Named) -> Any:
        """The answer, read to its end; of a list the first page."""
        route = route_of(named.one)
        token = None if route.public else self.house.token(OURS, route.owner())
        if self.asynchronous:
            async with AsyncFoliot(self.served.url, token, retries=0) as client:
                return await self._asynchronous(client, named, route)
        with Foliot(self.served.url, token, retries=0) as client:
            return await asyncio.to_thread(self._blocking, client, named, route)

    def _blocking(self, client: Foliot, named: Named, route: Route) -> Any:
        path, given = arguments(named, route, self.house.ours)
        answer = getattr(getattr(client, named.group), named.name)(*path, **given)
        if isinstance(answer, Items):
            return next(answer.pages())
        return list(answer) if inspect.isgenerator(answer) else answer

    async def _asynchronous(self, client: AsyncFoliot, named: Named, route: Route) -> Any:
        path, given = arguments(named, route, self.house.ours)
        answer = getattr(getattr(client, named.group), named.name)(*path, **given)
        if isinstance(answer, AsyncItems):
            return await anext(answer.pages())
        return [each async for each in answer] if inspect.isasyncgen(answer) else await answer


def arguments(named: Named, route: Route, things: Things) -> tuple[list[str], dict[str, Any]]:
    """What the route's own call has, as arguments of the method."""
    if named.name == "follow" and named.group == "runs":
        return [things.ended_id], {}
    url = urlsplit(route.url(things))
    found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", named.one.path), url.path)
    assert found is not None
    given = dict(parse_qsl(url.query)) | (route.body(things) or {}) | more(named, things)
    return list(found.groups()), {f"{key}_" if keyword.iskeyword(key) else key: value for key, value in given.items()}


def more(named: Named, things: Things) -> dict[str, Any]:
    """What a method cannot do without, although no route of the matrix has it."""
    return {"sessions.begin": {"token": "none"}}.get(str(named), {})


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
async def test_every_read_is_answered(house: House, asynchronous: bool) -> None:
    failed = {}
    async with serving(house.app) as served:
        caller = Caller(house, served, asynchronous)
        for named in READS:
            served.asked.clear()
            try:
                answer = await caller.call(named)
            except Exception as error:  # noqa: BLE001 -- all of them are listed
                failed[str(named)] = repr(error)
                continue
            if answer is None or {method for method, _ in served.asked} != {"GET"} or len(served.asked) != 1:
                failed[str(named)] = f"{answer!r}, asked {served.asked}"

    assert len(READS) > 80
    assert failed == {}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
@pytest.mark.parametrize("named", [one for one in WRITES if one.one.name not in ELSEWHERE], ids=str)
async def test_a_write_is_answered(house: House, named: Named, asynchronous: bool) -> None:
    async with serving(house.app) as served:
        caller = Caller(house, served, asynchronous)
        if str(named) in NOT_HERE:
            with pytest.raises(Unavailable):
                await caller.call(named)
            return
        answer = await caller.call(named)

    assert (answer is None) == (named.one.success.keys() == {"204"})
    assert served.asked == [(named.one.verb.upper(), urlsplit(route_of(named.one).url(house.ours)).path)]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
async def test_sessions_are_begun_and_ended(house: House, asynchronous: bool) -> None:
    begin, end = (next(one for one in WRITES if one.one.name == name) for name in sorted(SESSIONS))
    async with serving(house.app) as served:
        caller = Caller(house, served, asynchronous)
        with pytest.raises(Exception, match="token"):
            await caller.call(begin)
        await caller.call(end)

    assert [method for method, _ in served.asked] == ["POST", "DELETE"]


async def test_a_plan_is_made_applied_and_taken_over(house: House) -> None:
    wanted: t.ScheduleRequest = {
        "name": "From a file",
        "type": "cron",
        "cron_expr": "0 2 * * *",
        "action": {"kind": "webhook", "url": URL},
    }
    async with serving(house.app) as served:
        async with AsyncFoliot(served.url, house.token(OURS, Role.ADMIN)) as client:
            plan = await client.plans.plan(file="prices", documents={"schedules": [wanted]})
            await client.plans.apply(file="prices", documents={"schedules": [wanted]}, digest=plan["digest"])
            made = await client.schedules.list(q='name:"From a file"').first()
            assert made is not None
            assert made["managed_by"] == "file:prices"
            assert (await client.schedules.take_over(made["id"]))["managed_by"] == "api"
        with Foliot(served.url, house.token(OURS, Role.ADMIN)) as client:
            again = await asyncio.to_thread(client.plans.plan, file="prices", documents={"schedules": [wanted]})
            applied = await asyncio.to_thread(
                client.plans.apply, file="prices", documents={"schedules": [wanted]}, digest=again["digest"]
            )

    assert [change["act"] for change in plan["changes"]] == ["create"]
    assert applied["file"] == "prices"
