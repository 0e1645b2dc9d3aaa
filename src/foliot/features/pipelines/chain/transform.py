"""A step of a pipeline: takes a stream of items, gives a stream of items."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

from pydantic import ConfigDict

from foliot.core.errors import Unavailable
from foliot.features.pipelines.chain.context import Confidential, SecretRef, StepContext, StepFailed
from foliot.features.pipelines.model.definition import Item
from foliot.servers.http.attribute_docs import DocumentedModel

__all__ = ["Confidential", "Item", "SecretRef", "StepContext", "StepFailed", "Transform"]


class Transform(DocumentedModel):
    """The fields of a subclass are the `kwargs` of its step. It has `run`, or `handle` where one item makes one.

    class Shout(Transform):
        field: str

        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            return {**item, self.field: str(item[self.field]).upper()}
    """

    # Built when first used: most processes never make most of them.
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    aliases: ClassVar[tuple[str, ...]] = ()
    """Further names under which a file may ask for it."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        """Every item that this step makes, one at a time: what it does not hold, it need not remember.

        The items of the step before come as they are asked for; the first step of a chain gets none. An async
        generator that is closed before its end was told so by `GeneratorExit` at its `yield`: what is in a `finally`
        is done in any case, what stands behind its loop only when every item was seen.
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
        """What becomes of one item; None leaves it out, and an exception is one item's failure."""
        raise NotImplementedError(f"{type(self).__name__} has neither run nor handle")
