"""A copy of the database and the way back; and what a version says to a database that is newer than itself."""

# ruff: noqa: F811 -- fixtures are asked for by the name they are imported by

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from foliot.db.file_lock import only_one
from foliot.db.migrate import NEWEST
from tests.cli.test_cli import Foliot, bare  # noqa: F401 -- a fixture

NEWER = "9999"


@pytest.fixture
def database(bare: Foliot, tmp_path: Path) -> Path:
    assert bare("migrate").code == 0
    return tmp_path / "home" / "foliot.db"


@contextmanager
def opened(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file)) as connection, connection:
        yield connection


def mark(file: Path, name: str) -> None:
    """A row of its own, to tell one state of a file from another."""
    with opened(file) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS marks (name TEXT)")
        connection.execute("INSERT INTO marks VALUES (?)", [name])


def marks(file: Path) -> list[str]:
    with opened(file) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM marks ORDER BY rowid")]


def move_to(file: Path, revision: str) -> None:
    with opened(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])


def test_a_copy_is_one_whole_private_file_also_while_somebody_writes(
    bare: Foliot, database: Path, tmp_path: Path
) -> None:
    mark(database, "committed")
    with closing(sqlite3.connect(database)) as writer:
        assert writer.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO marks VALUES ('under way')")
        with only_one(database):
            answered = bare("backup", str(tmp_path / "copy.db"))
        writer.execute("COMMIT")

    assert answered.code == 0, answered.err
    assert f"at revision {NEWEST}; the copy is intact" in answered.out
    assert "secret.key" in answered.err
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    assert marks(tmp_path / "copy.db") == ["committed"]
    assert marks(database) == ["committed", "under way"]


def test_a_copy_takes_no_other_files_place(bare: Foliot, database: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")

    answered = bare("backup", str(tmp_path / "precious"))

    assert (answered.code, (tmp_path / "precious").read_text()) == (1, "mine")
    assert "already exists" in answered.err


def test_what_was_copied_comes_back_in_another_home_and_in_its_own(
    bare: Foliot, database: Path, tmp_path: Path
) -> None:
    copy, other = tmp_path / "copy.db", tmp_path / "other"
    mark(database, "before")
    assert bare("backup", str(copy)).code == 0
    mark(database, "after")

    assert bare("restore", str(copy), "--home", str(other)).code == 0
    assert marks(other / "foliot.db") == ["before"]

    refused = bare("restore", str(copy))
    assert (refused.code, marks(database)) == (1, ["before", "after"])
    assert "--replace" in refused.err

    replaced = bare("restore", str(copy), "--replace")
    assert replaced.code == 0, replaced.err
    assert marks(database) == ["before"]
    [kept] = database.parent.glob("*replaced*")
    assert marks(kept) == ["before", "after"]
    assert bare("audit").out.startswith("all accounted")


def test_a_log_left_behind_is_not_applied_to_what_was_restored(bare: Foliot, database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    mark(database, "before")
    assert bare("backup", str(copy)).code == 0
    with closing(sqlite3.connect(database)) as writer:
        # As after a kill: the last writes are in the log alone.
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("INSERT INTO marks VALUES ('after')")
        writer.commit()
        log = database.with_name("foliot.db-wal")
        left = log.read_bytes()
    database.unlink()
    log.write_bytes(left)

    assert bare("restore", str(copy)).code == 0

    assert marks(database) == ["before"]


def test_nothing_is_restored_under_a_foliot_that_runs_or_from_something_else(
    bare: Foliot, database: Path, tmp_path: Path
) -> None:
    copy, page = tmp_path / "copy.db", tmp_path / "page.html"
    page.write_text("<p>no database</p>" * 100)
    assert bare("backup", str(copy)).code == 0
    with only_one(database):
        running = bare("restore", str(copy), "--replace")

    assert "another Foliot is already running" in running.err
    assert "is not a Foliot database" in bare("restore", str(page), "--replace").err
    assert bare("restore", str(tmp_path / "nowhere"), "--replace").code == 1


@pytest.mark.parametrize(
    ("url", "tools"),
    [
        ("postgresql://u:hunter2@127.0.0.1/db", ("pg_dump", "pg_restore")),
        ("mariadb://u:hunter2@127.0.0.1/db", ("mariadb-dump", "mariadb ")),
    ],
)
def test_a_server_has_its_own_tool_which_is_named(
    bare: Foliot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, tools: tuple[str, str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    answers = [bare(command, str(tmp_path / "copy")) for command in ("backup", "restore")]

    assert [answered.code for answered in answers] == [1, 1]
    assert all(tool in answered.err for tool, answered in zip(tools, answers, strict=True))
    assert "hunter2" not in "".join(answered.err for answered in answers)


@pytest.mark.parametrize("command", [("up", "--port", "0"), ("migrate",), ("audit",), ("audit", "verify")])
def test_a_newer_database_is_told_what_to_do_about_in_one_line(
    bare: Foliot, database: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FOLIOT_GRPC_PORT", "off")
    move_to(database, NEWER)

    answered = bare(*command)

    assert answered.code == 1
    # The suite keeps its files in memory, which is warned of.
    [line] = [each for each in answered.err.splitlines() if "home_in_memory" not in each]
    assert f"at revision {NEWER}, which a newer version of Foliot created" in line
    assert "start that version" in line
    assert "foliot restore" in line
    assert sorted(path.name for path in database.parent.glob("*.revision-*")) == []


def test_a_check_of_a_newer_database_says_the_same_as_an_error(bare: Foliot, database: Path) -> None:
    move_to(database, NEWER)

    found = json.loads(bare("check", "--json").out)["findings"]

    [said] = [each for each in found if each["key"] == "DATABASE_URL"]
    assert said["level"] == "error"
    assert "which a newer version of Foliot created" in said["message"]


def test_a_copy_of_a_newer_database_is_not_restored(bare: Foliot, database: Path, tmp_path: Path) -> None:
    assert bare("backup", str(tmp_path / "copy")).code == 0
    move_to(tmp_path / "copy", NEWER)

    answered = bare("restore", str(tmp_path / "copy"), "--home", str(tmp_path / "other"))

    assert (answered.code, (tmp_path / "other" / "foliot.db").exists()) == (1, False)
    assert "which a newer version of Foliot created" in answered.err


def test_the_file_is_kept_as_it_was_before_it_is_migrated(bare: Foliot, database: Path) -> None:
    def without_the_newest() -> None:
        from alembic import command
        from alembic.config import Config
        from sqlalchemy import create_engine

        import foliot.db.migrations

        config = Config()
        config.set_main_option("script_location", str(Path(foliot.db.migrations.__file__).parent))
        with create_engine(f"sqlite:///{database}").connect() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "-1")
            connection.commit()

    without_the_newest()
    with opened(database) as connection:
        [(older,)] = connection.execute("SELECT version_num FROM alembic_version")
    mark(database, "before")

    assert bare("migrate").code == 0
    assert bare("migrate").code == 0

    [kept] = database.parent.glob("*.revision-*")
    assert kept.name == f"foliot.db.revision-{older}"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with opened(kept) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (older,)
    assert marks(kept) == ["before"]

    without_the_newest()
    assert bare("migrate").code == 0
    assert len(list(database.parent.glob("*.revision-*"))) == 2


def test_a_copy_that_cannot_be_kept_stops_the_migration(bare: Foliot, database: Path) -> None:
    move_to(database, "0001")
    database.with_name("foliot.db.revision-0001.partial").mkdir()

    answered = bare("migrate")

    assert answered.code == 1
    assert "cannot copy" in answered.err
    with opened(database) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
