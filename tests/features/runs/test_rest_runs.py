"""The HTTP API for runs, their events, dead letters, health and metrics, with a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from foliot.app.http import create_app
from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram
from foliot.engine.model.run import EventLine, EventType, RunState
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.features.dead_letters import schema as dead_letters_schema
from foliot.features.health import schema as health_schema
from foliot.features.runs import schema as runs_schema
from foliot.servers.http import sse as streams_module
from foliot.wakeups.feed import run_topic
from tests.asgi import Answer, Client
from tests.declared import conforms
from tests.features.schedules.test_rest_schedules import created, is_problem
from tests.world import EVERY_MINUTE, World, open_world

UNKNOWN_RUN = "run_" + "0" * 32
BOOM = {"code": "http_500", "message": "the target answered 500"}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


async def run_of(world: World, client: Client) -> dict[str, Any]:
    """A fresh run, from an instant."""
    await created(client)
    await world.pass_time(1)
    runs: list[dict[str, Any]] = (await client.get("/api/runs")).json["items"]
    return runs[0]


async def read(client: Client, run_id: str) -> dict[str, Any]:
    answer = await client.get(f"/api/runs/{run_id}")
    conforms(runs_schema.Run, answer.json)
    body: dict[str, Any] = answer.json
    return body


async def test_a_run_tells_its_life(world: World, client: Client) -> None:
    run = await run_of(world, client)
    assert (run["state"], run["scheduled_for"], run["lateness_ms"]) == ("queued", "2027-01-04T12:01:00Z", None)
    assert run["attempts"] == []
    world.clock.advance(0.25)
    (claimed,) = await world.claim(run["id"])
    world.clock.advance(1.5)
    await _finish(world, claimed, RunState.SUCCESS)

    seen = await read(client, run["id"])

    assert (seen["state"], seen["lateness_ms"], seen["duration_ms"]) == ("success", 250.0, 1500.0)
    assert (seen["worker"], seen["attempt"], seen["max_attempts"]) == ("worker-1", 1, 4)
    assert [(one["number"], one["outcome"]) for one in seen["attempts"]] == [(1, "success")]
    assert seen["links"]["schedule"] == f"/api/schedules/{run['schedule_id']}"


async def test_a_run_names_the_runs_beside_it(world: World, client: Client) -> None:
    made = await created(client)
    await world.pass_time(3)
    newest, middle, oldest = [run["id"] for run in (await client.get("/api/runs")).json["items"]]
    alone = (await client.post(f"/api/schedules/{made['id']}/run-now")).json["id"]

    async def beside(run_id: str) -> tuple[str | None, str | None]:
        answer = await client.get(f"/api/runs/{run_id}/neighbours")
        conforms(runs_schema.RunNeighbours, answer.json)
        return answer.json["before"], answer.json["after"]

    assert await beside(oldest) == (None, middle)
    assert await beside(middle) == (oldest, newest)
    assert await beside(alone) == (newest, None)
    assert (await client.get(f"/api/runs/{UNKNOWN_RUN}/neighbours")).status == 404


async def _finish(world: World, claimed: Any, state: RunState, **more: Any) -> None:
    from foliot.engine.model.views import AttemptEnding

    ending = AttemptEnding(fence=claimed.fence, state=state, outcome=state.value, at=world.clock.now(), **more)
    async with world.store.begin() as tx:
        assert (await SqlClaims(tx).finish([ending], world.clock.now())).accepted


async def test_runs_are_listed_and_filtered(world: World, client: Client) -> None:
    run = await run_of(world, client)
    await world.pass_time(2)
    await world.end(run["id"], RunState.SUCCESS)

    async def count(query: str) -> int:
        page = (await client.get(f"/api/runs?{query}")).json
        conforms(runs_schema.RunPage, page)
        return len(page["items"])

    assert await count("") == 3
    assert await count("status=success") == 1
    assert await count("status=success,queued") == 3
    assert await count(f"schedule_id={run['schedule_id']}&kind=webhook&queue=default") == 3
    assert await count("queue=manual") == 0
    for place in ("/api/runs", f"/api/schedules/{run['schedule_id']}/runs"):
        for asked in ("state=queued", "status=queued", "state=queued,running&status=running,queued"):
            assert len((await client.get(f"{place}?{asked}")).json["items"]) == 2
        assert (await client.get(f"{place}?state=failed")).json["items"] == []
        both = await client.get(f"{place}?state=queued&status=failed")
        is_problem(both, 422, "invalid")
        assert both.json["errors"][0]["field"] == "status"
        is_problem(await client.get(f"{place}?state=asleep"), 422, "invalid")
    is_problem(await client.get("/api/runs?status=asleep"), 422, "invalid")
    is_problem(await client.get(f"/api/schedules/{run['schedule_id']}/runs?status=asleep"), 422, "invalid")
    page = (await client.get("/api/runs?limit=2")).json
    rest = (await client.get(f"/api/runs?limit=2&cursor={page['next_cursor']}")).json
    assert ([len(page["items"]), len(rest["items"])], rest["next_cursor"]) == ([2, 1], None)


async def test_every_answer_with_a_run_carries_its_attempts(world: World, client: Client) -> None:
    run = await run_of(world, client)
    (claimed,) = await world.claim(run["id"])
    await _finish(world, claimed, RunState.RETRYING, ready_at=world.clock.now(), error=BOOM)
    (listed,) = (await client.get("/api/runs")).json["items"]
    (of_schedule,) = (await client.get(f"/api/schedules/{run['schedule_id']}/runs")).json["items"]
    cancelled = await client.post(f"/api/runs/{run['id']}/cancel")
    retried = await client.post(f"/api/runs/{run['id']}/retry")
    now = await client.post(f"/api/schedules/{run['schedule_id']}/run-now")

    for body in (listed, of_schedule, cancelled.json, await read(client, run["id"])):
        conforms(runs_schema.Run, body)
        assert [(one["number"], one["outcome"], one["error"]) for one in body["attempts"]] == [(1, "retrying", BOOM)]
    for answer in (retried, now):
        conforms(runs_schema.Run, answer.json)
        assert (answer.status, answer.json["attempts"]) == (202, [])


async def test_lateness_after_a_retry_is_that_of_the_first_start(world: World, client: Client) -> None:
    run = await run_of(world, client)
    world.clock.advance(0.25)
    (claimed,) = await world.claim(run["id"])
    await _finish(world, claimed, RunState.RETRYING, ready_at=world.clock.now() + timedelta(hours=1), error=BOOM)
    assert (await read(client, run["id"]))["lateness_ms"] == 250.0
    world.clock.advance(timedelta(hours=2))
    await world.end(run["id"], RunState.SUCCESS)

    assert (await read(client, run["id"]))["lateness_ms"] == 250.0


async def test_cancel_of_a_waiting_run_is_final(world: World, client: Client) -> None:
    run = await run_of(world, client)

    answer = await client.post(f"/api/runs/{run['id']}/cancel")

    assert (answer.status, answer.json["state"]) == (200, "cancelled")
    assert (await client.post(f"/api/runs/{run['id']}/cancel")).status == 200


async def test_cancel_of_a_running_run_asks_it_to_stop(world: World, client: Client) -> None:
    run = await run_of(world, client)
    await world.claim(run["id"])

    answer = await client.post(f"/api/runs/{run['id']}/cancel")

    assert (answer.json["state"], answer.json["cancel_requested"]) == ("running", True)


async def test_a_run_that_ended_cannot_be_cancelled(world: World, client: Client) -> None:
    run = await run_of(world, client)
    await world.end(run["id"], RunState.SUCCESS)

    is_problem(await client.post(f"/api/runs/{run['id']}/cancel"), 409, "conflict")


async def test_retry_makes_a_new_run_that_names_the_old(world: World, client: Client) -> None:
    run = await run_of(world, client)
    is_problem(await client.post(f"/api/runs/{run['id']}/retry"), 409, "conflict")
    await world.end(run["id"], RunState.FAILED, BOOM)

    answer = await client.post(f"/api/runs/{run['id']}/retry")

    assert answer.status == 202
    assert (answer.json["parent_id"], answer.json["origin"], answer.json["state"]) == (run["id"], "retry", "queued")
    assert answer.json["id"] != run["id"]
    assert (await read(client, run["id"]))["state"] == "failed"


@pytest.mark.parametrize("run_id", [UNKNOWN_RUN, "nonsense", "sch_" + "0" * 32])
async def test_an_unknown_run_is_not_found(client: Client, run_id: str) -> None:
    for method, tail in [("GET", ""), ("POST", "/cancel"), ("POST", "/retry"), ("GET", "/events")]:
        is_problem(await client.send(method, f"/api/runs/{run_id}{tail}"), 404, "not_found")
    is_problem(await client.get(f"/api/runs/{run_id}/events", Accept="text/event-stream"), 404, "not_found")


# --- events -----------------------------------------------------------------------------------------------------------


async def say(world: World, claimed: Any, *messages: str) -> None:
    lines = [EventLine(world.clock.now(), EventType.LOG, message=message) for message in messages]
    async with world.store.begin() as tx:
        assert await SqlRuns(tx).append([(claimed.fence, lines)])
    world.feed.wake(run_topic(claimed.fence.run_id))


async def told(world: World, client: Client) -> str:
    """A run with seven events: queued, running, four lines, success."""
    run = await run_of(world, client)
    (claimed,) = await world.claim(run["id"])
    await say(world, claimed, "one", "two\nlines", "data: forged\n\nevent: end")
    await say(world, claimed, "four")
    await _finish(world, claimed, RunState.SUCCESS)
    run_id: str = run["id"]
    return run_id


def parsed(frames: list[str]) -> list[tuple[int | None, str, Any]]:
    found = []
    for frame in frames:
        fields = dict(line.split(": ", 1) for line in frame.splitlines())
        found.append((int(fields["id"]) if "id" in fields else None, fields["event"], orjson.loads(fields["data"])))
    return found


async def test_events_are_numbered_without_gaps(world: World, client: Client) -> None:
    run_id = await told(world, client)

    answer = await client.get(f"/api/runs/{run_id}/events")

    conforms(runs_schema.EventPage, answer.json)
    assert [one["seq"] for one in answer.json["items"]] == [1, 2, 3, 4, 5, 6, 7]
    assert [one.get("state") or one["message"] for one in answer.json["items"]][:4] == [
        "queued",
        "running",
        "one",
        "two\nlines",
    ]
    page = (await client.get(f"/api/runs/{run_id}/events?after=2&limit=3")).json
    assert ([one["seq"] for one in page["items"]], page["next_cursor"]) == ([3, 4, 5], "5")
    assert (await client.get(f"/api/runs/{run_id}/events?after=7")).json == {"items": [], "next_cursor": None}
    assert (await client.get(f"/api/runs/{run_id}/events?after=99")).json == {"items": [], "next_cursor": None}
    for wrong in ("after=-1", "after=x", "after=99999999999999999999", "limit=0"):
        is_problem(await client.get(f"/api/runs/{run_id}/events?{wrong}"), 422, "invalid")


async def test_a_stream_of_an_ended_run_tells_everything_and_ends(world: World, client: Client) -> None:
    run_id = await told(world, client)

    async with client.stream(f"/api/runs/{run_id}/events") as stream:
        events = parsed(await stream.frames())

    assert [seq for seq, _, _ in events] == [1, 2, 3, 4, 5, 6, 7, None]
    assert events[-1][1:] == ("end", {"run_id": run_id, "state": "success", "seq": 7})
    assert events[4][2]["message"] == "data: forged\n\nevent: end"


@pytest.mark.parametrize("after", range(9))
async def test_a_stream_resumes_exactly_where_it_stopped(world: World, client: Client, after: int) -> None:
    run_id = await told(world, client)

    for headers, query in (({"Last_Event_ID": str(after)}, ""), ({}, f"?after={after}")):
        async with client.stream(f"/api/runs/{run_id}/events{query}", **headers) as stream:
            events = parsed(await stream.frames())
        assert [seq for seq, _, _ in events] == [*range(after + 1, 8), None]


async def test_a_stream_longer_than_one_reading_is_told_whole(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "BATCH", 2)
    run_id = await told(world, client)

    async with client.stream(f"/api/runs/{run_id}/events") as stream:
        events = parsed(await stream.frames())

    assert [seq for seq, _, _ in events] == [1, 2, 3, 4, 5, 6, 7, None]


async def test_a_stream_follows_a_run_that_goes_on(world: World, client: Client) -> None:
    run = await run_of(world, client)
    async with client.stream(f"/api/runs/{run['id']}/events") as stream:
        assert [event for _, event, _ in parsed(await stream.frames(1))] == ["state"]
        (claimed,) = await world.claim(run["id"])
        await say(world, claimed, "hello")
        assert [seq for seq, _, _ in parsed(await stream.frames(2))] == [2, 3]
        await _finish(world, claimed, RunState.FAILED, error=BOOM)
        world.feed.wake(run_topic(run["id"]))
        last = parsed(await stream.frames())

    assert [(seq, event) for seq, event, _ in last] == [(4, "state"), (None, "end")]


async def test_a_stream_keeps_itself_alive(world: World, client: Client) -> None:
    run = await run_of(world, client)
    async with client.stream(f"/api/runs/{run['id']}/events") as stream:
        await stream.frames(1)
        world.clock.advance(streams_module.KEEP_ALIVE)
        world.feed.wake(run_topic(run["id"]))
        assert await stream.frames(1) == [": keep-alive"]


async def test_a_stopping_server_closes_its_streams(world: World) -> None:
    app = create_app(world.cases)
    client = Client(app)
    run = await run_of(world, client)
    async with client.stream(f"/api/runs/{run['id']}/events") as stream:
        await stream.frames(1)
        app.state.streams.stopping.set()
        assert (await stream.frames())[-1].startswith(": the server is stopping")


async def test_a_reader_that_hangs_up_leaves_nothing_behind(world: World) -> None:
    app = create_app(world.cases)
    client = Client(app)
    run = await run_of(world, client)
    async with client.stream(f"/api/runs/{run['id']}/events") as stream:
        await stream.frames(1)
        assert app.state.streams.open == 1

    assert app.state.streams.open == 0
    assert not world.feed._waiters


async def test_more_streams_than_a_process_can_hold_are_refused(world: World) -> None:
    app = create_app(world.cases)
    client = Client(app)
    run = await run_of(world, client)
    app.state.streams.open = streams_module.MOST

    answer = await client.get(f"/api/runs/{run['id']}/events", Accept="text/event-stream")

    is_problem(answer, 429, "too_many")
    assert answer.headers["retry-after"] == "5"


@pytest.mark.parametrize("wrong", ["-1", "x", "1" * 20, "²"])
async def test_a_last_event_id_must_be_a_number(world: World, client: Client, wrong: str) -> None:
    run = await run_of(world, client)

    is_problem(await client.get(f"/api/runs/{run['id']}/events", Last_Event_ID=wrong), 422, "invalid")


# --- dead letters -----------------------------------------------------------------------------------------------------


async def letters(world: World, client: Client) -> list[str]:
    """Three dead letters: two alike, one by itself."""
    await run_of(world, client)
    await world.pass_time(2)
    runs = sorted(one["id"] for one in (await client.get("/api/runs")).json["items"])
    for run_id, error in zip(runs, [BOOM, BOOM, {"code": "timeout", "message": "too slow"}], strict=True):
        await world.end(run_id, RunState.DEAD_LETTER, error)
    return runs


async def replayed(client: Client, raw: object) -> list[dict[str, Any]]:
    answer = await client.post("/api/dead-letters/replay", raw)
    assert answer.status == 202, answer.text
    conforms(dead_letters_schema.ReplayResult, answer.json)
    items: list[dict[str, Any]] = answer.json["items"]
    return items


async def test_dead_letters_are_grouped_by_error(world: World, client: Client) -> None:
    first, second, third = await letters(world, client)

    answer = await client.get("/api/dead-letters")

    conforms(dead_letters_schema.DeadLettersByErrorPage, answer.json)
    assert [(one["code"], one["count"], one["ids"]) for one in answer.json["items"]] == [
        ("timeout", 1, [third]),
        ("http_500", 2, [second, first]),
    ]
    assert len((await client.get("/api/dead-letters?code=timeout")).json["items"]) == 1
    page = (await client.get("/api/dead-letters?limit=1")).json
    rest = (await client.get(f"/api/dead-letters?limit=1&cursor={page['next_cursor']}")).json
    assert [one["code"] for one in [*page["items"], *rest["items"]]] == ["timeout", "http_500"]
    assert rest["next_cursor"] is None


async def test_a_letter_stays_until_its_replay_succeeds(world: World, client: Client) -> None:
    first, *_ = await letters(world, client)

    (replay,) = await replayed(client, {"ids": [first]})
    assert (replay["origin"], replay["parent_id"], replay["state"]) == ("replay", first, "queued")
    await world.end(replay["id"], RunState.DEAD_LETTER, BOOM)
    assert (await read(client, first))["resolved_by"] is None

    (again,) = await replayed(client, {"ids": [first]})
    await world.end(again["id"], RunState.SUCCESS)

    letter = await read(client, first)
    assert (letter["state"], letter["resolved_by"]) == ("dead_letter", again["id"])
    is_problem(await client.post("/api/dead-letters/replay", {"ids": [first]}), 409, "conflict")


async def test_letters_are_replayed_by_filter(world: World, client: Client) -> None:
    await letters(world, client)

    assert len(await replayed(client, {"filter": {"code": "http_500"}})) == 2
    # Those that are on their way already are not sent twice.
    assert len(await replayed(client, {"filter": {}})) == 1
    assert await replayed(client, {"filter": {"code": "nothing"}}) == []


async def test_a_replay_that_cannot_be_is_refused_whole(world: World, client: Client) -> None:
    first, *_ = await letters(world, client)
    before = len((await client.get("/api/runs")).json["items"])

    is_problem(await client.post("/api/dead-letters/replay", {"ids": [first, UNKNOWN_RUN]}), 404, "not_found")
    refused: list[object] = [
        *(None, {}, {"ids": []}, {"ids": [5]}, {"ids": "all"}, {"ids": ["x"] * 501}, {"idz": []}),
        *({"ids": [first], "filter": {}}, {"filter": 5}, {"filter": {"colour": "red"}}),
    ]
    for wrong in refused:
        is_problem(await client.post("/api/dead-letters/replay", wrong), 422, "invalid")

    assert len((await client.get("/api/runs")).json["items"]) == before


# --- health and metrics -----------------------------------------------------------------------------------------------


def report() -> dict[str, Any]:
    lateness, duration = Histogram(LATENESS_BUCKETS), Histogram(DURATION_BUCKETS)
    lateness.observe_all([0.002, 0.002, 0.4])
    duration.observe_all([1.0, 3.0])
    return {"lateness": lateness.as_dict(), "duration": duration.as_dict(), "stale_writes": 2}


async def node(world: World, name: str, role: str, **more: Any) -> None:
    now = world.clock.now()
    async with world.store.begin() as tx:
        await SqlRetention(tx).report(name, role, now, now, {**report(), **more})


async def health(client: Client) -> Answer:
    answer = await client.get("/health/detailed")
    conforms(health_schema.HealthReport, answer.json)
    return answer


async def test_health_says_that_this_process_answers(client: Client) -> None:
    answer = await client.get("/health")

    conforms(health_schema.Liveness, answer.json)
    assert answer.json["status"] == "ok"


async def test_health_is_degraded_without_a_scheduler_and_fine_with_one(world: World, client: Client) -> None:
    alone = await health(client)
    assert (alone.status, alone.json["status"]) == (200, "degraded")
    assert "no scheduler" in alone.json["problems"][0]

    await node(world, "one", "up")
    seen = await health(client)
    assert (seen.json["status"], seen.json["nodes"][0]["lateness_p99_seconds"]) == ("ok", 0.5)

    world.clock.advance(timedelta(seconds=31))
    assert (await health(client)).json["status"] == "degraded"


async def test_health_names_lonely_queues_and_damaged_schedules(world: World, client: Client) -> None:
    body = await created(client, EVERY_MINUTE, queue="analysis")
    await world.pass_time(1)
    await node(world, "s", "scheduler", queues=[])
    await node(world, "w", "worker", queues=["default"])
    await world.sql("UPDATE schedules SET spec = '{' WHERE id = :id", id=body["id"])
    await world.pass_time(1)
    await node(world, "s", "scheduler", queues=[])
    await node(world, "w", "worker", queues=["default"])

    seen = (await health(client)).json

    assert [(one["queue"], one["depth"]) for one in seen["queues"]] == [("analysis", 1)]
    assert any("analysis" in problem for problem in seen["problems"])
    assert seen["damaged"][0]["schedule_id"] == body["id"]


async def test_metrics_count_what_there_is(world: World, client: Client) -> None:
    run = await run_of(world, client)
    await world.pass_time(1)
    await world.end(run["id"], RunState.SUCCESS)
    await node(world, "a", "up")
    await node(world, "b", "worker")

    answer = await client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    for line in (
        'foliot_schedules{status="active"} 1.0',
        'foliot_schedules{status="paused"} 0.0',
        'foliot_runs{state="success"} 1.0',
        'foliot_runs{state="queued"} 1.0',
        "foliot_run_count 2.0",
        "foliot_run_success_ratio 1.0",
        "foliot_run_duration_seconds_count 4.0",
        "foliot_run_duration_seconds_sum 8.0",
        "foliot_run_duration_average_seconds 2.0",
        'foliot_fire_lateness_seconds_bucket{le="0.0025"} 4.0',
        'foliot_fire_lateness_seconds_bucket{le="+Inf"} 6.0',
        'foliot_queue_depth{queue="default"} 1.0',
        'foliot_queue_depth{queue="manual"} 0.0',
        'foliot_queue_oldest_seconds{queue="default"} 0.0',
        "foliot_stale_writes_total 4.0",
        "foliot_workers 2.0",
        "foliot_schedulers 1.0",
    ):
        assert line in lines, line


async def test_a_scheduler_that_hands_its_runs_to_a_broker_is_no_worker(world: World, client: Client) -> None:
    await node(world, "a", "scheduler", slots=0)
    await node(world, "b", "scheduler", slots=100)

    lines = (await client.get("/metrics")).text.splitlines()

    assert {"foliot_schedulers 2.0", "foliot_workers 1.0"} <= set(lines)


async def test_counters_never_fall_when_a_process_ends(world: World, client: Client) -> None:
    await node(world, "a", "up")
    await node(world, "b", "worker")
    before = await counters(client)
    async with world.store.begin() as tx:
        await SqlRetention(tx).leave("a")
    world.clock.advance(timedelta(hours=25))
    async with world.store.begin() as tx:
        await SqlRetention(tx).forget_nodes(world.clock.now() - timedelta(hours=24))

    after = await counters(client)

    assert before["foliot_stale_writes_total"] == "4.0"
    assert after == before
    assert "foliot_workers 0.0" in (await client.get("/metrics")).text


async def counters(client: Client) -> dict[str, str]:
    """Everything that may only grow."""
    lines = (await client.get("/metrics")).text.splitlines()
    found = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    grows = ("_total", "_bucket", "_seconds_count", "_seconds_sum")
    return {name: value for name, value in found if any(mark in name for mark in grows)}


async def test_metrics_are_counted_at_most_every_five_seconds(world: World, client: Client) -> None:
    await client.get("/metrics")
    await created(client)
    assert 'foliot_schedules{status="active"} 0.0' in (await client.get("/metrics")).text

    world.clock.advance(5)

    assert 'foliot_schedules{status="active"} 1.0' in (await client.get("/metrics")).text


async def test_many_streams_end_together(world: World) -> None:
    app = create_app(world.cases)
    client = Client(app)
    run = await run_of(world, client)

    async def follow() -> list[str]:
        async with client.stream(f"/api/runs/{run['id']}/events") as stream:
            return await stream.frames()

    followers = [asyncio.create_task(follow()) for _ in range(20)]
    while app.state.streams.open < 20:
        await asyncio.sleep(0)
    await client.post(f"/api/runs/{run['id']}/cancel")

    for frames in await asyncio.gather(*followers):
        assert [event for _, event, _ in parsed(frames)] == ["state", "state", "end"]
