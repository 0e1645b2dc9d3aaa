"""Requests for a new reading of stored pages, the versions that it makes, and how complete their fields are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval, MaxLen

from foliot.core.declaration import Described, declared, read
from foliot.core.document import Complaints
from foliot.core.duration import duration_between
from foliot.core.errors import Invalid
from foliot.features.bulk.model import MOST_ITEMS, BulkOrder
from foliot.features.watches.model.request import read_selectors

PAGE_VERSION = "pve"
"""Prefix of the ids of versions."""
MOST_RATE = 1000
USUAL_RATE = 200
USUAL_SAMPLE = 50
MOST_SAMPLE = 200
MOST_VALUES = 1000
"""Items of one page that a version keeps."""
_KEPT = duration_between(timedelta(days=1), timedelta(days=3650))


class PageExtractor(StrEnum):
    """What reads a page without selectors."""

    ARTICLE = "article"
    PRICE = "price"


@declared(example={"filter": "host:shop.example since:7d", "select": {"price": {"css": ".price", "type": "price"}}})
class ReextractRequest:
    """Which stored pages are read again, and how: by `select`, `extractor` or `pipeline`, one of the three."""

    filter: Annotated[str, MaxLen(1000)] = ""
    """As in `GET /api/pages`; empty: all pages."""
    select: Annotated[
        dict[str, Any] | None, Described({"examples": [{"price": {"css": ".price", "type": "price"}}]})
    ] = None
    """By name: a selector, or `{css|xpath|json|regex, type}`, as in a watch."""
    extractor: PageExtractor | None = None
    """The present version of the extractor of articles, or of prices."""
    pipeline: Annotated[str, MaxLen(200)] | None = None
    """The steps of this pipeline before its first sink; what they fetch is answered by the stored page."""
    keep: Annotated[str, MaxLen(16)] = "365d"
    """How long the versions are kept."""
    rate: Annotated[int, Interval(ge=1, le=MOST_RATE)] = USUAL_RATE
    """Pages a second, at most."""
    stop_after: Annotated[int | None, Interval(ge=1, le=MOST_ITEMS)] = None
    """Stop when so many pages could not be read."""
    order: BulkOrder = BulkOrder.OLDEST
    dry_run: bool = False
    """Read a sample, and only say what would be found."""
    sample: Annotated[int, Interval(ge=1, le=MOST_SAMPLE)] = USUAL_SAMPLE
    """Pages of a dry run."""
    expect: Annotated[int | None, Interval(ge=0, le=2**31)] = None
    """Refuse (409) unless so many match now."""

    @property
    def reading(self) -> PageReading:
        """How each page is read."""
        return PageReading(self.select or {}, self.extractor, self.pipeline)

    @property
    def kept(self) -> timedelta:
        return _KEPT("keep", self.keep)


@dataclass(frozen=True, slots=True)
class PageReading:
    """How a page is read: by selectors, by an extractor, or by a pipeline."""

    select: Mapping[str, Any] = field(default_factory=dict)
    extractor: PageExtractor | None = None
    pipeline: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The stored form."""
        if self.pipeline is not None:
            return {"pipeline": self.pipeline}
        return {"extractor": self.extractor.value} if self.extractor is not None else {"select": dict(self.select)}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> PageReading:
        extractor = stored.get("extractor")
        return cls(stored.get("select") or {}, PageExtractor(extractor) if extractor else None, stored.get("pipeline"))


def read_request(raw: object) -> ReextractRequest:
    """Parse a request; `Invalid` names what is wrong with it."""
    asked = read(ReextractRequest, raw)
    named = [name for name in ("select", "extractor", "pipeline") if getattr(asked, name)]
    wrong = Complaints()
    if len(named) != 1:
        said = "is required, or extractor or pipeline" if not named else f"cannot be beside {' and '.join(named[1:])}"
        wrong.found.append(Invalid(named[0] if named else "select", said))
    wrong.attempt(lambda: asked.kept)
    asked.select = wrong.attempt(lambda: read_selectors(asked.select, "select"))
    wrong.speak()
    return asked


@dataclass(frozen=True, slots=True)
class PageItems:
    """What was found on a page, or why it could not be read."""

    items: Sequence[Mapping[str, Any]] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPageVersion:
    """What one reading found on a stored page; later readings are versions of their own."""

    id: str
    tenant_id: str
    page_id: str
    url: str
    bulk_id: str
    at: datetime
    reading: Mapping[str, Any]
    found: Sequence[Mapping[str, Any]]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class FieldCoverage:
    """The share of pages on which a field has a value; None where no page was read before."""

    name: str
    before: float | None
    after: float


def coverage(
    found: Sequence[Sequence[Mapping[str, Any]]], earlier: Sequence[Sequence[Mapping[str, Any]] | None]
) -> list[FieldCoverage]:
    """Of every field, on the pages that were read; `earlier` are the newest items of the same pages, if any.

    What was found before is compared on the pages that had been read before.
    """
    known = [items for items in earlier if items is not None]
    names = dict.fromkeys(name for group in (*found, *known) for item in group for name in item)
    return [FieldCoverage(name, _share(known, name) if known else None, _share(found, name) or 0.0) for name in names]


def _share(pages: Sequence[Sequence[Mapping[str, Any]]], name: str) -> float | None:
    if not pages:
        return None
    return round(sum(any(_is_value(item.get(name)) for item in items) for items in pages) / len(pages), 4)


def _is_value(value: object) -> bool:
    return value is not None and value not in ("", [], {})
