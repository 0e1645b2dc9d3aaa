"""Reads a run's log page by page from either end, and searches the whole of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import Invalid
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import Event
from foliot.features.runs.model.log import LineCounts, LineTally, LogFilter, LogRange, Starts, severity
from foliot.features.runs.sql import SqlLogs
from foliot.features.schedules.usecases.schedules import find_run

MOST_LINES = 1000
REMEMBERED = 1000
"""Logs whose line counts a process caches: it then counts only lines that were added since."""
_BEYOND = 2**62
Remembered = TypeVar("Remembered", LineTally, LineCounts)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Which page of a log: after a number, before one, around one; by default the end."""

    after: int | None = None
    before: int | None = None
    around: int | None = None
    limit: int = MOST_LINES

    def __post_init__(self) -> None:
        given = [name for name in ("after", "before", "around") if getattr(self, name) is not None]
        if len(given) > 1:
            raise Invalid(given[1], f"and {given[0]!r} cannot be combined: give one of them")

    def cut(self) -> LogRange:
        """The range of lines to read."""
        if self.after is not None:
            return LogRange(self.after + 1, 0, self.limit)
        if self.around is not None:
            return LogRange(self.around, self.limit // 2, self.limit - self.limit // 2)
        return LogRange(_BEYOND if self.before is None else self.before, self.limit, 0)


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a log, oldest line first."""

    lines: Sequence[Event]
    total: int
    matches: int | None
    """Matches in the whole log; None without a filter."""
    first_seq: int | None
    last_seq: int | None
    before: int | None
    """What to give for the lines before these; None when there are none."""
    after: int | None
    pruned: bool


@dataclass(frozen=True, slots=True)
class LogCounts:
    """How many lines match. Each other number is what there would be with that value in the filter instead."""

    count: int
    by_level: Counter[str]
    by_category: Counter[str]
    by_attempt: Counter[int]


@dataclass(slots=True, kw_only=True)
class Logs:
    """Reads the logs of runs."""

    store: Database
    _known: OrderedDict[str, LineTally] = field(default_factory=OrderedDict)
    _sorted: OrderedDict[str, LineCounts] = field(default_factory=OrderedDict)

    @query(Verb.READ, Thing.RUN)
    async def page(self, ctx: QueryContext, run_id: str, wanted: LogFilter, place: LogPlace) -> LogPage:
        """A page of the log, with the exact number of lines and of matches."""
        cut = place.cut()
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            total = await self._total(tx, run_id)
            starts = await SqlLogs(tx).starts(run_id)
            if wanted.everything:
                lines, matching = await SqlLogs(tx).cut(run_id, cut), total
            else:
                within = None if wanted.attempt is None else _within(starts, wanted.attempt)
                lines, matching = await SqlLogs(tx).search(run_id, wanted, cut, within)
            kept = await SqlLogs(tx).kept(run_id)
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

    @query(Verb.READ, Thing.RUN)
    async def count(self, ctx: QueryContext, run_id: str, wanted: LogFilter) -> LogCounts:
        """The exact number of lines of each level, category and attempt, over the whole log."""
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            starts = await SqlLogs(tx).starts(run_id)
            if wanted.needle:
                found = await SqlLogs(tx).sort(run_id, starts, grep=wanted.grep)
            else:
                known = self._sorted.get(run_id, LineCounts())
                found = known.plus(await SqlLogs(tx).sort(run_id, starts, after=known.upto))
                _remember(self._sorted, run_id, found)
        return _counted(found, wanted)

    async def _total(self, tx: Transaction, run_id: str) -> LineTally:
        known = self._known.get(run_id, LineTally())
        counted = known.plus(await SqlLogs(tx).tally(run_id, known.upto))
        _remember(self._known, run_id, counted)
        return counted


def _remember(known: OrderedDict[str, Remembered], run_id: str, counted: Remembered) -> None:
    known[run_id] = counted
    known.move_to_end(run_id)
    if len(known) > REMEMBERED:
        known.popitem(last=False)


def _counted(found: LineCounts, wanted: LogFilter) -> LogCounts:
    count, levels, categories, attempts = 0, Counter[str](), Counter[str](), Counter[int]()
    for sort, number in found.counts.items():
        severe = severity(sort.level) >= wanted.least
        alike = not wanted.categories or sort.category in wanted.categories
        tried = wanted.attempt is None or sort.attempt == wanted.attempt
        if severe and alike and tried:
            count += number
        if alike and tried:
            levels[sort.level] += number
        if severe and tried and sort.category is not None:
            categories[sort.category] += number
        if severe and alike and sort.attempt is not None:
            attempts[sort.attempt] += number
    return LogCounts(count, levels, categories, attempts)


def _within(starts: Starts, attempt: int) -> list[range]:
    """The sequence numbers of an attempt's lines; several ranges when it was taken over."""
    bounds = [*(seq for seq, _ in starts), _BEYOND]
    return [range(*bounds[at : at + 2]) for at, (_, number) in enumerate(starts) if number == attempt]


def _attempted(line: Event, starts: Starts) -> Event:
    """The line with the number of its attempt."""
    at = bisect_right(starts, (line.seq, _BEYOND))
    return replace(line, attempt=starts[at - 1][1] if at else None)
