"""Why a run happened or did not, on every database: each cause is named with an id that proves it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import NotFound
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import AttemptEnding, PageRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.explanations.model.facts import Explanation, Fact, span_of_time
from foliot.features.explanations.usecases import Explanations
from foliot.features.queues.usecases import Queues
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.skip_next import Skips
from foliot.features.tenants.usecases import Tenants
from tests.world import HOURLY, URL, World

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
SYSTEM = Caller("default", "root", Role.SYSTEM, LOCAL.interface)


async def why(world: World, schedule: Schedule, at: datetime | None = None) -> Explanation:
    return await world.cases[Explanations].of_schedule(LOCAL, schedule.id, at)


async def why_run(world: World, run_id: str, caller: Caller = LOCAL) -> Explanation:
    return await world.cases[Explanations].of_run(caller, run_id)


async def newest(world: World, schedule: Schedule) -> RunView:
    (run,) = await world.cases[Runs].of_schedule(LOCAL, schedule.id, PageRequest(limit=1), None)
    return run


def only(found: Explanation, code: str) -> Fact:
    """The one fact with this code."""
    (fact,) = [one for one in found.facts if one.code == code]
    assert fact.words in found.summary
    return fact


def codes(found: Explanation) -> list[str]:
    return [one.code.value for one in found.facts]


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


async def entry_of(world: World, schedule: Schedule, verb: str) -> str:
    found = await world.cases[AuditLog].list(LOCAL, PageRequest(limit=50), thing_id=schedule.id, verb=verb)
    return found[0].id


async def to_the_hour(world: World) -> datetime:
    """Let the hourly schedules fire once."""
    due = hour_of(world.clock.now()) + HOUR
    world.clock.advance((due - world.clock.now()).total_seconds())
    await world.tick()
    return due


async def test_a_run_is_explained_by_its_trigger_its_attempts_and_its_end(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    due = await to_the_hour(world)
    run = await newest(world, schedule)
    await world.end(run.id, RunState.DEAD_LETTER, {"code": "http_503", "message": "The target answered 503."})
    found = await why(world, schedule, due)

    assert codes(found) == ["fired", "ended"]
    assert only(found, "fired").proof == {"run_id": run.id, "schedule_id": schedule.id, "version": 1}
    ended = only(found, "ended")
    assert (ended.proof["state"], ended.proof["error"]) == ("dead_letter", "http_503")
    assert "It ended as dead letter" in ended.words
    assert "The target answered 503." in ended.words
    assert found == await why_run(world, run.id)
    assert found == await why(world, schedule), "without a time, the newest is meant"


async def test_overlap_names_the_run_that_was_open(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    await to_the_hour(world)
    run = await newest(world, schedule)
    await world.claim(run.id)
    due = await to_the_hour(world)
    found = await why(world, schedule, due)

    assert codes(found) == ["skipped_overlap"]
    assert only(found, "skipped_overlap").proof["run_id"] == run.id
    assert "overlap skip" in found.summary


async def test_a_buffered_run_names_its_predecessor(world: World) -> None:
    schedule = await world.schedule(HOURLY, overlap="buffer_one")
    await to_the_hour(world)
    first = await newest(world, schedule)
    await world.claim(first.id)
    await to_the_hour(world)
    second = await newest(world, schedule)
    due = await to_the_hour(world)

    assert only(await why_run(world, second.id), "waiting_predecessor").proof["predecessor"] == first.id
    assert codes(await why(world, schedule, due)) == ["skipped_overlap"], "one waits already"


@pytest.mark.parametrize(("mode", "rule"), [("none", "drops"), ("latest", "newest"), ("all", "at most 1")])
async def test_instants_that_nobody_settled_in_time_name_the_catch_up(world: World, mode: str, rule: str) -> None:
    catchup = {"mode": mode, "window_seconds": 7200, "max_runs": 1}
    schedule = await world.schedule(HOURLY, catchup=catchup, overlap="allow_all")
    first = hour_of(world.clock.now()) + HOUR
    world.clock.advance(5.5 * 3600)
    await world.tick()
    found = await why(world, schedule, first)

    assert codes(found) == ["missed_window"]
    assert rule in found.summary
    assert first.isoformat() in str(only(found, "missed_window").proof["ledger"])
    if mode == "latest":
        assert only(await why_run(world, (await newest(world, schedule)).id), "caught_up").words.startswith(
            "It was created 30 min late"
        )


async def test_a_pause_names_who_paused_and_why(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    world.clock.advance(60)
    await world.cases[Schedules].pause(LOCAL, schedule.id, {"reason": "the shop is closed"})
    due = await to_the_hour(world)
    paused = await why(world, schedule, due)
    await world.cases[Schedules].resume(LOCAL, schedule.id)
    resumed = await why(world, schedule, due)

    assert codes(paused) == codes(resumed) == ["paused"]
    assert only(paused, "paused").proof["audit_id"] == await entry_of(world, schedule, "pause")
    assert f"by {LOCAL.user_id} (the shop is closed), and is still paused" in paused.summary
    assert "was resumed at" in resumed.summary


async def test_a_skip_request_names_the_user(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    await world.cases[Skips].skip_next(LOCAL, schedule.id)
    due = hour_of(world.clock.now()) + HOUR
    before = await why(world, schedule, due)
    await to_the_hour(world)

    assert codes(before) == codes(await why(world, schedule, due)) == ["skipped_by_person"]
    assert f"{LOCAL.user_id} asked to skip" in before.summary


async def test_an_edit_two_minutes_before_names_the_version_that_would_have_run(world: World) -> None:
    schedule = await world.schedule(HOURLY, cron_expr="0 * * * *")
    due = hour_of(world.clock.now()) + HOUR
    world.clock.advance((due - world.clock.now()).total_seconds() - 120)
    await world.cases[Schedules].patch(LOCAL, schedule.id, {"cron_expr": "30 * * * *"})
    world.clock.advance(600)
    await world.tick()
    found = await why(world, schedule, due)

    assert codes(found) == ["edited", "not_due"]
    assert only(found, "edited").proof["audit_id"] == await entry_of(world, schedule, "patch")
    assert "the version before (1) names" in found.summary
    assert "The nearest are" in only(found, "not_due").words


async def test_a_time_in_another_zone_is_recognised(world: World) -> None:
    schedule = await world.schedule(HOURLY, cron_expr="0 12 * * *", timezone="America/New_York")
    day = (world.clock.now() + timedelta(days=3)).date()
    found = await why(world, schedule, datetime(day.year, day.month, day.day, 12, tzinfo=UTC))

    assert codes(found) == ["other_timezone", "not_due"]
    assert "12:00 UTC is not the schedule's time" in found.summary


@pytest.mark.parametrize(
    ("cron", "asked", "expected"),
    [
        ("30 2 * * *", "2029-03-25T01:30:00Z", ["clock_gap", "not_due"]),  # 02:30 does not exist: it runs at 03:00
        ("30 2 * * *", "2029-03-25T01:00:00Z", ["clock_gap", "planned"]),
        ("30 2 * * *", "2029-10-28T01:30:00Z", ["clock_fold", "not_due"]),  # the second 02:30
        ("30 2 * * *", "2029-10-28T00:30:00Z", ["clock_fold", "planned"]),
        ("30 2 * * *", "2029-10-27T00:30:00Z", ["planned"]),
    ],
)
async def test_clock_changes_are_named(world: World, cron: str, asked: str, expected: list[str]) -> None:
    schedule = await world.schedule(HOURLY, cron_expr=cron, timezone="Europe/Stockholm")
    assert codes(await why(world, schedule, datetime.fromisoformat(asked))) == expected


async def test_jitter_and_a_paused_queue_hold_a_run(world: World) -> None:
    schedule = await world.schedule(HOURLY, jitter_seconds=600, queue="scraping")
    await to_the_hour(world)
    run = await newest(world, schedule)
    await world.cases[Queues].pause(LOCAL, "scraping", {"reason": "their server is down"})
    world.clock.advance(1200)
    found = await why_run(world, run.id)
    other = await why_run(world, run.id, replace(LOCAL, role=Role.VIEWER))

    assert codes(found) == ["fired", "jittered", "waiting_queue_paused", "waiting_no_worker"]
    assert only(found, "waiting_queue_paused").proof["queue"] == "scraping"
    assert "their server is down" in found.summary
    assert "their server is down" not in other.summary, "who paused a queue, and why, is for operators"


async def test_a_full_tenant_names_its_limit(world: World) -> None:
    schedule = await world.schedule(HOURLY, overlap="allow_all")
    await to_the_hour(world)
    await world.claim((await newest(world, schedule)).id)
    await world.cases[Tenants].put(SYSTEM, LOCAL.tenant_id, {"limits": {"concurrent_runs": 1}})
    await to_the_hour(world)
    found = await why_run(world, (await newest(world, schedule)).id)

    assert only(found, "waiting_cap").proof["limit"] == 1


async def test_a_failed_attempt_and_a_lost_worker_are_named(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    await to_the_hour(world)
    run = await newest(world, schedule)
    (claimed,) = await world.claim(run.id)
    now = world.clock.now()
    ending = AttemptEnding(
        fence=claimed.fence,
        state=RunState.RETRYING,
        outcome="failed",
        at=now,
        error={"code": "http_503", "message": "The target answered 503."},
        ready_at=now + MINUTE,
    )
    async with world.store.begin() as tx:
        await SqlClaims(tx).finish([ending], now)
    failed = await why_run(world, run.id)
    world.clock.advance(61)
    (claimed,) = await world.claim(run.id)
    running = await why_run(world, run.id)
    world.clock.advance(60)
    now = world.clock.now()
    gone = replace(ending, fence=claimed.fence, outcome="lost", lost=True, at=now, ready_at=now + MINUTE)
    async with world.store.begin() as tx:
        await SqlClaims(tx).finish([gone], now)
    lost = await why_run(world, run.id)

    assert codes(failed) == ["fired", "retrying", "retrying"]
    assert "Attempt 1 of 4 failed: The target answered 503; the next one was due at" in failed.summary
    assert codes(running) == ["fired", "retrying", "running"]
    assert codes(lost)[:3] == ["fired", "retrying", "worker_lost"]
    assert only(lost, "worker_lost").proof["worker"] == "worker-1"


async def test_nothing_before_its_creation_nor_after_its_deletion(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    before = hour_of(world.clock.now()) - HOUR
    world.clock.advance(60)
    await world.cases[Schedules].delete(LOCAL, schedule.id)
    after = await to_the_hour(world)

    assert codes(await why(world, schedule, before)) == ["not_created"]
    deleted = await why(world, schedule, after)
    assert codes(deleted) == ["deleted"]
    assert only(deleted, "deleted").proof["audit_id"] == await entry_of(world, schedule, "delete")


async def test_a_schedule_that_follows_names_the_parent_that_did_not_succeed(world: World) -> None:
    parent = await world.schedule(HOURLY, name="crawl")
    child = await world.schedule(
        {"name": "load", "type": "after", "after": {"schedule": parent.id}, "payload": {"url": URL}}
    )
    assert codes(await why(world, child)) == ["not_due"]
    await to_the_hour(world)
    run = await newest(world, parent)
    await world.end(run.id, RunState.FAILED, {"code": "x", "message": "broken"})

    found = await why(world, child)
    assert codes(found) == ["parent_not_successful"]
    assert only(found, "parent_not_successful").proof["run_id"] == run.id


async def test_other_tenants_are_told_nothing(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    await to_the_hour(world)
    stranger = Caller("other", "eve", Role.ADMIN, LOCAL.interface)

    with pytest.raises(NotFound):
        await world.cases[Explanations].of_schedule(stranger, schedule.id, None)
    with pytest.raises(NotFound):
        await world.cases[Explanations].of_run(stranger, (await newest(world, schedule)).id)


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.31, "0.3 s"), (45, "45 s"), (720, "12 min"), (18_000, "5 h"), (259_200, "3 days")]
)
def test_durations_read_as_people_say_them(seconds: float, words: str) -> None:
    assert span_of_time(seconds) == words
