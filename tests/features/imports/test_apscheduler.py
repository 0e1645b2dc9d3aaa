"""APScheduler: jobs read from the text of a file fire when its own triggers would."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any, cast

import pytest
from apscheduler.triggers.cron import CronTrigger

from foliot.features.imports.model.apscheduler import read_apscheduler
from foliot.features.imports.model.imported import UnreadableSource
from tests.features.imports.oracles import (
    ENTRIES,
    STARTS,
    ZONE,
    apart_from_changes,
    generated_fields,
    instants,
    local,
    simulated,
    trigger_of,
)

SOURCE = """
from datetime import datetime
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger
from shop.jobs import sync

scheduler = BlockingScheduler(timezone="Europe/Stockholm")
scheduler.add_job(sync, "cron", day_of_week="0-4", hour=2, minute=30, args=["north"], id="sync", misfire_grace_time=60)
scheduler.add_job("shop.jobs:report", CronTrigger(day="2nd fri", hour=7), max_instances=3, jitter=30)
scheduler.add_job(sync, "interval", minutes=15, start_date="2027-01-01 00:00:00", misfire_grace_time=None)
scheduler.add_job(sync, "date", run_date=datetime(2027, 5, 1, 9), id="once")
scheduler.add_job(sync, CronTrigger.from_crontab("0 0 1 * mon"), id="crontab")
scheduler.add_job(sync, "cron", week="1-10", id="weeks")


@scheduler.scheduled_job("cron", second="*/10")
def tick():
    ...
"""


def test_a_job_becomes_a_python_process_that_calls_its_function() -> None:
    documents = {document["name"]: document for document in read_apscheduler(SOURCE, "app.py", "UTC").documents}

    sync = documents["sync"]
    # Its 0 is Monday.
    assert (sync["cron_expr"], sync["timezone"]) == ("30 2 * * 1-5", ZONE)
    assert sync["action"]["argv"][3:] == ["shop.jobs", "sync", '[["north"], {}]']
    assert (sync["overlap"], sync["catchup"]) == ("skip", {"mode": "none", "grace_seconds": 60})
    assert (documents["report"]["cron_expr"], documents["report"]["overlap"]) == ("0 7 * * 5#2", "allow_all")
    assert documents["once"]["run_at"] == "2027-05-01T07:00:00Z"
    # Both must match there, also for a crontab.
    assert documents["crontab"]["cron_expr"] == "0 0 1 * 1&"
    assert documents["tick"]["cron_expr"] == "*/10 * * * * *"
    assert documents["tick"]["action"]["argv"][3:5] == ["app", "tick"]
    interval = documents["sync (2)"]
    assert (interval["interval_seconds"], interval["start_at"]) == (900, "2026-12-31T23:00:00Z")
    assert interval["catchup"]["mode"] == "latest"


def test_what_does_not_carry_over_has_a_note() -> None:
    notes = [(note.entry, note.text) for note in read_apscheduler(SOURCE, "app.py", "UTC").notes]

    assert ("line 13", "left out: week='1-10': weeks of the year have no equivalent") in notes
    assert ("report", "max_instances=3: runs overlap without a limit") in notes


def test_a_file_without_jobs_is_refused() -> None:
    with pytest.raises(UnreadableSource, match="has no add_job"):
        read_apscheduler("x = 1", "app.py", "UTC")


def test_generated_jobs_fire_when_apscheduler_would_run_them() -> None:
    random_ = random.Random(24)
    differ = 0
    for _ in range(ENTRIES):
        names = ("minute", "hour", "day", "month", "day_of_week")
        fields = dict(zip(names, generated_fields(random_), strict=True))
        written = ", ".join(f"{name}={value!r}" for name, value in fields.items())
        imported = read_apscheduler(f"s.add_job('m:f', 'cron', {written})", "x.py", ZONE)
        trigger, theirs = trigger_of(imported.documents[0]), CronTrigger(**fields, timezone=ZONE)

        def next_after(at: datetime, theirs: Any = theirs) -> datetime | None:
            return cast("datetime | None", theirs.get_next_fire_time(local(at), local(at)))

        for start in STARTS:
            ours, expected = instants(trigger, start), simulated(next_after, start)
            if ours != expected:
                differ += 1
                assert not unexplained(ours, expected, start), written
                assert any("clock change" in note.text for note in imported.notes), written
    assert differ


def unexplained(ours: list[datetime], theirs: list[datetime], start: datetime) -> list[datetime]:
    """Differences that the note about clock changes does not name: neither near one, nor on the first day after it."""
    end = min(ours[-1], theirs[-1])
    differing = sorted(set(ours) ^ set(theirs))
    found = []
    for at in apart_from_changes(each for each in differing if each < end):
        midnight = local(at).replace(hour=0, minute=0)
        before = max((each for each in [start, *ours, *theirs] if each < midnight), default=start)
        if local(before).utcoffset() == local(at).utcoffset():
            found.append(at)
    return found
