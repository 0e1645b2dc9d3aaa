"""The harness: a test gets a database that is its own and empty, or a clear word about why not."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import textwrap
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from tests import databases, services
from tests.services import MARIADB, POSTGRESQL

pytest_plugins = ["pytester"]


async def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    engine = create_async_engine(url)
    rows: list[tuple[object, ...]] = []
    async with engine.begin() as connection:
        for statement in statements:
            result = await connection.execute(text(statement))
            rows = [tuple(row) for row in result] if result.returns_rows else []
    await engine.dispose()
    return rows


async def a_parent_and_its_child(url: str) -> None:
    await run(
        url,
        "CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)",
        "CREATE TABLE IF NOT EXISTS child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent (id))",
        "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) PRIMARY KEY)",
        "INSERT INTO parent VALUES (1)",
        "INSERT INTO child VALUES (1, 1)",
        "INSERT INTO alembic_version VALUES ('0001')",
    )


async def test_cleaning_deletes_rows_whatever_refers_to_them_and_keeps_tables_and_revision(
    bare_database_url: str,
) -> None:
    await a_parent_and_its_child(bare_database_url)

    await databases.clean(bare_database_url)

    assert await run(bare_database_url, "SELECT id FROM parent") == []
    assert await run(bare_database_url, "SELECT id FROM child") == []
    assert await run(bare_database_url, "SELECT version_num FROM alembic_version") == [("0001",)]


@pytest.mark.parametrize("round_", [1, 2])
async def test_a_bare_database_has_no_tables_or_views_even_after_a_test_that_left_some(
    bare_database_url: str, round_: int
) -> None:
    await run(
        bare_database_url,
        "CREATE TABLE left_behind (id INTEGER PRIMARY KEY)",
        "CREATE VIEW seen_behind AS SELECT id FROM left_behind",
    )


@pytest.mark.parametrize("round_", [1, 2])
async def test_every_test_finds_its_database_without_rows(database_url: str, round_: int) -> None:
    await run(database_url, "CREATE TABLE IF NOT EXISTS harness_probe (id INTEGER PRIMARY KEY)")
    try:
        assert await run(database_url, "SELECT id FROM harness_probe") == []
        await run(database_url, "INSERT INTO harness_probe VALUES (1)")
    finally:
        if round_ == 2:
            await run(database_url, "DROP TABLE harness_probe")


def test_a_server_database_belongs_to_this_process_alone(server_database_url: str) -> None:
    name = make_url(server_database_url).database

    assert name is not None
    assert name.startswith(f"foliot_test_{os.getpid()}_")


@pytest.mark.parametrize("url", ["postgresql+asyncpg://localhost/production", "mysql+asyncmy://localhost/mysql"])
@pytest.mark.parametrize("destroy", [databases.clean, databases.raze])
async def test_other_databases_are_never_touched(url: str, destroy: object) -> None:
    with pytest.raises(ValueError, match="not a database of the test suite"):
        await destroy(url)  # type: ignore[operator]


def test_a_server_named_by_its_variable_that_does_not_answer_is_an_error_not_a_reason_to_use_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(POSTGRESQL.variable, f"postgresql+asyncpg://postgres@127.0.0.1:{services.free_port()}/postgres")

    with pytest.raises(OSError, match=r"[Cc]onnect"):
        services.find(POSTGRESQL)


@pytest.mark.services
@pytest.mark.parametrize("starter", [starter for starters in services.STARTERS.values() for starter in starters])
def test_a_private_server_starts_answers_and_leaves_nothing_behind(starter: object) -> None:
    note = starter()  # type: ignore[operator]
    if note is None:
        pytest.skip("its binaries are not installed")

    assert services.answers(make_url(note["url"]))
    services.stop(note["pid"])
    assert not services.alive(note["pid"])
    shutil.rmtree(note["directory"])


def test_a_missing_server_is_named_at_the_end_with_its_remedy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUIRE_SERVICES", raising=False)

    outcome = run_without_servers(pytester)

    outcome.assert_outcomes(passed=1, skipped=2)
    outcome.stdout.fnmatch_lines(["*not run: no PostgreSQL here*", "*test_inner.py: 1 test", f"*{POSTGRESQL.install}*"])
    outcome.stdout.fnmatch_lines(["*not run: no MariaDB here*", "*test_inner.py: 1 test", f"*{MARIADB.install}*"])


def test_a_missing_server_fails_the_run_where_servers_are_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_SERVICES", "1")

    outcome = run_without_servers(pytester)

    outcome.assert_outcomes(passed=1, errors=2)
    assert outcome.ret != 0


def run_without_servers(pytester: pytest.Pytester) -> pytest.RunResult:
    """A run of one small test on a machine where nothing listens and nothing is installed."""
    pytester.makeini("[pytest]\nmarkers = services")
    pytester.makeconftest(
        textwrap.dedent("""
            import dataclasses
            from tests import services
            from tests.conftest import *

            for name, kind in services.KINDS.items():
                services.KINDS[name] = dataclasses.replace(kind, usual=())
                services.STARTERS[name] = ()
        """)
    )
    pytester.makepyfile(test_inner="def test_inner(database_url): pass")
    root = str(Path(__file__).parents[2])
    pytester.plugins = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]))
        patch.delenv(POSTGRESQL.variable, raising=False)
        patch.delenv(MARIADB.variable, raising=False)
        patch.delenv(services.SHARED, raising=False)
        return pytester.run(sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider")


def test_a_port_is_given_once_and_lies_below_those_that_the_system_gives_to_anybody() -> None:
    ours = [services.free_port() for _ in range(100)]
    systems = Path("/proc/sys/net/ipv4/ip_local_port_range")

    assert len({*ours}) == len(ours)
    assert max(ours) < (int(systems.read_text().split()[0]) if systems.exists() else 32_768)


def test_a_port_that_another_process_was_given_or_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as given, socket.create_server(("127.0.0.1", 0)) as listens:
        given.bind(("127.0.0.1", 0))
        free = services.free_port()
        services.CLAIMED.pop().close()
        offered = [given.getsockname()[1], listens.getsockname()[1], free]
        chosen = iter(port - services.FIRST_PORT for port in offered)
        monkeypatch.setattr("secrets.randbelow", lambda _most: next(chosen))

        assert services.free_port() == free
