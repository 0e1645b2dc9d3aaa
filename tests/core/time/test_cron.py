"""Reading cron expressions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.core.time.cron import LIMIT, parse, resolve
from foliot.core.time.fire_times import fires


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("  30  2 * *\t* ", "30 2 * * *"),
        ("00 08 * * *", "0 8 * * *"),
        ("*/20 * * * * *", "*/20 * * * * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@Monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("0 0 ? jan-Mar mon,fri", "0 0 * JAN-MAR MON,FRI"),
        ("0 0 ?/2 * *", "0 0 */2 * *"),
        ("0 22-2 * * *", "0 22-23,0-2 * * *"),
        ("0 22-0 * * *", "0 22-23,0 * * *"),
        ("0 22-3/2 * * *", "0 22,0,2 * * *"),
        ("0 0 * * fri-mon", "0 0 * * 5-6,0-1"),
        ("0 0 * * fri-sun", "0 0 * * 5-6,0"),
        ("0 0 28-2 nov-feb *", "0 0 28-31,1-2 11-12,1-2 *"),
        ("0 0 l,lw,15w * *", "0 0 L,LW,15W * *"),
        ("0 0 W15 * *", "0 0 15W * *"),
        ("0 0 * * 5l,monL,L3", "0 0 * * 5L,1L,3L"),
        ("0 0 * * fri#2,0#5", "0 0 * * 5#2,0#5"),
        ("5/20 * * * *", "5/20 * * * *"),
        ("*/90 * * * *", "*/90 * * * *"),
        ("10-10/2 * * * *", "10 * * * *"),
    ],
)
def test_an_expression_has_one_canonical_form(written: str, canonical: str) -> None:
    assert resolve(written, "key") == canonical
    assert parse(canonical).text == canonical


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("", "5 fields"),
        ("* * * *", "5 fields"),
        ("* * * * * * *", "5 fields"),
        ("@reboot", "unknown macro"),
        ("60 * * * *", "minute: '60' is not within 0-59"),
        ("0 24 * * *", "hour: '24' is not within 0-23"),
        ("0 0 0 * *", "day of month: '0' is not within 1-31"),
        ("0 0 * 13 *", "month: '13' is not within 1-12"),
        ("0 0 * * 8", "day of week: '8' is not within 0-7"),
        ("0 0 * mon *", "month: cannot read 'MON'"),
        ("*/0 * * * *", "a step must be at least 1"),
        ("*/ * * * *", "minute: cannot read ''"),
        ("0,,1 * * * *", "minute: cannot read ''"),
        ("1--2 * * * *", "minute: cannot read"),
        ("-1 * * * *", "minute: cannot read"),
        ("*-5 * * * *", "minute: cannot read"),
        ("٣ * * * *", "minute: cannot read"),
        ("0 0 * * L", "day of week: cannot read"),
        ("0 0 * * LL5", "day of week: cannot read"),
        ("0 0 * * 5#6", "must end in #1 to #5"),
        ("0 0 * * 5#", "day of week: cannot read ''"),
        ("0 0 32W * *", "day of month: '32' is not within 1-31"),
        ("0 0 1W5 * *", "day of month: cannot read"),
        ("0 0 L-3 * *", "day of month: cannot read 'L'"),
        ("H(5-2) * * * *", "is empty"),
        ("H(5 * * * *", "must be H or H(a-b)"),
        ("H(0-99) * * * *", "'99' is not within 0-59"),
        ("H/0 * * * *", "a step must be at least 1"),
        ("R R * * *", "minute: cannot read 'R'"),
        ("0 0 1 1 * 2027", "day of week: '2027'"),
    ],
)
def test_a_broken_expression_is_refused_by_field_and_reason(broken: str, says: str) -> None:
    with pytest.raises(Invalid) as caught:
        resolve(broken, "key")
    assert caught.value.field == "cron_expr"
    assert says in caught.value.message


@pytest.mark.parametrize(
    "never",
    ["0 0 31 2 *", "0 0 30,31 feb *", "0 0 31 4,6,9,11 *", "0 0 31W 2 *", "0 0 15W * */6", "0 0 */31 2 1#5"],
)
def test_an_expression_that_can_never_fire_is_refused(never: str) -> None:
    with pytest.raises(Invalid, match="can never fire"):
        resolve(never, "key")


@pytest.mark.parametrize(
    "rare", ["0 0 29 2 *", "0 0 * 2 1#5", "0 0 31 2 1", "0 0 31 1-2 *", "0 0 L 2 *", "0 0 */28 2 5#5"]
)
def test_an_expression_that_fires_rarely_is_accepted(rare: str) -> None:
    assert parse(resolve(rare, "key")).times.at_or_after(0) > 0


def test_a_long_expression_is_refused_before_it_is_read() -> None:
    with pytest.raises(Invalid, match="at most"):
        resolve(",".join(["1"] * LIMIT) + " * * * *", "key")


@pytest.mark.parametrize("thing", [None, 5, ["* * * * *"], {}])
def test_what_is_not_text_is_refused(thing: str) -> None:
    with pytest.raises(Invalid):
        resolve(thing, "key")


def test_h_depends_on_the_key_alone() -> None:
    assert resolve("H H * * *", "a") == resolve("h h * * *", "a")
    assert len({resolve("H H * * *", str(key)) for key in range(200)}) > 150


@settings(max_examples=200)
@given(st.text(max_size=40))
def test_h_chooses_within_its_limits_and_leaves_nothing_to_choose(key: str) -> None:
    minute, hour, day, month, weekday = resolve("H(10-19) H(2-4) H H H", key).split()
    assert 10 <= int(minute) <= 19
    assert 2 <= int(hour) <= 4
    assert 1 <= int(day) <= 28
    assert 1 <= int(month) <= 12
    assert 0 <= int(weekday) <= 6
    stepped = parse(resolve("H/15 H(0-11)/6 H/90 * *", key)).times
    assert len(stepped.minutes) == 4
    assert {later - earlier for earlier, later in zip(stepped.minutes, stepped.minutes[1:], strict=False)} == {15}
    assert len(stepped.hours) == 2
    assert stepped.hours[1] - stepped.hours[0] == 6
    assert stepped.days.bit_count() == 1


def test_h_may_be_one_of_a_list_beside_names_with_an_h_in_them() -> None:
    minute, *_, weekday = resolve("H,30 * * * thu", "a").split()
    assert minute.endswith(",30")
    assert weekday == "THU"


def test_a_stored_expression_must_not_contain_h() -> None:
    with pytest.raises(Invalid, match="cannot read 'H'"):
        parse("H * * * *")


@settings(max_examples=400)
@given(st.text(alphabet="0123456789*/-,LW#H()?@ monfriJAN\t\n", max_size=30))
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        canonical = resolve(text, "key")
    except Invalid:
        return
    assert resolve(canonical, "other") == canonical


def field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    pair = st.tuples(value, value).map(lambda both: f"{both[0]}-{both[1]}")
    step = st.tuples(st.one_of(value.map(str), st.just("*"), pair), st.integers(1, 70))
    term = st.one_of(st.just("*"), value.map(str), pair, step.map(lambda both: f"{both[0]}/{both[1]}"))
    return st.lists(term, min_size=1, max_size=2).map(",".join)


PLAIN = st.tuples(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7)).map(" ".join)


@settings(max_examples=150)
@given(PLAIN)
def test_cronsim_reads_the_canonical_form_alike(expression: str) -> None:
    try:
        parsed = parse(resolve(expression, "key"))
    except Invalid:
        return
    theirs, ours = CronSim(parsed.text, datetime(2026, 1, 1, tzinfo=UTC)), parsed.times
    assert (set(ours.seconds), set(ours.minutes), set(ours.hours)) == (theirs.seconds, theirs.minutes, theirs.hours)
    assert ours.days == sum(1 << day for day in theirs.days)
    assert ours.months == sum(1 << month for month in theirs.months)
    assert ours.weekdays == sum(1 << day for day in {int(str(weekday)) % 7 for weekday in theirs.weekdays})
    assert ours.both_days == theirs.day_and


@pytest.mark.parametrize(
    ("broken", "position", "suggestion"),
    [
        ("61 2 * * *", (0, 2), "1 2 * * *"),
        ("  0 24 * * *", (4, 6), "0 0 * * *"),
        ("0 2-99 * * *", (4, 6), "0 2-3 * * *"),
        ("0 0 1,45 * *", (6, 8), "0 0 1,14 * *"),
        ("0 0 0 * *", (4, 5), "0 0 1 * *"),
        ("0 0 * * 8", (8, 9), "0 0 * * 1"),
        ("0 0 * * Monday", (8, 14), "0 0 * * MON"),
        ("*/0 * * * *", (1, 3), "*/1 * * * *"),
        ("H(9-2) * * * *", (0, 6), "H(2-9) * * * *"),
        ("61 25 * * *", (0, 2), "1 1 * * *"),
        ("* * * *", (0, 7), "* * * * *"),
        ("@dayly", (0, 6), "@daily"),
        ("0 0 31 2 *", (0, 10), None),
        ("every day", (0, 9), None),
        ("", None, None),
    ],
)
def test_a_mistake_is_pointed_at_and_what_would_be_accepted_is_suggested(
    broken: str, position: tuple[int, int] | None, suggestion: str | None
) -> None:
    with pytest.raises(Invalid) as caught:
        resolve(broken, "key")

    assert (caught.value.position, caught.value.suggestion) == (position, suggestion)


@given(
    st.lists(
        st.sampled_from(["*", "61", "99", "0", "x", "MON", "MONDAY", "*/0", "L", "#", "ß", "5-99", ",", "H("]),
        max_size=8,
    )
)
def test_a_suggestion_is_always_accepted(parts: list[str]) -> None:
    refused = complaint(" ".join(parts))

    assert refused is None or refused.suggestion is None or resolve(refused.suggestion, "key")


def complaint(expression: str) -> Invalid | None:
    try:
        resolve(expression, "key")
    except Invalid as error:
        return error
    return None


def test_an_expression_full_of_mistakes_gets_no_suggestion_and_takes_no_time() -> None:
    with pytest.raises(Invalid) as caught:
        resolve("99," * 80 + "1 * * * *", "key")

    assert caught.value.suggestion is None


def test_a_weekday_with_an_ampersand_restricts_the_days_of_the_month() -> None:
    start, year = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=365)
    both = list(fires("0 0 13 * FRI&", "UTC").between(start, start + year))

    assert [at.date().isoformat() for at in both] == ["2026-02-13", "2026-03-13", "2026-11-13"]
    assert resolve("0 0 H * mon,fri&", "key").endswith("* MON,FRI&")
    # Where a star joins them already, the sign says nothing more.
    assert parse("0 0 * * FRI&").times == parse("0 0 * * FRI").times
