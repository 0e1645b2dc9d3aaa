"""Every route × {no token, expired, other tenant, too small a role, owner}. New routes join by themselves."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from fastapi import FastAPI
from sqlalchemy import URL, event, text
from sqlalchemy.exc import DBAPIError

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases
from foliot.core.access import Role
from foliot.core.errors import FoliotError
from foliot.db.database import Database
from foliot.testing import open_store
from tests.asgi import legible
from tests.declared import openapi
from tests.matrix import OURS, THEIRS, Furniture, House, Route, Things, furnish, routes
from tests.services import wait_for

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.services)
PUBLIC = {"GET /health", "GET /docs", "GET /api/session", "POST /api/session", "DELETE /api/session"}
# Links of notifications: their signature is the credential.
PUBLIC |= {"GET /ack/{alert_id}/{signature}", "POST /ack/{alert_id}/{signature}"}
# Pings of jobs that run elsewhere: the key is the credential.
PUBLIC |= {"GET /api/watches/{watch_id}/feed.atom"}
PUBLIC |= {f"{method} /ping/{{key}}{rest}" for method in ("GET", "POST") for rest in ("", "/{signal}")}
"""What anybody may ask. The document of the API is the framework's own route."""
ECHO = {f"{method} /api/echo/{{path}}" for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}
LOCAL = ECHO | {f"{method} /api/demo-site/{{path}}" for method in ("GET", "POST")}
"""What local mode alone has: elsewhere it is not there."""


def _app() -> FastAPI:
    """For looking at: nobody asks it anything."""
    return create_app(cast("UseCases", None))


def _routes() -> list[Route]:
    return list(routes(_app()))


ROUTES = _routes()
GUARDED = [pytest.param(route, id=str(route)) for route in ROUTES if not route.public]


@pytest.fixture(scope="module")
def furnished(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Furniture]:
    """Furnished once; each test has a copy."""
    path = tmp_path_factory.mktemp("matrix") / "furnished.db"
    shutil.copy(migrated_sqlite, path)
    return path, wait_for(_furnish(f"sqlite+aiosqlite:///{path}"))


async def _furnish(url: str) -> Furniture:
    async with open_store(url) as store:
        return await furnish(store)


@pytest.fixture
async def house(furnished: tuple[Path, Furniture], tmp_path: Path) -> AsyncIterator[House]:
    path, furniture = furnished
    shutil.copy(path, tmp_path / "house.db")
    async with open_store(f"sqlite+aiosqlite:///{tmp_path / 'house.db'}") as store:
        yield House.on(store, furniture)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def still_house(
    furnished: tuple[Path, Furniture], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """One house for all who may change nothing in it."""
    path, furniture = furnished
    copy = tmp_path_factory.mktemp("still") / "house.db"
    shutil.copy(path, copy)
    async with open_store(f"sqlite+aiosqlite:///{copy}") as store:
        yield House.on(store, furniture)


def test_every_route_states_what_it_asks_of_its_caller() -> None:
    silent = [str(route) for route in ROUTES if not route.public and route.permission is None]

    assert silent == []
    assert {str(route) for route in ROUTES if route.public} == PUBLIC | LOCAL


def test_every_route_of_the_document_is_in_the_matrix() -> None:
    paths = openapi()["paths"]
    written = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

    assert len(written) > 30
    assert written <= {str(route) for route in ROUTES}


@pytest.mark.parametrize("route", GUARDED)
async def test_strangers_are_told_nothing(house: House, route: Route) -> None:
    before = [await house.rows(OURS), await house.rows(THEIRS)]

    expired = house.token(OURS, Role.SYSTEM, life=timedelta(minutes=-5))
    answers = [await house.ask(route, house.ours, bearer) for bearer in (None, expired, "x", f"{expired}x")]
    answers += [await house.ask(route, Things.unknown(), None)]

    assert {answer.status for answer in answers} == {401}
    assert len({answer.body for answer in answers}) == 1
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert [await house.rows(OURS), await house.rows(THEIRS)] == before


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("route", GUARDED)
async def test_too_small_a_role_may_not(still_house: House, route: Route) -> None:
    bearer = await still_house.too_small(route)
    before = await still_house.rows(OURS)

    answer = await still_house.ask(route, still_house.ours, bearer)
    unknown = await still_house.ask(route, Things.unknown(), bearer)

    assert (answer.status, unknown.status) == (403, 403)
    assert answer.body == unknown.body, "whether there is such a thing is not theirs to know"
    assert await still_house.rows(OURS) == before


@pytest.mark.parametrize("route", GUARDED)
async def test_the_owner_may(house: House, route: Route) -> None:
    answer = await house.ask(route, house.ours, house.token(OURS, route.owner()))

    assert 200 <= answer.status < 300, answer.text


@pytest.mark.parametrize("route", GUARDED)
async def test_another_tenant_sees_and_changes_nothing(house: House, route: Route) -> None:
    # A house for each: what one question made in the asker's own tenant would stand in the answer to another.
    await _foreign(house, route)


async def _foreign(house: House, route: Route) -> None:
    """The other tenant's most powerful person asks for our things, and for things that are nobody's."""
    bearer = house.token(THEIRS, Role.ADMIN)
    before, unknown = await house.rows(OURS), Things.unknown()

    answer = await house.ask(route, house.ours, bearer)
    nobody = await house.ask(route, unknown, bearer)

    assert answer.status == nobody.status
    assert _anonymous(answer.body, house.ours) == _anonymous(nobody.body, unknown) or _new_each_time(route, answer)
    assert not house.named & set(re.findall(r"\b[a-z]{3}_[0-9a-f]{32}\b", _anonymous(answer.body, house.ours)))
    assert house.ours.name not in _anonymous(answer.body, house.ours)
    assert "{task}" in route.path or house.ours.task not in re.findall(r"\w+", answer.text), "it is listed to strangers"
    if not route.tenants_own():
        assert answer.status == 403
    elif re.search(r"{(\w+)}", route.path) and route.path != "/api/secrets/{name}" and not route.everybodys:
        assert answer.status == 404
    assert await house.rows(OURS) == before


def _anonymous(body: bytes, things: Things) -> str:
    """The answer without the names that the question gave."""
    text = legible(body)
    for at, name in enumerate(astuple(things)):
        text = text.replace(name, f"<{at}>")
    return text


def _new_each_time(route: Route, answer: Any) -> bool:
    """Two answers differ because each made something new."""
    named = re.search(r"{(\w+)}", route.path) and not route.everybodys
    made = route.method == "POST" and not named and 200 <= answer.status < 300
    # The trail of the asker's own tenant grows by what it asked before.
    return made or str(route) == "GET /api/audit"


# --- the second wall --------------------------------------------------------------------------------------------------

_WHERE = re.compile(r"((?:\w+\.)?tenant_id) = (\$\d+(?:::\w+)?)")


@contextmanager
def forgetful(store: Database) -> Iterator[list[str]]:
    """Every statement of this store forgets to ask for the tenant."""
    changed: list[str] = []

    def forget(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        bare = _WHERE.sub(r"(\1 = \2 OR true)", statement)
        if bare != statement:
            changed.append(bare)
        return bare, parameters

    engines = (store.engines.write.sync_engine, store.engines.read.sync_engine)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", forget, retval=True)
    try:
        yield changed
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", forget)


@pytest.fixture(scope="module", params=[POSTGRESQL])
def furnished_server(
    request: pytest.FixtureRequest, databases_of_session: Callable[[str, str], URL]
) -> tuple[str, Furniture]:
    """Furnished once: what the other tenant tries changes nothing of ours."""
    url = databases_of_session(request.param, "matrix").render_as_string(hide_password=False)
    return url, wait_for(_furnish(url))


@pytest.fixture
async def walled(furnished_server: tuple[str, Furniture]) -> AsyncIterator[House]:
    url, furniture = furnished_server
    async with open_store(url) as store:
        yield House.on(store, furniture)


@pytest.mark.parametrize("route", [one for one in GUARDED if one.values[0].tenants_own()])  # type: ignore[union-attr]
async def test_the_second_wall_stands_alone(walled: House, route: Route) -> None:
    """Row-level security keeps tenants apart even when no statement does."""
    before = await walled.rows(OURS)
    bearer = walled.token(THEIRS, Role.ADMIN)
    with forgetful(walled.world.store) as changed:
        answer = await walled.ask(route, walled.ours, bearer)

    found = set(re.findall(r"\b[a-z]{3}_[0-9a-f]{32}\b", _anonymous(answer.body, walled.ours)))
    assert not walled.named & found
    if re.search(r"{(\w+)}", route.path) and route.path != "/api/secrets/{name}" and not route.everybodys:
        assert answer.status == 404
        assert changed, "the statements did ask for the tenant, and forgot it here"
    assert await walled.rows(OURS) == before


async def test_without_the_second_wall_the_same_questions_are_answered(walled: House) -> None:
    """So that the test above can fail."""
    walled.world.store._has_row_level_security = False
    (route,) = [one for one in ROUTES if str(one) == "GET /api/schedules/{schedule_id}"]

    with forgetful(walled.world.store):
        answer = await walled.ask(route, walled.ours, walled.token(THEIRS, Role.ADMIN))

    assert answer.status == 200
    assert answer.json["id"] == walled.ours.schedule_id


async def test_a_confined_transaction_cannot_write_into_another_tenant(walled: House) -> None:
    stolen = text("UPDATE schedules SET tenant_id = 'acme'")
    with pytest.raises((DBAPIError, FoliotError), match="row-level security"):
        async with walled.world.store.begin(THEIRS) as tx:
            await tx.conn.execute(stolen)
