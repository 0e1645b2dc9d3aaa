"""The regular check finds what no end of a run reports: late schedules, missed instants, slow runs, stuck queues."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.core.access import LOCAL
from foliot.engine.model.run import RunState
from foliot.engine.model.views import ClaimedRun
from foliot.features.alerts.checks import AlertChecker
from foliot.features.insights.usecases.attention import EACH, Attention
from foliot.features.queues.usecases import Queues
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.world import HOURLY, World

GOOD, DEAD = RunState.SUCCESS, RunState.DEAD_LETTER


class Checking(Alerting):
    """The same, with the regular check."""

    async def check(self, minutes: float = 0) -> list[tuple[str, str, str]]:
        """Event, subject and state of every alert, oldest first, after this time and a check."""
        self.clock.advance(minutes * 60)
        attention = self.world.cases[Attention]
        world = self.world
        await AlertChecker(clock=world.clock, store=world.store, feed=world.feed, attention=attention).run_once()
        found = reversed(await self.alerts())
        return [(alert["event"], alert["subject"]["name"], alert["state"]) for alert in found]

    async def begin(self, minutes: int = 1) -> ClaimedRun:
        """Time passes, then what is due is fired, and its run begins."""
        self.clock.advance(minutes * 60)
        await self.world.tick()
        (run,) = (await self.client.get("/api/runs?q=state:queued&limit=1")).json["items"]
        (claimed,) = await self.world.claim(run["id"])
        return claimed


@pytest.fixture
def checking(world: World, client: Client) -> Checking:
    found = Checking.on(world, client)
    assert isinstance(found, Checking)
    return found


async def test_a_schedule_is_late_after_the_time_that_its_rule_allows(checking: Checking) -> None:
    await checking.world.schedule()
    hook = await checking.channel()
    await checking.rule(hook, name="soon", on=["late"])
    await checking.rule(hook, name="patient", on=["late"], late_after="5m")
    # Due a minute from now, and no scheduler fires it.
    assert await checking.check(1.5) == []
    assert await checking.check(1) == [("late", "Often", "open")]
    assert await checking.check(4) == [("late", "Often", "open"), ("late", "Often", "open")]
    (patient, soon) = await checking.alerts()
    assert patient["opened_at"] == soon["opened_at"], "since it was due"
    await checking.world.tick()
    assert {state for *_, state in await checking.check()} == {"resolved"}
    await checking.send()
    assert sorted(checking.receiver.types) == ["alert.opened"] * 2 + ["alert.resolved"] * 2


async def test_each_of_many_late_schedules_has_its_alert_and_filters_hold(checking: Checking) -> None:
    """Attention sums up more than a few."""
    for number in range(EACH + 2):
        await checking.world.schedule(name=f"job {number}", tags=["prices"] if number % 2 else [])
    await checking.rule(on=["late"], filter="tag:prices")
    assert len(await checking.check(3)) == EACH // 2 + 1


async def test_missed_instants_are_reported_once(checking: Checking) -> None:
    await checking.world.schedule(catchup={"mode": "none", "grace_seconds": 30})
    await checking.rule(on=["missed"])
    checking.clock.advance(600)
    await checking.world.tick()
    assert await checking.check() == [("missed", "Often", "open")]
    assert await checking.check() == [("missed", "Often", "open")]
    (alert,) = await checking.alerts()
    assert "scheduled times" in alert["summary"]
    await checking.end(GOOD)
    assert await checking.check() == [("missed", "Often", "resolved")]


async def test_a_run_is_slow_after_the_time_that_its_rule_allows(checking: Checking) -> None:
    await checking.world.schedule()
    await checking.rule(name="slow", on=["slow"], slow_after="30m")
    await checking.rule(name="very slow", on=["slow"], slow_after="2h")
    run = await checking.begin()
    assert await checking.check(29) == []
    assert await checking.check(2) == [("slow", "Often", "open")]
    (alert,) = await checking.alerts()
    assert (alert["run_id"], alert["reason"]) == (run.fence.run_id, "Its run began 31 min ago and has not ended.")
    assert len(await checking.check(120)) == 2
    await checking.world.finish(run, RunState.CANCELLED)
    assert {state for *_, state in await checking.check()} == {"resolved"}


async def test_what_was_slow_and_fails_is_over_when_it_succeeds(checking: Checking) -> None:
    await checking.world.schedule()
    await checking.rule(on=["slow", "failed"], slow_after="30m", after=1)
    run = await checking.begin()
    assert await checking.check(31) == [("slow", "Often", "open")]
    await checking.world.finish(run, DEAD, {"code": "http_503", "message": "no"})
    assert await checking.check() == [("failed", "Often", "open")]
    await checking.end(GOOD)
    assert await checking.check() == [("failed", "Often", "resolved")]


async def test_a_paused_queue_with_waiting_runs_is_stuck(checking: Checking) -> None:
    await checking.world.schedule()
    await checking.rule(on=["queue_stuck"])
    await checking.world.cases[Queues].pause(LOCAL, "default", {})
    await checking.world.pass_time(1)
    assert [event for event, *_ in await checking.check(10)] == ["queue_stuck"]
    await checking.world.cases[Queues].resume(LOCAL, "default")
    await checking.end(GOOD)


async def test_slow_needs_its_time(checking: Checking) -> None:
    body: dict[str, Any] = {"name": "slow", "on": ["slow"]}
    answer = await checking.client.post("/api/alert-rules", body)
    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == "slow_after"


async def test_a_preview_leaves_out_what_other_schedules_missed(checking: Checking) -> None:
    rare = {"catchup": {"mode": "none", "grace_seconds": 30}}
    await checking.world.schedule(name="Prices", tags=["prices"], **rare)
    await checking.world.schedule(name="News", **rare)
    checking.clock.advance(600)
    await checking.world.tick()
    raw = {"on": ["missed"], "filter": "tag:prices", "over": "1d"}
    answer = (await checking.client.post("/api/alert-rules/preview", raw)).json
    assert [item["subject"]["name"] for item in answer["items"]] == ["Prices"]


async def test_a_preview_knows_late_and_slow_and_says_what_it_does_not_know(checking: Checking) -> None:
    await checking.world.schedule(HOURLY)
    run = await checking.begin(minutes=68)
    checking.clock.advance(40 * 60)
    await checking.world.finish(run)
    raw = {"on": ["late", "slow", "queue_stuck"], "late_after": "5m", "slow_after": "30m", "over": "1d"}
    answer = (await checking.client.post("/api/alert-rules/preview", raw)).json
    assert [item["event"] for item in answer["items"]] == ["slow", "late"]
    assert answer["unknown"] == ["queue_stuck"]
