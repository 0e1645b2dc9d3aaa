"""Positions in sorted lists (keyset pagination).

An order is a sequence of segments, each of which an index can read: those with a value, then those without. A cursor
names the segment, when the list was begun, and the value and id of the last row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, literal, or_

from foliot.core.errors import Invalid
from foliot.db.metadata import Moment


@dataclass(frozen=True, slots=True)
class KeysetPlace:
    """Where a page ended: the segment, when the list was begun, and the last row."""

    segment: int
    now: datetime
    id: str
    value: str

    def write(self) -> str:
        return f"{self.segment}~{int(self.now.timestamp() * 1000)}~{self.id}~{self.value}"

    @classmethod
    def read(cls, text: str, segments: int) -> KeysetPlace:
        try:
            segment, now, row_id, value = text.split("~", 3)
            place = cls(int(segment), datetime.fromtimestamp(int(now) / 1000, UTC), row_id, value)
        except ValueError:
            raise _other_order(text) from None
        if not 0 <= place.segment < segments:
            raise _other_order(text)
        return place


def beyond(
    by: ColumnElement[Any], row_id: ColumnElement[str], place: KeysetPlace, *, down: bool
) -> ColumnElement[bool]:
    """Rows after this place in the order of the value, and of the id among equal values."""
    last = literal(read_value(by, place.value), by.type)
    return or_(by < last if down else by > last, and_(by == last, row_id > place.id))


def beyond_pair(by: ColumnElement[Any], row_id: ColumnElement[str], text: str, *, down: bool) -> ColumnElement[bool]:
    """Rows after the position that `written_pair` names; among equal values, the highest id is first."""
    value, mark, last_id = text.rpartition("~")
    if not mark:
        raise _other_order(text)
    last = literal(read_value(by, value), by.type)
    return or_(by < last if down else by > last, and_(by == last, row_id < last_id))


def read_value(by: ColumnElement[Any], value: str) -> Any:
    try:
        if isinstance(by.type, Moment):
            return datetime.fromisoformat(value)
        return int(value) if by.type.python_type is int else value
    except ValueError:
        raise _other_order(value) from None


def _other_order(got: str) -> Invalid:
    return Invalid("cursor", "is a next_cursor of this list in another order", got=got)
