"""A run's log, read page by page from either end, and searched whole."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from foliot.domain.access import Caller, Thing, Verb, demand
from foliot.domain.errors import Invalid
from foliot.domain.event import Event
from foliot.ports import Store, Transaction
from foliot.ports.logs import Cut, Tally, Wanted
from foliot.usecases.schedules import find_run

MOST_LINES = 1000
REMEMBERED = 1000
"""Logs whose number of lines a process keeps in mind: it counts only what came since."""
_BEYOND = 2**62


@dataclass(frozen=True, slots=True)
class Place:
    """Which part of a log: after a number, before one, around one; without any, the end."""

    after: int | None = None
    before: int | None = None
    around: int | None = None
    limit: int = MOST_LINES

    def __post_init__(self) -> None:
        given = [name for name in ("after", "before", "around") if getattr(self, name) is not None]
        if len(given) > 1:
            raise Invalid(given[1], f"and {given[0]!r} exclude each other: give one of them")

    def cut(self) -> Cut:
        """Where to cut, and how much on either side."""
        if self.after is not None:
            return Cut(self.after + 1, 0, self.limit)
        if self.around is not None:
            return Cut(self.around, self.limit // 2, self.limit - self.limit // 2)
        return Cut(_BEYOND if self.before is None else self.before, self.limit, 0)


@dataclass(frozen=True, slots=True)
class LogPage:
    """A part of a log, oldest line first."""

    lines: Sequence[Event]
    total: int
    matches: int | None
    """Over the whole log; None when every line is wanted."""
    first_seq: int | None
    last_seq: int | None
    before: int | None
    """What to give for the lines before these; None when there are none."""
    after: int | None
    pruned: bool


@dataclass(slots=True, kw_only=True)
class Logs:
    """Reads what runs have written."""

    store: Store
    _known: OrderedDict[str, Tally] = field(default_factory=OrderedDict)

    async def page(self, caller: Caller, run_id: str, wanted: Wanted, place: Place) -> LogPage:
        """A part of the log, with the true number of lines and of those that match."""
        demand(caller, Verb.READ, Thing.RUN)
        cut = place.cut()
        async with self.store.read(caller.tenant_id) as tx:
            await find_run(tx, caller, run_id)
            total = await self._total(tx, run_id)
            if wanted.everything:
                lines, matching = await tx.logs.cut(run_id, cut), total
            else:
                lines, matching = await tx.logs.search(run_id, wanted, cut)
            starts = await tx.logs.starts(run_id)
            kept = await tx.logs.kept(run_id)
        first, last = (lines[0].seq, lines[-1].seq) if lines else (cut.at, cut.at - 1)
        return LogPage(
            lines=[_attempted(line, starts) for line in lines],
            total=total.lines,
            matches=None if wanted.everything else matching.lines,
            first_seq=total.first,
            last_seq=total.last,
            before=first if matching.first is not None and matching.first < first else None,
            after=last if matching.last is not None and matching.last > last else None,
            pruned=not kept,
        )

    async def _total(self, tx: Transaction, run_id: str) -> Tally:
        known = self._known.get(run_id, Tally())
        counted = known.plus(await tx.logs.tally(run_id, known.upto))
        self._known[run_id] = counted
        self._known.move_to_end(run_id)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return counted


def _attempted(line: Event, starts: Sequence[tuple[int, int]]) -> Event:
    """The line with the attempt that wrote it."""
    at = bisect_right(starts, (line.seq, _BEYOND))
    return replace(line, attempt=starts[at - 1][1] if at else None)
