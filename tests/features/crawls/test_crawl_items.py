"""What crawls bring home, on every database: in order, once each, bounded, and gone with the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.engine.sql import run_items as module
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.run_items import RunItemsPage, write_items
from foliot.engine.sql.tables import crawl_items
from foliot.features.jobs.sql import SqlJobs
from tests.features.crawls.test_crawls import MINE, crawl
from tests.givens import statements
from tests.world import World


@pytest.fixture
async def run_id(world: World) -> str:
    made = await crawl(world)
    await world.claim(made.job_id)
    return made.job_id


async def bring(world: World, *rows: tuple[str, Sequence[Any]], tenant_id: str = MINE) -> None:
    async with world.store.begin() as tx:
        await write_items(tx.conn, world.store.dialect, [(tenant_id, run_id, items) for run_id, items in rows])


async def items(world: World, run_id: str, skip: int = 0, limit: int = 500, attempt: int = 1) -> RunItemsPage:
    async with world.store.read() as tx:
        return await SqlJobs(tx).items(MINE, run_id, attempt, skip, limit)


async def test_items_come_back_in_order_however_they_came(world: World, run_id: str) -> None:
    pages = [{"url": f"https://example.com/{number}", "title": "é" * (number % 7)} for number in range(1200)]
    for first, last in ((0, 1), (1, 3), (3, 3), (3, 1100), (1100, 1200)):
        await bring(world, (run_id, pages[first:last]))

    assert (await items(world, run_id)).items == pages[:500]
    assert await items(world, run_id, 2, 3) == RunItemsPage(pages[2:5], 1200)
    assert await items(world, run_id, 498, 500) == RunItemsPage(pages[498:998], 1200)
    assert await items(world, run_id, 1199, 500) == RunItemsPage(pages[1199:], 1200)
    assert await items(world, run_id, 1200, 500) == RunItemsPage([], 1200)
    assert await items(world, run_id, 5000, 500) == RunItemsPage([], 1200)


async def test_nothing_is_nothing(world: World, run_id: str) -> None:
    await bring(world)
    await bring(world, (run_id, []))

    assert await items(world, run_id) == RunItemsPage([], 0)


async def test_many_runs_are_written_by_two_statements(world: World) -> None:
    made = [(await crawl(world, depth=depth)).job_id for depth in range(8)]
    await world.claim(*made)
    for turn in range(2):
        with statements(world.store) as seen:
            await bring(world, *((run_id, [{"run": run_id, "turn": turn}]) for run_id in made))
        assert len([one for one in seen if "crawl_items" in one]) == 2, "\n".join(seen)

    for run_id in made:
        assert (await items(world, run_id)).items == [{"run": run_id, "turn": turn} for turn in range(2)]


async def test_another_attempt_begins_anew(world: World, run_id: str) -> None:
    await bring(world, (run_id, ["first"]))
    await world.sql("UPDATE runs SET attempt = 2")
    assert await items(world, run_id, attempt=2) == RunItemsPage([], 0)
    await bring(world, (run_id, ["second", "third"]))

    assert await items(world, run_id, attempt=2) == RunItemsPage(["second", "third"], 2)
    assert await items(world, run_id, attempt=1) == RunItemsPage(["first"], 1)


async def test_another_tenant_reads_nothing(world: World, run_id: str) -> None:
    await bring(world, (run_id, ["ours"]))

    async with world.store.read("other") as tx:
        assert await SqlJobs(tx).items("other", run_id, 1, 0, 10) == RunItemsPage([], 0)


async def test_beyond_their_room_items_are_counted(world: World, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ITEMS", 2)
    monkeypatch.setattr(module, "ITEM_BYTES", 200)
    many = [{"number": number, "text": str(number) * 30} for number in range(20)]
    await bring(world, (run_id, many))
    kept = await items(world, run_id)
    await bring(world, (run_id, [1]))

    assert 0 < kept.total < 20
    assert (list(kept.items), kept.not_kept) == (many[: kept.total], 20 - kept.total)
    assert await items(world, run_id) == RunItemsPage(kept.items, kept.total, 21 - kept.total), (
        "no small one slips in later"
    )


async def test_a_page_of_large_items_is_shorter_but_never_empty(
    world: World, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 100)
    monkeypatch.setattr(module, "ANSWER_BYTES", 250)
    large = [{"text": "x" * 100, "number": number} for number in range(6)]
    await bring(world, (run_id, large))

    first = await items(world, run_id)
    second = await items(world, run_id, len(first.items))

    assert 1 <= len(first.items) < 6
    assert list(first.items) + list(second.items) == large


async def test_odd_items_are_kept_as_well_as_json_can(world: World, run_id: str) -> None:
    await bring(world, (run_id, [None, "text", 7, [1], {"nul": "\x00"}, {"half": "\ud800"}, {"big": 10**30}, 1e308]))

    found = (await items(world, run_id)).items
    assert found[:5] == [None, "text", 7, [1], {"nul": "\x00"}]
    assert found[5:] == [{"half": "?"}, {"big": 1e30}, 1e308]


async def test_items_go_with_their_run(world: World, run_id: str) -> None:
    other = (await crawl(world, depth=9)).job_id
    await world.claim(other)
    await bring(world, (run_id, ["a"]), (other, ["b"]))
    await world.sql("UPDATE runs SET lease_until = NULL")
    for ended in (run_id, other):
        await world.sql("UPDATE runs SET state = 'success', finished_at = created_at WHERE id = :id", id=ended)
    await world.sql("UPDATE runs SET state = 'running', finished_at = NULL WHERE id = :id", id=other)

    async with world.store.begin() as tx:
        gone, _ = await SqlRetention(tx).prune(world.clock.now() + timedelta(days=400), 100)
        left = list((await tx.conn.execute(select(crawl_items.c.run_id))).scalars())

    assert (gone, left) == (1, [other])
    async with world.store.read() as tx:
        assert await tx.conn.scalar(select(func.count()).select_from(crawl_items)) == 1
