"""Holds the items of a run on disk until its data are judged: in memory while they are few."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import orjson

from foliot.features.pipelines.chain.context import StepFailed
from foliot.features.pipelines.model import Item
from foliot.features.pipelines.steps.filters import plain

IN_MEMORY = 4 * 1024 * 1024
MOST_BYTES = 1024 * 1024 * 1024
"""Items of one run that can be withheld."""


class ItemSpool:
    """Appends items, then reads them in order, any number of times."""

    def __init__(self) -> None:
        # The file has no name: it is gone with the process, whatever happens.
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 -- closed by `close`
        self._bytes = 0
        self.count = 0

    def add(self, item: Item) -> None:
        try:
            line = plain(item) + b"\n"
        except TypeError as wrong:
            raise StepFailed(f"an item cannot be withheld: {str(wrong)[:300]}", permanent=True) from None
        self._bytes += len(line)
        if self._bytes > MOST_BYTES:
            said = f"more than {MOST_BYTES >> 20} MiB of items cannot be withheld until they are judged: remove expect"
            raise StepFailed(said, permanent=True)
        self._file.write(line)
        self.count += 1

    async def items(self) -> AsyncIterator[Item]:
        self._file.seek(0)
        for line in self._file:
            yield orjson.loads(line)

    def groups(self, size: int) -> Iterator[Sequence[Any]]:
        """The items, so many at a time."""
        self._file.seek(0)
        group: list[Any] = []
        for line in self._file:
            group.append(orjson.loads(line))
            if len(group) == size:
                yield group
                group = []
        if group:
            yield group

    def close(self) -> None:
        self._file.close()
