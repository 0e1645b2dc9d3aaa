"""WebhookSink: posts items by HTTP in batches, with an idempotency key."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Annotated

import orjson
from pydantic import Field

from foliot.features.pipelines.chain.context import Confidential, StepContext
from foliot.features.pipelines.chain.fetch import FetchFailed
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.steps.item_fields import Seconds, plain

ANSWER = 64 * 1024


class WebhookSink(Transform):
    """Posts items as JSON: `{"pipeline": …, "run_id": …, "items": […]}`, at most `batch_size` at once.

    Items go on to the next step when the target has answered with a status of 2xx. Each request has an
    `Idempotency-Key` that is the same when the same items are sent again by a later attempt.
    """

    url: Confidential
    headers: dict[str, Confidential] = Field(default_factory=dict, max_length=50)
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 100
    timeout_seconds: Seconds = 30.0

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        url = await ctx.reveal(self.url)
        headers = {name: await ctx.reveal(value) for name, value in self.headers.items()}
        group: list[tuple[Item, bytes]] = []
        async for item in items:
            try:
                group.append((item, plain(item)))
            except TypeError as wrong:
                ctx.fail(item, f"cannot be sent: {str(wrong)[:300]}", permanent=True)
                continue
            if len(group) >= self.batch_size:
                for one in await self._sent(url, headers, group, ctx):
                    yield one
                group.clear()
        for one in await self._sent(url, headers, group, ctx):
            yield one

    async def _sent(
        self, url: str, headers: dict[str, str], group: list[tuple[Item, bytes]], ctx: StepContext
    ) -> list[Item]:
        """Posts a batch; returns the items that the target accepted."""
        if not group:
            return []
        told = {"pipeline": ctx.pipeline, "run_id": ctx.run_id, "items": [orjson.Fragment(text) for _, text in group]}
        body = orjson.dumps(told)
        ours = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{ctx.run_id}-{hashlib.blake2b(body, digest_size=8).hexdigest()}",
        }
        try:
            answer = await ctx.fetch(
                url, method="POST", headers=headers | ours, body=body, timeout=self.timeout_seconds, most=ANSWER
            )
        except FetchFailed as failed:
            return _lost(group, str(failed), ctx, permanent=failed.permanent)
        if not answer.ok:
            return _lost(group, f"the target answered {answer.status}", ctx, permanent=not answer.passing)
        return [item for item, _ in group]


def _lost(group: list[tuple[Item, bytes]], why: str, ctx: StepContext, *, permanent: bool) -> list[Item]:
    for item, _ in group:
        ctx.fail(item, why, permanent=permanent)
    return []
