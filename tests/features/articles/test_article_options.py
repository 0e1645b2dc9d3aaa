"""How the pages of a batch are fetched: rendered or not, with robots.txt or without, and kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.cluster import machine
from foliot.cluster.process_pool import reader_pool
from foliot.db.database import Database
from foliot.features.articles.model import KIND, ClaimedArticle
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchOptions, FetchRequest, Page, Render, Robots
from foliot.features.fetching.sql.host_list import SqlHosts
from foliot.net.client import HttpEgress
from tests.asgi import Client
from tests.features.articles.newsstand import answer, newsstand, story
from tests.features.articles.test_scraper import a_scraper
from tests.features.articles.test_scraper import wanted as claimed
from tests.features.articles.test_sql_articles import DAY, good, know, settle, take, wish
from tests.givens import NOON, ask, request, row_of
from tests.world import World, open_world

KEPT = FetchOptions(render=Render.NEVER, robots=Robots.IGNORE, keep=timedelta(days=30))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


async def submit(store: Database, numbers: range, options: FetchOptions, *, max_age: timedelta = DAY) -> None:
    wishes = [wish(number) for number in numbers]
    (run_id,) = await ask(store, NOON, request(kind=KIND, tenant_id="acme", parked=True))
    async with store.begin() as tx:
        await SqlArticles(tx).submit("acme", run_id, wishes, NOON, max_age, options)


async def taken(store: Database) -> dict[str, ClaimedArticle]:
    return {one.url.rpartition("/")[2]: one for one in await take(store)}


async def test_an_article_is_fetched_as_the_last_batch_that_queued_it_says(store: Database) -> None:
    await submit(store, range(2), DEFAULT_OPTIONS)
    await submit(store, range(1, 4), KEPT)
    await know(store)
    first = await taken(store)
    await settle(store, [good(one) for one in first.values()])
    await submit(store, range(4), DEFAULT_OPTIONS, max_age=timedelta())
    again = await taken(store)

    assert {number: one.options for number, one in first.items()} == {
        "0": DEFAULT_OPTIONS,
        "1": KEPT,
        "2": KEPT,
        "3": KEPT,
    }
    assert {one.options for one in again.values()} == {DEFAULT_OPTIONS}


async def test_settings_of_the_host_hold_where_the_batch_says_nothing(store: Database) -> None:
    await submit(store, range(1), FetchOptions(robots=Robots.RESPECT))
    await know(store)
    async with store.begin() as tx:
        await SqlHosts(tx).set("news.test", {"render": "always", "robots": "ignore"})
    (one,) = (await taken(store)).values()

    assert one.options == FetchOptions(render=Render.ALWAYS, robots=Robots.RESPECT)


async def test_a_batch_says_how_its_pages_are_fetched(world: World) -> None:
    client = Client(create_app(world.cases))
    options = {"render": "always", "robots": "ignore", "keep_pages": "30d"}
    made = await client.post("/jobs/submit", {"articles": ["https://news.test/1"], **options})
    assert made.status == 201, made.text
    run = await row_of(world.store, made.json["job_id"])

    assert {name: run["action"][name] for name in options} == options


@pytest.mark.parametrize(
    ("name", "value"), [("render", "sometimes"), ("robots", "no"), ("keep_pages", "forever"), ("keep_pages", 30)]
)
async def test_an_option_that_cannot_be_read_is_named(world: World, name: str, value: Any) -> None:
    client = Client(create_app(world.cases))
    refused = await client.post("/jobs/submit", {"articles": ["https://news.test/1"], name: value})

    assert refused.status == 422, refused.text
    assert refused.json["errors"][0]["field"] == name


async def test_a_schedule_of_articles_has_the_same_options(world: World) -> None:
    client = Client(create_app(world.cases))
    action = {"kind": "articles", "articles": ["https://news.test/1"], "keep_pages": "7d", "render": "never"}
    made = await client.post(
        "/api/schedules", {"name": "news", "type": "cron", "cron_expr": "@daily", "action": action}
    )

    assert made.status == 201, made.text
    assert (made.json["action"]["keep_pages"], made.json["action"]["render"]) == ("7d", "never")


@dataclass
class KeptPages:
    pages: list[tuple[Page, FetchRequest]] = field(default_factory=list)

    async def keep(self, page: Page, request: FetchRequest) -> str | None:
        self.pages.append((page, request))
        return "pag_1"


async def test_the_page_of_an_article_is_kept_where_its_batch_wants_that() -> None:
    pool, kept = reader_pool(machine.ReaderCapacity(1, 1024 * machine.MEBIBYTE)), KeptPages()
    try:
        async with newsstand() as stand, HttpEgress(loopback=True) as egress:
            stand.paths["/a"] = answer(story())
            scraper = replace(a_scraper(egress, pool), keeper=kept)
            await scraper.scrape(claimed(stand.url("/a")))
            await scraper.scrape(claimed(stand.url("/a"), options=KEPT))
    finally:
        await pool.close()

    ((page, request),) = kept.pages
    assert b"<html" in page.body
    assert request.source == ("article", "art_1")
