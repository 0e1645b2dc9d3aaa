"""SqlSink and MongoSink: write items to external databases in batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import Field

from foliot.features.pipelines.chain.context import Confidential, StepContext
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.model.ports import RowTarget, RowWriter, SinkDatabase
from foliot.features.pipelines.steps.item_fields import Name, Names

Group = Annotated[int, Field(ge=1, le=5000)]


class RowSink(Transform):
    """Base of both sinks. Items go on to the next step when they are written."""

    key: Names = Field(default_factory=list)
    """Fields that make two items the same: the later one takes the earlier one's place, in this run and in others.

    Without, every item is added, and what a stopped run has added stays and is added again.
    """
    batch_size: Group = 200

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        shelf, into = await self.into(ctx)
        waiting: list[Item] = []
        count = 0
        async with shelf.open(into) as rows:
            async for item in items:
                waiting.append(item)
                if len(waiting) >= self.batch_size:
                    group, waiting = waiting, []
                    for one in await _written(rows, group, ctx):
                        count += 1
                        yield one
            for one in await _written(rows, waiting, ctx):
                count += 1
                yield one
        ctx.log(f"{count:,} items are in {into.name}")

    @abstractmethod
    async def into(self, ctx: StepContext) -> tuple[SinkDatabase, RowTarget]:
        """The database and the target of its rows."""


async def _written(rows: RowWriter, group: list[Item], ctx: StepContext) -> list[Item]:
    """Writes a batch; returns the items that were written."""
    refused = await rows.put(group) if group else {}
    for at, why in refused.items():
        ctx.fail(group[at], f"was not taken: {why}", permanent=True)
    return [item for at, item in enumerate(group) if at not in refused]


class SqlSink(RowSink):
    """Writes items to a table of PostgreSQL, MariaDB, MySQL or SQLite. A table that is not there is made of the first
    item's fields, unless `create` is false.

    Without `columns`, an item with a field that is no column fails. A file of SQLite is below FOLIOT_HOME/out, or in a
    directory of FOLIOT_SINK_DIRS.
    """

    url: Confidential
    """Such as `postgresql://user:password@host/name`; better as `{secret: name}`."""
    table: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$")]
    columns: Names = Field(default_factory=list)
    """Only these fields are written."""
    create: bool = True

    async def into(self, ctx: StepContext) -> tuple[SinkDatabase, RowTarget]:
        into = RowTarget(
            url=await _hidden(self.url, ctx), name=self.table, key=self.key, columns=self.columns, create=self.create
        )
        return ctx.sql, into


class MongoSink(RowSink):
    """Writes items to a collection of MongoDB."""

    uri: Confidential
    """Such as `mongodb://user:password@host/name`; better as `{secret: name}`."""
    collection: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,119}$")]
    database: Name | None = None
    """That of the URI, else `foliot`."""

    async def into(self, ctx: StepContext) -> tuple[SinkDatabase, RowTarget]:
        into = RowTarget(url=await _hidden(self.uri, ctx), name=self.collection, database=self.database, key=self.key)
        return ctx.mongo, into


async def _hidden(url: Confidential, ctx: StepContext) -> str:
    """The URL, registered for redaction because it may contain a password."""
    revealed = await ctx.reveal(url)
    ctx.hide(revealed)
    return revealed
