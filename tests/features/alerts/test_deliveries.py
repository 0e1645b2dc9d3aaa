"""Messages: none is lost and none is sent twice, whatever happens to the processes that send them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from foliot.core.access import LOCAL, Caller, Interface, Role
from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.engine.model.run import RunState
from foliot.features.alerts import actor, batches
from foliot.features.alerts.actor import AlertSender
from foliot.features.alerts.judge import resolve
from foliot.features.alerts.model.alert import MOST_ATTEMPTS
from foliot.features.alerts.model.rule import AlertEvent
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.tables import alert_rules
from foliot.features.alerts.usecases.channels import Channels
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting, Receiver
from tests.world import KEYRING, World

DEAD, GOOD, DEGRADED = RunState.DEAD_LETTER, RunState.SUCCESS, RunState.DEGRADED
LEASE = 61


class Hanging(Receiver):
    """Keeps a request and does not answer it, so that its sender can be stopped between the two."""

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        self.requests.append(request)
        return await asyncio.Future()


class HangingHosts(Receiver):
    """Answers only the host that works."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived = asyncio.Event()

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        if "hanging" in request.url:
            await asyncio.Future()
        self.arrived.set()
        return await super().send(request)


@pytest.fixture(autouse=True)
def _small_storms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "STORM", 3)


@pytest.fixture
def alerting(world: World, client: Client) -> Alerting:
    return Alerting.on(world, client)


async def stopped_in_the_middle(alerting: Alerting) -> Hanging:
    """A process sends what is ready, and dies before it knows what became of it."""
    ways, hanging = alerting.sender.sender, Hanging()
    world = alerting.world
    dying = AlertSender(
        clock=world.clock,
        store=world.store,
        feed=world.feed,
        vault=KEYRING,
        sender=type(ways)(egress=hanging, mail=ways.mail, proxy=ways.proxy),
    )
    alerting.clock.advance(3)
    await dying.run_once()
    async with asyncio.timeout(10):
        while not hanging.requests:
            await asyncio.sleep(0.01)
    await dying.close()
    return hanging


async def storm(alerting: Alerting, schedules: int, state: RunState = DEAD) -> None:
    """Each of so many schedules has a run that ends like this."""
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    assert len({run["schedule_id"] for run in runs}) == schedules
    for run in runs:
        await alerting.world.end(run["id"], state, {"code": "x", "message": "down"} if state is DEAD else None)


async def shops(alerting: Alerting, number: int) -> None:
    for each in range(number):
        await alerting.world.schedule(name=f"Shop {each}")


async def test_two_processes_that_find_an_alert_over_at_once_report_it_once(alerting: Alerting) -> None:
    await alerting.world.schedule()
    rule = await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.send()
    store, now = alerting.world.store, alerting.clock.now()
    async with store.begin() as tx:
        standing = await SqlAlerts(tx).open_by([rule], [AlertEvent.FAILED])
    for second in range(2):
        async with store.begin() as tx:
            await resolve(tx, standing, now + timedelta(seconds=second))
    await alerting.send(10)
    assert alerting.receiver.types == ["alert.opened", "alert.resolved"]


async def test_a_message_that_may_have_been_sent_is_sent_again_under_its_id(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    lost = await stopped_in_the_middle(alerting)
    await alerting.send()
    assert alerting.receiver.requests == [], "its lease is not over"
    await alerting.send(LEASE)
    assert [one.headers["webhook-id"] for one in (*lost.requests, *alerting.receiver.requests)] == [
        lost.requests[0].headers["webhook-id"]
    ] * 2


async def test_a_storm_that_may_have_been_sent_is_repeated_as_it_was_and_later_alerts_are_another_message(
    alerting: Alerting,
) -> None:
    await shops(alerting, 5)
    await alerting.rule(await alerting.channel(), after=1)
    await storm(alerting, 5)
    lost = await stopped_in_the_middle(alerting)
    await shops(alerting, 6)
    await storm(alerting, 11)
    await alerting.send(LEASE)
    (repeated,) = alerting.receiver.requests
    assert repeated.headers["webhook-id"] == lost.requests[0].headers["webhook-id"]
    assert alerting.receiver.documents[0]["count"] == lost.documents[0]["count"] == 5
    await alerting.send(LEASE)
    assert [document["count"] for document in alerting.receiver.documents] == [5, 6]
    assert len({request.headers["webhook-id"] for request in alerting.receiver.requests}) == 2


async def test_while_a_process_sends_the_message_of_a_storm_no_other_sends_a_second(alerting: Alerting) -> None:
    await shops(alerting, 11)
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    for run in runs[:5]:
        await alerting.world.end(run["id"], DEAD, {"code": "x", "message": "down"})
    lost = await stopped_in_the_middle(alerting)
    for run in runs[5:]:
        await alerting.world.end(run["id"], DEAD, {"code": "x", "message": "down"})
    await alerting.send()
    assert alerting.receiver.requests == []
    await alerting.send(LEASE)
    await alerting.send(LEASE)
    assert [document["count"] for document in (*lost.documents, *alerting.receiver.documents)] == [5, 5, 6]


async def test_the_few_alerts_that_follow_a_storm_are_one_message_when_its_minute_is_over(alerting: Alerting) -> None:
    await shops(alerting, 7)
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    for run in runs[:5]:
        await alerting.world.end(run["id"], DEAD, {"code": "x", "message": "down"})
    await alerting.send()
    for run in runs[5:]:
        await alerting.world.end(run["id"], DEAD, {"code": "x", "message": "down"})
    await alerting.send(10)
    assert [document["count"] for document in alerting.receiver.documents] == [5]
    await alerting.send(60)
    assert [document["count"] for document in alerting.receiver.documents] == [5, 2]


async def test_a_message_whose_senders_die_again_and_again_is_given_up(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    for _ in range(MOST_ATTEMPTS):
        await stopped_in_the_middle(alerting)
        alerting.clock.advance(LEASE)
    await alerting.send()
    assert alerting.receiver.requests == []
    (alert,) = await alerting.alerts()
    (delivery,) = alert["deliveries"]
    assert (delivery["state"], "never finished" in delivery["error"]) == ("dead", True)


async def test_a_tenant_whose_channels_hang_delays_no_other_tenant(
    alerting: Alerting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor, "READY", 20)
    channels, other = alerting.world.cases[Channels], Caller("other", "ada", Role.ADMIN, Interface.REST)
    hanging = [await alerting.channel(f"hanging-{number}") for number in range(40)]
    config = {"name": "good", "kind": "webhook", "config": {"url": "https://good.example/"}}
    good = (await channels.create(other, config)).channel.id
    for channel in hanging:
        await channels.test(LOCAL, channel)
    alerting.clock.advance(1)
    await channels.test(other, good)
    world, silent, ways = alerting.world, HangingHosts(), alerting.sender.sender
    sender = AlertSender(
        clock=world.clock,
        store=world.store,
        feed=world.feed,
        vault=KEYRING,
        sender=type(ways)(egress=silent, mail=ways.mail, proxy=ways.proxy),
    )
    # A process goes on as long as it finds channels; it does not wait for those that hang.
    while (await sender.run_once()).channels:
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await silent.arrived.wait()
    await sender.close()


async def test_an_incident_of_a_storm_is_closed_with_its_last_alert(alerting: Alerting) -> None:
    await shops(alerting, 5)
    pager = {"name": "pager", "kind": "pagerduty", "config": {"routing_key": "R1", "base_url": "https://pd.example"}}
    channel = (await alerting.client.post("/api/channels", pager)).json["id"]
    rule = await alerting.rule(channel, after=1)
    await storm(alerting, 5)
    await alerting.send()
    await alerting.send(60)
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    last = runs[0]["schedule_id"]
    for run in sorted(runs, key=lambda each: each["schedule_id"] == last):
        if run["schedule_id"] == last:
            await alerting.send(60)
        await alerting.world.end(run["id"], GOOD)
    await alerting.send(70)
    told = [(document["event_action"], document["dedup_key"]) for document in alerting.receiver.documents]
    assert told == [("trigger", rule), ("trigger", rule), ("resolve", rule)]


async def test_an_incident_of_a_storm_is_closed_while_a_later_alert_is_open_alone(alerting: Alerting) -> None:
    await shops(alerting, 5)
    pager = {"name": "pager", "kind": "pagerduty", "config": {"routing_key": "R1", "base_url": "https://pd.example"}}
    channel = (await alerting.client.post("/api/channels", pager)).json["id"]
    rule = await alerting.rule(channel, after=1)
    await storm(alerting, 5)
    await alerting.send()
    await alerting.send(60)
    await alerting.send(60)
    await alerting.world.schedule(name="Late shop")
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    (late,) = [run for run in runs if run["schedule_name"] == "Late shop"]
    await alerting.world.end(late["id"], DEAD, {"code": "x", "message": "down"})
    await alerting.send(120)
    for run in runs:
        if run is not late:
            await alerting.world.end(run["id"], GOOD)
    await alerting.send(120)

    told = [(document["event_action"], document["dedup_key"]) for document in alerting.receiver.documents]
    assert told.count(("resolve", rule)) == 1
    assert [key for act, key in told if act == "trigger" and key != rule]


async def test_incidents_that_were_opened_one_by_one_are_closed_one_by_one(alerting: Alerting) -> None:
    await shops(alerting, 2)
    pager = {"name": "pager", "kind": "opsgenie", "config": {"api_key": "K1", "base_url": "https://og.example"}}
    channel = (await alerting.client.post("/api/channels", pager)).json["id"]
    await alerting.rule(channel, after=1)
    await storm(alerting, 2)
    await alerting.send()
    await alerting.send(70)
    for each in range(2, 4):
        await alerting.world.schedule(name=f"Shop {each}")
    await storm(alerting, 4)
    await alerting.send()
    opened = [document["alias"] for document in alerting.receiver.documents]
    await alerting.send(70)
    await storm(alerting, 4, GOOD)
    await alerting.send()
    closed = [request.url.split("/")[-2] for request in alerting.receiver.requests[4:]]
    assert len(opened) == 4
    assert sorted(closed) == sorted(opened)


async def test_reminders_do_not_gather_in_quiet_hours(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(
        await alerting.channel(), after=1, remind_every="1h", quiet={"from": "13:00", "to": "20:00", "timezone": "UTC"}
    )
    await alerting.end(DEAD)
    await alerting.send()
    for _ in range(9):
        await alerting.send(3600)
    await alerting.send()
    assert alerting.receiver.types.count("alert.reminded") <= 3
    (alert,) = await alerting.alerts("open")
    assert {each["attempts"] for each in alert["deliveries"] if each["state"] == "sent"} == {1}


@pytest.mark.parametrize("change", [{"enabled": False}, {"on": ["queue_stuck"]}])
async def test_a_rule_that_is_no_longer_about_failures_ends_its_alerts_without_a_message(
    alerting: Alerting, change: dict[str, Any]
) -> None:
    await alerting.world.schedule()
    rule = await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.send()
    await alerting.client.patch(f"/api/alert-rules/{rule}", {"severity": "critical"})
    assert len(await alerting.alerts("open")) == 1
    assert (await alerting.client.patch(f"/api/alert-rules/{rule}", change)).status == 200
    await alerting.send()
    assert await alerting.alerts("open") == []
    assert alerting.receiver.types == ["alert.opened"]


async def test_a_message_that_waits_is_not_sent_after_its_rule_was_deleted(alerting: Alerting) -> None:
    await alerting.world.schedule()
    rule = await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.client.delete(f"/api/alert-rules/{rule}")
    await alerting.send()
    assert alerting.receiver.requests == []


async def test_degraded_runs_are_counted_within_a_time(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), on=["degraded"], after={"count": 2, "within": "1h"})
    await alerting.end(DEGRADED, GOOD, DEAD)
    assert await alerting.alerts("open") == []
    await alerting.end(DEGRADED)
    (alert,) = await alerting.alerts("open")
    assert (alert["event"], alert["count"]) == ("degraded", 2)


async def test_a_message_names_how_many_failures_there_were_and_since_when(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=3)
    first = alerting.clock.now() + timedelta(minutes=1)
    await alerting.end(DEAD, DEAD, DEAD)
    (alert,) = await alerting.alerts("open")
    assert (alert["count"], alert["first_at"]) == (3, f"{first:%Y-%m-%dT%H:%M:%SZ}")
    assert alert["opened_at"] > alert["first_at"]


async def test_a_rule_that_a_newer_version_saved_keeps_no_run_from_ending(alerting: Alerting) -> None:
    await alerting.world.schedule()
    broken = await alerting.rule(name="of another version")
    await alerting.rule(await alerting.channel(), after=1)
    async with alerting.world.store.begin() as tx:
        spec = {"name": "x", "on": ["failed"], "since": "tomorrow"}
        await tx.conn.execute(update(alert_rules).where(alert_rules.c.id == broken).values(spec=spec))
    await alerting.end(DEAD)
    assert len(await alerting.alerts("open")) == 1


async def test_a_reason_that_no_database_takes_keeps_no_run_from_ending(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD, error={"code": "x", "message": "a\x1b[1mb\x7fc \U0001f525" + "y" * 5000})
    (alert,) = await alerting.alerts("open")
    assert alert["reason"].startswith("a [1mb c \U0001f525y")
