"""A run's log by pages and searched, on every database."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from foliot.engine.model.run import EventLine, EventType, RunState
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.usecases import logs as logs_module
from foliot.features.runs.usecases.logs import Logs
from tests.asgi import Client
from tests.declared import conforms
from tests.world import World


async def running(world: World) -> ClaimedRun:
    await world.schedule()
    await world.pass_time(1)
    async with world.store.read() as tx:
        (run_id,) = await SqlClaims(tx).ready(world.clock.now(), None, 10)
    (claimed,) = await world.claim(run_id)
    return claimed


async def write(world: World, claimed: ClaimedRun, *lines: tuple[str, str] | str, step: bool = False) -> None:
    """Lines, each a message, or (level, message); with a step of progress after them."""
    pairs = [("info", line) if isinstance(line, str) else line for line in lines]
    now = world.clock.now()
    written = [EventLine(now, EventType.LOG, level, message) for level, message in pairs]
    if step:
        written.append(EventLine(now, EventType.PROGRESS, data={"done": 1}))
    async with world.store.begin() as tx:
        assert await SqlRuns(tx).append([(claimed.fence, written)])


async def page(client: Client, run_id: str, **params: Any) -> dict[str, Any]:
    answer = await client.get(f"/api/runs/{run_id}/logs?{urlencode(params)}")
    assert answer.status == 200, answer.json
    conforms(runs_schema.RunLog, answer.json)
    body: dict[str, Any] = answer.json
    return body


def said(body: dict[str, Any]) -> list[str]:
    return [one["message"] for one in body["items"]]


async def test_a_log_is_read_from_its_end_and_page_by_page_to_its_beginning(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    for start in range(0, 40, 10):
        await write(world, claimed, *(f"line {number}" for number in range(start, start + 10)), step=True)

    seen: list[str] = []
    body = await page(client, run_id, limit=15)
    assert body["after"] is None
    for _ in range(3):
        assert (body["total"], body["matches"]) == (40, None)
        seen = said(body) + seen
        if body["before"] is None:
            break
        body = await page(client, run_id, limit=15, before=body["before"])
    assert seen == [f"line {number}" for number in range(40)]
    assert body["before"] is None
    assert (await page(client, run_id, limit=15, after=body["after"]))["items"][0]["message"] == "line 10"


async def test_a_search_counts_over_the_whole_log(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    lines = [("error", f"Fehler {n}: Straße GESPERRT") if n % 10 == 0 else ("info", f"line {n}") for n in range(100)]
    await write(world, claimed, *lines)
    await write(world, claimed, ("warning", "careful"), ("critical", "over"))

    found = await page(client, run_id, grep="gesperrt", limit=3)
    assert (found["total"], found["matches"]) == (102, 10)
    assert said(found) == [f"Fehler {n}: Straße GESPERRT" for n in (70, 80, 90)]
    assert found["after"] is None

    older = await page(client, run_id, grep="gesperrt", limit=100, before=found["before"])
    assert len(older["items"]) == 7
    assert older["before"] is None

    severe = await page(client, run_id, level="warning")
    assert severe["matches"] == 12
    assert said(severe)[-2:] == ["careful", "over"]
    assert (await page(client, run_id, grep="%"))["matches"] == 0


async def test_a_line_is_shown_among_its_neighbours(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, *(f"line {number}" for number in range(100)))
    (target,) = [one for one in (await page(client, run_id))["items"] if one["message"] == "line 50"]

    body = await page(client, run_id, around=target["seq"], limit=10)

    assert said(body) == [f"line {number}" for number in range(45, 55)]
    assert body["before"] == body["items"][0]["seq"]
    assert body["after"] == body["items"][-1]["seq"]


async def test_lines_name_the_attempt_that_wrote_them(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, "first try")
    await world.finish(claimed, RunState.RETRYING, {"code": "x", "message": "no"})
    (second,) = await world.claim(run_id)
    await write(world, second, "second try")

    body = await page(client, run_id)

    assert [(one["message"], one["attempt"]) for one in body["items"]] == [("first try", 1), ("second try", 2)]
    assert body["pruned"] is False


async def test_the_number_of_lines_grows_with_the_log(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    empty = await page(client, run_id)
    assert (empty["total"], empty["items"], empty["first_seq"], empty["before"]) == (0, [], None, None)

    await write(world, claimed, "one", "two", step=True)
    assert (await page(client, run_id))["total"] == 2
    await write(world, claimed, "three")
    body = await page(client, run_id)
    assert (body["total"], body["first_seq"], body["last_seq"]) == (3, 3, 6)


async def test_lines_that_are_gone_are_admitted(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, "one")
    await write(world, claimed, "two")
    assert (await page(client, run_id))["pruned"] is False
    await world.sql("DELETE FROM log_chunks WHERE run_id = :id AND first_seq = 3", id=run_id)

    assert (await page(client, run_id))["pruned"] is True


async def test_a_download_is_what_the_command_prints(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, "tab\there \x1b[31mred", "two\nlines", step=True)
    await world.finish(claimed)

    answer = await client.get(f"/api/runs/{run_id}/logs/raw")

    at = "2027-01-04 12:01:00Z"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.splitlines() == [
        f"{at}  queued",
        f"{at}  running",
        f"{at}  info      tab\\there \\x1b[31mred",
        f"{at}  info      two\\nlines",
        f"{at}  info      {{'done': 1}}",
        f"{at}  success",
    ]


async def test_one_place_at_a_time(world: World, client: Client) -> None:
    claimed = await running(world)

    answer = await client.get(f"/api/runs/{claimed.fence.run_id}/logs?after=1&before=5")

    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "before")


async def test_few_logs_are_kept_in_mind(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_module, "REMEMBERED", 1)
    await world.schedule()
    await world.pass_time(3)
    for run in (await client.get("/api/runs")).json["items"]:
        await page(client, run["id"])

    assert len(world.cases[Logs]._known) == 1


async def test_lines_are_found_by_attempt_and_category(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, ("warning", "Retrying <GET /1>"), "Crawled (200) <GET /2>", "plain", step=True)
    await world.finish(claimed, RunState.RETRYING, {"code": "x", "message": "no"})
    (second,) = await world.claim(run_id)
    await write(world, second, ("warning", "[scrapy.retry] Retrying <GET /3>"), ("error", "Gave up retrying <GET /3>"))
    await write(world, second, "not Retrying", "Redirecting (302) to <GET /4>")

    first = await page(client, run_id, attempt=1)
    assert (said(first)[0], first["matches"], first["total"]) == ("Retrying <GET /1>", 3, 7)
    assert [one["category"] for one in first["items"]] == ["retry", "crawled", None]
    retries = await page(client, run_id, category="retry")
    assert (said(retries), retries["matches"]) == (["Retrying <GET /1>", "[scrapy.retry] Retrying <GET /3>"], 2)
    assert said(await page(client, run_id, category="retry,giveup", attempt=2, level="error")) == [
        "Gave up retrying <GET /3>"
    ]
    last = await page(client, run_id, attempt=2, limit=1)
    assert (said(last), last["matches"], last["after"]) == (["Redirecting (302) to <GET /4>"], 4, None)
    assert said(await page(client, run_id, attempt=2, limit=1, before=last["before"])) == ["not Retrying"]
    assert (await page(client, run_id, attempt=3))["matches"] == 0


async def test_a_run_that_has_not_begun_has_no_lines_of_any_attempt(world: World, client: Client) -> None:
    await world.schedule()
    await world.pass_time(1)
    async with world.store.read() as tx:
        (run_id,) = await SqlClaims(tx).ready(world.clock.now(), None, 10)

    assert (await page(client, run_id, attempt=1))["items"] == []


async def counts(client: Client, run_id: str, **params: Any) -> dict[str, Any]:
    answer = await client.get(f"/api/runs/{run_id}/logs/count?{urlencode(params)}")
    assert answer.status == 200, answer.json
    conforms(runs_schema.LogCount, answer.json)
    body: dict[str, Any] = answer.json
    return body


async def test_counts_of_lines_say_what_asking_would_find(world: World, client: Client) -> None:
    claimed = await running(world)
    run_id = claimed.fence.run_id
    await write(world, claimed, ("warning", "Retrying 1"), ("warning", "Retrying 2"), "Crawled (200)", step=True)
    assert (await counts(client, run_id))["by_category"] == {"retry": 2, "crawled": 1}
    await write(world, claimed, ("odd", "Redirecting a"), ("error", "plain"))
    await world.finish(claimed, RunState.RETRYING, {"code": "x", "message": "no"})
    (second,) = await world.claim(run_id)
    await write(world, second, "Retrying 3")

    assert await counts(client, run_id) == {
        "count": 6,
        "by_level": {"warning": 2, "info": 3, "error": 1},
        "by_category": {"retry": 3, "crawled": 1, "redirect": 1},
        "by_attempt": {"1": 5, "2": 1},
    }
    assert (await counts(client, run_id, category="retry"))["by_category"] == {"retry": 3, "crawled": 1, "redirect": 1}
    assert (await counts(client, run_id, attempt=2))["by_attempt"] == {"1": 5, "2": 1}
    for wish in ({}, {"attempt": 2}, {"level": "warning"}, {"category": "retry"}, {"grep": "RETRY", "attempt": 1}):
        found = await counts(client, run_id, **wish)
        assert found["count"] == ((await page(client, run_id, **wish))["matches"] if wish else 6)
        for name, numbers in (("category", found["by_category"]), ("attempt", found["by_attempt"])):
            for value, number in numbers.items():
                assert (await page(client, run_id, **{**wish, name: value}))["matches"] == number, (wish, name, value)


async def test_an_unknown_category_is_named(world: World, client: Client) -> None:
    claimed = await running(world)

    answer = await client.get(f"/api/runs/{claimed.fence.run_id}/logs?category=retry,nonsense")

    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "category")
    assert "redirect" in answer.json["errors"][0]["message"]
