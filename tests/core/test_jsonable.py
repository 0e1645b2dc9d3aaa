"""What functions and steps make becomes JSON, or is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from foliot.core.json_values import dumps


class Price(BaseModel):
    """As people's own steps have them."""

    amount: Decimal


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Decimal("9.90"), "9.90"),
        (timedelta(minutes=1, milliseconds=500), 60.5),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        (Price(amount=Decimal("1.5")), {"amount": "1.5"}),
        ({1: datetime(2027, 1, 1, tzinfo=UTC)}, {"1": "2027-01-01T00:00:00+00:00"}),
    ],
)
def test_what_python_has_and_json_has_not_is_written_plainly(value: Any, told: Any) -> None:
    assert orjson.loads(dumps([value])) == [told]


@pytest.mark.parametrize("value", [object(), Price, lambda: None, 1 + 2j])
def test_what_has_no_form_is_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError):
        dumps({"x": value})
