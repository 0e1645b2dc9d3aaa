"""The filter that people type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.features.filters.model import (
    MOST_TERMS,
    MOST_VALUES,
    FilterGrammar,
    FilterQuery,
    FilterTerm,
    of_runs,
    of_schedules,
)

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)
KINDS = ("webhook", "crawl")
RUNS, SCHEDULES = of_runs(KINDS), of_schedules(KINDS)


def runs(text: str) -> tuple[FilterTerm, ...]:
    return RUNS.read(text, NOW).terms


def wrong(text: str, grammar: FilterGrammar = RUNS) -> Invalid:
    with pytest.raises(Invalid) as caught:
        grammar.read(text, NOW)
    assert caught.value.field == "q"
    return caught.value


def test_everything_at_once() -> None:
    text = (
        'state:failed,dead_letter kind:crawl schedule:"my nightly" since:24h -origin:replay late:true "free text" word'
    )

    assert runs(text) == (
        FilterTerm("state", ("failed", "dead_letter")),
        FilterTerm("kind", ("crawl",)),
        FilterTerm("schedule", ("my nightly",)),
        FilterTerm("since", at=NOW - timedelta(hours=24)),
        FilterTerm("origin", ("replay",), negated=True),
        FilterTerm("late", ("true",)),
        FilterTerm("text", ("free text",)),
        FilterTerm("text", ("word",)),
    )


def test_nothing_asks_for_everything() -> None:
    assert RUNS.read("  \t ", NOW) == FilterQuery()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("90s", NOW - timedelta(seconds=90)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-14", datetime(2026, 11, 14, tzinfo=UTC)),
        ("2026-11-14T00:00Z", datetime(2026, 11, 14, tzinfo=UTC)),
        ("2026-11-14t09:30:00+01:00", datetime(2026, 11, 14, 8, 30, tzinfo=UTC)),
    ],
)
def test_times_are_so_long_ago_or_exact(text: str, at: datetime) -> None:
    assert runs(f"since:{text} until:{text}") == (FilterTerm("since", at=at), FilterTerm("until", at=at))


@pytest.mark.parametrize("text", ["late:false", "-late:true", "late:no", "-late:yes", "LATE:False"])
def test_not_late_can_be_said_in_many_ways(text: str) -> None:
    assert runs(text) == (FilterTerm("late", ("true",), negated=True),)


@pytest.mark.parametrize("text", ["0001-01-01", "1969-12-31", "9999-12-31", "2026-13-01"])
def test_a_date_that_no_clock_shows_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        runs(f"since:{text}")

    assert refused.value.position == (6, 16)


def test_other_words_for_the_same() -> None:
    assert runs("status:dead STATE:Canceled") == (
        FilterTerm("state", ("dead_letter",)),
        FilterTerm("state", ("cancelled",)),
    )
    assert runs("queue:default_queue") == (FilterTerm("queue", ("default",)),)


def test_a_quote_protects_what_would_separate() -> None:
    assert runs('schedule:"a, b",c "x -y:z"') == (
        FilterTerm("schedule", ("a, b", "c")),
        FilterTerm("text", ("x -y:z",)),
    )


def test_a_lone_minus_is_a_word() -> None:
    assert runs("- -x") == (FilterTerm("text", ("-",)), FilterTerm("text", ("x",), negated=True))


@pytest.mark.parametrize(
    ("text", "position", "suggestion", "said"),
    [
        ("sate:failed", (0, 4), "state:failed", "did you mean 'state'"),
        ("http://x", (0, 4), None, "put it in quotes"),
        ("a -kind:crwal b", (8, 13), "a -kind:crawl b", "is not a kind"),
        ("state:failed,oops", (13, 17), None, "must be one of"),
        ("since:yesterday", (6, 15), None, "30m, 24h, 7d"),
        ("since:2026-11-14T09:00", (6, 22), "since:2026-11-14T09:00Z", "with its offset"),
        ("-since:24h", (0, 10), None, "takes one time"),
        ("since:1h,2h", (0, 11), None, "takes one time"),
        ("since:999999w", (6, 13), None, "too long ago"),
        ("late:maybe", (5, 10), "late:true", "true or false"),
        ("fingerprint:xyz", (12, 15), None, "0-9 and a-f"),
        ('x "open', (2, 7), 'x "open"', "never closed"),
        ("kind:", (0, 5), None, "needs a value"),
        ("kind:,", (0, 6), None, "needs a value"),
        ("a\x00b", (1, 2), None, "U+0000"),
    ],
)
def test_a_mistake_is_pointed_at(text: str, position: tuple[int, int], suggestion: str | None, said: str) -> None:
    error = wrong(text)

    assert (error.position, error.suggestion) == (position, suggestion)
    assert said in error.message


def test_a_suggestion_is_understood() -> None:
    for text in ("sate:failed", "kind:crwal", "late:maybe", 'x "open', "since:2026-11-14T09:00"):
        assert RUNS.read(wrong(text).suggestion or "", NOW)


def test_filters_have_bounds() -> None:
    assert "at most 1000 characters" in wrong("x" * 1001).message
    assert "one condition too many" in wrong("x " * (MOST_TERMS + 1)).message
    assert "one value too many" in wrong("schedule:" + ",".join("a" * (MOST_VALUES + 1))).message


def test_schedules_have_keys_of_their_own() -> None:
    assert SCHEDULES.read("state:paused zone:stockholm failing:true Shop", NOW).terms == (
        FilterTerm("status", ("paused",)),
        FilterTerm("zone", ("Europe/Stockholm",)),
        FilterTerm("failing", ("true",)),
        FilterTerm("text", ("Shop",)),
    )
    assert "is not a key" in wrong("worker:w1", SCHEDULES).message
    assert wrong("zone:Stokholm", SCHEDULES).position == (5, 13)


@given(st.text(max_size=60))
def test_whatever_is_typed_is_read_or_refused(text: str) -> None:
    for grammar in (RUNS, SCHEDULES):
        try:
            grammar.read(text, NOW)
        except Invalid as error:
            if error.position is not None:
                start, end = error.position
                assert 0 <= start <= end <= len(text)


_WORD = st.text(st.characters(categories=("L", "N"), include_characters=" ,:-%_"), min_size=1, max_size=12).map(
    str.strip
)


@given(st.lists(_WORD.filter(bool), min_size=1, max_size=4), st.booleans())
def test_quoted_names_come_through_whole(names: list[str], negated: bool) -> None:
    text = ("-" if negated else "") + "schedule:" + ",".join(f'"{name}"' for name in names)

    assert runs(text) == (FilterTerm("schedule", tuple(names), negated),)
