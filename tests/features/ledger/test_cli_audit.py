"""`foliot audit`: the ledger, and what stands beside it about the audit log."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foliot.app.use_cases import use_cases
from foliot.commands.audit_sql import SqlAuditLog
from foliot.core.access import LOCAL
from foliot.db.clock import StoreClock
from foliot.db.migrations.append_only import RULES
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import open_store
from tests.cli.cli_server import Script
from tests.cli.test_cli import Foliot, bare, run, server  # noqa: F401 -- fixtures
from tests.world import HOURLY, OneAction, World


@pytest.fixture
def database(bare: Foliot, tmp_path: Path) -> Path:  # noqa: F811 -- the fixture
    """With three changes chained."""
    assert bare("migrate").code == 0
    (path,) = (tmp_path / "home").glob("*.db")

    async def fill() -> None:
        async with open_store(f"sqlite+aiosqlite:///{path}") as store:
            world = World.on(store)
            world.cases = use_cases(store, StoreClock(), world.feed, OneAction())
            for _ in range(3):
                await world.cases[Schedules].create(LOCAL, HOURLY)
            async with store.begin() as tx:
                await SqlAuditLog(tx).chain(10)

    asyncio.run(fill())
    return path


def tamper(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        for name in RULES:
            raw.execute(f"DROP TRIGGER IF EXISTS {name}")
        raw.execute(statement)


def test_nothing_to_verify_says_so(bare: Foliot) -> None:  # noqa: F811 -- the fixture
    answered = bare("audit", "verify")

    assert answered.code == 1
    assert "there is no database" in answered.err


def test_a_sound_log_verifies_and_shows_its_heads(bare: Foliot, database: Path) -> None:  # noqa: F811 -- the fixture
    answered = bare("audit", "verify")
    assert (answered.code, answered.out) == (0, "sound: 1 tenant, 3 entries\n")

    found = json.loads(bare("audit", "verify", "--json").out)
    assert (found["ok"], found["entries"], found["breaks"]) == (True, 3, [])
    assert [(head["tenant_id"], head["seq"]) for head in found["heads"]] == [("default", 3)]


def test_entries_that_are_not_chained_yet_are_accounted_for(bare: Foliot, database: Path) -> None:  # noqa: F811 -- the fixture
    async def write() -> None:
        async with open_store(f"sqlite+aiosqlite:///{database}") as store:
            world = World.on(store)
            world.cases = use_cases(store, StoreClock(), world.feed, OneAction())
            await world.cases[Schedules].create(LOCAL, HOURLY)

    asyncio.run(write())

    answered = bare("audit", "verify")
    assert (answered.code, answered.out) == (0, "sound: 1 tenant, 3 entries, 1 entry not chained yet\n")
    assert json.loads(bare("audit", "verify", "--json").out)["waiting"] == 1


def test_the_plain_form_still_proves_the_ledger(bare: Foliot, database: Path) -> None:  # noqa: F811 -- the fixture
    answered = bare("audit")

    assert (answered.code, answered.out) == (0, "all accounted for: 3 schedules, 0 instants\n")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE trail SET user_id = 'eve' WHERE seq = 2", "altered: entry aud_"),
        ("DELETE FROM trail WHERE seq = 2", "missing: seq 2; the next entry is aud_"),
        ("DELETE FROM trail WHERE seq = 3", "truncated: the head says seq 3, the last entry is seq 2"),
        ("UPDATE trail_heads SET digest = 'x'", "head: its digest is not that of the last entry, seq 3"),
        ("UPDATE trail SET at = 'nonsense' WHERE seq = 3", "altered: entry aud_"),
        ("UPDATE trail SET seq = 'nonsense' WHERE seq = 3", "is at seq 0, which no chain has"),
        ("UPDATE trail SET became = x'ff' WHERE seq = 1", "altered: entry aud_"),
    ],
)
def test_what_was_tampered_with_is_named_and_the_command_fails(
    statement: str,
    words: str,
    bare: Foliot,  # noqa: F811 -- the fixture
    database: Path,
) -> None:
    tamper(database, statement)

    answered = bare("audit", "verify")
    assert answered.code == 1
    assert answered.out.startswith("not sound: tenant default: ")
    assert words in answered.out
    assert json.loads(bare("audit", "--json", "verify").out)["ok"] is False


def test_a_chain_made_anew_is_sound_in_itself_and_not_what_was_seen_earlier(
    bare: Foliot,  # noqa: F811 -- the fixture
    database: Path,
    tmp_path: Path,
) -> None:
    seen = tmp_path / "seen.json"
    seen.write_text(bare("audit", "verify", "--json").out)
    assert bare("audit", "verify", "--earlier", str(seen)).code == 0

    anew = "UPDATE trail SET user_id = 'eve', seq = NULL, digest = NULL, waiting_of = tenant_id"
    tamper(database, "DELETE FROM trail_heads")
    tamper(database, anew)

    async def chain() -> None:
        async with open_store(f"sqlite+aiosqlite:///{database}") as store, store.begin() as tx:
            await SqlAuditLog(tx).chain(10)

    asyncio.run(chain())
    assert bare("audit", "verify").code == 0
    answered = bare("audit", "verify", "--earlier", str(seen))
    assert answered.code == 1
    assert "rewritten: seq 3 or one before it was changed" in answered.out

    tamper(database, "DELETE FROM trail WHERE seq = 3")
    assert "it went to seq 3 before, the last entry is seq 2" in bare("audit", "verify", "--earlier", str(seen)).out
    tamper(database, "DELETE FROM trail_heads")
    tamper(database, "DELETE FROM trail")
    assert bare("audit", "verify").code == 0
    assert "it went to seq 3 before, there are no entries" in bare("audit", "verify", "--earlier", str(seen)).out


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"heads": [1]}'])
def test_a_file_that_is_no_earlier_proof_is_refused(
    text: str,
    bare: Foliot,  # noqa: F811 -- the fixture
    database: Path,
    tmp_path: Path,
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text)

    answered = bare("audit", "verify", "--earlier", str(wrong))
    assert answered.code == 2
    assert "is not what foliot audit verify --json prints" in answered.err


def test_the_log_is_listed(run: Foliot, server: Script) -> None:  # noqa: F811 -- the fixtures
    entry = {
        "id": "aud_1",
        "at": "2027-01-01T09:00:00Z",
        "user_id": "ada",
        "key_id": "key_1",
        "door": "rest",
        "verb": "pause",
        "thing": "schedule",
        "thing_id": "sch_1",
        "thing_name": "Nightly",
        "seq": 7,
    }
    server.will("GET", "/api/audit", (200, {"items": [entry], "next_cursor": None}))

    answered = run("audit", "list", "--user", "ada", "--id", "sch_1", "--from", "2027-01-01T00:00:00Z", "--utc")

    assert answered.code == 0, answered.err
    for word in ("2027-01-01 09:00:00Z", "ada (key_1)", "pause", "sch_1", "Nightly", "7"):
        assert word in answered.out
    path = server.request()[1]
    assert "user=ada" in path
    assert "thing_id=sch_1" in path
    assert "from=2027-01-01T00" in path


def test_an_edit_is_taken_back(run: Foliot, server: Script) -> None:  # noqa: F811 -- the fixtures
    schedule = {"id": "sch_1", "name": "Nightly", "status": "active", "version": 4}
    since = {"detail": "schedule sch_1 was changed since: ada changed it; look at it, or revert that first"}
    server.will("POST", "/api/audit/aud_1/revert", (200, schedule), (409, since))

    answered = run("audit", "revert", "aud_1", "--json")
    assert json.loads(answered.out) == schedule
    refused = run("audit", "revert", "aud_1")
    assert refused.code != 0
    assert "was changed since: ada" in refused.err
