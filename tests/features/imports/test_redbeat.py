"""RedBeat: entries that its own library has stored in Redis fire when Celery's crontab is due."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery.schedules import crontab, schedule
from redbeat import RedBeatSchedulerEntry
from redbeat.decoder import RedBeatJSONEncoder
from redbeat.schedules import rrule

from foliot.features.celery_tasks.config import read_task
from foliot.features.imports.model.imported import UnreadableSource
from foliot.features.imports.model.redbeat import read_redbeat
from foliot.features.imports.sources import read_source
from tests.features.imports.oracles import (
    ENTRIES,
    STARTS,
    ZONE,
    generated_fields,
    instants,
    same,
    simulated,
    trigger_of,
)
from tests.features.imports.test_beat import due
from tests.redis_server import NoRedis, a_redis
from tests.services import absent


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with a_redis(tmp_path_factory.mktemp("redis")) as url:
            yield url
    except NoRedis as missing:
        absent(missing)


NAMES = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


def stored(entry: dict[str, Any]) -> str:
    return json.dumps(entry, cls=RedBeatJSONEncoder)


def test_entries_become_tasks_of_the_same_broker() -> None:
    imported = read_redbeat(
        {
            "redbeat:nightly": stored(
                {
                    "name": "nightly", "task": "shop.nightly", "args": [1], "kwargs": {"deep": True},
                    "options": {"queue": "slow"}, "schedule": crontab(minute="30", hour="2"), "enabled": False,
                }
            ),
            "redbeat:poll": stored({"name": "poll", "task": "shop.poll", "schedule": schedule(run_every=90)}),
            "redbeat:rule": stored({"name": "rule", "task": "shop.rule", "schedule": rrule("DAILY")}),
            "redbeat:odd": "no JSON",
        },
        ZONE,
    )  # fmt: skip
    nightly, poll = imported.documents

    assert (nightly["cron_expr"], nightly["timezone"], nightly["paused"]) == ("30 2 * * *", ZONE, True)
    assert nightly["action"] == {
        "kind": "celery", "broker": "celery_broker", "task": "shop.nightly", "args": [1], "kwargs": {"deep": True},
        "queue": "slow",
    }  # fmt: skip
    assert (poll["type"], poll["interval_seconds"]) == ("interval", 90)
    left = {note.entry: note.text for note in imported.notes if note.text.startswith("left out")}
    assert "rrule" in left["redbeat:rule"]
    assert "cannot be read" in left["redbeat:odd"]
    for document in imported.documents:
        read_task({name: value for name, value in document["action"].items() if name != "kind"})


def test_generated_entries_fire_when_celery_would_send_them() -> None:
    app = Celery("oracle", set_as_current=False)
    app.conf.timezone = ZONE
    random_ = random.Random(7)
    for number in range(ENTRIES):
        fields = dict(zip(NAMES, generated_fields(random_), strict=True))
        definition = {"name": f"e{number}", "task": "t", "schedule": crontab(**fields)}
        imported = read_redbeat({f"redbeat:e{number}": stored(definition)}, ZONE)
        trigger = trigger_of(imported.documents[0])
        now = [STARTS[0]]
        oracle = due(crontab(**fields, app=app, nowfun=lambda now=now: now[0]), now)
        for start in STARTS:
            assert same(instants(trigger, start), simulated(oracle, start)), fields


@pytest.mark.services
def test_what_its_library_stores_in_redis_is_read(redis_url: str) -> None:
    app = Celery("redbeat", set_as_current=False)
    app.conf.update(redbeat_redis_url=redis_url, redbeat_key_prefix="shop:beat:")
    app.conf.update(redbeat_redis_options={"socket_timeout": 5})
    entry = RedBeatSchedulerEntry("hourly", "shop.hourly", crontab(minute="5"), args=["a"], app=app)
    entry.save()
    try:
        imported = read_source("redbeat", redis_url, None)
    finally:
        entry.delete()

    hourly = next(one for one in imported.documents if one["name"] == "hourly")
    assert (hourly["cron_expr"], hourly["timezone"]) == ("5 * * * *", "UTC")
    assert any("stores no time zone" in note.text for note in imported.notes)


def test_another_source_is_refused() -> None:
    with pytest.raises(UnreadableSource, match="redis://"):
        read_source("redbeat", "dump.rdb", None)
    with pytest.raises(UnreadableSource, match=r"127\.0\.0\.1"):
        read_source("redbeat", "redis://127.0.0.1:1/0", None)
