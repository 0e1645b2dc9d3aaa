"""The filter language: `state:failed,dead_letter schedule:nightly since:24h -kind:crawl "connection refused"`.

    query   = { term }                 every term must hold
    term    = [ "-" ] ( key ":" value { "," value } | word | '"' words '"' )      "-": must not hold; ",": either
    value   = word | '"' words '"'

`keys.py` defines the values of each key; this file is the tokeniser, which keeps positions so that an error can point
at the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.core.errors import Invalid

FIELD = "q"
MOST_CHARACTERS = 1000
MOST_TERMS = 30
MOST_VALUES = 50
TEXT = "text"
"""The key of words without one."""

_KEYED = re.compile(r"([A-Za-z_]+):")


@dataclass(frozen=True, slots=True)
class FilterTerm:
    """One condition: the key's value is one of these, or, negated, none of them."""

    key: str
    values: tuple[str, ...] = ()
    negated: bool = False
    at: datetime | None = None
    """The time of `since` and `until`."""


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """A conjunction of terms."""

    terms: tuple[FilterTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def also(self, *terms: FilterTerm) -> FilterQuery:
        """The same with further terms."""
        return FilterQuery((*self.terms, *terms))

    def of(self, key: str) -> list[FilterTerm]:
        return [term for term in self.terms if term.key == key]


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A part of the text, with its position."""

    text: str
    start: int
    end: int

    def wrong(self, whole: str, message: str, better: str | None = None) -> Invalid:
        """An error at this position; `better` is a suggested replacement."""
        meant = None if better is None else f"{whole[: self.start]}{better}{whole[self.end :]}".strip()
        return Invalid(FIELD, message, got=self.text[:100], position=(self.start, self.end), suggestion=meant)


@dataclass(frozen=True, slots=True)
class RawTerm:
    """A term whose key and values are not validated yet."""

    key: QueryToken | None
    values: Sequence[QueryToken]
    negated: bool
    whole: QueryToken


def split(text: str) -> list[RawTerm]:
    """The terms of a filter, as typed."""
    if len(text) > MOST_CHARACTERS:
        raise Invalid(FIELD, f"must be at most {MOST_CHARACTERS} characters", got=f"{len(text)} characters")
    if "\x00" in text:
        at = text.index("\x00")
        raise Invalid(FIELD, "must not contain the character U+0000", position=(at, at + 1))
    terms = [_raw(text, piece) for piece in _parts(text, 0, len(text), blank=True)]
    if len(terms) > MOST_TERMS:
        raise terms[MOST_TERMS].whole.wrong(text, f"is one condition too many: a filter has at most {MOST_TERMS}")
    return terms


def _raw(text: str, piece: QueryToken) -> RawTerm:
    negated = piece.text.startswith("-") and len(piece.text) > 1
    start = piece.start + negated
    keyed = _KEYED.match(text, start, piece.end)
    if keyed is None:
        return RawTerm(None, [_bare(text, start, piece.end)], negated, piece)
    key = QueryToken(keyed[1], start, start + len(keyed[1]))
    values = [_bare(text, one.start, one.end) for one in _parts(text, keyed.end(), piece.end, blank=False)]
    values = [value for value in values if value.text]
    if not values:
        raise piece.wrong(text, f"needs a value after {keyed[0]!r}")
    if len(values) > MOST_VALUES:
        raise values[MOST_VALUES].wrong(text, f"is one value too many: a key takes at most {MOST_VALUES}")
    return RawTerm(key, values, negated, piece)


def _bare(text: str, start: int, end: int) -> QueryToken:
    return QueryToken(text[start:end].replace('"', "").strip(), start, end)


def _parts(text: str, start: int, end: int, *, blank: bool) -> Iterator[QueryToken]:
    """Splits at blanks, or at commas; never inside quotes."""
    begun, quoted = start, -1
    for at in range(start, end):
        char = text[at]
        if char == '"':
            quoted = at if quoted < 0 else -1
        elif quoted < 0 and (char.isspace() if blank else char == ","):
            if at > begun:
                yield QueryToken(text[begun:at], begun, at)
            begun = at + 1
    if quoted >= 0:
        raise QueryToken(text[quoted:end], quoted, end).wrong(
            text, "is a quote that is never closed", f'{text[quoted:end]}"'
        )
    if end > begun:
        yield QueryToken(text[begun:end], begun, end)
