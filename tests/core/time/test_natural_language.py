"""Words that name a trigger."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.core.time.cron import resolve
from foliot.core.time.natural_language import EXAMPLE, LIMIT
from foliot.core.time.natural_trigger import ParsedTrigger, understand
from foliot.core.time.trigger import TriggerType
from foliot.core.time.vocabulary import DAYS, MONTHS, UNITS

NOW = datetime(2026, 11, 16, 12, 0, 5, 123, tzinfo=UTC)
STOCKHOLM = "Europe/Stockholm"


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every day at 02:30", "30 2 * * *"),
        ("Every Day At 9 PM", "0 21 * * *"),
        ("daily at noon", "0 12 * * *"),
        ("at midnight", "0 0 * * *"),
        ("at 9, 13 and 17", "0 9,13,17 * * *"),
        ("every day at 02:30:15", "15 30 2 * * *"),
        ("weekdays at 9", "0 9 * * 1-5"),
        ("every weekday at 09:00", "0 9 * * 1-5"),
        ("weekends at 10", "0 10 * * 0,6"),
        ("monday to friday at 18", "0 18 * * 1-5"),
        ("friday to monday at 7", "0 7 * * 0,1,5,6"),
        ("mon, wed and fri at 7am", "0 7 * * 1,3,5"),
        ("mondays at 8", "0 8 * * 1"),
        ("every week on tuesday at 4", "0 4 * * 2"),
        ("every minute", "* * * * *"),
        ("every second", "* * * * * *"),
        ("every 30 seconds", "*/30 * * * * *"),
        ("every 15 minutes", "*/15 * * * *"),
        ("15m", "*/15 * * * *"),
        ("every 4 hours", "0 */4 * * *"),
        ("every 24 hours", "0 0 * * *"),
        ("hourly", "0 * * * *"),
        ("every hour at :15", "15 * * * *"),
        ("every hour at minute 5", "5 * * * *"),
        ("every hour on weekdays", "0 * * * 1-5"),
        ("every hour from 9 to 17", "0 9-17 * * *"),
        ("every 2 hours between 8 and 20", "0 8-20/2 * * *"),
        ("every 15 minutes between 9 and 17 on weekdays", "*/15 9-16 * * 1-5"),
        ("first monday of the month at 8:00", "0 8 * * 1#1"),
        ("second tuesday of the month at 10", "0 10 * * 2#2"),
        ("last friday of the month at 17", "0 17 * * 5L"),
        ("first day of the month at 6", "0 6 1 * *"),
        ("last day of the month at 23:59", "59 23 L * *"),
        ("last weekday of the month at 6", "0 6 LW * *"),
        ("on the 1st and 15th at 6", "0 6 1,15 * *"),
        ("on the 1st of every month at 9", "0 9 1 * *"),
        ("monthly", "0 0 1 * *"),
        ("yearly", "0 0 1 1 *"),
        ("every january 1 at 0:00", "0 0 1 1 *"),
        ("on 25 december at 9", "0 9 25 12 *"),
        ("every weekday at 9 in january", "0 9 * 1 1-5"),
    ],
)
def test_a_rhythm_in_words_is_a_cron_expression(words: str, cron: str) -> None:
    assert understand(words, "UTC", NOW) == ParsedTrigger(TriggerType.CRON, cron_expr=cron)
    assert resolve(cron, "") == cron


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("every 7 minutes", 420), ("every 90 minutes", 5400), ("every 2 days", 172_800), ("every 2 weeks", 1_209_600)],
)
def test_what_no_clock_divides_evenly_is_an_interval(words: str, seconds: int) -> None:
    assert understand(words, "UTC", NOW) == ParsedTrigger(TriggerType.INTERVAL, interval_seconds=seconds)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("in 10 minutes", "2026-11-16T12:10:05Z"),
        ("in half an hour", "2026-11-16T12:30:05Z"),
        ("in a day", "2026-11-17T12:00:05Z"),
        ("today at 15:00", "2026-11-16T14:00:00Z"),
        ("tomorrow at 9", "2026-11-17T08:00:00Z"),
        ("2027-07-01 09:00", "2027-07-01T07:00:00Z"),
        # Where the clock skips the time, the engine fires as the clock has jumped; and at the first of two.
        ("on 2027-03-28 at 2:30", "2027-03-28T01:00:00Z"),
        ("on 2027-10-31 at 2:30", "2027-10-31T00:30:00Z"),
    ],
)
def test_a_moment_in_words_is_one_moment_on_the_clock_of_the_zone(words: str, at: str) -> None:
    assert understand(words, STOCKHOLM, NOW) == ParsedTrigger(TriggerType.ONEOFF, run_at=datetime.fromisoformat(at))


@pytest.mark.parametrize(
    ("words", "says", "position", "suggestion"),
    [
        ("evry day at 9", "'evry' is not understood", (0, 4), "every day at 9"),
        ("every wensday at 9", "'wensday' is not understood", (6, 13), "every wednesday at 9"),
        ("evry wensday at 9", "'evry' is not understood", (0, 4), "every wednesday at 9"),
        ("every day at 25", "from 00:00 to 23:59", (13, 15), EXAMPLE),
        ("every day at", "'at' is not understood", (10, 12), EXAMPLE),
        ("when it rains", "'when' is not understood", (0, 4), EXAMPLE),
        ("every day at 13 pm", "from 1 to 12", (13, 15), EXAMPLE),
        ("on the 32nd at 9", "from 1 to 31", (7, 11), EXAMPLE),
        ("every 0 minutes", "at least 1", (0, 5), EXAMPLE),
        ("every 5 months", "cannot be counted in months", (0, 14), "on the 1st of january and july at 9"),
        ("every day at 9:00 and 17:30", "create two schedules", (0, 27), EXAMPLE),
        ("on the 31st and on monday at 9", "cron would run on either", (0, 30), EXAMPLE),
        ("every day between 9 and 17", "not how often", (0, 26), "every hour between 9 and 17"),
        ("tomorrow every hour", "both a single time and a repetition", (0, 19), EXAMPLE),
        ("2027-02-30", "no date 2027-02-30", (0, 10), EXAMPLE),
        ("on 30 february at 9", "can never fire", (0, 19), EXAMPLE),
        ("at ²", "'²' is not understood", (3, 4), EXAMPLE),
        ("every ٣ hours", "'٣' is not understood", (6, 7), EXAMPLE),
        ("now", "passed by the time it is saved", (0, 3), "in 10 seconds"),
        ("in 99999999 weeks", "too far", (0, 17), EXAMPLE),
        ("", "must say when", None, EXAMPLE),
    ],
)
def test_what_is_not_understood_is_pointed_at(
    words: str, says: str, position: tuple[int, int] | None, suggestion: str
) -> None:
    with pytest.raises(Invalid, match="words") as caught:
        understand(words, "UTC", NOW)

    assert says in caught.value.message
    assert caught.value.position == position
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize("words", [None, 5, ["every day"], "x" * (LIMIT + 1)])
def test_what_is_no_phrase_is_refused(words: object) -> None:
    with pytest.raises(Invalid, match="words"):
        understand(words, "UTC", NOW)


PIECES = [
    "every",
    "at",
    "on",
    "the",
    "of",
    "in",
    "and",
    "between",
    "9",
    "17:30",
    "61",
    "1st",
    "first",
    "last",
    ",",
    "-",
]


@given(st.lists(st.sampled_from([*PIECES, *UNITS, *DAYS, *MONTHS, "weekdays", "noon", "am"]) | st.text(max_size=8)))
def test_whatever_is_said_is_understood_or_answered_with_something_that_is(pieces: list[str]) -> None:
    words = " ".join(pieces)[:LIMIT]
    meant = heard(words)
    if isinstance(meant, ParsedTrigger):
        assert meant.cron_expr is None or resolve(meant.cron_expr, "")
    else:
        assert isinstance(heard(meant.suggestion), ParsedTrigger)
        assert meant.position is None or 0 <= meant.position[0] < meant.position[1] <= len(words)


def heard(words: str | None) -> ParsedTrigger | Invalid:
    try:
        return understand(words, STOCKHOLM, NOW)
    except Invalid as error:
        return error


@pytest.mark.parametrize(
    ("words", "days", "first"),
    [
        ("every other tuesday at 9", 14, "2026-11-17T09:00:00+01:00"),
        ("every second monday", 14, "2026-11-23T00:00:00+01:00"),
        ("every 2nd friday at 17:30", 14, "2026-11-20T17:30:00+01:00"),
        ("each other wednesday at noon", 14, "2026-11-18T12:00:00+01:00"),
        ("every 2 weeks on monday at 9", 14, "2026-11-23T09:00:00+01:00"),
        ("every second week on tuesday at 9", 14, "2026-11-17T09:00:00+01:00"),
        ("fortnightly on friday at 4pm", 14, "2026-11-20T16:00:00+01:00"),
        ("every other day at 6", 2, "2026-11-17T06:00:00+01:00"),
        ("every 3 days at 9", 3, "2026-11-17T09:00:00+01:00"),
    ],
)
def test_every_other_is_an_interval_from_the_first_such_day(words: str, days: int, first: str) -> None:
    assert understand(words, STOCKHOLM, NOW) == ParsedTrigger(
        TriggerType.INTERVAL, interval_seconds=days * 86_400, start_at=datetime.fromisoformat(first)
    )


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every second", "* * * * * *"),
        ("every second on mondays", "* * * * * 1"),
        ("every second monday of the month at 9", "0 9 * * 1#2"),
        ("second monday of the month at 9", "0 9 * * 1#2"),
        ("every third thursday", "0 0 * * 4#3"),
        ("every second minute", "*/2 * * * *"),
        ("every other hour", "0 */2 * * *"),
        ("every other month at 6", "0 6 1 1,3,5,7,9,11 *"),
    ],
)
def test_what_cron_can_say_stays_cron(words: str, cron: str) -> None:
    assert understand(words, STOCKHOLM, NOW) == ParsedTrigger(TriggerType.CRON, cron_expr=cron)


@pytest.mark.parametrize(
    "words",
    [
        "every other",
        "every other prices",
        "every other monday and friday at 9",
        "every other day on mondays",
        "every other tuesday at 9 and 17",
        "every 2 weeks on the 1st",
    ],
)
def test_an_interval_that_cannot_be_kept_is_refused_with_what_works(words: str) -> None:
    with pytest.raises(Invalid) as wrong:
        understand(words, STOCKHOLM, NOW)

    assert wrong.value.suggestion is not None
    understand(wrong.value.suggestion, STOCKHOLM, NOW)
