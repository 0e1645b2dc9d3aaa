"""The action `pipeline` on the real engine: what a run of it tells, how it ends, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foliot import Item, StepContext, Transform
from foliot.app.use_cases import use_cases
from foliot.cluster import machine
from foliot.cluster.process_pool import ProcessPool, reader_pool
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.engine.model.run import EventType, RunState
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.pipelines.action import PipelineAction
from foliot.features.pipelines.model import OnError, PipelineDefinition, StepSpec, Unreadable, revision_of
from foliot.features.pipelines.wiring import PooledCall, load, step_resources
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import GivenActions, GivenPages, GivenSecrets, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests import heavy_tasks
from tests.services import free_port, wait_until

SITE = "http://site.test"


class Count(Transform):
    """Items from 0 on."""

    to: int

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        for number in range(self.to):
            yield {"n": number}


class Trip(Transform):
    """Fails at one number, as often as it is told."""

    left: ClassVar[int] = 0
    at: int

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        if item["n"] == self.at and (Trip.left or ctx.on_error == "skip"):
            Trip.left -= 1
            raise ValueError("tripped")
        return item


class Hang(Transform):
    """Waits for ever at its first item."""

    reached: ClassVar[asyncio.Event]
    closed: ClassVar[list[str]] = []

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        try:
            async for item in items:
                Hang.reached.set()
                await asyncio.Event().wait()
                yield item
        finally:
            Hang.closed.append(ctx.step)


class Blab(Transform):
    """Says a secret aloud."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        ctx.log(f"the word is {await ctx.secret('word')}")
        yield {"n": 1}


def definition(name: str, *steps: tuple[str, dict[str, Any]], on_error: OnError = "fail") -> PipelineDefinition:
    made = tuple(
        StepSpec(cls=kind, name=f"{at}-{kind}", kwargs=kwargs, on_error=on_error)
        for at, (kind, kwargs) in enumerate(steps, 1)
    )
    return PipelineDefinition(name=name, steps=made, draft=None, on_error=on_error, revision=revision_of(made, None))


def nowhere() -> str:
    """The URL of a database that is not there."""
    return f"postgresql://somebody:hunter2@127.0.0.1:{free_port()}/there"


@dataclass
class GivenDefinitions:
    """Pipelines of the tenant `default`."""

    all: dict[str, PipelineDefinition] = field(default_factory=dict)

    async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
        return self.all.get(name) if tenant_id == "default" else None

    async def names(self, tenant_id: str) -> Sequence[str]:
        return sorted(self.all) if tenant_id == "default" else []


@dataclass
class Place:
    """A store, a clock, and the use cases of a server that has some pipelines."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    action: PipelineAction

    async def run(self, name: str) -> RunView:
        """Ask for a run, and let it happen."""
        made = await self.cases[Schedules].create(
            LOCAL,
            {
                "name": name,
                "type": "oneoff",
                "run_at": (self.clock.now() + timedelta(seconds=1)).isoformat(),
                "action": {"kind": "pipeline", "pipeline": name},
                "retry_policy": {"max_retries": 1, "delay_seconds": 1},
            },
        )
        self.clock.advance(2)
        await drain(self.store, self.clock, self.action, patience=20)
        (run,) = await self.cases[Runs].list(LOCAL, PageRequest(limit=9), schedule_id=made.id)
        return await self.cases[Runs].get(LOCAL, run.id)

    async def told(self, run: RunView, kind: EventType) -> list[Mapping[str, Any]]:
        events = (await self.cases[Runs].events(LOCAL, run.id, 0, 500))[1]
        return [event.data or {} for event in events if event.type is kind]


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    made = reader_pool(machine.ReaderCapacity(1, 1024**3))
    yield made
    await made.close()


@pytest.fixture
async def place(tmp_path: Path, pool: ProcessPool) -> AsyncIterator[Place]:
    Trip.left, Hang.reached = 0, asyncio.Event()
    Hang.closed.clear()
    catalogue = load([])
    for one in (Count, Trip, Hang, Blab):
        catalogue.add(one)
    feed = "<rss version='2.0'><channel><item><title>One</title><link>/one</link></item></channel></rss>"
    site = GivenPages({f"{SITE}/feed": feed, f"{SITE}/one": "<h1>One</h1>"})
    reached = step_resources(
        egress=site,
        fetcher=Fetcher(pages=PageFetcher(egress=site), clock=StoppedClock()),
        wallet=GivenSecrets({"word": "abracadabra"}),
        apart=PooledCall(pool, 1),
        out=tmp_path / "out",
        more=(),
    )
    known = [
        definition("plain", ("Count", {"to": 3}), ("JsonlSink", {"path": "plain.jsonl"})),
        definition("partial", ("Count", {"to": 3}), ("Trip", {"at": 1}), on_error="skip"),
        definition("trips", ("Count", {"to": 3}), ("Trip", {"at": 1})),
        definition("hangs", ("Count", {"to": 3}), ("JsonlSink", {"path": "hangs.jsonl"}), ("Hang", {})),
        definition("blabs", ("Blab", {})),
        definition("away", ("Count", {"to": 1}), ("SqlSink", {"url": nowhere(), "table": "a"})),
        definition("unknown", ("Nowhere", {}), ("Count", {})),
        definition(
            "news",
            ("FeedFetcher", {"urls": f"{SITE}/feed"}),
            ("HttpFetcher", {}),
            ("HtmlParser", {"selectors": {"head": "h1"}}),
        ),
    ]
    async with open_store() as store:
        clock = StoppedClock()
        action = PipelineAction(
            definitions=GivenDefinitions({one.name: one for one in known}),
            catalogue=catalogue,
            outside=reached,
            judge=DataJudge(store=store, clock=clock),
        )
        yield Place(store, clock, use_cases(store, clock, MemoryFeed(), GivenActions.of(action)), action)


async def test_a_run_tells_what_each_step_did(place: Place, tmp_path: Path) -> None:
    run = await place.run("plain")

    assert run.state is RunState.SUCCESS
    assert run.result is not None
    steps, quality = run.result.pop("steps"), run.result.pop("quality")
    assert (quality["items"], quality["errors"], quality["coverage"]) == (3, 0, {"n": 3})
    assert run.result == {
        "pipeline": "plain",
        "revision": (await place.action._definitions.find("default", "plain")).revision,  # type: ignore[union-attr]
        "items": 3,
        "failed": 0,
    }
    shape = [(step["name"], step["state"], step["in"], step["out"], step["failed"]) for step in steps]
    assert shape == [("1-Count", "done", 0, 3, 0), ("2-JsonlSink", "done", 3, 3, 0)]
    told = await place.told(run, EventType.PROGRESS)
    assert told[-1]["steps"] == steps
    assert (tmp_path / "out" / "plain.jsonl").read_text() == '{"n":0}\n{"n":1}\n{"n":2}\n'


async def test_items_left_out_make_a_run_partial(place: Place) -> None:
    run = await place.run("partial")

    assert run.state is RunState.PARTIAL
    assert run.result is not None
    assert (run.result["items"], run.result["failed"]) == (2, 1)


async def test_a_failed_run_is_tried_again_from_the_start(place: Place) -> None:
    Trip.left = 1

    run = await place.run("trips")
    assert (run.state, run.error and run.error["message"]) == (RunState.RETRYING, "2-Trip: ValueError: tripped")
    place.clock.advance(10)
    await drain(place.store, place.clock, place.action)
    again = await place.cases[Runs].get(LOCAL, run.id)

    assert again.state is RunState.SUCCESS
    assert again.result is not None
    assert again.result["items"] == 3


async def test_pages_and_feeds_are_read_in_processes_of_their_own(place: Place, pool: ProcessPool) -> None:
    run = await place.run("news")

    assert run.state is RunState.SUCCESS, run.error
    assert run.result is not None
    assert run.result["items"] == 1
    assert pool.processes == 1


async def test_a_run_that_is_stopped_closes_its_steps_and_leaves_no_file(place: Place, tmp_path: Path) -> None:
    running = asyncio.create_task(place.run("hangs"))
    await asyncio.wait_for(Hang.reached.wait(), 20)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert Hang.closed == ["3-Hang"]
    assert list((tmp_path / "out").iterdir()) == []


async def test_a_chain_has_25_of_its_30_minutes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.features.pipelines.action.SOFT", 0.00001)

    run = await place.run("hangs")

    assert run.error is not None
    assert (run.error["code"], run.state) == ("timeout", RunState.RETRYING)
    assert Hang.closed == ["3-Hang"]
    assert place.action.timeout == timedelta(seconds=1800)


async def test_a_secret_is_in_no_line_of_the_run(place: Place) -> None:
    run = await place.run("blabs")

    lines = str(await place.cases[Runs].events(LOCAL, run.id, 0, 500))
    assert "the word is" in lines
    assert "abracadabra" not in lines


async def test_a_step_that_this_worker_cannot_make_is_named(place: Place) -> None:
    run = await place.run("unknown")

    assert run.state is RunState.RETRYING
    assert run.error is not None
    assert "chain[0].class: is not a registered transform" in run.error["message"]
    assert "chain[1].kwargs.to: is required" in run.error["message"]


async def test_what_is_away_has_its_address_in_no_line_of_the_run(place: Place) -> None:
    run = await place.run("away")

    lines = str(await place.cases[Runs].events(LOCAL, run.id, 0, 500)) + str(run.error)
    assert run.state is RunState.RETRYING
    assert "the database of the sink does not answer" in lines
    assert not re.search(r"127\.0\.0\.1|hunter2|somebody", lines)


async def test_a_reader_may_hold_only_so_much_memory(pool: ProcessPool) -> None:
    apart = PooledCall(pool, 1)

    with pytest.raises(Unreadable, match="MemoryError"):
        await apart(heavy_tasks.hold, b"", {"gigabytes": 4}, "default")

    assert await apart(heavy_tasks.hold, b"", {"gigabytes": 0}, "default") == 0


async def test_a_reader_gives_way_to_who_fires_and_answers(pool: ProcessPool) -> None:
    apart, own = PooledCall(pool, 1), os.getpriority(os.PRIO_PROCESS, 0)

    # Once for each process, however many pages it reads.
    assert [await apart(heavy_tasks.niceness, b"", {}, "default") for _ in range(3)] == [min(own + 10, 19)] * 3
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


async def test_a_pipeline_that_nobody_defines_is_refused_with_those_that_there_are(place: Place) -> None:
    with pytest.raises(Invalid) as wrong:
        await place.run("plane")

    assert wrong.value.field == "action.pipeline"
    assert "did you mean 'plain'? Known are away, blabs, hangs, news, partial, plain, trips" in wrong.value.message


@pytest.mark.parametrize("given", [None, 7, "", "a\x00", "x" * 201, ["plain"]])
async def test_what_is_no_name_of_a_pipeline_is_refused(place: Place, given: Any) -> None:
    with pytest.raises(Invalid):
        place.action.check({"pipeline": given})


async def test_a_pipeline_that_is_gone_fails_for_good(place: Place) -> None:
    place.action._definitions.all["gone"] = definition("gone", ("Count", {"to": 1}))  # type: ignore[attr-defined]
    schedule = {
        "name": "gone",
        "type": "oneoff",
        "run_at": (place.clock.now() + timedelta(seconds=1)).isoformat(),
        "action": {"kind": "pipeline", "pipeline": "gone"},
    }
    made = await place.cases[Schedules].create(LOCAL, schedule)
    del place.action._definitions.all["gone"]  # type: ignore[attr-defined]
    place.clock.advance(2)
    await drain(place.store, place.clock, place.action)

    (run,) = await place.cases[Runs].list(LOCAL, PageRequest(limit=9), schedule_id=made.id)
    assert run.state is RunState.DEAD_LETTER
    assert run.error is not None
    assert run.error["code"] == "unknown_pipeline"


KILLED = """
import asyncio, sys
from pathlib import Path
from foliot import Transform
from foliot.features.pipelines.steps.sinks import JsonlSink
from foliot.testing import stream

class Endless(Transform):
    async def run(self, items, ctx):
        while not ctx.cancelled:
            yield {"x": "x" * 10_000}

asyncio.run(stream(Endless(), JsonlSink(path="a.jsonl"), out=Path(sys.argv[1])))
"""


def test_a_worker_that_is_killed_in_the_middle_leaves_no_half_written_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"old":true}\n')
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    try:
        assert wait_until(lambda: any(part.stat().st_size for part in tmp_path.glob(".*.part")), seconds=20)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".part")] == ["a.jsonl"]
    assert (tmp_path / "a.jsonl").read_text() == '{"old":true}\n'
