"""Runs a chain of async generators: each step pulls from the one before, which is the back-pressure.

    first ◀── pulls ── second ◀── pulls ── last ◀── pulls ── the chain, which counts what comes out

At most one item is between two steps, however many there are; a step with its own concurrency bounds it itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foliot.core.errors import Invalid, Unavailable
from foliot.features.pipelines.chain.context import StepContext, StepCounts, StepFailed, Transform
from foliot.features.pipelines.chain.fetch import FetchFailed
from foliot.features.pipelines.model import Item, Unreadable

BREATH = 0.005
"""Seconds after which steps that never await yield to the event loop."""
TOLD = 0.5
"""Seconds between two progress events."""
CLOSING = 10.0
"""Seconds that a step has to close."""

Tell = Callable[[Sequence[Mapping[str, Any]]], None]


class ChainFailed(Exception):
    """A step raised; its exception is the cause."""

    def __init__(self, step: str, cause: BaseException) -> None:
        super().__init__(f"{step}: {cause}")
        self.step = step
        self.cause = cause


class NotAnItem(StepFailed):
    """A step yielded something that is no item."""

    def __init__(self, got: object) -> None:
        said = f"gave {'None' if got is None else f'a {type(got).__name__}'}; an item is a dict whose keys are texts"
        super().__init__(said, permanent=True)


@dataclass(slots=True, kw_only=True)
class ChainRun:
    """One run of a chain: pulls items through the steps, counts them, closes the steps."""

    steps: Sequence[tuple[Transform, StepContext]]
    tell: Tell
    source: AsyncIterator[Item] | None = None
    """The input of the first step; without it, the first step gets an empty stream."""
    keep: Callable[[Item], None] | None = None
    """Called with every item of the last step; without it, they are only counted."""
    _outputs: list[_StepOutput] = field(default_factory=list)
    _trouble: tuple[StepCounts, BaseException] | None = None
    _breathed: float = 0.0
    _told: float = 0.0

    @property
    def tallies(self) -> list[StepCounts]:
        return [ctx.tally for _, ctx in self.steps]

    async def run(self) -> int:
        """Runs the chain; returns how many items came out. `ChainFailed` when a step raised.

        However it ends, every step has been closed, the last first.
        """
        whole = False
        try:
            count = await self._drain()
            whole = self._trouble is None
        except (Exception, SystemExit) as error:
            if self._trouble is None:
                # Raised outside of the steps' generators, for instance by creating one.
                self._trouble = (self.tallies[-1], error)
            raise self._failure() from error
        finally:
            await self._close(whole=whole)
            self._report()
        if self._trouble is not None:
            # A step has swallowed the exception of another: the result is incomplete.
            raise self._failure() from self._trouble[1]
        return count

    async def _drain(self) -> int:
        loop = asyncio.get_running_loop()
        self._breathed = self._told = loop.time()
        items: AsyncIterator[Item] = _nothing() if self.source is None else self.source
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
        """Records the first step that raised; those after it only propagate the exception."""
        if self._trouble is None:
            self._trouble = (tally, error)
            tally.state = "failed" if isinstance(error, Exception) else "stopped"

    async def yield_to_loop(self) -> None:
        """Yields to the event loop from time to time, and reports progress."""
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
                    output.ctx.log("a later step stopped before this one had finished; it was closed", "warning")

    def _failure(self) -> ChainFailed:
        assert self._trouble is not None  # noqa: S101 -- the caller has checked
        tally, error = self._trouble
        return ChainFailed(tally.name, error)

    def _report(self) -> None:
        self.tell([tally.as_dict() for tally in self.tallies])


class _StepOutput:
    """The output iterator of one step, counted and timed."""

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
        """Seconds spent in it, including the steps before."""
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
        """Closes the step's generator; returns whether it had not finished."""
        early = self.tally.state == "running"
        close = getattr(self.made, "aclose", None)
        if close is None:
            return early
        try:
            async with asyncio.timeout(CLOSING):
                await close()
        except Exception as error:  # noqa: BLE001 -- a step that raises on close must not keep the others open
            self.ctx.log(f"could not be closed: {type(error).__name__}: {error}"[:500], "warning")
        return early


def _checked(made: object) -> Item:
    if not isinstance(made, dict):
        raise NotAnItem(made)
    return made


async def _nothing() -> AsyncIterator[Item]:
    """The empty input of the first step."""
    none: tuple[Item, ...] = ()
    for item in none:
        yield item


def told(error: BaseException) -> str:
    """The exception of a step as a message for users."""
    if isinstance(error, StepFailed | FetchFailed | Unreadable | Invalid):
        return str(error)
    return error.told if isinstance(error, Unavailable) else f"{type(error).__name__}: {error}"


def is_permanent(error: BaseException) -> bool:
    """Whether a retry would not help."""
    if isinstance(error, StepFailed | FetchFailed):
        return error.permanent
    return isinstance(error, Invalid)
