"""The attention list, on every database: each problem with its reason, and no query for what is well."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.retention import SqlRetention
from foliot.features.filters.usecases import Search
from foliot.features.insights import schema as insights_schema
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind
from foliot.features.insights.usecases.attention import EACH, Attention
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.queues.usecases import Queues
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules import health_schema
from foliot.features.schedules import schema as schedules_schema
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.servers.http.schema import Problem
from tests.asgi import Client
from tests.declared import conforms
from tests.givens import HOUR, NOON, keep, schedule, statements
from tests.world import HOURLY, World

ERROR = {"code": "http_429", "message": "HTTP 429 from shop.test"}
ADA = Caller(LOCAL.tenant_id, "ada", Role.VIEWER)


async def check(world: World, caller: Caller = LOCAL) -> dict[AttentionKind, list[AttentionEntry]]:
    found: dict[AttentionKind, list[AttentionEntry]] = {}
    for item in (await world.cases[Attention].check(caller)).items:
        found.setdefault(item.kind, []).append(item)
    return found


async def report(world: World, **report: Any) -> None:
    async with world.store.begin() as tx:
        now = world.clock.now()
        await SqlRetention(tx).report("host-1:7:abc", "worker", now, now, {"slots": 4, **report})


async def run_hours(world: World, states: Sequence[RunState]) -> None:
    """An hour each, ending like this."""
    for state in states:
        world.clock.advance(HOUR)
        await world.tick()
        (run,) = await world.cases[Runs].list(LOCAL, PageRequest(1))
        await world.end(run.id, state, None if state is RunState.SUCCESS else ERROR)


async def test_nothing_needs_a_person_where_all_is_well(world: World) -> None:
    await world.schedule(HOURLY)
    await run_hours(world, [RunState.FAILED, RunState.SUCCESS])

    assert await check(world) == {}


async def test_a_schedule_that_fails_is_told_with_its_streak_and_what_can_be_done(world: World) -> None:
    made = await world.schedule(HOURLY)
    await run_hours(world, [RunState.SUCCESS, RunState.FAILED, RunState.FAILED])

    (item,) = (await check(world))[AttentionKind.FAILING]

    assert (item.title, item.reason) == ("Hourly", "failed 2 times in a row: HTTP 429 from shop.test")
    assert (item.since, item.count, item.id) == (NOON + 2 * HOUR, 2, f"failing:{made.id}")
    assert [action.label for action in item.actions] == ["Retry", "Run now", "Pause"]
    assert item.q is not None
    query = world.cases[Search].read_runs(item.q)
    assert [run.state for run in await world.cases[Search].runs(LOCAL, PageRequest(), query)] == [RunState.FAILED] * 2
    # Whoever may only look is offered nothing to do.
    assert (await check(world, ADA))[AttentionKind.FAILING][0].actions == []
    await world.cases[Schedules].pause(LOCAL, made.id, None)
    assert AttentionKind.FAILING not in await check(world)


async def test_a_first_run_by_hand_that_fails_is_told(world: World) -> None:
    made = await world.schedule(HOURLY)
    good = await world.schedule(HOURLY, name="Beside it")
    asked_at = world.clock.now()
    for one, state in ((made, RunState.FAILED), (good, RunState.SUCCESS)):
        run = await world.cases[Schedules].run_now(LOCAL, one.id, {})
        await world.end(run.id, state, ERROR if state is RunState.FAILED else None)

    (item,) = (await check(world))[AttentionKind.FAILING]

    assert (item.schedule_id, item.count) == (made.id, 1)
    assert (await world.cases[Schedules].get(LOCAL, made.id)).last_run_at == asked_at
    world.clock.advance(60)
    (failed,) = await world.cases[Runs].list(LOCAL, PageRequest(1), schedule_id=made.id)
    await world.cases[Runs].retry(LOCAL, failed.id)
    assert (await world.cases[Schedules].get(LOCAL, made.id)).last_run_at == asked_at + timedelta(seconds=60)


async def test_an_instant_settled_late_does_not_hide_a_newer_run_by_hand(world: World) -> None:
    made = await world.schedule(HOURLY)
    world.clock.advance(HOUR + timedelta(seconds=30))
    await world.cases[Schedules].run_now(LOCAL, made.id, {})
    await world.tick()

    assert (await world.cases[Schedules].get(LOCAL, made.id)).last_run_at == world.clock.now()


async def test_a_run_by_hand_does_not_hide_instants_that_a_damaged_schedule_missed(world: World) -> None:
    made = await world.schedule(HOURLY)
    await run_hours(world, [RunState.SUCCESS])
    world.clock.advance(3 * HOUR)
    await world.cases[Schedules].run_now(LOCAL, made.id, {})
    await world.sql("UPDATE schedules SET fault = 'spec: is not JSON', fault_next_at = next_at, next_at = NULL")
    await world.cases[Schedules].resume(LOCAL, made.id)

    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert proof.holes == []


async def test_dead_letters_are_told_with_what_most_of_them_have_in_common(world: World) -> None:
    await world.schedule(HOURLY)
    await run_hours(world, [RunState.DEAD_LETTER] * 3)

    (item,) = (await check(world))[AttentionKind.DEAD_LETTERS]

    assert (item.title, item.reason) == ("3 dead letters", "same error: HTTP 429 from shop.test")
    assert (item.since, item.q) == (NOON + HOUR, "state:dead_letter -resolved:true -muted:true")
    narrow = Caller(LOCAL.tenant_id, "key", Role.VIEWER, scopes=frozenset({"run:read"}))
    assert AttentionKind.DEAD_LETTERS not in await check(world, narrow)
    await world.sql("UPDATE runs SET resolved_by = 'run_replayed'")
    assert AttentionKind.DEAD_LETTERS not in await check(world)


async def test_what_was_due_and_what_was_missed_are_told_apart(world: World) -> None:
    made = await world.schedule(HOURLY, catchup={"mode": "none"})
    world.clock.advance(3 * HOUR + timedelta(minutes=5))

    (late,) = (await check(world))[AttentionKind.LATE]
    await world.tick()
    after = await check(world)

    assert late.schedule_id == made.id
    assert "was due 2 h ago" in late.reason
    assert AttentionKind.LATE not in after
    (missed,) = after[AttentionKind.MISSED]
    assert (missed.count, missed.since) == (3, NOON + HOUR)
    assert missed.reason == "missed 3 scheduled times: no scheduler was running, and catch-up is off"
    world.clock.advance(timedelta(hours=25))
    assert AttentionKind.MISSED not in await check(world)


async def test_very_many_late_schedules_are_one_trouble(world: World) -> None:
    await keep(world.store, *(schedule(tenant_id=LOCAL.tenant_id, next_at=NOON) for _ in range(EACH + 5)))
    world.clock.advance(600)

    (item,) = (await check(world))[AttentionKind.LATE]

    assert (item.count, item.id) == (EACH + 5, "late:all")


async def test_runs_that_nobody_takes_are_told_by_queue(world: World) -> None:
    await world.schedule(HOURLY, queue="scraping")
    world.clock.advance(HOUR)
    await world.tick()
    assert await check(world) == {}
    world.clock.advance(90)

    (alone,) = (await check(world))[AttentionKind.NO_WORKER]
    await report(world, queues=["default"])
    assert AttentionKind.NO_WORKER in await check(world)
    await report(world, queues=["scraping"])
    assert await check(world) == {}
    await world.cases[Queues].pause(LOCAL, "scraping", {"reason": "their server is down"})
    (stalled,) = (await check(world))[AttentionKind.STALLED_QUEUE]

    assert alone.reason == "1 run waits. Start one: foliot worker --queues scraping"
    assert stalled.reason == "1 run waits, the oldest for 90 s: it is paused (their server is down)"
    assert [action.path for action in stalled.actions] == ["/api/queues/scraping/resume"]
    await world.cases[Queues].resume(LOCAL, "scraping")
    world.clock.advance(600)
    await report(world, queues=["scraping"])
    assert "are not keeping up" in (await check(world))[AttentionKind.STALLED_QUEUE][0].reason


async def test_a_silent_worker_is_told_to_those_who_keep_the_house(world: World) -> None:
    await report(world, in_flight=2)
    assert await check(world) == {}
    world.clock.advance(120)

    (lost,) = (await check(world))[AttentionKind.LOST_WORKER]

    assert lost.worker == "host-1:7:abc"
    assert lost.reason.startswith("last heartbeat 2 min ago, without a clean shutdown. It had 2 runs")
    assert await check(world, ADA) == {}


async def test_a_damaged_schedule_is_told_until_it_is_mended(world: World) -> None:
    made = await world.schedule(HOURLY)
    await world.sql("UPDATE schedules SET fault = 'spec: is not JSON', fault_next_at = next_at, next_at = NULL")

    (item,) = (await check(world))[AttentionKind.DAMAGED]

    assert (item.schedule_id, "spec: is not JSON" in item.reason) == (made.id, True)
    assert [action.label for action in item.actions] == ["Repair"]
    await world.cases[Schedules].resume(LOCAL, made.id)
    assert await check(world) == {}


async def test_a_hundred_troubles_take_as_many_statements_as_one(world: World) -> None:
    await world.schedule(HOURLY)
    await run_hours(world, [RunState.DEAD_LETTER])
    with statements(world.store) as one:
        await check(world)
    for at in range(EACH + 3):
        await world.schedule(HOURLY, name=f"No {at:02}")
    world.clock.advance(HOUR)
    await world.tick()
    for run in await world.cases[Runs].list(LOCAL, PageRequest(100)):
        if not run.state.final:
            await world.end(run.id, RunState.FAILED, ERROR)
    with statements(world.store) as many:
        found = await check(world)

    assert len(many) == len(one)
    assert len(found[AttentionKind.FAILING]) == EACH + 1
    assert found[AttentionKind.FAILING][0].title == "4 more schedules fail"


async def test_every_answer_is_of_its_model(world: World) -> None:
    made = await world.schedule(HOURLY, tags=["a"], catchup={"mode": "none"})
    await run_hours(world, [RunState.SUCCESS, RunState.DEAD_LETTER])
    world.clock.advance(3 * HOUR + timedelta(minutes=5))
    await world.tick()
    client = Client(create_app(world.cases))

    conforms(insights_schema.AttentionReport, (await client.get("/api/attention")).json)
    strip = conforms(insights_schema.Timeline, (await client.get("/api/timeline?group_by=tag&q=tag:a")).json)
    cells = conforms(insights_schema.Calendar, (await client.get("/api/calendar?timezone=Asia/Kolkata")).json)
    fares = conforms(health_schema.ScheduleHealthList, (await client.get(f"/api/schedules/health?ids={made.id}")).json)
    seen = (await client.post("/api/schedules/preview", {"words": "every day at 02:30"})).json
    wrong = await client.post("/api/schedules/preview", {"type": "cron", "cron_expr": "61 2 * * *"})

    assert {mark.state for mark in strip["groups"][0].marks} == {"success", "dead_letter", "missed", "planned"}
    assert sum(cell.total for cell in cells.items) == 2
    assert [one.state.value for one in fares.items[0].outcomes] == ["success", "dead_letter"]
    assert conforms(schedules_schema.SchedulePreview, seen).cron_expr == "30 2 * * *"
    (complaint,) = conforms(Problem, wrong.json).errors
    assert (wrong.status, complaint.position, complaint.suggestion) == (422, (0, 2), "1 2 * * *")
