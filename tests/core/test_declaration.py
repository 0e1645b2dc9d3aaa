"""Requests are read by their declaration: same messages, paths and leniencies as a field read by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import pytest
from annotated_types import Interval, MaxLen
from pydantic import TypeAdapter

from foliot.core.declaration import (
    OR_NULL,
    Checked,
    Described,
    Missing,
    Name,
    Parsed,
    Wire,
    declared,
    read,
    read_fields,
)
from foliot.core.document import MOST_COMPLAINTS, Fields, check_prose
from foliot.core.errors import Invalid, InvalidMany


class Pace(StrEnum):
    SLOW = "slow"
    FAST = "fast"


@declared
class Parts:
    """A nested object."""

    days: Annotated[int, Interval(ge=0, le=9)] = 0


def _words(path: str, got: object) -> tuple[str, ...]:
    if not isinstance(got, list):
        raise Invalid(path, "must be a list of words", got=got)
    return tuple(got)


@declared
class Order:
    """A request with a field of each type."""

    name: Name
    from_: Annotated[datetime, Missing("is required: the first moment")]
    count: Annotated[int, Interval(ge=1, le=10), OR_NULL] = 5
    share: Annotated[float, Interval(ge=0, le=1)] = 0.5
    pace: Pace = Pace.SLOW
    dry: bool = False
    note: Annotated[str | None, MaxLen(5), Checked(check_prose)] = None
    parts: Parts | None = None
    words: Annotated[tuple[str, ...], Wire(list[str]), Parsed(_words)] = ()
    free: dict[str, Any] | None = None


KNOWN = "count, dry, free, from, name, note, pace, parts, share, words"
GOOD = {"name": " a ", "from": "2027-01-01T00:00:00+01:00"}


def complaints(raw: object, cls: type[Any] = Order, where: str = "") -> list[tuple[str, str, object]]:
    with pytest.raises(Invalid) as caught:
        read(cls, raw, where)
    error = caught.value
    return [(one.field, one.message, one.got) for one in (error.errors if isinstance(error, InvalidMany) else [error])]


def test_what_is_left_out_or_null_has_its_default() -> None:
    order = read(Order, {**GOOD, "count": None, "note": None, "parts": None, "dry": None})

    assert order == Order(name="a", from_=datetime(2026, 12, 31, 23, tzinfo=UTC))
    assert (order.count, order.pace, order.words) == (5, Pace.SLOW, ())


def test_a_whole_number_may_be_written_as_a_float() -> None:
    assert read(Order, {**GOOD, "count": 2.0}).count == 2
    assert read(Order, {**GOOD, "share": 1}).share == 1.0


def test_every_field_that_is_wrong_is_named_in_the_order_of_the_declaration() -> None:
    raw = {"coutn": 1, "parts": {"days": 10, "hours": 1}, "dry": 0, "pace": "idle", "note": "too long", "words": 3}

    assert complaints(raw) == [
        ("name", "is required", None),
        ("from", "is required: the first moment", None),
        ("pace", "must be one of slow, fast", "idle"),
        ("dry", "must be true or false", 0),
        ("note", "must be at most 5 characters", "8 characters"),
        ("parts.days", "must be a whole number from 0 to 9", 10),
        ("parts.hours", "is not known; known are days", None),
        ("words", "must be a list of words", 3),
        ("coutn", f"is not known; did you mean 'count'? Known are {KNOWN}", None),
    ]


@pytest.mark.parametrize("got", [True, 0, 11, 1.5, "1", float("nan"), [], {}])
def test_a_number_is_refused_in_the_words_of_a_field_read_by_hand(got: object) -> None:
    with pytest.raises(Invalid) as by_hand:
        Fields.of("", {"count": got}).integer("count", 5, low=1, high=10)

    assert [line[:2] for line in complaints({**GOOD, "count": got})] == [(by_hand.value.field, by_hand.value.message)]


def test_a_check_beyond_the_type_sees_the_path() -> None:
    assert [line[0] for line in complaints({**GOOD, "note": "a\u202eb"}, where="order")] == ["order.note"]


@pytest.mark.parametrize("raw", [[], "x", 1, True])
def test_only_an_object_is_read(raw: object) -> None:
    assert complaints(raw, where="order") == [("order", "must be an object", raw)]
    assert complaints({**GOOD, "parts": raw}) == [("parts", "must be an object", raw)]
    assert complaints({**GOOD, "free": raw}) == [("free", "must be an object", raw)]


def test_no_body_is_an_empty_one() -> None:
    assert read(Parts, None) == Parts()


def test_of_very_many_unknown_fields_only_the_first_are_named() -> None:
    assert len(complaints({f"x{at}": 1 for at in range(1000)}, Parts)) == MOST_COMPLAINTS


def test_a_request_that_gives_a_field_can_be_told_from_its_default() -> None:
    assert read_fields(Order, {**GOOD, "count": 5, "share": None}).keys() == {"name", "from_", "count"}


def test_openapi_describes_what_is_read() -> None:
    described = TypeAdapter(Order).json_schema()
    shown = described["properties"]

    assert described["required"] == ["name", "from"]
    assert (shown["name"]["minLength"], shown["name"]["maxLength"]) == (1, 200)
    assert shown["count"]["anyOf"] == [{"type": "integer", "minimum": 1, "maximum": 10}, {"type": "null"}]
    assert shown["words"] | {"items": None} == {"type": "array", "items": None, "default": [], "title": "Words"}
    assert described["additionalProperties"] is False


def test_keywords_are_added_to_the_description() -> None:
    hint = Annotated[str, MaxLen(9), Described({"examples": ["x"]})]

    assert TypeAdapter(hint).json_schema() == {"type": "string", "maxLength": 9, "examples": ["x"]}


def test_a_field_without_a_bound_is_a_mistake_of_ours() -> None:
    @declared
    class Unbounded:
        text: str = ""

    @declared
    class Loose:
        number: int = 0

    @declared
    class Untold:
        either: int | str = 0

    with pytest.raises(TypeError, match=r"Unbounded\.text: needs MaxLen"):
        read(Unbounded, {})
    with pytest.raises(TypeError, match=r"Loose\.number: needs Ge"):
        read(Loose, {})
    with pytest.raises(TypeError, match=r"Untold\.either: .* needs Parsed"):
        read(Untold, {})
