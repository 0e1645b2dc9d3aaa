"""RunItems: the items of the run that the pipeline's run follows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import Field

from foliot.features.pipelines.chain.context import StepContext, Transform
from foliot.features.pipelines.model import Item

PAGE = 500
"""Items that are read at once."""


class RunItems(Transform):
    """Streams what the parent's run has produced: the items of a crawl, or the articles of a batch that were read.

    For a pipeline whose schedule is of type `after`. Items of an earlier step come first.
    """

    limit: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000_000
    """How many items are taken, from the first."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async for item in items:
            yield item
        parent = await ctx.parent()
        if parent is None:
            ctx.give_up("this run does not follow another: RunItems needs a schedule of type after")
        after = 0
        while after < self.limit:
            page = await ctx.outside.run_items.page(ctx.tenant_id, parent, after, min(PAGE, self.limit - after))
            if page is None:
                ctx.give_up(f"run {parent.run_id} is of kind {parent.kind}: only crawls and articles keep items")
            for item in page:
                yield item
            after += len(page)
            if not page:
                break
        ctx.log(f"{after:,} items of run {parent.run_id}")
