"""Watches, their pages, the versions of these, and changes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import orjson

from foliot.core.ids import new_id
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchOptions
from foliot.features.watches.model.condition import TEXT, parse_condition
from foliot.features.watches.model.condition_nodes import Condition, ValueType
from foliot.features.watches.model.revisit import ChangeRate, RevisitRules

KIND = "watch"
WATCH = "wat"
"""Prefix of the ids of watches."""
WATCHED_PAGE = "wpg"
VERSION = "wve"
CHANGE = "chg"
WATCHES_TOPIC = "watches"
"""Wakes readers of watches and changes."""
MOST_WATCHES = 1000
MOST_PAGES = 10_000
"""Of one watch."""
MOST_VERSIONS = 1000
"""Of one page; the oldest go first."""
MOST_TEXT_BYTES = 2_000_000
"""Of a page's text, in UTF-8."""
MOST_DIFF = 4000
"""Characters of a change's diff that are kept with it."""


class PageState(StrEnum):
    """State of a page after its last visit."""

    NEW = "new"
    """Seen for the first time, or again after it was removed; not visited yet while `last_visit_at` is null."""
    SAME = "same"
    CHANGED = "changed"
    REMOVED = "removed"
    """It answers 404 or 410."""
    ERROR = "error"
    """It could not be read: its last version stands."""
    BLOCKED = "blocked"
    """A captcha or a login wall stands in its place: its last version stands."""


class ChangeKind(StrEnum):
    """What happened to a page."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"


class Crossing(StrEnum):
    """When a condition counts: as it becomes true, or at every visit at which it is."""

    CROSSING = "crossing"
    EVERY_VISIT = "every_visit"


class FieldType(StrEnum):
    """Types of a page's fields."""

    TEXT = "text"
    NUMBER = "number"
    PRICE = "price"
    DATE = "date"
    LIST = "list"
    LINK = "link"


_VALUES = {FieldType.NUMBER: ValueType.NUMBER, FieldType.PRICE: ValueType.NUMBER, FieldType.LIST: ValueType.LIST}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSources:
    """Where the pages of a watch come from: its URLs, or what finds them."""

    urls: tuple[str, ...] = ()
    sitemap: str | None = None
    feed: str | None = None
    links: str | None = None
    """A selector of links on the page `page`."""
    page: str | None = None

    @property
    def found(self) -> str | None:
        """The URL that is read to find pages; None where they are given."""
        return self.sitemap or self.feed or self.page

    def as_dict(self) -> dict[str, Any]:
        if self.urls:
            return {"urls": list(self.urls)}
        if self.sitemap:
            return {"sitemap": self.sitemap}
        return {"feed": self.feed} if self.feed else {"links": {"css": self.links, "from": self.page}}


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """What a request says about a watch."""

    name: str
    sources: PageSources
    select: str | None = None
    text: str = "whole"
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ignore: tuple[Mapping[str, Any], ...] = ()
    when: str | None = None
    at: Crossing = Crossing.CROSSING
    options: FetchOptions = DEFAULT_OPTIONS
    history: timedelta = timedelta(days=365)
    schedule: Mapping[str, Any] | None = None
    """The trigger, and what else a schedule's document says; None with `revisit`."""
    revisit: RevisitRules | None = None
    expect: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    fed_by: str | None = None
    """The task whose runs visit its pages, instead of runs of its own."""

    @property
    def reading(self) -> dict[str, Any]:
        """How its pages are read: the parameters of the reader."""
        return {
            "select": self.select,
            "text": self.text,
            "fields": {name: dict(wanted) for name, wanted in self.fields.items()},
            "ignore": [dict(each) for each in self.ignore],
            # Fields alone are compared, unless the text is asked for too.
            "compare_text": not self.fields or self.select is not None or self.text != "whole" or self.names_text,
        }

    @property
    def names_text(self) -> bool:
        """Whether its condition looks at the text of the page."""
        return self.when is not None and TEXT not in self.fields and _mentions(self.when, TEXT)

    @property
    def reading_digest(self) -> str:
        """Versions that were read in another way are not compared."""
        further = [each for each in (self.options.session, self.options.browser and repr(self.options.browser)) if each]
        return digest_of([self.reading, self.options.render, *further])

    @property
    def condition(self) -> Condition | None:
        return None if self.when is None else parse_condition(self.when, self.types)

    @property
    def types(self) -> dict[str, ValueType]:
        """Types of the values that a condition may name."""
        kinds = {name: FieldType(wanted.get("type", "text")) for name, wanted in self.fields.items()}
        return {TEXT: ValueType.TEXT} | {name: _VALUES.get(kind, ValueType.TEXT) for name, kind in kinds.items()}


def _mentions(source: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"'])(?:old\.|new\.)?{name}\b(?!\s*\()", source) is not None


def digest_of(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A watch of a tenant."""

    id: str
    tenant_id: str
    settings: WatchSettings
    document: Mapping[str, Any]
    """As it was given, in its stored form."""
    schedule_id: str
    key_of: str
    """The master key that the key of its feed is derived with."""
    created_by: str
    created_at: datetime
    updated_at: datetime
    pages: int = 0
    changes: int = 0
    last_visit_at: datetime | None = None
    last_change_at: datetime | None = None
    listed_at: datetime | None = None
    """When its sitemap, feed or page of links was last read."""
    problem: Mapping[str, Any] | None = None
    """Why its sitemap, feed or page of links could not be read."""
    planning: Mapping[str, Any] = field(default_factory=dict)
    """What the revisits of its pages depend on: the budget that is left, and how reliable hints are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPage:
    """A page of a watch: what it said at its last good visit, and when it is visited again."""

    id: str
    tenant_id: str
    watch_id: str
    url: str
    url_hash: str
    state: PageState = PageState.NEW
    listed: bool = True
    """Whether it is still one of the watch's pages; one that is not is not visited."""
    found: bool = False
    """Found after the first visit of the watch: its first version is a change."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    digest: str | None = None
    """Of the last version's values."""
    reading: str | None = None
    """How the last version was read."""
    version_id: str | None = None
    level: bool = False
    """Whether the condition was true at the last good visit."""
    visits: int = 0
    changes: int = 0
    """How many visits found a change."""
    seen: int = 0
    """How many visits could read it."""
    problem: Mapping[str, Any] | None = None
    etag: str | None = None
    last_modified: str | None = None
    first_at: datetime
    last_visit_at: datetime | None = None
    last_read_at: datetime | None = None
    last_change_at: datetime | None = None
    next_visit_at: datetime | None = None
    why_then: str | None = None
    rate: ChangeRate | None = None
    hinted: bool = False
    """Whether its next visit was brought forward by a hint."""
    run_id: str | None = None
    """The run that last read it."""


def url_hash(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def page_of(watch: Watch, url: str, now: datetime, *, found: bool = False) -> WatchedPage:
    """A page that was not visited yet."""
    return WatchedPage(
        id=new_id(WATCHED_PAGE),
        tenant_id=watch.tenant_id,
        watch_id=watch.id,
        url=url,
        url_hash=url_hash(url),
        first_at=now,
        found=found,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVersion:
    """What a page said from this time on."""

    id: str
    tenant_id: str
    watch_id: str
    page_id: str
    at: datetime
    digest: str
    fields: Mapping[str, Any]
    expires_at: datetime
    text_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """A change of a page. `seq` numbers the changes of a tenant without gaps, in the order of their commits."""

    id: str
    tenant_id: str
    watch_id: str
    page_id: str
    url: str
    at: datetime
    kind: ChangeKind
    matched: bool
    """Whether the condition holds, and so alerts are told."""
    fields: Mapping[str, Mapping[str, Any]]
    diff: str
    expires_at: datetime
    run_id: str | None = None
    version_id: str | None = None
    before_id: str | None = None
    seq: int = 0


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page that a sitemap, a feed or a page of links names."""

    url: str
    modified: datetime | None = None


def field_changes(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The fields whose values differ, each with both."""
    before, now = old or {}, new or {}
    names: Sequence[str] = [*dict.fromkeys([*before, *now])]
    return {
        name: {"old": before.get(name), "new": now.get(name)} for name in names if before.get(name) != now.get(name)
    }
