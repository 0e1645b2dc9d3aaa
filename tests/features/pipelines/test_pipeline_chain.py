"""A chain of transforms: how items flow, what is counted, how it ends."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foliot import Item, StepContext, Transform
from foliot.core.errors import Unavailable
from foliot.features.pipelines.chain.run import ChainFailed, ChainRun, is_permanent
from foliot.features.pipelines.steps.filters import Filter
from foliot.features.pipelines.steps.sinks import JsonlSink
from foliot.testing import Streamed, contexts, stream


class Numbers(Transform):
    """Items from 0 on."""

    to: int

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        for number in range(self.to):
            yield {"n": number, "text": "x" * 1000}


class Double(Transform):
    """Twice the number."""

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        return {**item, "n": item["n"] * 2}


class Odd(Transform):
    """Fails for odd numbers."""

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        if item["n"] % 2:
            raise ValueError("it is odd")
        return item


class Holder(Transform):
    """Holds something from its first item on, and says when it lets go."""

    held: ClassVar[list[str]] = []
    name: str = "holder"

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        self.held.append(f"{self.name} opened")
        try:
            async for item in items:
                yield item
            self.held.append(f"{self.name} whole")
        finally:
            await asyncio.sleep(0)
            self.held.append(f"{self.name} closed")


@pytest.fixture(autouse=True)
def _forget() -> None:
    Holder.held.clear()


def shape(made: Streamed) -> list[tuple[Any, ...]]:
    return [(step["name"], step["state"], step["in"], step["out"], step["failed"]) for step in made.steps]


async def test_items_flow_through_every_step_and_are_counted_on_their_way() -> None:
    made = await stream(Numbers(to=3), Double())

    assert [item["n"] for item in made.items] == [0, 2, 4]
    assert shape(made) == [("Numbers", "done", 0, 3, 0), ("Double", "done", 3, 3, 0)]


async def test_the_first_step_is_given_nothing() -> None:
    assert (await stream(Double())).items == []


async def test_an_item_is_asked_for_only_when_the_one_before_it_is_used_up() -> None:
    order: list[str] = []

    class Make(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            for number in range(3):
                order.append(f"made {number}")
                yield {"n": number}

    class Use(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            await asyncio.sleep(0)
            order.append(f"used {item['n']}")
            return None

    await stream(Make(), Use())

    assert order == ["made 0", "used 0", "made 1", "used 1", "made 2", "used 2"]


class Counted(dict[str, Any]):
    """An item that can be seen to be gone."""

    __slots__ = ("__weakref__",)
    alive: ClassVar[weakref.WeakSet[Counted]] = weakref.WeakSet()

    def __hash__(self) -> int:  # type: ignore[override]  # a set of them is about which, not about what
        return id(self)


async def test_a_hundred_thousand_items_are_never_in_memory_together(tmp_path: Path) -> None:
    most = 0

    class Many(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            nonlocal most
            for number in range(100_000):
                item = Counted(n=number, kind="even" if number % 2 == 0 else "odd")
                Counted.alive.add(item)
                most = max(most, len(Counted.alive))
                yield item

    steps = [Many(), Filter(field="kind", equals="even"), JsonlSink(path="even.jsonl")]

    assert await ChainRun(steps=contexts(steps, out=tmp_path), tell=lambda _: None).run() == 50_000
    assert (tmp_path / "even.jsonl").read_bytes().count(b"\n") == 50_000
    assert most <= 4


async def test_a_failed_item_is_left_out_and_counted_where_the_step_says_skip() -> None:
    made = await stream(Numbers(to=5), Odd(), on_error="skip")

    assert [item["n"] for item in made.items] == [0, 2, 4]
    assert made.failed == 2
    assert shape(made)[1] == ("Odd", "done", 5, 3, 2)
    assert "warning: Odd: left out: ValueError: it is odd" in made.log


async def test_a_failed_item_ends_the_run_where_the_step_says_fail() -> None:
    with pytest.raises(ChainFailed, match="Odd: ValueError: it is odd") as failed:
        await stream(Numbers(to=5), Odd())

    assert failed.value.step == "Odd"
    assert not is_permanent(failed.value.cause)


async def test_of_many_failed_items_the_log_names_a_few() -> None:
    made = await stream(Numbers(to=200), Odd(), on_error="skip")

    assert made.failed == 100
    assert sum("left out" in line for line in made.log) == 21


async def test_what_a_stranger_hears_of_a_thing_that_is_away_names_no_address() -> None:
    class Away(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            raise Unavailable("10.0.0.7 is away", told="it is away")

    made = await stream(Away(), items=[{"id": 1}], on_error="skip")

    assert made.log == ["warning: Away: left out: 1: it is away"]


async def test_every_step_is_closed_at_the_end_the_last_first() -> None:
    await stream(Numbers(to=2), Holder(name="a"), Holder(name="b"))

    assert Holder.held == ["b opened", "a opened", "a whole", "a closed", "b whole", "b closed"]


async def test_every_step_is_closed_when_a_later_one_fails() -> None:
    with pytest.raises(ChainFailed):
        await stream(Numbers(to=5), Holder(name="a"), Holder(name="b"), Odd())

    assert Holder.held == ["b opened", "a opened", "b closed", "a closed"]


async def test_every_step_is_closed_when_the_run_is_cancelled_between_two_items() -> None:
    class Wait(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            if item["n"] == 2:
                reached.set()
                await asyncio.Event().wait()
            return item

    reached = asyncio.Event()
    chain = _chain(Numbers(to=5), Holder(name="a"), Wait())
    running = asyncio.create_task(chain.run())
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert Holder.held == ["a opened", "a closed"]
    assert [tally.state for tally in chain.tallies] == ["stopped", "stopped", "stopped"]
    assert all(ctx.cancelled for _, ctx in chain.steps)


async def test_steps_that_never_wait_let_others_have_the_loop() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while turns < 3:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(count())
    await _chain(Numbers(to=50_000), Double()).run()

    assert turns == 3
    await others


async def test_a_chain_that_never_waits_can_be_cancelled() -> None:
    class Endless(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            while not ctx.cancelled:
                yield {"n": 1}

    running = asyncio.create_task(_chain(Endless(), Double()).run())
    await asyncio.sleep(0)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 10)


async def test_a_step_that_swallows_what_another_said_does_not_make_the_run_succeed() -> None:
    class Deaf(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            try:
                async for item in items:
                    yield item
            except Exception:  # noqa: BLE001 -- as people write it
                return

    with pytest.raises(ChainFailed, match="it is odd") as failed:
        await stream(Numbers(to=5), Odd(), Deaf())

    assert failed.value.step == "Odd"


async def test_a_step_closed_before_its_end_says_so() -> None:
    class First(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            async for item in items:
                yield item
                return

    made = await stream(Numbers(to=5), Holder(name="a"), First())

    assert len(made.items) == 1
    assert Holder.held == ["a opened", "a closed"]
    assert any("a later step stopped" in line for line in made.log)


@pytest.mark.parametrize(("given", "word"), [("text", "a str"), (None, "None"), ([1], "a list")])
async def test_what_is_no_item_is_refused_by_name(given: Any, word: str) -> None:
    class Wrong(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            yield given

    with pytest.raises(ChainFailed, match=f"Wrong: gave {word}; an item is a dict") as failed:
        await stream(Wrong(), Double())

    assert is_permanent(failed.value.cause)


async def test_a_step_that_cannot_be_closed_does_not_keep_the_others_open() -> None:
    class Stuck(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            try:
                async for item in items:
                    yield item
            finally:
                raise RuntimeError("stuck")

    class Break(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            ctx.give_up("enough")

    with pytest.raises(ChainFailed, match="Break: enough") as failed:
        await stream(Numbers(to=5), Holder(name="a"), Stuck(), Break())

    assert Holder.held == ["a opened", "a closed"]
    assert is_permanent(failed.value.cause)


def _chain(*steps: Transform) -> ChainRun:
    return ChainRun(steps=contexts(steps), tell=lambda _: None)
