"""Group writes: one transaction for many entries; one that cannot be stored holds up no other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from foliot.core.errors import Unavailable

GROUP = 500
HEAVY = 1024 * 1024
"""Characters of text in one group: a database takes only so much in one statement."""

log = structlog.get_logger("foliot.engine")

EntryT = TypeVar("EntryT")
ResultT = TypeVar("ResultT")


@dataclass(slots=True, kw_only=True)
class GroupWriter(Generic[EntryT, ResultT]):
    """Writes each entry at least once. An entry that is written twice must change nothing the second time, so that a
    caller that lost an acknowledgement writes again.
    """

    transaction: Callable[[Sequence[EntryT]], Awaitable[ResultT]]
    """Writes a group, all of it or nothing."""
    weight: Callable[[EntryT], int]
    """About how much text an entry is."""
    lesser: Callable[[EntryT], Iterator[EntryT]]
    """The same entry with less and less of what could not be stored."""
    key: Callable[[EntryT], str]
    """The name of an entry in the log."""
    most: int = GROUP
    heavy: int = HEAVY
    limit: int = field(init=False)
    """The size of a group: smaller after one that the database refused."""

    def __post_init__(self) -> None:
        self.limit = self.most

    def group(self, waiting: Iterable[EntryT]) -> list[EntryT]:
        """The first of these, as many as one transaction takes; at least one, however heavy."""
        group: list[EntryT] = []
        weight = 0
        for entry in waiting:
            weight += self.weight(entry)
            if len(group) == self.limit or (group and weight > self.heavy):
                break
            group.append(entry)
        return group

    async def write(self, entries: Sequence[EntryT]) -> list[ResultT]:
        """The result of each transaction; `Unavailable` when the database is unreachable: then all can be retried."""
        try:
            results = await self._write(entries)
        except Unavailable:
            # A group too large for the database fails like a lost connection.
            self.limit = max(self.limit // 2, 1)
            raise
        self.limit = min(self.limit * 2, self.most)
        return results

    async def _write(self, entries: Sequence[EntryT]) -> list[ResultT]:
        """Find an entry that cannot be stored by bisection."""
        try:
            return [await self.transaction(entries)]
        except Unavailable:
            raise
        except Exception:
            half = len(entries) // 2
            if half:
                return [*await self._write(entries[:half]), *await self._write(entries[half:])]
            log.exception("the end of a run could not be stored", action="unrecordable", entry=self.key(entries[0]))
        return await self._write_lesser(entries[0])

    async def _write_lesser(self, entry: EntryT) -> list[ResultT]:
        for version in self.lesser(entry):
            try:
                return [await self.transaction([version])]
            except Unavailable:
                raise
            except Exception:
                log.exception("the end of a run could not be stored", action="unrecordable", entry=self.key(entry))
        # Its lease expires: the janitor that reclaims the run counts the attempt.
        return []
