"""Conditions: what they mean, and errors that point at the place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.features.watches.model.condition import DEEPEST, parse_condition
from foliot.features.watches.model.condition_nodes import ValueType, Visit

TYPES = {"text": ValueType.TEXT, "price": ValueType.NUMBER, "title": ValueType.TEXT, "tags": ValueType.LIST}


def holds(source: str, old: Any = None, new: Any = None, *, removed: bool = False) -> bool:
    visit = Visit(old, new, removed=removed, changed=old is not None and old != new)
    return parse_condition(source, TYPES).holds(visit)


def price(amount: str | float | None) -> dict[str, Any]:
    return {"price": None if amount is None else {"amount": str(amount), "currency": "EUR"}}


@pytest.mark.parametrize(
    ("source", "old", "new", "expected"),
    [
        ("price < 30", None, 29.9, True),
        ("new.price < 30", None, 30, False),
        ("price <= 30 and price >= 30", None, 30, True),
        ("new.price < old.price", 30, 29, True),
        ("new.price < old.price", None, 29, False),
        ("price == -1 or price != 30", 1, 29, True),
        ("drops(price, 10%)", 100, 90, True),
        ("drops(price, 10%)", 100, "90.01", False),
        ("drops(price, 10%)", "29.90", "26.91", True),
        ("drops(price)", 100, "99.99", True),
        ("drops(price)", 100, 100, False),
        ("drops(price, 5)", 100, 95, True),
        ("drops(price, 5)", 100, 96, False),
        ("rises(price, 2.5 %)", 100, "102.5", True),
        ("rises(price)", 100, 90, False),
        ("changed(price)", 1, 2, True),
        ("changed(price)", None, 2, False),
        ("changed()", 1, 2, True),
        ("not price < 30", None, 31, True),
        ("not (price < 30 or price > 40)", None, 35, True),
    ],
)
def test_a_condition_is_true_where_it_says(source: str, old: Any, new: Any, expected: bool) -> None:
    assert holds(source, None if old is None else price(old), price(new)) is expected


@pytest.mark.parametrize(
    ("source", "old", "new", "expected"),
    [
        ('appears(text, "sold out")', "In stock", "Now SOLD OUT", True),
        ('appears(text, "sold out")', "Sold out", "Sold out", False),
        ("disappears(text, 'sold out')", "Sold out", "Back", True),
        ('contains(text, "out")', None, "Sold out", True),
        ('text == "say \\"no\\""', None, 'say "no"', True),
    ],
)
def test_texts_are_looked_into(source: str, old: str | None, new: str, expected: bool) -> None:
    assert holds(source, None if old is None else {"text": old}, {"text": new}) is expected


def test_lists_and_removal() -> None:
    assert holds('appears(tags, "sale")', {"tags": ["new"]}, {"tags": ["new", "Sale -20 %"]})
    assert holds("tags != old.tags", {"tags": ["a"]}, {"tags": ["b"]})
    assert holds("removed", price(1), None, removed=True)
    assert not holds("removed", price(1), price(2))
    assert holds("price < 30 or removed", price(40), None, removed=True)


def test_a_missing_value_is_neither_less_nor_more_nor_its_opposite() -> None:
    for source in ("price < 30", "not price < 30", "price >= 30", "drops(price)"):
        assert not holds(source, price(10), price(None)), source


@pytest.mark.parametrize(
    ("source", "column", "said", "suggestion"),
    [
        ("prise < 30", 1, "did you mean price?", "price < 30"),
        ("price < 30 and", 15, "is where a value is expected", None),
        ("price = 30", 7, "write == for equal", "price == 30"),
        ("price", 1, "compare it", None),
        ('price < "30"', 9, "is compared with a number", None),
        ("drop(price, 10%)", 1, "did you mean drops?", "drops(price, 10%)"),
        ("drops(title)", 7, "takes a number", None),
        ("drops price", 1, "is a function", None),
        ("price < 10%", 9, "is a share", None),
        ("price < 30 price > 3", 12, "join conditions", None),
        ('title == "open', 10, "never closed", None),
        ("price < 30 & title", 12, "does not belong in a condition", None),
        ("was.price < 3", 1, "old.field, new.field", None),
        ("new.prize < 3", 1, "did you mean new.price?", "new.price < 3"),
        ("(price < 3", 11, "where ) is expected", None),
        ('appears(price, "x")', 9, "looks into a text or a list", None),
        ("tags < old.tags", 6, "does not compare", None),
        ("price and removed", 1, "must be true or false here", None),
        ("", 1, "is where a value is expected", None),
    ],
)
def test_an_error_names_the_place(source: str, column: int, said: str, suggestion: str | None) -> None:
    with pytest.raises(Invalid) as wrong:
        parse_condition(source, TYPES)
    assert f"at column {column}:" in wrong.value.message
    assert said in wrong.value.message
    assert wrong.value.position is not None
    assert wrong.value.position[0] == column - 1
    if suggestion is not None:
        assert wrong.value.suggestion == suggestion


def test_nesting_and_length_are_bounded() -> None:
    deep = DEEPEST - 2
    assert holds(f"{'(' * deep}price < 30{')' * deep}", None, price(1))
    for source in ("(" * 400, "not " * 200 + "removed", "drops(" * 100, "x" * 1001):
        with pytest.raises(Invalid):
            parse_condition(source, TYPES)


@given(st.text(max_size=60) | st.lists(
    st.sampled_from(["price", "old.", "new.price", "<", "==", "30", "10%", "(", ")", ",", "and", "or", "not", "drops",
                     "changed", '"x"', "removed", "text", "-", " "]), max_size=14).map(" ".join))  # fmt: skip
def test_any_text_is_a_condition_or_an_error(source: str) -> None:
    try:
        condition = parse_condition(source, TYPES)
    except Invalid:
        return
    for visit in (Visit(None, None, removed=True), Visit(price(1), price(2), changed=True)):
        assert condition.holds(visit) in {True, False}
