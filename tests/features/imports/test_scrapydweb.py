"""ScrapydWeb: rows of its timer tasks become crawls at the instants of APScheduler's own trigger."""

from __future__ import annotations

import json
import random
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from apscheduler.triggers.cron import CronTrigger

from foliot.features.crawls.action.config import read_config
from foliot.features.imports.model.imported import UnreadableSource
from foliot.features.imports.model.scrapydweb import read_scrapydweb
from foliot.features.imports.sources import read_source
from tests.features.imports.oracles import (
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    local,
    simulated,
    trigger_of,
)
from tests.features.imports.test_apscheduler import unexplained
from tests.world import NoEgress

# As ScrapydWeb 1.6 creates its table.
TABLE = """
CREATE TABLE task (
  id INTEGER PRIMARY KEY, name VARCHAR(255), trigger VARCHAR(8) NOT NULL, create_time DATETIME NOT NULL,
  update_time DATETIME NOT NULL, project VARCHAR(255) NOT NULL, version VARCHAR(255) NOT NULL,
  spider VARCHAR(255) NOT NULL, jobid VARCHAR(255) NOT NULL, settings_arguments TEXT NOT NULL,
  selected_nodes TEXT NOT NULL, year VARCHAR(255) NOT NULL, month VARCHAR(255) NOT NULL, day VARCHAR(255) NOT NULL,
  week VARCHAR(255) NOT NULL, day_of_week VARCHAR(255) NOT NULL, hour VARCHAR(255) NOT NULL,
  minute VARCHAR(255) NOT NULL, second VARCHAR(255) NOT NULL, start_date VARCHAR(19), end_date VARCHAR(19),
  timezone VARCHAR(255), jitter INTEGER NOT NULL, misfire_grace_time INTEGER, coalesce VARCHAR(5) NOT NULL,
  max_instances INTEGER NOT NULL)
"""
ROW: dict[str, Any] = {
    "id": 1, "name": "prices", "trigger": "cron", "create_time": "2026-01-01 00:00:00",
    "update_time": "2026-01-01 00:00:00", "project": "shop", "version": "default: the latest version",
    "spider": "prices", "jobid": "", "settings_arguments": '{"setting": ["DOWNLOAD_DELAY=2"], "region": "north"}',
    "selected_nodes": "[1]", "year": "*", "month": "*", "day": "*", "week": "*", "day_of_week": "mon-fri",
    "hour": "7", "minute": "30", "second": "0", "start_date": None, "end_date": None, "timezone": ZONE, "jitter": 0,
    "misfire_grace_time": 600, "coalesce": "True", "max_instances": 1,
}  # fmt: skip


def database(path: Path, *rows: dict[str, Any]) -> str:
    connection = sqlite3.connect(path)
    connection.execute(TABLE)
    for row in rows:
        names = ", ".join(row)
        connection.execute(f"INSERT INTO task ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    connection.commit()
    connection.close()
    return str(path)


def test_a_task_becomes_a_crawl(tmp_path: Path) -> None:
    source = database(tmp_path / "timer_tasks.db", ROW, {**ROW, "id": 2, "name": "", "week": "1-10"})
    imported = read_source("scrapydweb", source, "UTC")
    (prices,) = imported.documents

    assert (prices["name"], prices["cron_expr"], prices["timezone"]) == ("prices", "30 7 * * 1-5", ZONE)
    assert prices["action"] == {
        "kind": "crawl", "spider": "prices", "project": "shop", "params": {"region": "north"},
    }  # fmt: skip
    assert (prices["overlap"], prices["catchup"]["grace_seconds"]) == ("skip", 600)
    read_config({name: value for name, value in prices["action"].items() if name != "kind"}, NoEgress(), "shop")
    notes = {(note.entry, note.text) for note in imported.notes}
    assert ("prices", "settings are not passed on: DOWNLOAD_DELAY=2") in notes
    assert any(entry == "task 2" and "left out" in text for entry, text in notes)


def test_its_data_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "database").mkdir()
    database(tmp_path / "database" / "timer_tasks.db", ROW)

    assert len(read_source("scrapydweb", str(tmp_path), None).documents) == 1


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("no database, but long enough to be looked at as one" * 100)
    for source, message in ((tmp_path / "x.db", "is no database"), (tmp_path, "is no file")):
        with pytest.raises(UnreadableSource, match=message):
            read_source("scrapydweb", str(source), None)


def test_generated_tasks_crawl_when_apscheduler_would_start_them() -> None:
    random_ = random.Random(24)
    names = ("minute", "hour", "day", "month", "day_of_week")
    for number in range(ENTRIES):
        fields = dict(zip(names, generated_fields(random_), strict=True))
        row = {**ROW, "id": number, **fields, "settings_arguments": json.dumps({})}
        trigger = trigger_of(read_scrapydweb([row], "UTC").documents[0])
        oracle = CronTrigger(**fields, week="*", year="*", second="0", timezone=ZONE)

        def following(at: datetime, oracle: Any = oracle) -> datetime | None:
            return cast("datetime | None", oracle.get_next_fire_time(local(at), local(at)))

        for start in STARTS:
            ours, theirs = instants(trigger, start), simulated(following, start)
            assert ours == theirs or not unexplained(ours, theirs, start), fields
