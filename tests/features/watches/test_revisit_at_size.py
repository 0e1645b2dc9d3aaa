"""Five hundred pages with hidden rates, visited by runs of a watch: the budget is kept, and goes where changes are."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.egress import OutgoingRequest, OutgoingResponse
from tests.asgi import Client
from tests.features.watches.test_revisit_policy import simulation
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.scripted_site import ScriptedSite
from tests.world import open_world

PAGES, BUDGET, DAY = 500, 2500, 86_400
DAYS, LEARNING, TICK = 6, 1.5, 300
"""Rates are learned in the first days, which are not counted."""


@dataclass
class ChangingSite(ScriptedSite):
    """Pages that change at the moments of a simulation; each request is a visit of it."""

    seen: Any = None
    now: Any = None
    started: datetime | None = None
    moments: list[float] = field(default_factory=list)

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        number = int(request.url.rsplit("/", 1)[1])
        at = (self.now() - self.started).total_seconds()
        self.moments.append(at)
        self.seen.visit(number, at)
        changes = bisect.bisect_right(self.seen.pages.changes[number], at)
        self.write(f"/{number}", product(f"{changes + 1}.00 €"))
        return await ScriptedSite.send(self, request)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_runs_spend_the_budget_where_pages_change() -> None:
    model, seconds, since = simulation(), DAYS * DAY, LEARNING * DAY
    pages = model.Pages.of(PAGES, 2.3, BUDGET / PAGES / 2, seconds, 5)
    revisit = {"budget": f"{BUDGET}/day", "at_most": "25m", "at_least": "2d"}
    site = ChangingSite(seen=model.Seen(pages, since))
    async with open_world(site) as world:
        site.now, site.started = world.clock.now, world.clock.now()
        watched = Watched(world, Client(create_app(world.cases)))
        urls = [f"{SHOP}/{number}" for number in range(PAGES)]
        await watched.create(schedule=None, revisit=revisit, urls=urls, fields={"price": PRICE})
        for _ in range(seconds // TICK):
            await watched.turn(TICK)
    ours = site.seen
    same = model.fixed(pages, seconds, since, ours.visits / (seconds - since))
    assert ours.visits == pytest.approx(BUDGET * (DAYS - LEARNING), rel=0.03)
    assert ours.caught >= 1.5 * same.caught
    assert ours.delay <= 0.65 * same.delay
    assert ours.longest <= timedelta(days=2).total_seconds() + 2 * TICK


PRICE = {"css": ".price", "type": "price"}
