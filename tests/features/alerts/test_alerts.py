"""Rules open, count and resolve alerts in the transaction that ends a run, on every database."""

from __future__ import annotations

import pytest

from foliot.core.access import LOCAL
from foliot.engine.model.run import RunState
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.givens import ask, request
from tests.world import World

DEAD, GOOD = RunState.DEAD_LETTER, RunState.SUCCESS


@pytest.fixture
def alerting(world: World, client: Client) -> Alerting:
    return Alerting.on(world, client)


async def test_three_failures_in_a_row_open_one_alert_and_a_success_resolves_it(alerting: Alerting) -> None:
    schedule = await alerting.world.schedule()
    channel = await alerting.channel()
    await alerting.rule(channel)
    await alerting.end(DEAD, DEAD)
    assert await alerting.alerts() == []
    *_, last = await alerting.end(DEAD, DEAD, DEAD)
    (alert,) = await alerting.alerts("open")
    assert (alert["event"], alert["count"], alert["run_id"]) == ("failed", 5, last)
    assert alert["subject"] == {"kind": "schedule", "id": schedule.id, "name": "Often"}
    await alerting.send()
    await alerting.end(GOOD)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.resolved"]
    assert await alerting.alerts("open") == []
    (alert,) = await alerting.alerts("resolved")
    assert [(each["event"], each["state"]) for each in alert["deliveries"]] == [
        ("opened", "sent"),
        ("resolved", "sent"),
    ]


async def test_a_success_in_between_starts_the_count_again(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel())
    await alerting.end(DEAD, DEAD, GOOD, DEAD, DEAD)
    assert await alerting.alerts() == []


async def test_a_number_of_failures_within_a_time_opens_an_alert(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after={"count": 3, "within": "10m"})
    await alerting.end(DEAD, GOOD, DEAD, GOOD)
    assert await alerting.alerts() == []
    await alerting.end(DEAD)
    assert len(await alerting.alerts("open")) == 1


async def test_a_rule_is_about_the_schedules_that_its_filter_names(alerting: Alerting) -> None:
    await alerting.world.schedule(name="Prices", tags=["prices"])
    await alerting.rule(await alerting.channel(), filter="tag:news", after=1)
    await alerting.end(DEAD)
    assert await alerting.alerts() == []
    await alerting.rule(name="of prices", filter="tag:prices", after=1)
    await alerting.end(DEAD)
    assert [alert["subject"]["name"] for alert in await alerting.alerts()] == ["Prices"]


async def test_a_dead_letter_counts_once_for_a_rule_about_both(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), on=["failed", "dead_letter"], after=2)
    await alerting.end(DEAD)
    assert await alerting.alerts() == []


async def test_a_rule_about_recovery_alone_reports_it_once(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(name="failures", after=1)
    await alerting.rule(await alerting.channel(), name="recoveries", on=["recovered"])
    await alerting.end(GOOD, DEAD, GOOD, GOOD)
    await alerting.send()
    assert [document["alert"]["event"] for document in alerting.receiver.documents] == ["recovered"]


async def test_every_end_is_reported_to_a_rule_about_finished_runs(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), on=["finished"])
    await alerting.end(GOOD, DEAD)
    await alerting.send()
    assert [document["alert"]["event"] for document in alerting.receiver.documents] == ["finished", "finished"]


async def test_an_acknowledged_alert_sends_no_reminder_and_reports_its_end(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1, remind_every="1h")
    await alerting.end(DEAD)
    await alerting.send()
    await alerting.send(3600)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.reminded"]
    (alert,) = await alerting.alerts("open")
    assert (await alerting.client.post(f"/api/alerts/{alert['id']}/ack")).json["state"] == "acknowledged"
    await alerting.send(7200)
    await alerting.send()
    await alerting.end(GOOD)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.reminded", "alert.resolved"]


async def test_a_snoozed_alert_reminds_when_the_time_is_over(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.send()
    (alert,) = await alerting.alerts("open")
    assert (await alerting.client.post(f"/api/alerts/{alert['id']}/snooze", {"for": "4h"})).status == 200
    await alerting.send(3 * 3600)
    assert alerting.receiver.types == ["alert.opened"]
    await alerting.send(3600)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.reminded"]


async def test_nothing_is_sent_in_quiet_hours_and_everything_after(alerting: Alerting) -> None:
    await alerting.world.schedule()
    quiet = {"from": "11:00", "to": "13:00", "timezone": "UTC"}
    await alerting.rule(await alerting.channel(), after=1, quiet=quiet)
    await alerting.end(DEAD)
    await alerting.send()
    assert alerting.receiver.types == []
    await alerting.send(3600)
    assert alerting.receiver.types == ["alert.opened"]


async def test_a_storm_is_one_message_with_a_count(alerting: Alerting) -> None:
    for number in range(25):
        await alerting.world.schedule(name=f"Shop {number}")
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.world.pass_time(1)
    runs = (await alerting.client.get("/api/runs?q=state:queued&limit=100")).json["items"]
    for run in runs:
        await alerting.world.end(run["id"], DEAD, {"code": "x", "message": "down"})
    await alerting.send()
    (document,) = alerting.receiver.documents
    assert (document["type"], document["count"]) == ("alert.opened", 25)
    assert len(await alerting.alerts("open")) == 25


async def test_a_channel_that_fails_is_retried_and_its_failure_is_shown(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    alerting.receiver.statuses = [503, 0]
    await alerting.send()
    (alert,) = await alerting.alerts("open")
    (delivery,) = alert["deliveries"]
    assert (delivery["state"], delivery["attempts"]) == ("pending", 1)
    assert "503" in delivery["error"]
    await alerting.send(20)
    await alerting.send(40)
    (alert,) = await alerting.alerts("open")
    assert [(each["state"], each["attempts"]) for each in alert["deliveries"]] == [("sent", 3)]
    ids = {request.headers["webhook-id"] for request in alerting.receiver.requests}
    assert len(ids) == 1


async def test_when_a_channel_fails_for_good_the_tenants_others_stand_in(alerting: Alerting) -> None:
    await alerting.world.schedule()
    first = await alerting.channel("first")
    await alerting.channel("second")
    await alerting.rule(first, after=1)
    await alerting.end(DEAD)
    alerting.receiver.statuses = [404]
    await alerting.send()
    await alerting.send()
    assert [request.url for request in alerting.receiver.requests] == [
        "https://first.example/",
        "https://second.example/",
    ]
    channels = (await alerting.client.get("/api/channels")).json["items"]
    assert [(each["name"], each["failing"]) for each in channels] == [("first", True), ("second", False)]


async def test_metrics_count_alerts_and_messages(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    alerting.receiver.statuses = [503]
    await alerting.send()
    await alerting.send(20)
    text = (await alerting.client.get("/metrics")).text
    assert 'foliot_alerts{state="open"} 1.0' in text
    assert 'foliot_alert_deliveries_total{kind="webhook",outcome="retried"} 1.0' in text
    assert 'foliot_alert_deliveries_total{kind="webhook",outcome="sent"} 1.0' in text
    assert 'foliot_alert_delay_seconds_bucket{le="10.0"} 0.0' in text
    assert 'foliot_alert_delay_seconds_bucket{le="30.0"} 1.0' in text
    await alerting.end(GOOD)
    alerting.clock.advance(6)
    text = (await alerting.client.get("/metrics")).text
    assert 'foliot_alerts{state="open"} 0.0' in text
    assert 'foliot_alert_deliveries_waiting{kind="webhook"} 1.0' in text


async def test_who_is_notified_about_a_schedule_and_why(alerting: Alerting) -> None:
    schedule = await alerting.world.schedule(tags=["prices"])
    await alerting.rule(await alerting.channel("ops"), name="prices", filter="tag:prices")
    await alerting.rule(await alerting.channel("all"), name="everything")
    await alerting.rule(await alerting.channel("other"), name="others", filter="tag:news")
    await alerting.rule(await alerting.channel("off"), name="off", enabled=False)
    await alerting.rule(await alerting.channel("queues"), name="queues", on=["queue_stuck"])

    answer = await alerting.client.get(f"/api/schedules/{schedule.id}/alert-rules")

    found = [(one["name"], one["channels"], one["filter"]) for one in answer.json["items"]]
    assert sorted(found) == [("everything", ["all"], ""), ("prices", ["ops"], "tag:prices")]
    assert (await alerting.client.get("/api/schedules/sch_unknown/alert-rules")).status == 404


async def test_a_channel_that_fails_for_good_needs_attention_until_a_message_arrives(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.rule(await alerting.channel("first"), after=1)
    await alerting.end(DEAD)
    alerting.receiver.statuses = [404]
    await alerting.send()

    items = (await alerting.client.get("/api/attention")).json["items"]
    (entry,) = [one for one in items if one["kind"] == "channel"]
    assert (entry["title"], entry["count"]) == ("Channel first", 1)
    assert "404" in entry["reason"]
    (test,) = entry["actions"]
    assert (await alerting.client.send(test["method"], test["path"])).status == 202
    await alerting.send()

    items = (await alerting.client.get("/api/attention")).json["items"]
    assert [one for one in items if one["kind"] == "channel"] == []


async def test_a_rule_that_is_deleted_resolves_its_alerts_without_a_message(alerting: Alerting) -> None:
    await alerting.world.schedule()
    rule = await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.send()
    assert (await alerting.client.delete(f"/api/alert-rules/{rule}")).status == 204
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened"]
    assert [alert["state"] for alert in await alerting.alerts()] == ["resolved"]


async def test_the_success_of_a_repeat_resolves_the_alert_about_a_run_without_a_schedule(alerting: Alerting) -> None:
    await alerting.rule(await alerting.channel(), after=1)
    (first,) = await ask(alerting.world.store, alerting.clock.now(), request(kind="webhook", tenant_id=LOCAL.tenant_id))
    await alerting.world.end(first, DEAD, {"code": "x", "message": "down"})
    assert [alert["subject"]["id"] for alert in await alerting.alerts("open")] == [first]
    again = (await alerting.client.post(f"/api/runs/{first}/retry")).json["id"]
    await alerting.world.end(again, DEAD, {"code": "x", "message": "down"})
    assert [alert["count"] for alert in await alerting.alerts("open")] == [2]
    last = (await alerting.client.post(f"/api/runs/{again}/retry")).json["id"]
    await alerting.world.end(last, GOOD)
    assert await alerting.alerts("open") == []


async def test_a_preview_says_what_the_rule_would_have_said(alerting: Alerting) -> None:
    await alerting.world.schedule()
    await alerting.end(DEAD, DEAD, GOOD, DEAD, GOOD)
    raw = {"on": ["failed"], "after": {"in_a_row": 2}, "over": "1d"}
    answer = await alerting.client.post("/api/alert-rules/preview", raw)
    assert answer.status == 200, answer.json
    assert [item["event"] for item in answer.json["items"]] == ["recovered", "failed"]
    assert await alerting.alerts() == []
