"""Celery Beat: entries read from the text of a file fire when Celery's own crontab is due."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery import Celery
from celery.schedules import crontab

from foliot.features.celery_tasks.config import read_task
from foliot.features.imports.model.celery_beat import read_celery_beat
from foliot.features.imports.model.django_celery_beat import read_django_celery_beat
from foliot.features.imports.model.imported import UnreadableSource
from tests.features.imports.oracles import (
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    local,
    same,
    simulated,
    trigger_of,
)

SOURCE = """
from datetime import timedelta
from celery.schedules import crontab, solar

EVERY = 30 * 60
app.conf.timezone = "Europe/Stockholm"
app.conf.beat_schedule = {
    "refresh": {
        "task": "refresh_prices",
        "schedule": crontab(minute=0, hour="*/4"),
        "options": {"queue": "scraping", "expires": 60},
    },
    "poll": {"task": "shop.poll", "schedule": EVERY, "args": (1, "north"), "kwargs": {"deep": True}},
    "report": {"task": "shop.report", "schedule": crontab(0, 7, day_of_month="1-7", day_of_week="mon")},
    "hourly": {"task": "shop.hourly", "schedule": timedelta(hours=1), "options": {"link": task.s()}},
    "dusk": {"task": "shop.dusk", "schedule": solar("sunset", 59, 18)},
}
"""


def test_an_entry_sends_the_same_task_to_the_same_broker() -> None:
    imported = read_celery_beat(SOURCE, "celeryconfig.py")
    refresh, poll, report = imported.documents[:3]

    assert refresh["action"] == {
        "kind": "celery",
        "broker": "celery_broker",
        "task": "refresh_prices",
        "queue": "scraping",
        "expires_seconds": 60,
    }
    assert (refresh["cron_expr"], refresh["timezone"]) == ("0 */4 * * *", ZONE)
    assert (poll["type"], poll["interval_seconds"]) == ("interval", 1800)
    assert (poll["action"]["args"], poll["action"]["kwargs"]) == ([1, "north"], {"deep": True})
    # Beat wants both: the first Monday of the month.
    assert report["cron_expr"] == "0 7 1-7 * 1&"


def test_every_action_is_one_that_a_server_accepts() -> None:
    for document in read_celery_beat(SOURCE, "celeryconfig.py").documents:
        read_task({name: value for name, value in document["action"].items() if name != "kind"})


DUMP = [
    {
        "model": "django_celery_beat.crontabschedule",
        "pk": 1,
        "fields": {
            "minute": "30",
            "hour": "7",
            "day_of_month": "13",
            "month_of_year": "*",
            "day_of_week": "fri",
            "timezone": ZONE,
        },
    },
    {"model": "django_celery_beat.intervalschedule", "pk": 1, "fields": {"every": 10, "period": "minutes"}},
    {"model": "django_celery_beat.clockedschedule", "pk": 1, "fields": {"clocked_time": "2027-05-01T09:00:00Z"}},
    {
        "model": "django_celery_beat.periodictask",
        "pk": 1,
        "fields": {
            "name": "friday",
            "task": "shop.friday",
            "crontab": 1,
            "args": "[1]",
            "kwargs": "{}",
            "queue": "slow",
            "enabled": False,
            "expire_seconds": 30,
            "headers": "{}",
            "description": "Once in a while",
        },
    },
    {
        "model": "django_celery_beat.periodictask",
        "pk": 2,
        "fields": {"name": "poll", "task": "shop.poll", "interval": 1, "args": "[]", "kwargs": "{}", "enabled": True},
    },
    {
        "model": "django_celery_beat.periodictask",
        "pk": 3,
        "fields": {"name": "once", "task": "shop.once", "clocked": 1, "one_off": True, "args": "[]", "kwargs": "{}"},
    },
    {
        "model": "django_celery_beat.periodictask",
        "pk": 4,
        "fields": {"name": "dusk", "task": "shop.dusk", "solar": 1, "args": "[]", "kwargs": "{}"},
    },
    {
        "model": "django_celery_beat.periodictask",
        "pk": 5,
        "fields": {"name": "celery.backend_cleanup", "task": "celery.backend_cleanup", "crontab": 1},
    },
]


def test_a_dump_of_django_celery_beat_is_read_row_by_row() -> None:
    imported = read_django_celery_beat(json.dumps(DUMP), "dump.json")
    friday, poll, once = imported.documents

    assert (friday["cron_expr"], friday["timezone"], friday["paused"]) == ("30 7 13 * 5&", ZONE, True)
    assert friday["action"]["args"] == [1]
    assert (friday["action"]["queue"], friday["action"]["expires_seconds"]) == ("slow", 30)
    assert (poll["type"], poll["interval_seconds"]) == ("interval", 600)
    assert (once["type"], once["run_at"]) == ("oneoff", "2027-05-01T09:00:00Z")
    assert {note.entry for note in imported.notes if "left out" in note.text} == {"dusk", "celery.backend_cleanup"}
    for document in imported.documents:
        read_task({name: value for name, value in document["action"].items() if name != "kind"})


@pytest.mark.parametrize("text", ["[", "{}", "[1]", "[]"])
def test_what_is_no_dump_is_refused(text: str) -> None:
    with pytest.raises(UnreadableSource, match="dumpdata"):
        read_django_celery_beat(text, "dump.json")


def test_what_does_not_carry_over_has_a_note() -> None:
    notes = {note.entry: note.text for note in read_celery_beat(SOURCE, "celeryconfig.py").notes}

    assert notes["dusk"] == "left out: solar(…) has no equivalent"
    assert "link" in notes["hourly"]


def test_a_file_without_entries_is_refused() -> None:
    with pytest.raises(UnreadableSource, match="has no beat_schedule"):
        read_celery_beat("app = Celery()", "tasks.py")


def due(schedule: crontab, now: list[datetime]) -> Callable[[datetime], datetime]:
    """When Beat starts the entry next, asked again and again as Beat asks it."""

    def next_after(last: datetime) -> datetime:
        now[0] = local(last)
        for _ in range(10):
            rest = schedule.remaining_estimate(local(last))
            if rest <= timedelta(0):
                break
            now[0] = local(now[0].astimezone(ZoneInfo("UTC")) + rest)
        return now[0]

    return next_after


def test_generated_entries_fire_when_beat_would_send_them() -> None:
    app = Celery("oracle", set_as_current=False)
    app.conf.timezone = ZONE
    random_ = random.Random(24)
    differ = 0
    for number in range(ENTRIES):
        names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        fields = dict(zip(names, generated_fields(random_), strict=True))
        written = ", ".join(f"{name}={value!r}" for name, value in fields.items())
        text = f"timezone = {ZONE!r}\nbeat_schedule = {{'e{number}': {{'task': 't', 'schedule': crontab({written})}}}}"
        imported = read_celery_beat(text, "x.py")
        trigger = trigger_of(imported.documents[0])
        now = [STARTS[0]]
        oracle = due(crontab(**fields, app=app, nowfun=lambda now=now: now[0]), now)
        for start in STARTS:
            ours, theirs = instants(trigger, start), simulated(oracle, start)
            assert same(ours, theirs), written
            differ += ours != theirs
        assert any("clock change of Europe/Stockholm" in note.text for note in imported.notes)
    # The note is no guess: some entries do differ in those nights.
    assert differ


def test_generated_rows_of_a_dump_fire_when_beat_would_send_them() -> None:
    app = Celery("oracle", set_as_current=False)
    app.conf.timezone = ZONE
    random_ = random.Random(9)
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    for number in range(ENTRIES):
        fields = dict(zip(names, generated_fields(random_), strict=True))
        rows = [
            {"model": "django_celery_beat.crontabschedule", "pk": 1, "fields": {**fields, "timezone": ZONE}},
            {
                "model": "django_celery_beat.periodictask",
                "pk": 1,
                "fields": {"name": f"e{number}", "task": "t", "crontab": 1},
            },
        ]
        trigger = trigger_of(read_django_celery_beat(json.dumps(rows), "dump.json").documents[0])
        now = [STARTS[0]]
        oracle = due(crontab(**fields, app=app, nowfun=lambda now=now: now[0]), now)
        for start in STARTS:
            assert same(instants(trigger, start), simulated(oracle, start)), fields
