"""JsonlSink and CsvSink: write items to files, atomically."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from foliot.features.pipelines.chain.context import StepContext
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.steps.item_fields import MISSING, Names, plain, reach, text

BUFFER = 64 * 1024
_PLACE = re.compile(r"\{([^{}]*)\}")
_PLACES = ("date", "time", "pipeline", "run_id")
_UNFIT = re.compile(r"[^\w.-]")


def _fillable(path: str) -> str:
    if unknown := [name for name in _PLACE.findall(path) if name not in _PLACES]:
        listed = ", ".join(f"{{{name}}}" for name in _PLACES)
        raise ValueError(f"has no place {{{unknown[0]}}} to fill in; known are {listed}")
    if "\x00" in path or path.endswith("/") or ".." in path.split("/"):
        raise ValueError("must be the name of a file, without ..")
    return path


Path = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_fillable)]
"""Below FOLIOT_HOME/out; `{date}`, `{time}`, `{pipeline}` and `{run_id}` are filled in."""


class FileSink(Transform):
    """Base of both sinks. Items go on to the next step unchanged."""

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
