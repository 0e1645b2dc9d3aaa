"""Healthchecks: a check becomes a monitor that expects its pings when Healthchecks does."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from cronsim import CronSim

from foliot.core.access import LOCAL
from foliot.features.imports.model.healthchecks import read_healthchecks
from foliot.features.imports.model.imported import UnreadableSource
from foliot.features.monitors.usecases import Monitors
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.features.imports.oracles import (
    EACH,
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    local,
    trigger_of,
)
from tests.world import World

__all__ = ["server"]

CHECKS: dict[str, Any] = {
    "checks": [
        {"name": "Backup", "tags": "prod db", "grace": 900, "schedule": "30 2 * * *", "tz": ZONE, "status": "up"},
        {"name": "Poll", "tags": "", "grace": 60, "timeout": 300, "status": "paused", "desc": "Polls", "channels": "x"},
        {"name": "Calendar", "grace": 60, "schedule": "Mon *-*-* 10:00 UTC", "tz": "UTC", "status": "up"},
        {"name": "Mail", "grace": 60, "timeout": 60, "filter_subject": True, "status": "new"},
    ]
}


def test_a_check_becomes_a_monitor() -> None:
    imported = read_healthchecks(json.dumps(CHECKS), "checks.json")
    backup, poll, _ = imported.monitors

    assert backup == {
        "name": "Backup", "type": "cron", "cron_expr": "30 2 * * *", "timezone": ZONE, "grace_seconds": 900,
        "tags": ["from-healthchecks", "prod", "db"],
    }  # fmt: skip
    assert (poll["type"], poll["interval_seconds"], imported.paused) == ("interval", 300, {"Poll"})
    assert imported.documents == []


def test_what_does_not_carry_over_has_a_note() -> None:
    notes = {(note.entry, note.text) for note in read_healthchecks(json.dumps(CHECKS), "checks.json").notes}

    assert any(entry == "Calendar" and text.startswith("left out") for entry, text in notes)
    assert any(entry == "Mail" and "subject" in text for entry, text in notes)
    assert any(entry is None and "ping address of its own" in text for entry, text in notes)


@pytest.mark.parametrize("text", ["[", "{}", "[]", '{"checks": [1]}'])
def test_what_is_no_list_of_checks_is_refused(text: str) -> None:
    with pytest.raises(UnreadableSource, match="api/v3/checks"):
        read_healthchecks(text, "checks.json")


def test_generated_checks_expect_pings_when_healthchecks_does() -> None:
    random_ = random.Random(24)
    for number in range(ENTRIES):
        expression = " ".join(generated_fields(random_))
        check = {"name": f"c{number}", "grace": 60, "schedule": expression, "tz": ZONE}
        trigger = trigger_of(read_healthchecks(json.dumps([check]), "x").monitors[0])
        for start in STARTS:
            theirs = [at.astimezone(UTC) for at in islice(CronSim(expression, local(start)), EACH)]
            assert instants(trigger, start) == theirs, expression


def test_importing_twice_changes_nothing(server: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    source = tmp_path / "checks.json"
    source.write_text(json.dumps(CHECKS))
    documents = read_healthchecks(source.read_text(), "x").monitors
    there = [{**one, "id": f"mon_{place:032x}", "status": "new"} for place, one in enumerate(documents)]
    edited = [{**there[0], "grace_seconds": 7}, *there[1:]]
    server.will("GET", "/api/monitors", (200, {"items": [], "next_cursor": None}))
    server.will("POST", "/api/monitors", *((201, one) for one in there))
    server.will("POST", f"/api/monitors/{there[1]['id']}/pause", (200, there[1]))

    first = invoke("import", "healthchecks", str(source))
    sent = [server.request()[:2] for _ in range(server.asked.qsize())]
    server.will("GET", "/api/monitors", (200, {"items": there, "next_cursor": None}))
    second = invoke("import", "healthchecks", str(source))
    server.will("GET", "/api/monitors", (200, {"items": edited, "next_cursor": None}))
    third = invoke("import", "healthchecks", str(source))

    assert "3 created." in first.out
    assert [method for method, _ in sent] == ["GET", "POST", "POST", "POST", "POST"]
    assert "Nothing to change: 3 as wanted." in second.out
    assert "! monitor Backup (differs: left alone without --overwrite)" in third.out
    later = [server.request()[0] for _ in range(server.asked.qsize())]
    assert later == ["GET", "GET"]


async def test_a_server_takes_the_monitors(world: World) -> None:
    for document in read_healthchecks(json.dumps(CHECKS), "x").monitors:
        await world.cases[Monitors].create(LOCAL, document)

    found: Mapping[str, Any] = {
        one.monitor.settings.name: one.monitor.settings.as_dict() for one in await world.cases[Monitors].list(LOCAL)
    }
    for document in read_healthchecks(json.dumps(CHECKS), "x").monitors:
        assert {name: found[document["name"]][name] for name in document} == document
