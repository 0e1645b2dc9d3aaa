"""Batches of articles that break an expectation, on every database."""

from __future__ import annotations

from typing import Any

from tests.asgi import Client
from tests.features.articles.test_rest_articles import gather, submit
from tests.world import World


async def ended(client: Client, world: World, count: int, failing: str = "", **asked: Any) -> dict[str, Any]:
    """The run of a batch that was submitted with these expectations, when it has ended."""
    job_id = await submit(client, count, ignore_cache=True, **asked)
    await gather(world, failing=failing)
    run: dict[str, Any] = (await client.get(f"/api/runs/{job_id}")).json
    return run


async def test_a_batch_that_breaks_an_expectation_is_degraded_and_names_it(client: Client, world: World) -> None:
    expect = {"items": ">= 4", "errors": "<= 0", "coverage": {"author": "50%", "published_at": "95%"}}
    run = await ended(client, world, 4, failing="/1", expect=expect)

    assert (run["state"], run["error"]["code"]) == ("degraded", "expectation_broken")
    assert {one["expectation"]: (one["got"], one["met"]) for one in run["verdict"]} == {
        "items": ("3", False),
        "errors": ("1", False),
        "coverage.author": ("100%", True),
        "coverage.published_at": ("0%", False),
    }
    job = (await client.get(f"/jobs/{run['id']}/status")).json
    assert (job["status"], job["state"], job["completed"], job["failed"]) == ("COMPLETED", "degraded", 3, 1)


async def test_a_batch_that_meets_its_expectations_ends_as_it_would_without(client: Client, world: World) -> None:
    met = await ended(client, world, 3, expect={"items": "3", "items_vs_baseline": ">= 60%"})

    assert met["state"] == "success"
    assert [(one["expectation"], one["met"]) for one in met["verdict"]] == [
        ("items", True),
        ("items_vs_baseline", None),
    ]


async def test_an_article_cannot_be_judged_by_the_fields_of_an_item(client: Client) -> None:
    answer = await client.post(
        "/jobs/submit",
        {
            "articles": [{"url": "https://news.test/1", "source": "test", "category": "news"}],
            "expect": {"schema": {"price": "number"}},
        },
    )

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == "expect.schema"
