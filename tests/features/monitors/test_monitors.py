"""Monitors, their pings, and the alerts that silence and failures open, on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.features.alerts.checks import AlertChecker
from foliot.features.insights.usecases.attention import Attention
from foliot.features.monitors.actor import MonitorChecker
from foliot.features.monitors.model import MOST_BODY, PINGS_KEPT, PINGS_PER_MINUTE
from tests.asgi import Answer, Client
from tests.features.alerts.alerting import Alerting
from tests.world import World

BACKUP: dict[str, Any] = {"name": "Backup", "type": "interval", "interval_seconds": 3600, "grace_seconds": 300}


class Watched:
    """A world with one monitor, a rule about everything, and a channel."""

    def __init__(self, world: World, client: Client) -> None:
        self.alerting = Alerting.on(world, client)
        self.client = client
        self.world = world
        self.checker = MonitorChecker(clock=world.clock, store=world.store, feed=world.feed)
        self.monitor: dict[str, Any] = {}

    async def create(self, **changes: Any) -> dict[str, Any]:
        answer = await self.client.post("/api/monitors", {**BACKUP, **changes})
        assert answer.status == 201, answer.text
        self.monitor = answer.json
        return self.monitor

    async def rule(self, **changes: Any) -> None:
        channel = await self.alerting.channel()
        await self.alerting.rule(channel, **{"on": ["failed", "late", "missed"], "after": 1, **changes})

    async def ping(self, word: str = "", body: object = None, method: str = "POST", **headers: str) -> Answer:
        path = "/ping/" + self.monitor["ping_url"].rpartition("/")[2]
        return await self.client.send(method, f"{path}/{word}" if word else path, body, **headers)

    async def wait(self, seconds: float) -> None:
        """Let this time pass, notice silence, and send what is to be said."""
        self.world.clock.advance(seconds)
        while (await self.checker.run_once()).overdue:
            pass
        await self.alerting.send()

    async def now(self) -> dict[str, Any]:
        answer = await self.client.get(f"/api/monitors/{self.monitor['id']}")
        assert answer.status == 200, answer.text
        found: dict[str, Any] = answer.json
        return found

    async def pings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get(f"/api/monitors/{self.monitor['id']}/pings")).json["items"]
        return found

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(each["type"], each["alert"]["event"]) for each in self.alerting.receiver.documents]


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    return Watched(world, client)


async def test_a_monitor_is_new_and_expects_nothing_until_its_first_ping(watched: Watched) -> None:
    made = await watched.create()
    assert (made["status"], made["next_expected_at"], made["last_ping_at"]) == ("new", None, None)
    assert made["ping_url"].startswith("http://127.0.0.1:8000/ping/")
    await watched.rule()
    await watched.wait(10_000)
    assert watched.told == []
    answer = await watched.ping()
    assert (answer.status, answer.text, answer.headers["ping-body-limit"]) == (200, "OK", "100000")
    up = await watched.now()
    assert (up["status"], up["pings"]) == ("up", 1)


async def test_silence_makes_it_late_then_down_and_a_ping_up_again(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    await watched.ping()
    await watched.wait(3600 + 290)
    assert ((await watched.now())["status"], watched.told) == ("up", [])
    await watched.wait(10)
    assert ((await watched.now())["status"], watched.told) == ("late", [("alert.opened", "late")])
    await watched.wait(300)
    assert (await watched.now())["status"] == "down"
    (alert,) = await watched.alerting.alerts("open")
    assert (alert["count"], alert["subject"]["kind"], alert["subject"]["name"]) == (2, "monitor", "Backup")
    assert "expected at" in alert["reason"]
    await watched.ping()
    await watched.wait(3)
    assert (await watched.now())["status"] == "up"
    assert watched.told == [("alert.opened", "late"), ("alert.resolved", "late")]


async def test_a_monitor_that_is_late_or_down_needs_attention(watched: Watched) -> None:
    await watched.create()
    await watched.ping()
    assert await attention(watched) == []
    await watched.wait(3600 + 300)
    assert await attention(watched) == ["attention"]
    await watched.wait(300)
    assert await attention(watched) == ["failed"]
    await watched.ping()
    assert await attention(watched) == []


async def attention(watched: Watched) -> list[str]:
    items = (await watched.client.get("/api/attention")).json["items"]
    return [one["severity"] for one in items if one["kind"] == "monitor"]


async def test_down_alone_is_reported_to_a_rule_about_missed_pings(watched: Watched) -> None:
    await watched.create()
    await watched.rule(on=["missed"])
    await watched.ping()
    await watched.wait(3600 + 300)
    assert watched.told == []
    await watched.wait(300)
    assert watched.told == [("alert.opened", "missed")]


async def test_a_failure_opens_an_alert_with_the_end_of_the_log(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    assert (await watched.ping("fail", b"copying\ndisk full\n")).status == 200
    await watched.wait(3)
    (alert,) = await watched.alerting.alerts("open")
    assert alert["reason"] == "It reported a failure: disk full"
    assert (await watched.now())["status"] == "down"
    await watched.ping("0")
    await watched.wait(3)
    assert watched.told == [("alert.opened", "failed"), ("alert.resolved", "failed")]


@pytest.mark.parametrize(("code", "status"), [("0", "up"), ("1", "down"), ("255", "down")])
async def test_an_exit_code_decides(watched: Watched, code: str, status: str) -> None:
    await watched.create()
    await watched.ping(code)
    (ping,) = await watched.pings()
    assert ((await watched.now())["status"], ping["exit_code"]) == (status, int(code))


async def test_failures_are_counted_in_a_row_and_within_a_time(watched: Watched) -> None:
    await watched.create()
    await watched.rule(on=["failed"], after={"in_a_row": 2})
    await watched.alerting.rule(name="within", on=["failed"], after={"count": 3, "within": "10m"})
    await watched.ping("1")
    await watched.ping("0")
    await watched.ping("1")
    assert await watched.alerting.alerts("open") == []
    await watched.ping("1")
    assert sorted(alert["count"] for alert in await watched.alerting.alerts("open")) == [2, 3]


async def test_a_monitor_that_failed_and_falls_silent_is_reported_as_late(watched: Watched) -> None:
    await watched.create()
    await watched.rule(on=["late"])
    await watched.ping("fail")
    await watched.wait(3600 + 300)
    assert ((await watched.now())["status"], watched.told) == ("down", [("alert.opened", "late")])


async def test_a_run_that_starts_must_end_within_the_grace_time(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    await watched.ping("start")
    assert (await watched.now())["started_at"] is not None
    await watched.wait(300)
    (alert,) = await watched.alerting.alerts("open")
    assert "has not ended" in alert["reason"]
    await watched.ping()
    (ended, _) = await watched.pings()
    assert (ended["kind"], ended["duration_ms"]) == ("success", 303_000)
    assert (await watched.now())["last_duration_ms"] == 303_000


async def test_runs_that_overlap_are_told_apart_by_their_ids(watched: Watched) -> None:
    await watched.create()
    await watched.ping("start?rid=a")
    watched.world.clock.advance(10)
    await watched.ping("start?rid=b")
    watched.world.clock.advance(10)
    await watched.ping("0?rid=a")
    await watched.ping("0?rid=b")
    await watched.ping("0?rid=b")
    assert [each["duration_ms"] for each in await watched.pings()] == [None, 10_000, 20_000, None, None]


async def test_a_log_changes_nothing(watched: Watched) -> None:
    await watched.create()
    await watched.ping("log", b"half way")
    assert (await watched.now())["status"] == "new"
    (ping,) = await watched.pings()
    assert (ping["kind"], ping["body"]) == ("log", "half way")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_every_method_pings(watched: Watched, method: str) -> None:
    await watched.create()
    assert (await watched.ping(method=method)).status == 200
    assert [each["method"] for each in await watched.pings()] == [method]


async def test_the_requests_of_runitor_are_understood(watched: Watched) -> None:
    await watched.create()
    headers = {"Content-Type": "text/plain", "User-Agent": "runitor/v1.3.0 (+https://bdd.fi/x/runitor)"}
    started = await watched.ping("start", b"", **headers)
    # It keeps as much of the output as this header names.
    assert (started.status, started.headers["ping-body-limit"]) == (200, str(MOST_BODY))
    watched.world.clock.advance(7)
    assert (await watched.ping("3", b"copying\n\n[runitor] exit status 3", **headers)).status == 200
    (ended, _) = await watched.pings()
    assert (ended["kind"], ended["exit_code"], ended["duration_ms"]) == ("fail", 3, 7000)
    assert ended["user_agent"].startswith("runitor/")


async def test_a_long_log_is_cut_and_the_ping_counts(watched: Watched) -> None:
    await watched.create()
    assert (await watched.ping(body=b"x\0" * MOST_BODY)).status == 200
    (listed,) = await watched.pings()
    assert (len(listed["body"]), listed["body_bytes"]) == (500, 2 * MOST_BODY)
    whole = (await watched.client.get(f"/api/monitors/{watched.monitor['id']}/pings/{listed['id']}")).json
    assert (len(whole["body"]), "\0" in whole["body"]) == (MOST_BODY, False)
    assert (await watched.ping(body=b"x" * (1024 * 1024 + 1))).status == 413


async def test_unknown_keys_answer_alike(watched: Watched) -> None:
    await watched.create()
    key = watched.monitor["ping_url"].rpartition("/")[2]
    await watched.client.delete(f"/api/monitors/{watched.monitor['id']}")
    words = ("00000000-0000-0000-0000-000000000000", "x", "x" * 1000, "ä", key)
    answers = [await watched.client.get(f"/ping/{word}") for word in words]
    assert {(answer.status, answer.text) for answer in answers} == {(404, "not found")}
    assert (await watched.client.get(f"/ping/{key}/256")).status == 400


async def test_a_key_is_limited_per_minute(watched: Watched) -> None:
    await watched.create()
    for _ in range(PINGS_PER_MINUTE):
        assert (await watched.ping(method="HEAD")).status == 200
    refused = await watched.ping()
    assert (refused.status, refused.headers["retry-after"]) == (429, "2")
    watched.world.clock.advance(2)
    assert (await watched.ping()).status == 200


async def test_only_the_newest_pings_are_kept(watched: Watched) -> None:
    await watched.create()
    for _ in range(PINGS_KEPT + 10):
        watched.world.clock.advance(60)
        await watched.ping(method="HEAD")
    answer = await watched.client.get(f"/api/monitors/{watched.monitor['id']}/pings?limit=500")
    assert len(answer.json["items"]) == PINGS_KEPT
    assert (await watched.now())["pings"] == PINGS_KEPT + 10


async def test_a_paused_monitor_is_silent_and_goes_on_when_resumed(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    await watched.ping("fail")
    paused = await watched.client.post(f"/api/monitors/{watched.monitor['id']}/pause")
    assert paused.json["status"] == "paused"
    assert await watched.alerting.alerts("open") == []
    await watched.ping("fail")
    await watched.wait(100_000)
    assert (await watched.now())["status"] == "paused"
    assert await watched.alerting.alerts("open") == []
    resumed = (await watched.client.post(f"/api/monitors/{watched.monitor['id']}/resume")).json
    expected = watched.world.clock.now() + timedelta(hours=1)
    assert (resumed["status"], resumed["next_expected_at"]) == ("up", expected.isoformat().replace("+00:00", "Z"))


async def test_a_monitor_that_is_deleted_ends_its_alerts(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    await watched.ping("fail")
    assert (await watched.client.delete(f"/api/monitors/{watched.monitor['id']}")).status == 204
    assert [alert["state"] for alert in await watched.alerting.alerts()] == ["resolved"]
    assert (await watched.client.get(f"/api/monitors/{watched.monitor['id']}")).status == 404


async def test_a_cron_expression_expects_pings_in_its_zone(watched: Watched) -> None:
    timed = {"type": "cron", "cron_expr": "0 2 * * *", "timezone": "Europe/Stockholm"}
    await watched.create(interval_seconds=None, **timed)
    await watched.ping()
    found = await watched.now()
    assert found["next_expected_at"][11:19] in {"00:00:00", "01:00:00"}
    assert (found["type"], found["cron_expr"], found["interval_seconds"]) == ("cron", "0 2 * * *", None)


async def test_a_change_moves_the_next_expected_ping(watched: Watched) -> None:
    await watched.create()
    await watched.ping()
    changed = (await watched.client.patch(f"/api/monitors/{watched.monitor['id']}", {"interval_seconds": 60})).json
    expected = watched.world.clock.now() + timedelta(minutes=1)
    assert changed["next_expected_at"] == expected.isoformat().replace("+00:00", "Z")
    assert (changed["grace_seconds"], changed["ping_url"]) == (300, watched.monitor["ping_url"])
    other = {"type": "cron", "cron_expr": "@daily"}
    changed = (await watched.client.patch(f"/api/monitors/{watched.monitor['id']}", other)).json
    assert (changed["type"], changed["interval_seconds"]) == ("cron", None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"type": "oneoff"}, "type"),
        ({"interval_seconds": 0}, "interval_seconds"),
        ({"interval_seconds": None}, "interval_seconds"),
        ({"cron_expr": "0 0 * * *"}, "cron_expr"),
        ({"grace_seconds": 0}, "grace_seconds"),
        ({"graze_seconds": 5}, "graze_seconds"),
        ({"tags": ["", "x"]}, "tags[0]"),
        ({"timezone": "Mars"}, "timezone"),
    ],
)
async def test_what_is_wrong_is_named(watched: Watched, changes: dict[str, Any], field: str) -> None:
    answer = await watched.client.post("/api/monitors", {**BACKUP, **changes})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


async def test_names_are_unique(watched: Watched) -> None:
    await watched.create()
    assert (await watched.client.post("/api/monitors", BACKUP)).status == 409


async def test_the_regular_check_leaves_alerts_of_monitors_open(watched: Watched) -> None:
    await watched.create()
    await watched.rule()
    await watched.ping()
    await watched.wait(3600 + 300)
    world = watched.world
    attention = world.cases[Attention]
    await AlertChecker(clock=world.clock, store=world.store, feed=world.feed, attention=attention).run_once()
    assert len(await watched.alerting.alerts("open")) == 1
