"""How the log of a crawl is cut into lines and understood."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.features.crawls.action.copier import BREATH, CopyBudget, CrawlCopier, cut
from foliot.features.crawls.action.handle import CrawlHandle
from foliot.features.crawls.action.scrapy_log import ScrapyLogState, clean, zone_of
from foliot.features.crawls.action.scrapyd_client import FileRange

LIMIT = 16
HEAD = "2026-11-16 02:42:05 [scrapy.core.engine] INFO: "
CLOSING = f"""\
{HEAD}Closing spider (finished)
2026-11-16 02:42:05 [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{{'elapsed_time_seconds': 0.5,
 'finish_reason': 'finished',
 'item_scraped_count': 3,
 'items_per_minute': None,
 'log_count/ERROR': 1,
 'start_time': datetime.datetime(2026, 11, 16, 2, 42, 5, tzinfo=datetime.timezone.utc)}}
{HEAD}Spider closed (finished)
"""


def copied(data: bytes, sizes: list[int], *, most: int = 1000) -> list[tuple[bytes, bool]]:
    """What a reader has in the end who gets the file in parts of these sizes, and then as large as needed."""
    lines: list[tuple[bytes, bool]] = []
    offset, inside = 0, False
    waiting = [*sizes, *[max(len(data), 1)] * (len(data) // most + 2)]
    for size in waiting:
        part = data[offset : offset + size]
        got = cut(part, inside=inside, limit=LIMIT, most=most)
        lines += got.lines
        offset, inside = offset + got.used, got.inside
    got = cut(data[offset:], inside=inside, limit=LIMIT, most=10**6, last=True)
    return lines + got.lines


@given(
    data=st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"\xc3", b"b" * LIMIT, b"c" * 40]), max_size=40).map(b"".join),
    sizes=st.lists(st.integers(min_value=LIMIT + 1, max_value=60), max_size=20),
    most=st.integers(min_value=1, max_value=5),
)
def test_any_cutting_of_a_file_into_parts_gives_the_same_lines_once(data: bytes, sizes: list[int], most: int) -> None:
    expected = [(line[:LIMIT].removesuffix(b"\r"), len(line) > LIMIT) for line in data.split(b"\n")]
    if not data or data.endswith(b"\n"):
        expected.pop()

    assert copied(data, sizes, most=most) == expected


def test_a_line_without_its_end_is_left_for_the_next_part() -> None:
    got = cut(b"whole\nhal", inside=False, limit=LIMIT, most=10)

    assert (got.lines, got.used, got.inside) == ([(b"whole", False)], 6, False)


def test_of_a_line_that_is_too_long_the_rest_is_left_out_over_any_number_of_parts() -> None:
    first = cut(b"x" * 20, inside=False, limit=LIMIT, most=10)
    second = cut(b"x" * 20, inside=first.inside, limit=LIMIT, most=10)
    third = cut(b"x\nnext\n", inside=second.inside, limit=LIMIT, most=10)

    assert [*first.lines, *second.lines, *third.lines] == [(b"x" * LIMIT, True), (b"next", False)]


def read(text: str, reading: ScrapyLogState | None = None) -> ScrapyLogState:
    """As one look after the other reads it: what is known travels as JSON."""
    reading = reading or ScrapyLogState(zone=0)
    for line in text.splitlines():
        reading = ScrapyLogState.of(reading.as_dict())
        reading.read(line)
    return reading


def test_a_line_says_who_how_grave_and_when() -> None:
    said = ScrapyLogState(zone=60).read("2026-11-16 03:42:05 [seo] WARNING: no title")

    assert (said.text, said.level) == ("[seo] no title", "warning")
    assert said.at == datetime(2026, 11, 16, 2, 42, 5, tzinfo=UTC)


def test_lines_after_a_head_belong_to_it() -> None:
    reading = ScrapyLogState(zone=0)
    head = reading.read("2026-11-16 02:42:05 [scrapy.core.scraper] ERROR: Spider error processing <GET x>")
    rest = [reading.read("Traceback (most recent call last):"), reading.read("ValueError: no")]

    assert {(each.level, each.at) for each in rest} == {("error", head.at)}
    assert (reading.errors, reading.trouble) == (1, "ValueError: no")


def test_without_knowing_the_zone_nobody_can_say_when() -> None:
    assert ScrapyLogState().read(f"{HEAD}Spider opened").at is None


@pytest.mark.parametrize("text", ["2026-13-45 02:42:05 [x] INFO: y", "9999-99-99 99:99:99 [x] INFO: y"])
def test_a_time_that_is_none_is_no_time(text: str) -> None:
    assert ScrapyLogState(zone=0).read(text).at is None


@pytest.mark.parametrize(("hours", "minutes"), [(0, 0), (1, 60), (-3, -180), (5.75, 345)])
def test_the_end_of_the_file_tells_the_zone_of_the_node(hours: float, minutes: int) -> None:
    modified = datetime(2026, 11, 16, 2, 42, 6, tzinfo=UTC)
    written = (modified + timedelta(hours=hours, seconds=-1)).strftime("%Y-%m-%d %H:%M:%S")

    assert zone_of(f"{written} [x] INFO: last\nTraceback".encode(), modified) == minutes


@pytest.mark.parametrize("end", [b"", b"no head", b"1999-01-01 00:00:00 [x] INFO: a forged time"])
def test_an_end_that_tells_nothing_tells_nothing(end: bytes) -> None:
    assert zone_of(end, datetime(2026, 11, 16, tzinfo=UTC)) is None


def test_pages_and_items_are_counted_line_by_line_and_as_scrapy_says() -> None:
    reading = read(
        f"{HEAD}Spider opened\n"
        "2026-11-16 02:42:05 [scrapy.core.engine] DEBUG: Crawled (200) <GET http://x/> (referer: None)\n"
        "2026-11-16 02:42:05 [scrapy.core.scraper] DEBUG: Scraped from <200 http://x/>\n"
        "{'title': 'Crawled (200)'}\n"
    )
    assert (reading.pages, reading.items) == (1, 1)

    said = "Crawled 900 pages (at 450 pages/min), scraped 80 items (at 40 items/min)"
    reading = read(f"2026-11-16 02:43:05 [scrapy.extensions.logstats] INFO: {said}\n", reading)
    assert (reading.pages, reading.items) == (900, 80)


def test_the_closing_stats_tell_how_it_ended() -> None:
    reading = read(CLOSING)

    assert reading.ended
    assert reading.stats == {
        "elapsed_time_seconds": 0.5,
        "finish_reason": "finished",
        "item_scraped_count": 3,
        "log_count/ERROR": 1,
    }


def closing(*entries: str) -> str:
    """Closing stats with these among them, in the order in which Scrapy writes them."""
    head, tail = CLOSING.split("{'elapsed", 1)
    return f"{head}{{'a_first': 1,\n" + "".join(f" {entry},\n" for entry in entries) + f" 'elapsed{tail}"


def test_however_many_stats_a_spider_has_of_its_own_those_that_tell_the_end_are_kept() -> None:
    own = [f"'custom/{number:04}': {number}" for number in range(500)]
    raised = [f"'spider_exceptions/Error{number:04}': 1" for number in range(500)]
    reading = read(closing(*own, *raised))

    assert reading.ended
    assert {reading.stats["item_scraped_count"], reading.stats["log_count/ERROR"]} == {3, 1}
    assert "spider_exceptions/Error0000" in reading.stats
    assert len(reading.stats) < 150, "the rest is bounded"


def test_numbers_that_json_cannot_carry_are_rounded_or_left_out() -> None:
    large, endless = 10**30, "9" * 5000
    entries = [f"'large': {large}", f"'small': -{large}", "'inf': 1e999", f"'endless': {endless}", "'whole': 12"]
    reading = read(closing(*entries, f"'log_count/CRITICAL': {2**63}"))

    assert orjson.loads(orjson.dumps(reading.as_dict()))["stats"]["large"] == 1e30
    assert (reading.stats["small"], reading.stats["whole"]) == (-1e30, 12)
    assert not {"inf", "endless"} & reading.stats.keys()


@given(st.integers(min_value=0, max_value=CLOSING.count("\n")))
def test_closing_stats_count_only_with_the_word_that_the_spider_closed(lines: int) -> None:
    part = "".join(CLOSING.splitlines(keepends=True)[:lines])

    assert read(part).ended is (lines == CLOSING.count("\n"))


def test_a_page_that_looks_like_closing_stats_ends_nothing() -> None:
    """A spider logs text from a page, with newlines, and is killed later."""
    reading = read(f"[seo] INFO: {CLOSING}")
    assert reading.ended, "nothing tells the two apart yet"

    reading = read("2026-11-16 02:42:06 [scrapy.core.engine] DEBUG: Crawled (200) <GET http://x/2>\n", reading)
    assert not reading.ended


@pytest.mark.parametrize(
    ("line", "cleaned"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("title \x1b]0;owned\x07 x", "title  x"),
        ("nul \x00 bell \x07", "nul \ufffd bell \ufffd"),
        ("turned \u202e around", "turned \ufffd around"),
        ("two\u2028lines\rhere", "two\ufffdlines\ufffdhere"),
        ("tab\tstays, ž and 漢 too", "tab\tstays, ž and 漢 too"),
    ],
)
def test_what_would_move_a_readers_cursor_is_taken_out(line: str, cleaned: str) -> None:
    assert clean(line) == cleaned


@given(st.text(max_size=200))
def test_no_line_however_odd_is_a_surprise(line: str) -> None:
    said = ScrapyLogState(zone=0).read(line)

    assert not {chr(code) for code in (*range(9), *range(10, 32), *range(127, 160))} & set(said.text)


@dataclass
class OneLog:
    """A Scrapyd that has a log."""

    data: bytes

    async def log(self, project: str, spider: str, jobid: str, offset: int, length: int) -> FileRange:
        return FileRange(self.data[offset : offset + length], len(self.data))


async def test_others_go_first_while_a_long_log_is_understood() -> None:
    lines, turns, said = 30 * BREATH, 0, list[str]()
    now = datetime(2026, 11, 16, 3, tzinfo=UTC)
    handle = CrawlHandle(node="http://n", project="p", spider="s", jobid="run_1", asked_at=now)
    scrapyd: Any = OneLog(b"".join(f"{HEAD}line {at}\n".encode() for at in range(lines)))

    async def others() -> None:
        nonlocal turns
        while len(said) < lines:
            turns += 1
            await asyncio.sleep(0)

    going = asyncio.create_task(others())
    await CrawlCopier().copy_log(scrapyd, handle, lambda message, **_: said.append(message), CopyBudget(), now)
    await going

    assert len(said) == lines
    assert turns >= lines // BREATH
