"""Runs a chain: each step asks the one before for its next item, so nothing is ever made faster than it is used.

    first ◀── asks ── second ◀── asks ── last ◀── asks ── the chain, which counts what comes out

At most one item is between two steps, whatever their number; a step that wants more under way at once bounds it itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foliot.core.errors import Invalid, Unavailable
from foliot.features.pipelines.chain.context import StepContext, StepCounts, StepFailed
from foliot.features.pipelines.chain.fetch import FetchFailed
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.model.ports import Unreadable

BREATH = 0.005
"""Seconds for which steps that never wait keep the loop from everybody else."""
TOLD = 0.5
"""Seconds between two words on how far the chain is."""
CLOSING = 10.0
"""Seconds that a step has to let go of what it holds."""

Tell = Callable[[Sequence[Mapping[str, Any]]], None]


class ChainFailed(Exception):
    """A step could not go on; its own exception is the cause."""

    def __init__(self, step: str, cause: BaseException) -> None:
        super().__init__(f"{step}: {cause}")
        self.step = step
        self.cause = cause


class NotAnItem(StepFailed):
    """A step gave something that is no item."""

    def __init__(self, got: object) -> None:
        said = f"gave {'None' if got is None else f'a {type(got).__name__}'}; an item is a dict whose keys are texts"
        super().__init__(said, permanent=True)


@dataclass(slots=True, kw_only=True)
class ChainRun:
    """One attempt at the steps of a pipeline."""

    steps: Sequence[tuple[Transform, StepContext]]
    tell: Tell
    keep: Callable[[Item], None] | None = None
    """Is given every item that comes out; nobody else does anything with them."""
    _outputs: list[_StepOutput] = field(default_factory=list)
    _trouble: tuple[StepCounts, BaseException] | None = None
    _breathed: float = 0.0
    _told: float = 0.0

    @property
    def tallies(self) -> list[StepCounts]:
        return [ctx.tally for _, ctx in self.steps]

    async def run(self) -> int:
        """Every item through every step; answers how many came out. `ChainFailed` when a step could not go on.

        However it ends, every step has been closed by then, the last first.
        """
        whole = False
        try:
            count = await self._drain()
            whole = self._trouble is None
        except (Exception, SystemExit) as error:
            if self._trouble is None:
                # Raised where no step was asked: by making a stream, for one.
                self._trouble = (self.tallies[-1], error)
            raise self._failure() from error
        finally:
            await self._close(whole=whole)
            self._report()
        if self._trouble is not None:
            # A step has swallowed what another one said; what came out is not what was asked for.
            raise self._failure() from self._trouble[1]
        return count

    async def _drain(self) -> int:
        loop = asyncio.get_running_loop()
        self._breathed = self._told = loop.time()
        items: AsyncIterator[Item] = _nothing()
        for transform, ctx in self.steps:
            before = self._outputs[-1] if self._outputs else None
            items = output = _StepOutput(self, ctx, transform, items, before)
            self._outputs.append(output)
        count = 0
        async for item in items:
            count += 1
            if self.keep is not None:
                self.keep(item)
        return count

    def note(self, tally: StepCounts, error: BaseException) -> None:
        """A step raised; those after it only pass that on."""
        if self._trouble is None:
            self._trouble = (tally, error)
            tally.state = "failed" if isinstance(error, Exception) else "stopped"

    async def yield_to_loop(self) -> None:
        """Let others have the loop now and then, and say how far it is."""
        now = asyncio.get_running_loop().time()
        if now - self._breathed >= BREATH:
            await asyncio.sleep(0)
            self._breathed = asyncio.get_running_loop().time()
        if now - self._told >= TOLD:
            self._told = now
            self._report()

    async def _close(self, *, whole: bool) -> None:
        for output in reversed(self._outputs):
            output.ctx.cancelled = True
            early = await output.close()
            if early and output.tally.state == "running":
                output.tally.state = "stopped"
                if whole:
                    output.ctx.log("a later step had enough before this one was at its end; it was closed", "warning")

    def _failure(self) -> ChainFailed:
        assert self._trouble is not None  # noqa: S101 -- asked by whoever has seen it
        tally, error = self._trouble
        return ChainFailed(tally.name, error)

    def _report(self) -> None:
        self.tell([tally.as_dict() for tally in self.tallies])


class _StepOutput:
    """What comes out of one step, counted and timed on its way to the next."""

    def __init__(
        self,
        chain: ChainRun,
        ctx: StepContext,
        transform: Transform,
        items: AsyncIterator[Item],
        before: _StepOutput | None,
    ) -> None:
        self.chain = chain
        self.ctx = ctx
        self.tally = ctx.tally
        self.before = before
        self.after: StepCounts | None = None
        if before is not None:
            before.after = self.tally
        self.spent = 0.0
        """Seconds in which it was asked, those of the steps before included."""
        self.made = transform.run(items, ctx)

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        loop = asyncio.get_running_loop()
        began = loop.time()
        if self.tally.state == "waiting":
            self.tally.state = "running"
        try:
            item = _checked(await anext(self.made))
        except StopAsyncIteration:
            self.tally.state = "done"
            raise
        except BaseException as error:
            self.chain.note(self.tally, error)
            raise
        finally:
            self.spent += loop.time() - began
            self.tally.seconds = self.spent - (self.before.spent if self.before is not None else 0.0)
        self.tally.given += 1
        if self.after is not None:
            self.after.taken += 1
        await self.chain.yield_to_loop()
        return item

    async def close(self) -> bool:
        """Let the step let go of what it holds; says whether it was not at its end."""
        early = self.tally.state == "running"
        close = getattr(self.made, "aclose", None)
        if close is None:
            return early
        try:
            async with asyncio.timeout(CLOSING):
                await close()
        except Exception as error:  # noqa: BLE001 -- whatever a stranger's step says at its end, the others are closed
            self.ctx.log(f"could not be closed: {type(error).__name__}: {error}"[:500], "warning")
        return early


def _checked(made: object) -> Item:
    if not isinstance(made, dict):
        raise NotAnItem(made)
    return made


async def _nothing() -> AsyncIterator[Item]:
    """What the first step is given."""
    none: tuple[Item, ...] = ()
    for item in none:
        yield item


def told(error: BaseException) -> str:
    """What a step raised, for people."""
    if isinstance(error, StepFailed | FetchFailed | Unreadable | Invalid):
        return str(error)
    return error.told if isinstance(error, Unavailable) else f"{type(error).__name__}: {error}"


def is_permanent(error: BaseException) -> bool:
    """Whether trying again would not help."""
    if isinstance(error, StepFailed | FetchFailed):
        return error.permanent
    return isinstance(error, Invalid)
