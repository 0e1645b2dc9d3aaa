"""The base class of transforms: async generators from items to items."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

from pydantic import ConfigDict

from foliot.core.errors import Unavailable
from foliot.features.pipelines.chain.context import Confidential, SecretRef, StepContext, StepFailed
from foliot.features.pipelines.model import Item
from foliot.servers.http.schema import DocumentedModel

__all__ = ["Confidential", "Item", "SecretRef", "StepContext", "StepFailed", "Transform"]


class Transform(DocumentedModel):
    """A step of a chain. Its fields are the `kwargs` in the file; it implements `run`, or `handle` for one item each.

    class Shout(Transform):
        field: str

        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            return {**item, self.field: str(item[self.field]).upper()}
    """

    # Built on first use: most processes never use most of them.
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    aliases: ClassVar[tuple[str, ...]] = ()
    """Additional names for files."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        """Yields the output items one at a time, so that memory stays bounded.

        `items` is pulled from the step before; the first step of a chain gets none. An async generator that is closed
        before its end gets `GeneratorExit` at its `yield`: a `finally` runs in any case, code after the loop only
        when every item was seen.
        """
        async for item in items:
            try:
                made = await self.handle(item, ctx)
            except StepFailed:
                raise
            except Unavailable as away:
                ctx.fail(item, away.told)
            except Exception as error:  # noqa: BLE001 -- whatever one item brings about is about that item
                ctx.fail(item, f"{type(error).__name__}: {error}"[:500])
            else:
                if made is not None:
                    yield made

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        """Maps one item; None drops it, and an exception fails this item only."""
        raise NotImplementedError(f"{type(self).__name__} has neither run nor handle")
