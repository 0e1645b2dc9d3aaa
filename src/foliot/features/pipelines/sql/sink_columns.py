"""Converts items to rows: values by the column types of an existing table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Table, types

from foliot.features.pipelines.model import RowTarget

_BIGGEST = 2**63
_WORDS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


class ItemUnfit(Exception):
    """The item does not fit the table; the message says why."""


def fit(table: Table, item: Mapping[str, Any], into: RowTarget) -> dict[str, Any]:
    """The row of an item; `ItemUnfit` when a field or value does not fit."""
    names = list(dict.fromkeys([*into.key, *into.columns])) if into.columns else list(item)
    if unknown := [name for name in names if name not in table.columns]:
        raise ItemUnfit(f"{into.name} has no column {unknown[0]!r}; give `columns`")
    if missing := [name for name in into.key if item.get(name) is None]:
        raise ItemUnfit(f"it has no {missing[0]!r}, which is part of the key")
    row = {}
    for name in names:
        value = item.get(name)
        try:
            row[name] = None if value is None else _fitted(table.columns[name].type, value)
        except (ValueError, TypeError, OverflowError, InvalidOperation):
            kind = str(table.columns[name].type).lower()
            raise ItemUnfit(f"{name!r} cannot be written as {kind}: {str(value)[:80]!r}") from None
    return row


def _fitted(kind: types.TypeEngine[Any], value: Any) -> Any:
    for known, made in _KINDS:
        if isinstance(kind, known):
            return made(kind, value)
    return value


def _boolean(_: Any, value: Any) -> bool:
    if isinstance(value, str):
        try:
            return _WORDS[value.strip().lower()]
        except KeyError:
            raise ValueError(value) from None
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _integer(_: Any, value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    made = int(value)
    if not -_BIGGEST <= made < _BIGGEST:
        raise ValueError(value)
    return made


def _numeric(kind: Any, value: Any) -> Decimal | float:
    if isinstance(kind, types.Float):
        made = float(value)
        if not math.isfinite(made):
            raise ValueError(value)
        return made
    exact = Decimal(str(value))
    if not exact.is_finite():
        raise ValueError(value)
    return exact


def _moment(kind: Any, value: Any) -> datetime:
    made = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    if made.tzinfo is None:
        made = made.replace(tzinfo=UTC)
    return made if getattr(kind, "timezone", False) else made.astimezone(UTC).replace(tzinfo=None)


def _day(_: Any, value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(str(value).strip()[:10])


def _text(kind: Any, value: Any) -> str:
    if isinstance(value, str):
        made = value
    elif isinstance(value, bytes):
        made = value.decode("utf-8", "replace")
    elif isinstance(value, bool | list | tuple | dict):
        made = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    else:
        made = str(value)
    # Lone surrogates are refused here, for all databases alike; PostgreSQL stores no U+0000.
    made.encode()
    length = getattr(kind, "length", None)
    if "\x00" in made or (length is not None and len(made) > length):
        raise ValueError(value)
    return made


def _document(_: Any, value: Any) -> Any:
    return orjson.loads(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS))


def _bytes(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


_KINDS: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (types.JSON, _document),
    (types.Uuid, lambda _, value: value if isinstance(value, UUID) else UUID(str(value))),
    (types.Boolean, _boolean),
    (types.Integer, _integer),
    (types.Numeric, _numeric),
    (types.DateTime, _moment),
    (types.Date, _day),
    (types.Time, lambda _, value: value if isinstance(value, time) else time.fromisoformat(str(value))),
    (types.LargeBinary, _bytes),
    (types.String, _text),
)
"""Converters by column type; the first match is used."""
