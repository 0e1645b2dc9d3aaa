"""Visits by learned rates, over weeks: beside a fixed interval with as many visits, and within their bounds."""

from __future__ import annotations

import importlib.util
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.features.watches.model.revisit import RevisitRules
from tests.asgi import Client
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.world import World, open_world

BOUNDS = (timedelta(days=1), timedelta(minutes=15), timedelta(days=7))


def simulation() -> Any:
    """The module of the benchmark: it drives the planner of the product."""
    path = Path(__file__).parents[3] / "bench" / "revisits.py"
    spec = importlib.util.spec_from_file_location("bench_revisits", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [1, 2])
def test_changes_are_seen_more_often_and_sooner_than_at_a_fixed_interval(seed: int) -> None:
    found = simulation().compare(500, 21, RevisitRules(2000, *BOUNDS), sigma=2.3, seed=seed)
    assert found["of the budget"] == pytest.approx(1, abs=0.03)
    assert found["caught"] >= 1.5
    assert found["delay"] <= 0.65
    assert found["longest days"] <= 7 + 5 / 1440, "a run visits what is due at its tick"


def test_where_pages_change_alike_nothing_is_lost() -> None:
    found = simulation().compare(300, 14, RevisitRules(1200, *BOUNDS), sigma=0.3, seed=3)
    assert found["caught"] >= 0.97
    assert found["delay"] <= 1.05


async def test_runs_keep_to_the_budget_visit_what_changes_more_often_and_survive_a_restart() -> None:
    revisit = {"budget": "20/hour", "at_most": "10m", "at_least": "12h"}
    urls = [f"{SHOP}/{number}" for number in range(10)]
    async with open_world() as world:
        watched = Watched(world, Client(create_app(world.cases)))
        for number in range(10):
            world.site.write(f"/{number}", product("10.00 €"))
        await watched.create(schedule=None, revisit=revisit, urls=urls)
        for tick in range(12 * 30):
            if tick % 10 == 0:
                # Two pages change every 20 minutes; the others never do.
                for number in (0, 1):
                    world.site.write(f"/{number}", product(f"{10 + tick}.00 €"))
            await watched.pass_time(120)
        assert len(world.site.asked) == pytest.approx(20 * 12, rel=0.03)
        pages = await watched.pages()
        fast, slow = (sum(page["visits"] for page in part) / len(part) for part in (pages[:2], pages[2:]))
        assert fast > 2.5 * slow
        assert pages[0]["why_then"].startswith(f"changed in {pages[0]['changes']} of {pages[0]['visits'] - 1} visits")
        asked = len(world.site.asked)
        other = World.on(world.store)
        other.clock.advance((world.clock.now() - other.clock.now()).total_seconds())
        other.site.pages.update(world.site.pages)
        after = Watched(other, Client(create_app(other.cases)))
        after.watch = watched.watch
        assert [page["next_visit_at"] for page in await after.pages()] == [page["next_visit_at"] for page in pages]
        assert asked == len(world.site.asked)
        for _ in range(30):
            await after.pass_time(120)
        assert len(other.site.asked) == pytest.approx(20, abs=2), "the budget goes on where it stood"
