"""Articles through the HTTP API: submitted, followed, read, cancelled."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator
from datetime import timedelta
from io import StringIO
from typing import Any

import orjson
import pytest

from foliot.app.http import create_app
from foliot.engine.model.run import AttemptError, Fence, RunState
from foliot.engine.model.views import AttemptEnding
from foliot.engine.sql.claims import SqlClaims
from foliot.features.articles import schema as articles_schema
from foliot.features.articles.model import ExtractedPage, FetchEnding
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.fetching.model import HostUpdate
from foliot.features.fetching.politeness import Politeness
from foliot.features.jobs import schema as jobs_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.features.schedules.test_rest_schedules import is_problem
from tests.givens import row_of
from tests.world import World, open_world

FREE = Politeness(together=1000)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


def wishes(count: int) -> list[dict[str, Any]]:
    return [{"url": f"https://news.test/{at}", "source": "test", "category": "news"} for at in range(count)]


async def submit(client: Client, count: int = 3, **changes: Any) -> str:
    answer = await client.post("/jobs/submit", {"articles": wishes(count), **changes})
    assert answer.status == 201, answer.text
    conforms(articles_schema.ArticleJob, answer.json)
    job_id: str = answer.json["job_id"]
    return job_id


async def gather(world: World, *, failing: str = "", title: str = "A title", most: int = 100) -> list[str]:
    """What the engine does, until nothing waits; answers the URLs in the order they were taken."""
    fetched: list[str] = []
    for _ in range(10):
        now = world.clock.now()
        async with world.store.begin() as tx:
            taken = await SqlArticles(tx).take(
                now, min(100, most - len(fetched)), "worker", timedelta(seconds=30), "tok", FREE
            )
            endings = []
            for one in taken:
                if one.robots_due:
                    endings.append(
                        FetchEnding(
                            fence=one.fence, host=one.host, at=now, handed_back=True, news=HostUpdate(robots="")
                        )
                    )
                elif failing and failing in one.url:
                    gone = AttemptError("http_404", "The page does not exist (404 Not Found).")
                    endings.append(FetchEnding(fence=one.fence, host=one.host, at=now, problem=gone))
                    fetched.append(one.url)
                else:
                    page = ExtractedPage(title=title, content=f"Text of {one.url}", author="Ada", language="en")
                    endings.append(FetchEnding(fence=one.fence, host=one.host, at=now, page=page))
                    fetched.append(one.url)
            await SqlArticles(tx).finish(endings, now, FREE)
        if not taken or len(fetched) == most:
            break
    return fetched


async def test_a_job_is_accepted_and_says_what_it_found(client: Client, world: World) -> None:
    first = (await client.post("/jobs/submit", {"articles": wishes(2)})).json
    await gather(world)
    second = await client.post("/jobs/submit", {"articles": wishes(3)})

    assert (first["status"], first["new_articles"], first["cached_articles"]) == ("IN_PROGRESS", 2, 0)
    assert (second.json["total_articles"], second.json["new_articles"], second.json["cached_articles"]) == (3, 1, 2)
    assert second.headers["location"] == f"/jobs/{second.json['job_id']}/status"


async def test_the_status_counts(client: Client, world: World) -> None:
    job_id = await submit(client, 4)
    before = (await client.get(f"/jobs/{job_id}/status")).json
    await gather(world, failing="/1")
    after = (await client.get(f"/jobs/{job_id}/status")).json

    conforms(jobs_schema.JobDetail, after)
    counted = ("total_articles", "completed", "failed", "pending")
    assert tuple(before[name] for name in counted) == (4, 0, 0, 4)
    assert tuple(after[name] for name in counted) == (4, 3, 1, 0)
    assert (before["kind"], before["status"]) == ("articles", "IN_PROGRESS")
    assert len(after["article_ids"]) == len(set(after["article_ids"])) == 4


async def test_a_job_whose_articles_are_all_fresh_is_completed_at_once(client: Client, world: World) -> None:
    first = await submit(client, 2)
    await gather(world)
    again = (await client.post("/jobs/submit", {"articles": wishes(2)})).json

    assert (again["status"], again["cached_articles"]) == ("COMPLETED", 2)
    (one, _) = (await client.get(f"/jobs/{first}/results")).json["results"]
    assert (one["reference_count"], one["retry_count"]) == (2, 0)


async def test_jobs_are_filtered_by_the_status_that_they_show(client: Client, world: World) -> None:
    job_id = await submit(client, 2)

    under_way = (await client.get("/jobs/?status_filter=IN_PROGRESS")).json
    assert [(one["job_id"], one["status"]) for one in under_way["jobs"]] == [(job_id, "IN_PROGRESS")]
    assert (await client.get("/jobs/?status_filter=PENDING")).json == {"jobs": [], "total": 0}


async def test_results_are_partial_while_it_runs_and_come_in_pages(client: Client, world: World) -> None:
    job_id = await submit(client, 5)
    early = (await client.get(f"/jobs/{job_id}/results")).json
    await gather(world, failing="/1")
    page = (await client.get(f"/jobs/{job_id}/results?limit=2&skip=1")).json
    whole = (await client.get(f"/jobs/{job_id}/results?limit=50")).json

    conforms(articles_schema.ArticleResults, whole)
    assert (early["results"], early["failed_articles"], early["total_articles"]) == ([], [], 5)
    assert [one["url"] for one in page["results"]] == ["https://news.test/2", "https://news.test/3"]
    assert (whole["successful"], whole["failed"]) == (4, 1)
    assert whole["results"][0] | {"article_id": "", "scraped_at": ""} == {
        "article_id": "",
        "url": "https://news.test/0",
        "source": "test",
        "category": "news",
        "title": "A title",
        "content": "Text of https://news.test/0",
        "author": "Ada",
        "published_at": None,
        "language": "en",
        "canonical_url": None,
        "image": None,
        "scraped_at": "",
        "rendered": False,
        "cached": False,
        "previous_scraped_at": None,
        "reference_count": 1,
        "retry_count": 0,
    }
    assert [(one["url"], one["error"], one["code"]) for one in whole["failed_articles"]] == [
        ("https://news.test/1", "The page does not exist (404 Not Found).", "http_404")
    ]


async def test_all_of_it_is_a_download(client: Client, world: World) -> None:
    job_id = await submit(client, 3)
    await gather(world, failing="/1", title="=1+1")

    lines = await client.get(f"/jobs/{job_id}/results", accept="application/x-ndjson")
    table = await client.get(f"/jobs/{job_id}/results?format=csv")

    told = [orjson.loads(line) for line in lines.text.splitlines()]
    rows = list(csv.DictReader(StringIO(table.text)))
    assert [one["error"] for one in told] == [None, "The page does not exist (404 Not Found).", None]
    assert [row["url"] for row in rows] == [one["url"] for one in told]
    assert rows[0]["title"] == "'=1+1", "a spreadsheet must not compute what a web page wrote"


async def test_every_bad_and_every_repeated_url_is_named_and_nothing_is_kept(client: Client, world: World) -> None:
    urls = ["nope", "https://a.test/1", "HTTPS://A.test:443/1#x", "https://u:p@a.test/", "ftp://a.test/", 7]
    answer = await client.post("/jobs/submit", {"articles": [{"url": url} for url in urls]})

    is_problem(answer, 422, "invalid")
    assert [one["field"] for one in answer.json["errors"]] == [f"articles.{at}.url" for at in (0, 2, 3, 4, 5)]
    assert (await client.get("/jobs/")).json == {"jobs": [], "total": 0}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "articles"),
        ({"articles": []}, "articles"),
        ({"articles": "https://a.test/"}, "articles"),
        ({"articles": [{"url": "https://a.test/", "priority": 11}]}, "articles.0.priority"),
        ({"articles": [{"url": "https://a.test/", "prio": 1}]}, "articles.0.prio"),
        ({"articles": [{"url": "https://a.test/"}], "max_age_seconds": -1}, "max_age_seconds"),
        ({"articles": [{"url": "https://a.test/"}], "max_age_seconds": 5, "ignore_cache": True}, "max_age_seconds"),
        ({"articles": [{"url": "https://a.test/"}], "ignore": True}, "ignore"),
        ({"articles": [{"url": f"https://a.test/{at}"} for at in range(10_001)]}, "articles"),
    ],
    ids=["none", "empty", "text", "priority", "typo", "age", "both", "unknown", "many"],
)
async def test_a_request_that_breaks_a_rule_is_refused_in_words(client: Client, body: object, field: str) -> None:
    answer = await client.post("/jobs/submit", body)

    is_problem(answer, 422, "invalid")
    assert answer.json["errors"][0]["field"] == field


async def test_the_same_key_makes_one_job(client: Client) -> None:
    body = {"articles": wishes(2)}
    one = await client.post("/jobs/submit", body, **{"idempotency-key": "k"})
    other = await client.post("/jobs/submit", body, **{"idempotency-key": "k"})

    assert one.json == other.json
    assert (await client.get("/jobs")).json["total"] == 1


async def test_ignoring_the_cache_fetches_anew(client: Client, world: World) -> None:
    await submit(client, 2)
    await gather(world)
    answer = await client.post("/jobs/submit", {"articles": wishes(2), "ignore_cache": True})

    assert answer.json["cached_articles"] == 0
    assert len(await gather(world)) == 2


async def test_a_cancelled_job_says_how_much_was_left_out(client: Client, world: World) -> None:
    job_id = await submit(client, 7)

    answer = await client.delete(f"/jobs/{job_id}")
    again = await client.delete(f"/jobs/{job_id}")

    assert answer.json == {
        "job_id": job_id,
        "status": "CANCELLED",
        "message": "Job cancelled. Removed 7 pending tasks.",
    }
    assert (again.status, (await client.get(f"/jobs/{job_id}/status")).json["status"]) == (400, "CANCELLED")
    assert await gather(world) == []
    assert (await client.delete("/jobs/run_" + "0" * 32)).status == 404


async def test_a_job_under_way_is_cancelled_when_the_answer_says_so_and_its_counts_add_up(
    client: Client, world: World
) -> None:
    job_id = await submit(client, 5)
    await gather(world, most=2)
    row = await row_of(world.store, job_id)
    answer = await client.delete(f"/jobs/{job_id}")

    seen = (await client.get(f"/jobs/{job_id}/status")).json
    assert (answer.json["status"], seen["status"], seen["state"]) == ("CANCELLED", "CANCELLED", "cancelled")
    counted = [seen[name] for name in ("completed", "failed", "pending", "cancelled")]
    assert (counted, seen["total_articles"]) == ([2, 0, 0, 3], 5)
    assert (await client.get(f"/jobs/{job_id}/results")).json["cancelled"] == 3
    ending = AttemptEnding(
        fence=Fence(job_id, row["epoch"], row["token"]), state=RunState.SUCCESS, outcome="success", at=world.clock.now()
    )
    async with world.store.begin() as tx:
        assert (await SqlClaims(tx).finish([ending], world.clock.now())).stale == {job_id}, "the fence moved on"


async def test_crawls_and_articles_are_in_one_list(client: Client) -> None:
    articles = await submit(client, 1)
    crawl = (await client.post("/crawl", {"spider": "seo", "start_urls": ["https://a.test/"]})).json["job_id"]

    found = (await client.get("/jobs/")).json

    assert [one["job_id"] for one in found["jobs"]] == [crawl, articles]
    assert found["total"] == 2


async def test_a_page_of_a_thousand_bytes_each_is_accepted_beyond_a_mebibyte(client: Client) -> None:
    many = [{"url": f"https://news.test/{at}?{'x' * 400}"} for at in range(3000)]

    assert (await client.post("/jobs/submit", {"articles": many})).status == 201


async def test_an_article_that_changed_has_what_it_said_before(client: Client, world: World) -> None:
    first = await submit(client, 2)
    await gather(world, title="Old")
    (before, _) = (await client.get(f"/jobs/{first}/results")).json["results"]
    fresh = (await client.get(f"/jobs/{first}/results/{before['article_id']}")).json
    world.clock.advance(3600)
    second = await submit(client, 2, ignore_cache=True)
    await gather(world, title="New")
    (now, _) = (await client.get(f"/jobs/{second}/results")).json["results"]
    answer = await client.get(f"/jobs/{second}/results/{now['article_id']}")
    lines = await client.get(f"/jobs/{second}/results", accept="application/x-ndjson")
    table = await client.get(f"/jobs/{second}/results?format=csv")

    conforms(articles_schema.ArticleDetail, answer.json)
    assert (before["previous_scraped_at"], fresh["previous"]) == (None, None)
    assert now["previous_scraped_at"] == before["scraped_at"] != now["scraped_at"]
    assert answer.json == now | {
        "previous": {"title": "Old", "content": before["content"], "scraped_at": before["scraped_at"]}
    }
    told = [orjson.loads(line)["previous_scraped_at"] for line in lines.text.splitlines()]
    rows = [row["previous_scraped_at"] for row in csv.DictReader(StringIO(table.text))]
    assert told == rows == [before["scraped_at"]] * 2


async def test_an_article_is_found_through_a_job_that_asked_for_it_alone(client: Client, world: World) -> None:
    job, other = (
        await submit(client, 1),
        (await client.post("/jobs/submit", {"articles": [{"url": "https://b.test/"}]})),
    )
    await gather(world)
    (one,) = (await client.get(f"/jobs/{job}/results")).json["results"]
    crawl = (await client.post("/crawl", {"spider": "seo", "start_urls": ["https://a.test/"]})).json["job_id"]

    assert (await client.get(f"/jobs/{job}/results/{one['article_id']}")).status == 200
    for job_id, article_id in [
        (other.json["job_id"], one["article_id"]),
        (crawl, one["article_id"]),
        (job, "art_" + "0" * 32),
        (job, "nonsense"),
    ]:
        is_problem(await client.get(f"/jobs/{job_id}/results/{article_id}"), 404, "not_found")
