"""The slowest and the flakiest schedules, on every database; each number leads to the runs that prove it."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.engine.model.run import RunState
from foliot.features.schedules import health_schema
from foliot.features.schedules.model.health import ScheduleRecord, flakiest, slowest, two_digits
from foliot.features.schedules.usecases import health
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World

BOOM = {"code": "http_500", "message": "answered 500"}


async def live(world: World, client: Client, name: str, took: list[float], failed: int = 0) -> str:
    """A schedule whose runs took so many seconds each, the first of which failed."""
    made = await world.schedule(EVERY_MINUTE, name=name)
    await world.pass_time(len(took))
    await client.post(f"/api/schedules/{made.id}/pause")
    runs = sorted((await client.get(f"/api/schedules/{made.id}/runs")).json["items"], key=lambda run: run["id"])
    for place, (run, seconds) in enumerate(zip(runs, took, strict=True)):
        (claimed,) = await world.claim(run["id"])
        world.clock.advance(seconds)
        bad = place < failed
        await world.finish(claimed, RunState.DEAD_LETTER if bad else RunState.SUCCESS, BOOM if bad else None)
    return made.id


async def rank(client: Client, **query: object) -> dict[str, Any]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = await client.get(f"/api/schedules/ranking?{asked}")
    assert answer.status == 200, answer.json
    conforms(health_schema.ScheduleRanking, answer.json)
    found: dict[str, Any] = answer.json
    return found


async def count(client: Client, q: str) -> int:
    return int((await client.get(f"/api/runs/count?q={q.replace(' ', '%20')}")).json["count"])


async def test_the_slowest_and_the_flakiest_come_first_with_the_runs_that_prove_it(
    world: World, client: Client
) -> None:
    slow = await live(world, client, "slow", [2.0, 30.0, 25.0, 31.0])
    flaky = await live(world, client, "flaky", [0.5] * 8, failed=6)
    await live(world, client, "fine", [0.1] * 4)
    await live(world, client, "young", [0.2, 0.2], failed=1)
    await live(world, client, "broken", [0.05] * 4, failed=4)

    found = await rank(client)

    assert [one["name"] for one in found["slowest"]] == ["slow", "flaky", "young", "fine", "broken"]
    assert [one["name"] for one in found["flakiest"]] == ["flaky"], "not too few runs, nor all failed"
    first, bad = found["slowest"][0], found["flakiest"][0]
    assert (first["schedule_id"], first["p95_ms"], first["runs"]) == (slow, 31_000, 4)
    assert (bad["schedule_id"], bad["failed"], bad["runs"], bad["failure_ratio"]) == (flaky, 6, 8, 0.75)
    assert await count(client, bad["q"]["failed"]) == 6
    assert await count(client, bad["q"]["runs"]) == 8
    assert await count(client, first["q"]["slow"]) == 1
    assert await count(client, f"schedule:{slow} took:25s") == 3
    assert await count(client, f"schedule:{slow} -took:25s") == 1
    assert (found["whole"], found["runs"], found["over"]) == (True, 22, "24h")


async def test_what_lies_further_back_is_counted_by_the_week_alone(world: World, client: Client) -> None:
    await live(world, client, "old", [5.0] * 3, failed=2)
    world.clock.advance(2 * 86_400)

    assert (await rank(client))["slowest"] == []
    week = await rank(client, over="7d", limit=1)
    assert [one["name"] for one in week["flakiest"]] == ["old"]
    assert await count(client, week["flakiest"][0]["q"]["failed"]) == 2
    assert (await client.get("/api/schedules/ranking?over=30d")).status == 422
    assert (await client.get("/api/schedules/ranking?limit=51")).status == 422


async def test_of_very_many_runs_of_a_schedule_the_newest_are_counted_and_the_answer_says_so(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live(world, client, "few", [2.0] * 2)
    await live(world, client, "many", [9.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr(health, "MOST_RUNS", 3)

    found = await rank(client)

    assert (found["whole"], found["runs"]) == (False, 5)
    assert [(one["name"], one["runs"]) for one in found["slowest"]] == [("few", 2), ("many", 3)]


async def test_a_mistaken_duration_is_pointed_at(client: Client) -> None:
    answer = await client.get("/api/runs?q=took:long")

    assert answer.status == 422
    assert answer.json["errors"][0]["position"] == [5, 9]


@pytest.mark.parametrize(("took", "shown"), [(0, 0), (7, 7), (99, 99), (101, 100), (31_999, 31_000)])
def test_a_duration_is_cut_to_two_digits(took: int, shown: int) -> None:
    assert two_digits(took) == shown


def test_ties_are_broken_the_same_way_each_time() -> None:
    found = [ScheduleRecord(name, runs=4, bad=3, p95_ms=10) for name in ("b", "a")]

    assert [one.schedule_id for one in slowest(found, 5)] == ["a", "b"]
    assert [one.schedule_id for one in flakiest(found, 1)] == ["a"]
