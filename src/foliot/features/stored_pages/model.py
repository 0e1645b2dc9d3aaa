"""Stored pages, their bodies, and the filter that selects them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.core.document import moment
from foliot.core.duration import duration_between
from foliot.core.errors import Invalid

PAGE = "pag"
"""Prefix of the ids of stored pages."""
IN_DATABASE = 256 * 1024
"""Larger bodies, compressed, are in files or in S3."""
MOST_HEADERS = 16 * 1024


class BodyPlace(StrEnum):
    """Where a body is."""

    DATABASE = "database"
    FILES = "files"
    S3 = "s3"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as it came, without its body."""

    id: str
    tenant_id: str
    url: str
    host: str
    fetched_at: datetime
    status: int
    content_type: str
    headers: Mapping[str, str]
    bytes: int
    stored_bytes: int
    rendered: bool
    source_kind: str
    source_id: str
    body_hash: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBody:
    """A compressed body and where it is."""

    hash: str
    data: bytes | None = field(default=None, repr=False)
    size: int
    stored_bytes: int
    place: BodyPlace


@dataclass(frozen=True, slots=True)
class PageDrops:
    """Pages that a full quota has lately taken before their time."""

    pages: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which stored pages: `host:shop.example since:7d url:/news source:article status:200 id:pag_…`."""

    host: str | None = None
    url: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    status: int | None = None
    source: str | None = None
    answered: bool = False
    """Answers of hosts alone, without screenshots of pages that failed."""

    @classmethod
    def read(cls, text: str, now: datetime, where: str = "q") -> PageFilter:
        """`Invalid` names the term that cannot be read."""
        found: dict[str, Any] = {}
        for term in text.split():
            name, colon, value = term.partition(":")
            if not colon or not value or name not in ("host", "url", "since", "until", "status", "source"):
                rule = (
                    "must be terms such as host:shop.example, since:7d, until:1d, url:/news, status:200, source:article"
                )
                raise Invalid(where, rule, got=term[:100])
            if name in found:
                raise Invalid(where, f"gives {name} twice", got=term[:100])
            if name in ("since", "until"):
                if value[:4].isdigit() and "-" in value:
                    found[name] = moment(where, value)
                else:
                    found[name] = now - _PERIOD(where, value)
            elif name == "status":
                if not (value.isascii() and value.isdecimal() and len(value) == 3):
                    raise Invalid(where, "must give a status of three digits", got=value[:20])
                found[name] = int(value)
            else:
                found[name] = value[:500].lower() if name == "host" else value[:500]
        return cls(**found)


_PERIOD = duration_between(timedelta(seconds=1), timedelta(days=3650))
