"""The wire of the campaigns does to a real connection what its faults are named for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url

from chaos.wire import Exchange, Wire

pytestmark = [
    pytest.mark.services,
    pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True),
]

LOST = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)


@pytest.fixture
def wire(server_database_url: str) -> Iterator[Wire]:
    exchange = Exchange()
    made = exchange.wire(make_url(server_database_url).port or 5432)
    yield made
    exchange.close()


async def connect(url: str, port: int | None = None) -> Any:
    parts = make_url(url)
    where = {"host": parts.host, "port": port or parts.port, "user": parts.username, "database": parts.database}
    return await asyncpg.connect(**where, password=parts.password, timeout=5)


@pytest.fixture
async def straight(server_database_url: str) -> AsyncIterator[Any]:
    """A connection that knows nothing of the wire, and a table to write to."""
    connection = await connect(server_database_url)
    await connection.execute("CREATE TABLE chaos_wire (word text)")
    yield connection
    await connection.execute("DROP TABLE chaos_wire")
    await connection.close()


async def write(connection: Any, word: str) -> None:
    async with connection.transaction():
        await connection.execute("INSERT INTO chaos_wire VALUES ($1)", word)


async def words(connection: Any) -> list[str]:
    return [row["word"] for row in await connection.fetch("SELECT word FROM chaos_wire")]


async def test_an_eaten_commit_is_done_and_nobody_is_told(server_database_url: str, wire: Wire, straight: Any) -> None:
    eaten: list[int] = []
    wire.ate = lambda: eaten.append(1)
    through = await connect(server_database_url, wire.port)
    await write(through, "told")

    wire.eat()
    async with through.transaction(readonly=True):
        await through.fetch("SELECT 1")
    with pytest.raises(LOST):
        await write(through, "eaten")

    assert await words(straight) == ["told", "eaten"]
    assert (eaten, wire.hungry) == ([1], False)


async def test_what_is_held_arrives_when_it_is_released(server_database_url: str, wire: Wire, straight: Any) -> None:
    through = await connect(server_database_url, wire.port)

    wire.hold()
    writing = asyncio.create_task(write(through, "late"))
    await asyncio.wait([writing], timeout=0.3)
    meanwhile = await words(straight)
    wire.release(forgotten=False)
    await writing

    assert meanwhile == []
    assert await words(straight) == ["late"]
    await through.close()


async def test_a_forgotten_connection_is_reset_when_the_network_is_back(
    server_database_url: str, wire: Wire, straight: Any
) -> None:
    through = await connect(server_database_url, wire.port)

    wire.hold()
    writing = asyncio.create_task(write(through, "never"))
    await asyncio.wait([writing], timeout=0.3)
    wire.release(forgotten=True)

    with pytest.raises(LOST):
        await writing
    assert await words(straight) == []


async def test_a_half_open_connection_says_nothing_and_new_ones_are_fine(
    server_database_url: str, wire: Wire, straight: Any
) -> None:
    through = await connect(server_database_url, wire.port)

    wire.half_open()
    writing = asyncio.create_task(write(through, "never"))
    await asyncio.wait([writing], timeout=0.3)
    silent = not writing.done()
    other = await connect(server_database_url, wire.port)
    await write(other, "new")
    wire.mend()

    assert silent
    with pytest.raises(LOST):
        await writing
    assert await words(straight) == ["new"]
    await other.close()
