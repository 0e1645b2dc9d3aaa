"""Searching a log skips what cannot match, and never what does."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from foliot.engine.model.run import EventLine, EventType
from foliot.engine.sql.log_chunks import pack
from foliot.features.runs.model.log import CATEGORIES, LEVELS, LogFilter, LogRange, category_of
from foliot.features.runs.sql import MANY, Chunk, SqlLogs, _lines, _tally

AT = datetime(2027, 1, 4, 12, tzinfo=UTC)

_TEXTS = st.text(max_size=20) | st.sampled_from(
    ["Retrying <GET>", "[a.b] Gave up retrying", "Crawled (200)", "[]Retrying "]
)
_MESSAGES = st.lists(st.tuples(st.sampled_from([*LEVELS, "notice"]), _TEXTS), min_size=1, max_size=8)


@given(_MESSAGES, st.text(max_size=4), st.sampled_from(LEVELS), st.frozensets(st.sampled_from(CATEGORIES), max_size=2))
@example([("info", "Straße")], "STRASSE", "debug", frozenset())
@example([("info", 'say "x"')], '"X"', "debug", frozenset())
@example([("error", "a\\b\tc")], "b\tC", "error", frozenset())
@example([("info", 'an "error" within')], "", "error", frozenset())
@example([("info", "2027-01-04")], "2027", "debug", frozenset())
@example(
    [("info", "[ä] RETRYING x"), ("info", "a Retrying"), ("info", "Redirecting")], "", "debug", frozenset({"retry"})
)
def test_what_is_found_is_what_reading_every_line_would_find(
    said: list[tuple[str, str]], grep: str, level: str, categories: frozenset[str]
) -> None:
    lines = [EventLine(AT, EventType.LOG, severity, message) for severity, message in said]
    steps = [EventLine(AT, EventType.PROGRESS, data={"log": [grep, "log", level]})]
    wanted = LogFilter(grep, level, categories)

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
        EventLine(AT, EventType.LOG, message='","progress","')
        if is_line
        else EventLine(AT, EventType.PROGRESS, data={"n": 1})
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
    packed = pack([EventLine(AT, EventType.LOG, "info", "x" * 16_000)] * 100)
    log = OneLog(cast("Any", None))
    object.__setattr__(log, "chunks", tuple((100 * n + 1, 100 * n + 100, packed) for n in range(MANY)))

    tracemalloc.start()
    found, tally = await log.search("run", LogFilter("x"), LogRange(3001, 2, 3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [line.seq for line in found] == [2999, 3000, 3001, 3002, 3003]
    assert (tally.lines, tally.first, tally.last, tally.upto) == (100 * MANY, 1, 100 * MANY, 100 * MANY)
    assert peak < 16_000 * 100 * MANY / 2


def test_a_category_is_told_by_how_a_line_begins() -> None:
    told = {
        "[scrapy.downloadermiddlewares.retry] Retrying <GET https://a.example/> (failed 1 times): 503": "retry",
        "[scrapy.downloadermiddlewares.retry] Gave up retrying <GET https://a.example/> (failed 3 times)": "giveup",
        "[scrapy.downloadermiddlewares.redirect] Redirecting (302) to <GET https://a.example/2>": "redirect",
        "[scrapy.downloadermiddlewares.robotstxt] Forbidden by robots.txt: <GET https://a.example/>": "robots",
        "[scrapy.core.engine] Crawled (200) <GET https://a.example/> (referer: None)": "crawled",
        "[scrapy.extensions.logstats] Crawled 12 pages (at 12 pages/min)": None,
        "[scrapy.core.scraper] Scraped from <200 https://a.example/>": "scraped",
        "[scrapy.core.scraper] Dropped: no price": "dropped",
        "[scrapy.dupefilters] Filtered duplicate request: <GET https://a.example/>": "duplicate",
        "[scrapy.downloadermiddlewares.offsite] Filtered offsite request to 'b.example'": "offsite",
        "[scrapy.spidermiddlewares.httperror] Ignoring response <404 https://a.example/>": "ignored",
        "retrying in 4 s": "retry",
        "it is Retrying ": None,
        "": None,
    }
    assert {line: category_of(line) for line in told} == told
    assert set(filter(None, told.values())) == set(CATEGORIES)
