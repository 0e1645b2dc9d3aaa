"""`POST /crawl` as its callers know it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.commands.limits import Limiter
from foliot.core.limits import TenantLimits
from foliot.engine.model.run import RunState
from foliot.features.crawls import schema as crawls_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.features.crawls.test_crawls import SEO
from tests.features.runs.test_rest_runs import _finish, parsed, say
from tests.features.schedules.test_rest_schedules import is_problem
from tests.world import World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


async def test_a_fresh_crawl_answers_with_its_job_and_where_to_look(client: Client) -> None:
    answer = await client.post("/crawl", SEO)

    assert answer.status == 200
    conforms(crawls_schema.FreshCrawl, answer.json)
    job_id = answer.json["job_id"]
    assert answer.json == {
        "job_id": job_id,
        "scheduled": False,
        "cached": False,
        "logs_url": f"/jobs/{job_id}/logs",
        "status_url": f"/jobs/{job_id}/status",
    }
    assert (await client.get(answer.json["status_url"])).json["status"] == "pending"


async def test_the_same_again_answers_with_the_same_job_and_since_when(client: Client) -> None:
    first = (await client.post("/crawl", SEO)).json["job_id"]
    answer = await client.post("/crawl", SEO)

    conforms(crawls_schema.CachedCrawl, answer.json)
    since = "2027-01-04T12:00:00Z"
    assert answer.status == 200
    assert answer.json == {"job_id": first, "scheduled": False, "cached": True, "cached_at": since}


@pytest.mark.parametrize("how", ["query", "body"])
async def test_the_cache_is_ignored_by_query_or_body(client: Client, how: str) -> None:
    first = (await client.post("/crawl", SEO)).json["job_id"]
    if how == "query":
        answer = await client.post("/crawl?ignore_cache=true", SEO)
        kept = await client.post("/crawl?ignore_cache=false", SEO)
    else:
        answer = await client.post("/crawl", {**SEO, "ignore_cache": True})
        kept = await client.post("/crawl", {**SEO, "ignore_cache": False})

    assert (answer.json["cached"], answer.json["job_id"] == first) == (False, False)
    assert (kept.json["cached"], kept.json["job_id"]) == (True, answer.json["job_id"])


async def test_a_moment_or_a_rhythm_answers_202_with_the_schedule(client: Client) -> None:
    once = await client.post("/crawl", {**SEO, "schedule_at": "2027-06-01T09:00:00Z"})
    often = await client.post("/crawl", {**SEO, "interval": "0 9 * * *"})
    again = await client.post("/crawl", {**SEO, "interval": "0 9 * * *"})

    assert [once.status, often.status, again.status] == [202, 202, 202]
    assert once.json == {"job_id": once.json["job_id"], "scheduled": True, "next_run": "2027-06-01T09:00:00Z"}
    planned = {"job_id": often.json["job_id"], "scheduled": True, "next_run": "2027-01-05T09:00:00Z"}
    assert often.json == planned
    assert again.json == {**planned, "cached": True, "cached_at": "2027-01-04T12:00:00Z"}
    for answer in (once, often, again):
        conforms(crawls_schema.PlannedCrawl, answer.json)
    listed = (await client.get("/api/schedules?kind=crawl")).json["items"]
    assert [one["id"] for one in listed] == [often.json["job_id"], once.json["job_id"]]
    changed = await client.patch(f"/api/schedules/{often.json['job_id']}", {"action": {"depth": 7}})
    assert (changed.status, changed.json["action"]["depth"], changed.json["action"]["spider"]) == (200, 7, "seo")


async def test_both_at_once_and_other_mistakes_are_named(client: Client) -> None:
    both = is_problem(
        await client.post("/crawl", {**SEO, "schedule_at": "2027-06-01T09:00:00Z", "interval": "0 9 * * *"}),
        422,
        "invalid",
    )
    assert [one["field"] for one in both["errors"]] == ["interval"]
    wrong = is_problem(await client.post("/crawl", {"spider": "seo", "start_urls": ["ftp://x", 7]}), 422, "invalid")
    assert [one["field"] for one in wrong["errors"]] == ["start_urls.0", "start_urls.1"]
    is_problem(await client.post("/crawl", b"{"), 400, "malformed")
    is_problem(await client.post("/crawl"), 422, "invalid")
    is_problem(await client.post("/crawl?ignore_cache=perhaps", SEO), 422, "invalid")
    is_problem(await client.post("/crawl?ignore_cash=true", SEO), 422, "invalid")
    assert (await client.get("/jobs/")).json["total"] == 0


async def test_an_idempotency_key_gives_the_same_answer_word_for_word(client: Client) -> None:
    url = "/crawl?ignore_cache=true"
    first = await client.post(url, SEO, Idempotency_Key="k1")
    again = await client.post(url, SEO, Idempotency_Key="k1")
    planned = await client.post("/crawl", {**SEO, "interval": "0 9 * * *"}, Idempotency_Key="k2")
    planned_again = await client.post("/crawl", {**SEO, "interval": "0 9 * * *"}, Idempotency_Key="k2")

    assert (again.body, again.status, again.headers["idempotent-replayed"]) == (first.body, 200, "true")
    assert (planned_again.body, planned_again.status) == (planned.body, 202)
    is_problem(await client.post(url, {**SEO, "depth": 9}, Idempotency_Key="k1"), 422, "key_reused")
    assert (await client.get("/jobs/")).json["total"] == 1


async def test_a_stream_answers_a_fresh_crawl_with_its_log(world: World, client: Client) -> None:
    async with client.stream("/crawl", SEO) as stream:
        start = await stream.started
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        job_id = (await client.get("/jobs/")).json["jobs"][0]["job_id"]
        (claimed,) = await world.claim(job_id)
        await say(world, claimed, "Spider opened", "Crawled (200)")
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(f"run:{job_id}")
        frames = parsed(await stream.frames())

    assert start["status"] == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["content-location"] == f"/jobs/{job_id}/logs"
    assert [(name, data.get("msg")) for _, name, data in frames] == [
        ("log", "Spider opened"),
        ("log", "Crawled (200)"),
        ("end", None),
    ]


async def test_a_stream_answers_what_does_not_begin_now_with_json(client: Client) -> None:
    await client.post("/crawl", SEO)
    sse: dict[str, Any] = {"Accept": "text/event-stream"}

    cached = await client.post("/crawl", SEO, **sse)
    planned = await client.post("/crawl", {**SEO, "interval": "0 9 * * *"}, **sse)

    assert (cached.json["cached"], planned.json["scheduled"]) == (True, True)


async def test_no_crawl_begins_for_whoever_would_be_refused_its_stream(world: World, client: Client) -> None:
    world.cases[Limiter].default = TenantLimits(streams=0)

    is_problem(await client.post("/crawl", SEO, Accept="text/event-stream"), 429, "too_many")
    assert (await client.get("/jobs/")).json["total"] == 0
