"""The `alert` of a schedule's document: a rule that lives and ends with the schedule, on every database."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.engine.model.run import RunState
from foliot.engine.sql.schedule_rows import VersionHooks
from foliot.features.alerts.declared_rules import declare_rules
from foliot.features.schedules.usecases.batch import ScheduleBatches
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.world import EVERY_MINUTE, World

DEAD, GOOD = RunState.DEAD_LETTER, RunState.SUCCESS
THREE = {"after": 3, "to": ["hook"]}


@pytest.fixture
def alerting(world: World, client: Client) -> Alerting:
    world.store.caches[VersionHooks] = VersionHooks(declare_rules)
    return Alerting.on(world, client)


async def rules_of(alerting: Alerting, schedule_id: str) -> list[dict[str, Any]]:
    answer = await alerting.client.get(f"/api/schedules/{schedule_id}/alert-rules")
    assert answer.status == 200, answer.json
    found: list[dict[str, Any]] = answer.json["items"]
    return found


async def test_a_schedule_with_an_alert_notifies_its_channels_of_failures_and_of_the_recovery(
    alerting: Alerting,
) -> None:
    await alerting.channel()
    schedule = await alerting.world.schedule(alert=THREE)
    (rule,) = await rules_of(alerting, schedule.id)
    assert (rule["channels"], rule["after"], rule["declared"]) == (["hook"], {"in_a_row": 3}, True)
    await alerting.end(DEAD, DEAD)
    assert await alerting.alerts() == []
    await alerting.end(DEAD, DEAD, GOOD)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.resolved"]


async def test_it_is_about_no_other_schedule(alerting: Alerting) -> None:
    await alerting.channel()
    await alerting.world.schedule(name="quiet")
    other = await alerting.world.schedule(
        name="loud", alert={"to": "hook"}, type="cron", interval_seconds=None, cron_expr="0 0 1 1 *"
    )
    await alerting.end(DEAD)
    assert await alerting.alerts() == []
    assert len(await rules_of(alerting, other.id)) == 1


async def test_a_patch_changes_and_removes_the_rule_and_closes_its_alert(alerting: Alerting) -> None:
    await alerting.channel()
    schedule = await alerting.world.schedule(alert={"to": ["hook"]})
    await alerting.end(DEAD)
    assert len(await alerting.alerts("open")) == 1
    await alerting.send()
    path = f"/api/schedules/{schedule.id}"
    answer = await alerting.client.patch(path, {"alert": {"after": 5}})
    assert answer.json["alert"] == {"after": 5, "to": ["hook"]}
    assert (await rules_of(alerting, schedule.id))[0]["after"] == {"in_a_row": 5}
    assert (await alerting.client.patch(path, {"alert": None})).json["alert"] is None
    assert await rules_of(alerting, schedule.id) == []
    assert await alerting.alerts("open") == []
    await alerting.end(*[DEAD] * 5)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened"]


async def test_deleting_the_schedule_removes_the_rule(alerting: Alerting) -> None:
    channel = await alerting.channel()
    schedule = await alerting.world.schedule(alert=THREE)
    refused = await alerting.client.delete(f"/api/channels/{channel}")
    assert refused.status == 409
    assert "the schedule Often" in refused.json["detail"]
    await alerting.world.cases[Schedules].delete(LOCAL, schedule.id)
    assert (await alerting.client.delete(f"/api/channels/{channel}")).status == 204


async def test_deleting_the_schedule_ends_its_alerts_and_reports_it(alerting: Alerting) -> None:
    schedule = await alerting.world.schedule()
    await alerting.rule(await alerting.channel(), after=1)
    await alerting.end(DEAD)
    await alerting.send()
    await alerting.world.cases[Schedules].delete(LOCAL, schedule.id)
    await alerting.send()
    assert alerting.receiver.types == ["alert.opened", "alert.resolved"]
    (alert,) = await alerting.alerts("resolved")
    assert alert["resolved_by"] == "schedule deleted"


async def test_an_unknown_channel_refuses_the_schedule_and_suggests_one(alerting: Alerting) -> None:
    await alerting.channel("operations")
    answer = await alerting.client.post("/api/schedules", {**EVERY_MINUTE, "alert": {"to": ["operation"]}})
    assert answer.status == 422
    (error,) = answer.json["errors"]
    assert error["field"] == "alert.to"
    assert "did you mean 'operations'" in error["message"]
    assert (await alerting.client.get("/api/schedules")).json["items"] == []


@pytest.mark.parametrize(
    ("alert", "field"),
    [
        ({"after": 3}, "alert.to"),
        ({"to": []}, "alert.to"),
        ({"to": ["hook"], "after": 0}, "alert.after"),
        ({"to": ["hook"], "afer": 2}, "alert.afer"),
        (3, "alert"),
    ],
)
async def test_a_wrong_alert_is_refused_by_its_field(alerting: Alerting, alert: object, field: str) -> None:
    answer = await alerting.client.post("/api/schedules", {**EVERY_MINUTE, "alert": alert})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field)


async def test_a_renamed_channel_is_notified_as_before_and_edits_stay_possible(alerting: Alerting) -> None:
    channel = await alerting.channel()
    schedule = await alerting.world.schedule(alert={"to": ["hook"]})
    await alerting.client.patch(f"/api/channels/{channel}", {"name": "renamed"})
    renamed = await alerting.client.patch(f"/api/schedules/{schedule.id}", {"name": "Other"})
    assert renamed.status == 200, renamed.json
    (rule,) = await rules_of(alerting, schedule.id)
    assert (rule["channels"], rule["name"]) == (["renamed"], "Other")


async def test_its_rule_is_changed_only_in_the_schedule_and_not_listed_among_the_others(alerting: Alerting) -> None:
    await alerting.channel()
    schedule = await alerting.world.schedule(alert=THREE)
    (rule,) = await rules_of(alerting, schedule.id)
    path = f"/api/alert-rules/{rule['id']}"
    assert (await alerting.client.get("/api/alert-rules")).json["items"] == []
    assert (await alerting.client.get(path)).json["schedule_id"] == schedule.id
    for refused in (await alerting.client.patch(path, {"after": 1}), await alerting.client.delete(path)):
        assert refused.status == 409
        assert "field alert" in refused.json["detail"]


async def test_many_schedules_are_created_with_their_rules_or_refused_by_name(alerting: Alerting) -> None:
    await alerting.channel()
    batches = alerting.world.cases[ScheduleBatches]
    wanted = [{**EVERY_MINUTE, "name": f"s{number}", "alert": THREE} for number in range(30)]
    made = await batches.create(LOCAL, {"schedules": wanted})
    assert len(await rules_of(alerting, made[7].id or "")) == 1
    wanted[3] = {**wanted[3], "alert": {"to": ["nothing"]}}
    with pytest.raises(Invalid, match="of the schedule 's3'"):
        await batches.create(LOCAL, {"schedules": wanted})


async def test_a_revert_brings_the_rule_back(alerting: Alerting) -> None:
    await alerting.channel()
    schedule = await alerting.world.schedule(alert=THREE)
    await alerting.client.patch(f"/api/schedules/{schedule.id}", {"alert": None})
    (entry,) = (await alerting.client.get(f"/api/audit?thing_id={schedule.id}&verb=patch")).json["items"]
    answer = await alerting.client.post(f"/api/audit/{entry['id']}/revert")
    assert answer.status == 200, answer.json
    assert len(await rules_of(alerting, schedule.id)) == 1
