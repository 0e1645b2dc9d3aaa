"""Sinks: write items to files and external databases, and post them by HTTP, in batches."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field

from foliot.features.pipelines.chain.context import Confidential, StepContext, Transform
from foliot.features.pipelines.chain.fetch import FetchFailed
from foliot.features.pipelines.model import Item, RowTarget, RowWriter, SinkDatabase
from foliot.features.pipelines.steps.filters import MISSING, Name, Names, Seconds, plain, reach, text

Group = Annotated[int, Field(ge=1, le=5000)]


class RowSink(Transform):
    """Base of both sinks. Items go on to the next step when they are written."""

    sink = True

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
        ctx.fail(group[at], f"was not accepted: {why}", permanent=True)
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


BUFFER = 64 * 1024
_PLACE = re.compile(r"\{([^{}]*)\}")
_PLACES = ("date", "time", "pipeline", "run_id")
_UNFIT = re.compile(r"[^\w.-]")


def _fillable(path: str) -> str:
    if unknown := [name for name in _PLACE.findall(path) if name not in _PLACES]:
        listed = ", ".join(f"{{{name}}}" for name in _PLACES)
        raise ValueError(f"has an unknown placeholder {{{unknown[0]}}}; known are {listed}")
    if "\x00" in path or path.endswith("/") or ".." in path.split("/"):
        raise ValueError("must be the name of a file, without ..")
    return path


Path = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_fillable)]
"""Below FOLIOT_HOME/out; `{date}`, `{time}`, `{pipeline}` and `{run_id}` are filled in."""


class FileSink(Transform):
    """Base of both sinks. Items go on to the next step unchanged."""

    sink = True

    path: Path
    append: bool = False
    """Append to the file instead of replacing it; lines of a stopped run stay."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        place = filled(self.path, ctx)
        writer = await ctx.files.open(place, ctx.run_id, append=self.append)
        waiting, count = bytearray(), 0
        lines = self.lines()
        try:
            async for item in items:
                try:
                    waiting += lines(item)
                except (TypeError, ValueError) as wrong:
                    ctx.fail(item, f"cannot be written: {str(wrong)[:300]}", permanent=True)
                    continue
                count += 1
                if len(waiting) >= BUFFER:
                    await writer.write(bytes(waiting))
                    waiting.clear()
                yield item
            await writer.write(bytes(waiting))
            await writer.commit()
            ctx.log(f"{count:,} items are in {place}")
        finally:
            await writer.discard()

    @abstractmethod
    def lines(self) -> Any:
        """The function that encodes an item."""


class JsonlSink(FileSink):
    """Writes each item as a line of JSON. The file replaces an older one when the run ends."""

    def lines(self) -> Any:
        return lambda item: plain(item) + b"\n"


class CsvSink(FileSink):
    """Writes each item as a row, with `columns` or else the fields of the first item as its head.

    Without `columns`, an item with another field fails. Lists and objects are written as JSON. A text that a
    spreadsheet would take for a formula is preceded by an apostrophe.
    """

    columns: Names = Field(default_factory=list)
    delimiter: Annotated[str, Field(pattern=r"^[,;|\t]$")] = ","

    def lines(self) -> Any:
        return _CsvRows(self.columns, self.delimiter, head=not self.append)


class _CsvRows:
    """Encodes the rows of one file."""

    def __init__(self, columns: list[str], delimiter: str, *, head: bool) -> None:
        self.chosen = bool(columns)
        self.columns = columns
        self.delimiter = delimiter
        self.head = head

    def __call__(self, item: Item) -> bytes:
        if not self.columns:
            self.columns = list(item)
        if not self.chosen and (extra := [name for name in item if name not in self.columns]):
            raise ValueError(f"the file has no column {extra[0]!r}; give `columns`")
        found = [reach(item, name) for name in self.columns]
        row = [_neutral("" if value is MISSING else value) for value in found]
        written = io.StringIO()
        writer = csv.writer(written, delimiter=self.delimiter, lineterminator="\r\n")
        if self.head:
            writer.writerow([_neutral(name) for name in self.columns])
        writer.writerow(row)
        made = written.getvalue().encode()
        # Only now: if the first item cannot be written, the header is written with the next.
        self.head = False
        return made


def _neutral(value: Any) -> Any:
    """Guards against CSV injection: a text that a spreadsheet would take for a formula gets an apostrophe."""
    made = text(value)
    return f"'{made}" if isinstance(value, str) and made.startswith(("=", "+", "-", "@", "\t", "\r")) else made


def filled(path: str, ctx: StepContext) -> str:
    """The path with its placeholders filled in."""
    values = {
        "date": f"{ctx.now:%Y-%m-%d}",
        "time": f"{ctx.now:%H%M%S}",
        "pipeline": _UNFIT.sub("_", ctx.pipeline),
        "run_id": ctx.run_id,
    }
    return _PLACE.sub(lambda place: values[place[1]], path)


ANSWER = 64 * 1024


class WebhookSink(Transform):
    """Posts items as JSON: `{"pipeline": …, "run_id": …, "items": […]}`, at most `batch_size` at once.

    Items go on to the next step when the target has answered with a status of 2xx. Each request has an
    `Idempotency-Key` that is the same when the same items are sent again by a later attempt.
    """

    sink = True

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
