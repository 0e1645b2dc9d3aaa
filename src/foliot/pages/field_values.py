"""Values of fields on watched pages: text, number, price with its currency, date, list, link."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin

from foliot.pages.price import amount, read_text

MOST = 10_000
MOST_EXACT = 2**53
LARGEST = 10**300
_NUMBER = re.compile(r"[-−+]?\d(?:[\d .,'\u00a0\u202f]*\d)?")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?)?")
_SPACES = re.compile(r"[ '\u00a0\u202f]")


def read_value(kind: str, found: Sequence[Any], base: str) -> Any:
    """The value of this type from the texts that a selector found; None where none of them can be read as one."""
    if kind == "list":
        return [str(each) for each in found] or None
    return next((value for each in found if (value := _read(kind, each, base)) is not None), None)


def _read(kind: str, raw: Any, base: str) -> Any:
    match kind:
        case "number":
            return read_number(raw)
        case "price":
            return _price(raw)
        case "date":
            return read_date(str(raw))
        case "link":
            return _link(str(raw), base)
        case _:
            return str(raw).strip()[:MOST] or None


def _price(raw: Any) -> dict[str, Any] | None:
    if isinstance(raw, int | float):
        found, sign = amount(raw), ""
    else:
        found, sign = read_text(str(raw))
    if found is None:
        return None
    whole, _, places = str(found).partition(".")
    return {"amount": f"{whole}.{places.rstrip('0').ljust(2, '0')}", "currency": sign or None}


def read_number(raw: Any) -> float | int | None:
    """The first number of a text: `1 299,50`, `1,299.50`, `-3`; a lone separator before three digits groups."""
    if isinstance(raw, int | float):
        return _exact(raw)
    match = _NUMBER.search(str(raw))
    if match is None:
        return None
    text = _SPACES.sub("", match[0]).replace("−", "-")
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-")
    last = max(text.rfind("."), text.rfind(","))
    if last >= 0:
        mark, other = text[last], "," if text[last] == "." else "."
        grouped = text.count(mark) > 1 or (other not in text and len(text) - last == 4 and text[:last] != "0")
        text = text.replace(other, "")
        text = text.replace(mark, "") if grouped else text.replace(mark, ".")
    try:
        value = float(text) * sign
    except ValueError:
        return None
    return _exact(int(value) if value.is_integer() and "." not in text else value)


def _exact(value: float) -> float | int | None:
    """A number that JSON can hold: no infinity, and no integer of more than 64 bits."""
    if abs(value) <= MOST_EXACT:
        return value
    large = float(value) if abs(value) < LARGEST else math.inf
    return large if math.isfinite(large) else None


def read_date(text: str) -> str | None:
    """A day or a moment in ISO 8601; the text itself where it is written in another way."""
    text = " ".join(text.split())[:200]
    found = _ISO.search(text)
    if found is not None:
        return _moment(found[0].replace(" Z", "Z")) or text
    try:
        return _utc(parsedate_to_datetime(text))
    except (TypeError, ValueError, IndexError, OverflowError):
        return text or None


def _moment(text: str) -> str | None:
    try:
        if len(text) == 10:
            return datetime.fromisoformat(text).date().isoformat()
        return _utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _utc(moment: datetime) -> str:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _link(text: str, base: str) -> str | None:
    try:
        whole = urljoin(base, text.strip())
    except ValueError:
        return None
    return whole[:8192] if whole.startswith(("http://", "https://")) else None
