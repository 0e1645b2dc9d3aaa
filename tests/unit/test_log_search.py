"""Searching a log skips what cannot match, and never what does."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from foliot.domain.event import EventType, Line
from foliot.ports.logs import LEVELS, Cut, Wanted
from foliot.store.log_pages import MANY, Chunk, SqlLogs, _lines, _tally
from foliot.store.logs import pack

AT = datetime(2027, 1, 4, 12, tzinfo=UTC)

_MESSAGES = st.lists(st.tuples(st.sampled_from([*LEVELS, "notice"]), st.text(max_size=20)), min_size=1, max_size=8)


@given(_MESSAGES, st.text(max_size=4), st.sampled_from(LEVELS))
@example([("info", "Straße")], "STRASSE", "debug")
@example([("info", 'say "x"')], '"X"', "debug")
@example([("error", "a\\b\tc")], "b\tC", "error")
@example([("info", 'an "error" within')], "", "error")
@example([("info", "2027-01-04")], "2027", "debug")
def test_what_is_found_is_what_reading_every_line_would_find(
    said: list[tuple[str, str]], grep: str, level: str
) -> None:
    lines = [Line(AT, EventType.LOG, severity, message) for severity, message in said]
    steps = [Line(AT, EventType.PROGRESS, data={"log": [grep, "log", level]})]
    wanted = Wanted(grep, level)

    for written in (lines, [*lines, *steps], [*steps, *lines]):
        found = _lines([(5, 4 + len(written), pack(written))], wanted)

        expected = [
            place
            for place, line in enumerate(written, 5)
            if line.type is EventType.LOG and wanted.takes(line.level, line.message)
        ]
        assert [line.seq for line in found] == expected


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(0, 15))
def test_lines_are_counted_without_steps_of_progress(kinds: list[bool], after: int) -> None:
    written = [
        Line(AT, EventType.LOG, message='","progress","') if is_line else Line(AT, EventType.PROGRESS, data={"n": 1})
        for is_line in kinds
    ]

    counted = _tally([(5, 4 + len(written), pack(written))], after)

    seqs = [place for place, line in enumerate(written, 5) if line.type is EventType.LOG and place > after]
    assert (counted.lines, counted.first, counted.last) == (
        len(seqs),
        seqs[0] if seqs else None,
        seqs[-1] if seqs else None,
    )


class OneLog(SqlLogs):
    """A log that is kept nowhere."""

    chunks: tuple[Chunk, ...] = ()

    async def _chunks(
        self, run_id: str, limit: int, *, after: int | None = None, before: int | None = None
    ) -> list[Chunk]:
        return [chunk for chunk in self.chunks if chunk[1] > (after or 0)][:limit]


async def test_a_search_holds_little_of_a_log_however_long_its_lines_are() -> None:
    packed = pack([Line(AT, EventType.LOG, "info", "x" * 16_000)] * 100)
    log = OneLog(cast("Any", None))
    object.__setattr__(log, "chunks", tuple((100 * n + 1, 100 * n + 100, packed) for n in range(MANY)))

    tracemalloc.start()
    found, tally = await log.search("run", Wanted("x"), Cut(3001, 2, 3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [line.seq for line in found] == [2999, 3000, 3001, 3002, 3003]
    assert (tally.lines, tally.first, tally.last, tally.upto) == (100 * MANY, 1, 100 * MANY, 100 * MANY)
    assert peak < 16_000 * 100 * MANY / 2
