"""`foliot import`: a source is planned and applied, paused, and importing it again changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.core.access import LOCAL, OPERATORS_OWN
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.commands.action import CommandAction
from foliot.features.imports.model.airflow import read_airflow
from foliot.features.imports.model.crontab import read_crontab
from foliot.features.imports.model.imported import Imported
from foliot.features.imports.model.systemd import read_systemd
from foliot.features.plans.usecases.plans import Plans
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import SecretCache
from foliot.testing import GivenActions, StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.features.imports.test_airflow import DAGS
from tests.features.imports.test_systemd import SERVICE, TIMER

__all__ = ["server"]

CRONTAB = "MAILTO=me\n# Sync\n30 2 * * * sync.sh\n*/5 * * * * poll.sh\n@reboot warm.sh\n"
NONE = {"create": 0, "change": 0, "delete": 0, "none": 0, "drift": 0}


def plan(**acts: str) -> dict[str, Any]:
    changes: list[dict[str, Any]] = [
        {"thing": "schedules", "name": name.replace("_", "."), "act": act, "id": None, "place": place, "fields": []}
        for place, (name, act) in enumerate(acts.items())
    ]
    counts = {**NONE, **{act: list(acts.values()).count(act) for act in acts.values()}}
    return {"file": "crontab", "digest": "d", "offsets": {}, "counts": counts, "changes": changes, "simulation": None}


@pytest.fixture
def crontab(server: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    path = tmp_path / "crontab.txt"
    path.write_text(CRONTAB)
    return str(path)


def sent(server: Script) -> list[tuple[str, Mapping[str, Any]]]:
    requests = [server.request() for _ in range(server.asked.qsize())]
    return [(path, body) for _, path, body, _ in requests]


def test_what_is_created_is_paused_and_what_exists_keeps_its_status(server: Script, crontab: str) -> None:
    answer = plan(Sync="none", poll_sh="create")
    server.will("POST", "/api/plan", (200, answer))
    server.will("POST", "/api/plan/apply", (200, answer))

    done = invoke("import", "crontab", crontab)

    assert done.code == 0, done.err
    first, second, applied = sent(server)
    assert (first[0], second[0], applied[0]) == ("/api/plan", "/api/plan", "/api/plan/apply")
    sync, poll = applied[1]["documents"]["schedules"]
    assert "paused" not in sync
    assert poll["paused"] is True
    assert "Imported: 1 created." in done.out
    assert "line 5: left out: @reboot is not a time" in done.err
    assert "foliot bulk start resume -q 'tag:from-crontab'" in done.err


def test_a_dry_run_writes_nothing(server: Script, crontab: str) -> None:
    server.will("POST", "/api/plan", (200, plan(Sync="create", poll_sh="create")))

    done = invoke("import", "crontab", crontab, "--dry-run")

    assert (done.code, done.out.splitlines()[-1]) == (0, "2 to create.")
    assert {path for path, _ in sent(server)} == {"/api/plan"}


def test_active_schedules_are_not_paused(server: Script, crontab: str) -> None:
    answer = plan(Sync="create", poll_sh="create")
    server.will("POST", "/api/plan", (200, answer))
    server.will("POST", "/api/plan/apply", (200, answer))

    invoke("import", "crontab", crontab, "--active")

    assert not [each for _, body in sent(server) for each in body["documents"]["schedules"] if "paused" in each]


def test_an_error_of_the_server_names_the_entry(server: Script, crontab: str) -> None:
    errors = [{"field": "schedules[1].action.kind", "message": "is switched off on this server"}]
    server.will("POST", "/api/plan", (422, {"title": "Invalid", "detail": "x", "errors": errors}))

    done = invoke("import", "crontab", crontab)

    assert done.code != 0
    assert "poll.sh: action.kind: is switched off on this server" in done.err


def test_a_faulty_source_is_refused_before_anything_is_sent(server: Script, crontab: str) -> None:
    Path(crontab).write_text("61 * * * * x\n")

    done = invoke("import", "crontab", crontab)

    assert done.code == 1
    assert "line 1: minute: '61' is not within 0-59" in done.err
    assert sent(server) == []


@pytest.mark.parametrize(
    ("imported", "count"),
    [
        (read_crontab(CRONTAB, "Europe/Stockholm"), 2),
        (read_systemd([("backup.timer", TIMER), ("backup.service", SERVICE)], "Europe/Stockholm"), 2),
        (read_airflow([("shop.py", DAGS)]), 4),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
async def test_a_server_takes_the_documents_once(store: Database, imported: Imported, count: int) -> None:
    clock = StoppedClock()
    action = CommandAction(tenants=OPERATORS_OWN, secrets=SecretCache(store=store, clock=clock, vault=None))
    cases = use_cases(store, clock, MemoryFeed(), GivenActions.of(action))

    async def apply() -> dict[str, int]:
        asked = {"file": imported.kind, "documents": {"schedules": imported.documents}}
        answer = await cases[Plans].plan(LOCAL, asked)
        done = await cases[Plans].apply(LOCAL, {**asked, "digest": answer.digest})
        acts = [change.act.value for change in done.changes]
        return {act: acts.count(act) for act in acts}

    assert await apply() == {"create": count}
    assert await apply() == {"none": count}
    found = await cases[Schedules].list(LOCAL, PageRequest(10))
    assert {each.managed_by for each in found} == {f"file:{imported.kind}"}
