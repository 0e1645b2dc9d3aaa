"""A shop that answers with an empty template: the sink keeps the last good data, and a person decides about the new."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from foliot import Item, StepContext, Transform
from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, NotFound
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.expectations.model.facts import QuarantineState
from foliot.features.expectations.usecases import DataJudge, DataQuality
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.pipelines.action import PipelineAction
from foliot.features.pipelines.model import PipelineDefinition, StepSpec, revision_of
from foliot.features.pipelines.wiring import load, step_resources
from foliot.features.runs.schema import Run
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import GivenActions, GivenPages, GivenSecrets, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed

OTHER = Caller("other", "eve", Role.ADMIN, LOCAL.interface)


class Shop(Transform):
    """Offers, as many as the shop has today."""

    offers: ClassVar[list[dict[str, Any]]] = []

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        for offer in Shop.offers:
            yield dict(offer)


def good(count: int = 50) -> list[dict[str, Any]]:
    return [{"n": number, "price": number + 0.5} for number in range(count)]


@dataclass
class World:
    """A schedule of the pipeline `shop`, whose file is below `out`."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    action: PipelineAction
    out: Path
    schedule_id: str

    async def run(self, offers: list[dict[str, Any]]) -> RunView:
        Shop.offers = offers
        self.clock.advance(60)
        made = await self.cases[Schedules].run_now(LOCAL, self.schedule_id)
        await drain(self.store, self.clock, self.action, patience=20)
        return await self.cases[Runs].get(LOCAL, made.id)

    @property
    def file(self) -> list[Any]:
        return [orjson.loads(line) for line in (self.out / "shop.jsonl").read_bytes().splitlines()]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    catalogue = load([])
    catalogue.add(Shop, "Shop")
    steps = (
        StepSpec(cls="Shop", name="shop", kwargs={}),
        StepSpec(cls="JsonlSink", name="file", kwargs={"path": "shop.jsonl"}),
    )
    definition = PipelineDefinition(name="shop", steps=steps, draft=None, revision=revision_of(steps, None))

    class Definitions:
        async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
            return definition

        async def names(self, tenant_id: str) -> list[str]:
            return ["shop"]

    apart: Any = None  # no step parses a page
    clock = StoppedClock()
    async with open_store() as store:
        site = GivenPages({})
        outside = step_resources(
            egress=site,
            fetcher=Fetcher(pages=PageFetcher(egress=site), clock=clock),
            wallet=GivenSecrets({}),
            apart=apart,
            out=tmp_path,
            more=(),
        )
        judge = DataJudge(store=store, clock=clock)
        action = PipelineAction(definitions=Definitions(), catalogue=catalogue, outside=outside, judge=judge)
        cases = use_cases(store, clock, MemoryFeed(), GivenActions.of(action))
        expect = {"items": ">= 10", "items_vs_baseline": ">= 60%", "coverage": {"price": "95%"}}
        schedule = await cases[Schedules].create(
            LOCAL,
            {
                "name": "shop",
                "type": "oneoff",
                "run_at": (clock.now() + timedelta(days=300)).isoformat(),
                "action": {"kind": "pipeline", "pipeline": "shop", "expect": expect},
                "retry_policy": {"max_retries": 0},
            },
        )
        yield World(store, clock, cases, action, tmp_path, schedule.id)


async def test_an_empty_template_leaves_the_last_good_file_in_place(world: World) -> None:
    for _ in range(5):
        assert (await world.run(good())).state is RunState.SUCCESS
    sixth = await world.run([{"n": number, "price": None} for number in range(50)])
    seventh = await world.run([])
    eighth = await world.run(good(49))

    assert [sixth.state, seventh.state, eighth.state] == [RunState.DEGRADED, RunState.DEGRADED, RunState.SUCCESS]
    assert len(world.file) == 49
    assert sixth.error is not None
    assert "coverage.price: 0%, expected >= 95%, usually 100%" in sixth.error["message"]
    verdict = Run.of(seventh).verdict
    assert verdict is not None
    assert {one["expectation"]: one["met"] for one in verdict} == {
        "items": False,
        "items_vs_baseline": False,
        "coverage.price": None,
    }


async def test_degraded_runs_do_not_become_the_baseline(world: World) -> None:
    for _ in range(5):
        await world.run(good(100))
    for _ in range(10):
        assert (await world.run(good(20))).state is RunState.DEGRADED

    quality = await world.cases[DataQuality].of_schedule(LOCAL, world.schedule_id)
    assert quality.baseline is not None
    assert (quality.baseline.middle, quality.good_runs, len(quality.runs)) == (100, 5, 15)
    assert {one.expectation for one in quality.suggestions} >= {"items", "coverage.price"}


async def test_released_items_are_written_by_a_run_of_their_own(world: World) -> None:
    for _ in range(5):
        await world.run(good())
    held = await world.run(good(12))
    assert len(world.file) == 50

    decided = await world.cases[DataQuality].release(LOCAL, held.id)
    await drain(world.store, world.clock, world.action, patience=20)

    assert (decided.state, decided.items, decided.decided_by) == (QuarantineState.RELEASED, 12, LOCAL.user_id)
    assert decided.release_id is not None
    assert (await world.cases[Runs].get(LOCAL, decided.release_id)).state is RunState.SUCCESS
    assert world.file == good(12)
    assert (await world.cases[Runs].get(LOCAL, held.id)).state is RunState.DEGRADED
    with pytest.raises(Conflict, match="were already released"):
        await world.cases[DataQuality].drop(LOCAL, held.id)


async def test_dropped_items_are_gone_and_the_file_stays(world: World) -> None:
    for _ in range(5):
        await world.run(good())
    held = await world.run(good(12))
    dropped = await world.cases[DataQuality].drop(LOCAL, held.id)

    assert (dropped.state, len(world.file)) == (QuarantineState.DROPPED, 50)
    judge = DataJudge(store=world.store, clock=world.clock)
    assert [item async for item in judge.items("default", held.id)] == []
    with pytest.raises(Conflict, match="were already dropped"):
        await world.cases[DataQuality].release(LOCAL, held.id)


async def test_only_degraded_runs_of_the_tenant_have_a_quarantine(world: World) -> None:
    fine = await world.run(good())
    with pytest.raises(Conflict, match="not degraded"):
        await world.cases[DataQuality].quarantine(LOCAL, fine.id)
    with pytest.raises(NotFound):
        await world.cases[DataQuality].quarantine(OTHER, fine.id)
    with pytest.raises(NotFound):
        await world.cases[DataQuality].release(OTHER, fine.id)
    with pytest.raises(NotFound):
        await world.cases[DataQuality].of_schedule(OTHER, world.schedule_id)
    assert len(list(await world.cases[Runs].list(LOCAL, PageRequest(limit=9)))) == 1
