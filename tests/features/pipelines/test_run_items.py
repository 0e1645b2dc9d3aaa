"""RunItems: a pipeline that follows a crawl or a batch of articles reads what that run has produced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foliot.core.parent_template import ParentRun
from foliot.engine.sql.run_items import write_items
from foliot.features.pipelines.chain.run import ChainFailed, ChainRun
from foliot.features.pipelines.steps.run_items import PAGE, RunItems
from foliot.features.pipelines.wiring import StoredRunItems
from foliot.testing import contexts
from tests.features.crawls.test_crawls import MINE, crawl
from tests.features.pipelines.pipeline_streams import made
from tests.world import World

PAGES = [{"url": f"https://example.com/{number}"} for number in range(PAGE + 3)]


@pytest.fixture
async def crawled(world: World) -> ParentRun:
    """A crawl that has brought these items."""
    job_id = (await crawl(world)).job_id
    await world.claim(job_id)
    async with world.store.begin() as tx:
        await write_items(tx.conn, world.store.dialect, [(MINE, job_id, PAGES)])
    return ParentRun(job_id, "success", "crawl", 1, {"items": len(PAGES)})


async def streamed(world: World, parent: ParentRun | None, **kwargs: Any) -> list[Any]:
    """What the step yields for a run that follows this one."""

    async def followed() -> ParentRun | None:
        return parent

    kept: list[Any] = []
    ((step, ctx),) = contexts([made(RunItems, **kwargs)])
    outside = replace(ctx.outside, run_items=StoredRunItems(world.store))
    steps = [(step, replace(ctx, outside=outside, tenant_id=MINE, parent=followed))]
    await ChainRun(steps=steps, tell=lambda _: None, keep=kept.append).run()
    return kept


async def test_the_items_of_a_crawl_come_in_order_over_several_pages(world: World, crawled: ParentRun) -> None:
    assert await streamed(world, crawled) == PAGES
    assert await streamed(world, crawled, limit=2) == PAGES[:2]


async def test_another_attempt_and_another_run_have_their_own(world: World, crawled: ParentRun) -> None:
    assert await streamed(world, replace(crawled, attempt=2)) == []
    assert await streamed(world, replace(crawled, run_id="run_other")) == []


@pytest.mark.parametrize(
    ("parent", "words"),
    [
        (None, "does not follow another"),
        (ParentRun("run_hook", "success", "webhook", 1, None), "of kind webhook: only crawls and articles keep items"),
    ],
)
async def test_what_has_no_items_is_refused_by_name(world: World, parent: ParentRun | None, words: str) -> None:
    with pytest.raises(ChainFailed, match=words):
        await streamed(world, parent)
