"""Stored pages are read again: tried on a sample, each once by a bulk action, with no request to their sites."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.app.upkeep import reread
from foliot.core.ids import new_id
from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.model import ON_PAGES, BulkOperation
from foliot.features.bulk.sql import SqlBulks
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import FetchOptions, FetchRequest, Page, PageSource
from foliot.features.pipelines.chain.context import StepContext, Transform
from foliot.features.pipelines.model import Item, PipelineDefinition, StepSpec, Unreadable, revision_of
from foliot.features.pipelines.wiring import load, step_resources
from foliot.features.reextractions import schema
from foliot.features.reextractions.actor import LEASE, PageExtractions
from foliot.features.reextractions.reader import StoredPageReader
from foliot.features.reextractions.usecases import Reextractions
from foliot.features.stored_pages.bodies import LocalBodies
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.testing import GivenSecrets
from tests.asgi import Client
from tests.declared import conforms
from tests.scripted_site import ScriptedSite, read_here
from tests.world import World, open_world

STORY = "<p>" + "The council has decided to plant two hundred trees along the river this autumn. " * 12 + "</p>"


def definition(name: str, *steps: tuple[str, dict[str, Any]]) -> PipelineDefinition:
    made = tuple(StepSpec(cls=cls, name=cls, kwargs=kwargs) for cls, kwargs in steps)
    return PipelineDefinition(name=name, steps=made, draft=None, revision=revision_of(made, None))


class Wander(Transform):
    """Asks for another page than the one that is stored."""

    async def handle(self, item: Item, ctx: StepContext) -> Item:
        return {"body": (await ctx.fetch_page("https://shop.test/elsewhere")).body.decode()}


class Definitions:
    """Two pipelines: one that reads a shop's pages, and one that asks for another page."""

    async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
        return {
            "shop": definition(
                "shop",
                ("SitemapFetcher", {"urls": "https://shop.test/sitemap.xml"}),
                ("HttpFetcher", {"render": "always", "keep_pages": "30d"}),
                ("HtmlParser", {"each": "li", "selectors": {"name": "b", "price": "i"}}),
                ("JsonlSink", {"path": "/never/written.jsonl"}),
            ),
            "curious": definition("curious", ("HttpFetcher", {}), ("Wander", {})),
        }.get(name)

    async def names(self, tenant_id: str) -> list[str]:
        return ["shop", "curious"]


@dataclass
class Place:
    """A world with stored pages, and what reads them again."""

    world: World
    client: Client
    keeper: PageKeeper
    reader: StoredPageReader
    site: ScriptedSite

    async def keep(self, count: int, body: str = "<h1>Page {0}</h1><b class=p>{0}.50</b>", **more: Any) -> list[str]:
        ids = []
        for number in range(count):
            page = Page(
                url=f"https://shop.test/{number}",
                status=200,
                headers={"content-type": "text/html"},
                body=body.format(number).encode(),
                **more,
            )
            wanted = FetchRequest(
                url=page.url,
                tenant_id="default",
                options=FetchOptions(keep=timedelta(days=30)),
                source=PageSource("run", new_id("run")),
            )
            made = await self.keeper.keep(page, wanted)
            assert made is not None
            ids.append(made)
        return ids

    def extractor(self, holder: str = "one") -> PageExtractions:
        world = self.world
        return PageExtractions(
            store=world.store,
            clock=world.clock,
            feed=world.feed,
            keeper=self.keeper,
            reader=self.reader,
            holder=holder,
        )

    async def ask(self, status: int = 202, **body: Any) -> dict[str, Any]:
        answer = await self.client.post("/api/pages/reextract", body)
        assert answer.status == status, answer.json
        if status < 400:
            conforms(bulk_schema.BulkAction if status == 202 else schema.ReextractDryRun, answer.json)
        made: dict[str, Any] = answer.json
        return made

    async def work(self, *extractors: PageExtractions) -> int:
        pages = 0
        for _ in range(100):
            done = [await one.run_once() for one in extractors or (self.extractor(),)]
            pages += sum(one.pages for one in done)
            if all(one.rest > 1 for one in done):
                break
            self.world.clock.advance(0.2)
        return pages

    async def versions(self, **asked: str) -> list[dict[str, Any]]:
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        answer = (await self.client.get(f"/api/pages/versions?limit=500&{query}")).json
        conforms(schema.StoredPageVersionList, answer)
        found: list[dict[str, Any]] = answer["items"]
        return found

    async def bulk(self, made: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(f"/api/bulk/{made['id']}")).json
        return found


def place_in(world: World, directory: Path) -> Place:
    site = ScriptedSite()
    outside = step_resources(
        egress=site,
        fetcher=Fetcher(pages=PageFetcher(egress=site), clock=world.clock),
        wallet=GivenSecrets({}),
        apart=read_here,
        out=directory,
        more=(),
    )
    catalogue = load([])
    catalogue.add(Wander)
    reader = StoredPageReader(clock=world.clock, outside=outside, definitions=Definitions(), catalogue=catalogue)
    bodies = LocalBodies(directory / "pages")
    keeper = PageKeeper(store=world.store, clock=world.clock, bodies=bodies, quota=1_000_000_000)
    cases = world.cases.but(replace(world.cases[Reextractions], keeper=keeper, reader=reader))
    return Place(world, Client(create_app(cases)), keeper, reader, site)


@pytest.fixture
def place(world: World, tmp_path: Path) -> Place:
    return place_in(world, tmp_path)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Place]:
    """For what no database has a part in: one in memory."""
    async with open_world() as world:
        yield place_in(world, tmp_path)


async def test_a_trial_compares_the_coverage_of_fields_before_and_after_and_stores_nothing(place: Place) -> None:
    await place.keep(4)
    await place.ask(select={"title": ".headline", "price": {"css": ".p", "type": "price"}})
    await place.work()

    trial = await place.ask(200, select={"title": "h1", "price": ".sale"}, filter="host:shop.test", dry_run=True)

    assert (trial["count"], trial["looked_at"], trial["failed"]) == (4, 4, 0)
    assert trial["coverage"] == {"title": {"before": 0.0, "after": 1.0}, "price": {"before": 1.0, "after": 0.0}}
    first = trial["sample"][0]
    assert (first["before"][0]["price"]["amount"], first["after"][0]["title"]) == ("3.50", "Page 3")
    assert len(await place.versions()) == 4, "the trial has made no version"
    assert len((await place.client.get("/api/bulk")).json["items"]) == 1


async def test_each_page_gets_one_version_of_each_reading_and_none_is_overwritten(place: Place) -> None:
    ids = await place.keep(5)
    first = await place.ask(select={"title": "h1"}, expect=5)
    assert (first["action"], first["total"], first["details"]["select"]["title"]["css"]) == ("reextract", 5, "h1")
    assert await place.work() == 5
    second = await place.ask(select={"price": {"css": ".p", "type": "number"}})
    assert await place.work() == 5

    assert [(await place.bulk(one))["state"] for one in (first, second)] == ["finished", "finished"]
    newest, oldest = await place.versions(page_id=ids[2])
    assert (oldest["items"], newest["items"]) == ([{"title": "Page 2"}], [{"price": 2.5}])
    assert {one["page_id"] for one in await place.versions(bulk_id=first["id"])} == set(ids)
    assert place.site.asked == []


async def test_what_a_dead_process_has_not_written_another_reads_and_each_page_once(place: Place) -> None:
    ids = await place.keep(90)
    made = await place.ask(select={"title": "h1"}, rate=1000)
    dying, second = place.extractor("dying"), place.extractor("second")
    assert (await dying.run_once()).pages == 40
    place.world.clock.advance(1)

    async with place.world.store.begin() as tx:
        (held,) = await SqlBulks(tx).claim("dying", place.world.clock.now(), LEASE, 1, ON_PAGES)
    assert held.act is BulkOperation.REEXTRACT
    assert (await second.run_once()).pages == 0, "the lease holds"
    place.world.clock.advance(LEASE.total_seconds() + 60)
    # The dead one wakes up while the second works: what it has read is not counted twice.
    await place.work(second, dying)

    seen = await place.bulk(made)
    assert (seen["state"], seen["ok"], seen["failed"]) == ("finished", 90, 0)
    assert sorted(one["page_id"] for one in await place.versions(bulk_id=made["id"])) == sorted(ids)


async def test_a_pause_and_a_stop_hold(place: Place) -> None:
    await place.keep(60)
    made = await place.ask(select={"title": "h1"}, rate=100)
    one = place.extractor()
    await one.run_once()
    await place.client.post(f"/api/bulk/{made['id']}/pause", {})
    paused = await place.bulk(made)
    assert (await place.work(one), (await place.bulk(made))["ok"]) == (0, paused["ok"])
    await place.client.post(f"/api/bulk/{made['id']}/resume", {})
    await place.client.post(f"/api/bulk/{made['id']}/stop", {})
    assert (await place.work(one), (await place.bulk(made))["state"]) == (0, "stopped")


async def test_a_pipeline_reads_stored_pages_up_to_its_sinks_and_asks_nobody(here: Place) -> None:
    await here.keep(2, "<ul><li><b>Kettle {0}</b> <i>12</i><li><b>Pot {0}</b> <i>9</i></ul>")
    await here.ask(pipeline="shop")
    await here.work()
    (second, _) = await here.versions()
    assert [item["name"] for item in second["items"]] == ["Kettle 1", "Pot 1"]

    curious = await here.ask(pipeline="curious")
    await here.work()
    seen = await here.bulk(curious)
    assert (seen["ok"], seen["failed"]) == (0, 2)
    assert "no request is sent" in seen["failures"][0]["message"]
    assert here.site.asked == []


async def test_an_article_is_extracted_again_from_the_rendered_document(here: Place) -> None:
    await here.keep(1, "<script>write()</script>", rendered=f"<html><body><h1>Trees</h1>{STORY}</body></html>".encode())
    await here.ask(extractor="article")
    await here.work()

    (version,) = await here.versions()
    assert "two hundred trees" in version["items"][0]["content"]
    assert version["reading"] == {"extractor": "article"}


async def test_a_page_that_cannot_be_read_fails_alone_with_its_reason(here: Place) -> None:
    await here.keep(3)

    async def apart(function: Any, body: bytes, parameters: Any, tenant_id: str) -> Any:
        if b"Page 1" in body:
            raise Unreadable("it crashed its reader")
        return await read_here(function, body, parameters, tenant_id)

    here.reader = replace(here.reader, outside=replace(here.reader.outside, apart=apart))
    made = await here.ask(select={"title": "h1"})
    await here.work()
    seen = await here.bulk(made)
    assert (seen["ok"], seen["failed"], len(await here.versions())) == (2, 1, 2)
    assert "crashed its reader" in seen["failures"][0]["message"]


async def test_versions_end_with_their_time(place: Place) -> None:
    await place.keep(1)
    await place.ask(select={"title": "h1"}, keep="2d")
    await place.work()
    place.world.clock.advance(3 * 86_400)
    async with place.world.store.begin() as tx:
        await reread(tx, place.world.clock.now(), None)
    assert await place.versions() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "select"),
        ({"select": {"title": "h1"}, "pipeline": "shop"}, "select"),
        ({"select": {"title": "h1["}}, "select.title.css"),
        ({"extractor": "everything"}, "extractor"),
        ({"pipeline": "unknown"}, "pipeline"),
        ({"extractor": "price", "filter": "colour:red"}, "filter"),
        ({"extractor": "price", "keep": "1h"}, "keep"),
        ({"extractor": "price", "rate": 5000}, "rate"),
    ],
)
async def test_a_wrong_request_names_its_field(here: Place, body: dict[str, Any], field: str) -> None:
    answer = await here.ask(422, **body)
    assert field in {one["field"] for one in answer["errors"]}


async def test_a_count_that_was_not_expected_is_refused(here: Place) -> None:
    await here.keep(2)
    await here.ask(409, extractor="article", expect=3)
