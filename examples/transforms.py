"""Transforms of one's own: start Foliot with FOLIOT_TRANSFORMS=transforms in this directory."""

from __future__ import annotations

from collections.abc import AsyncIterator

from foliot import Item, StepContext, Transform


class Discount(Transform):
    """Says by how much an item is cheaper than it was, and leaves out what is not."""

    least: float = 5.0
    """Per cent that count."""

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        was, now = float(item["was"]), float(item["price"])
        off = round(100 * (was - now) / was, 1)
        return {**item, "off": off} if off >= self.least else None


class Pairs(Transform):
    """Puts two items into one."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        first: Item | None = None
        async for item in items:
            if first is None:
                first = item
            else:
                yield {"first": first, "second": item}
                first = None
        if first is not None:
            ctx.fail(first, "has nobody beside it")
