"""Numbers of a page's fields over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.features.watches.model.watch import FieldType, WatchSettings

_NUMERIC = frozenset({FieldType.NUMBER.value, FieldType.PRICE.value})


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A number that a field had from this time on; None where it had none."""

    at: datetime
    value: float | None


@dataclass(frozen=True, slots=True)
class PagePlot:
    """A numeric field of one page over time."""

    page_id: str
    url: str
    points: Sequence[PlotPoint]
    until: datetime | None
    """When the page was last read: the last value stands until then."""


@dataclass(frozen=True, slots=True)
class WatchPlot:
    """A numeric field of a watch's liveliest pages."""

    field: str | None
    unit: str | None
    """The currency of a price."""
    pages: Sequence[PagePlot]


@dataclass(frozen=True, slots=True)
class FieldLine:
    """The newest values of a numeric field of the page that changed last, for a list of watches."""

    field: str
    values: Sequence[float | None]


def numeric_fields(settings: WatchSettings) -> list[str]:
    """Fields that can be plotted: numbers and prices."""
    return [name for name, wanted in settings.fields.items() if wanted.get("type") in _NUMERIC]


def number_of(value: Any) -> float | None:
    """A number, or the amount of a price."""
    if isinstance(value, Mapping):
        value = value.get("amount")
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def unit_of(value: Any) -> str | None:
    return value.get("currency") if isinstance(value, Mapping) else None
