"""Metadata of a page: author, date, language, canonical URL, image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

_WEB = ("http://", "https://")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*$")
_PUBLISHED = ("article:published_time", "datepublished", "dc.date.issued", "dc.date", "date")
_PICTURES = ("og:image", "og:image:url", "twitter:image", "twitter:image:src")
_MOST_DATA = 512 * 1024
_DEEPEST = 6
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class PageHead:
    """Values of the page's head, by name."""

    language: str | None = None
    address: str | None = None
    named: dict[str, str] = field(default_factory=dict)
    stated: dict[str, str] = field(default_factory=dict)
    """Values of the page's structured data."""

    @classmethod
    def of(cls, tree: Any) -> PageHead:
        """Reads a page that lxml has parsed."""
        named: dict[str, str] = {}
        for meta in tree.iterfind(".//meta"):
            name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
            if content := (meta.get("content") or "").strip():
                named.setdefault(name.lower(), content)
        links = (
            link.get("href") for link in tree.iterfind(".//link") if (link.get("rel") or "").lower() == "canonical"
        )
        address = next((href for href in links if href), None) or named.get("og:url")
        language = tree.get("lang") or tree.get("xml:lang") or named.get("content-language") or named.get("og:locale")
        return cls(_language(language), address, named, _stated(tree))

    @property
    def author(self) -> str | None:
        """The library discards names in scripts without spaces."""
        name = self.named.get("author") or self.stated.get("author") or ""
        return name if 0 < len(name) <= _LONGEST_NAME and "://" not in name and "@" not in name else None

    @property
    def published_at(self) -> str | None:
        """As the page writes it, when that is a moment in ISO 8601."""
        candidates = [self.named.get(name, "") for name in _PUBLISHED[:2]]
        candidates += [self.stated.get("datePublished", ""), self.stated.get("time", "")] + [
            self.named.get(name, "") for name in _PUBLISHED[2:]
        ]
        return next((text for text in candidates if _MOMENT.match(text)), None)

    def canonical(self, url: str) -> str | None:
        return _joined(url, self.address)

    def image(self, url: str) -> str | None:
        pictures = [self.named.get(name) for name in _PICTURES] + [self.stated.get("image")]
        return next((found for picture in pictures if (found := _joined(url, picture)) is not None), None)


def _language(text: str | None) -> str | None:
    text = (text or "").strip()
    return text.replace("_", "-").lower() if _LANGUAGE.match(text) else None


def _joined(url: str, other: str | None) -> str | None:
    try:
        joined = urljoin(url, other.strip()) if other else ""
    except ValueError:
        return None
    return joined if joined.startswith(_WEB) else None


def _stated(tree: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for script in tree.iterfind(".//script"):
        text = script.text or ""
        if script.get("type") != "application/ld+json" or len(text) > _MOST_DATA:
            continue
        try:
            data = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        for thing in _things(data):
            if isinstance(date := thing.get("datePublished"), str):
                found.setdefault("datePublished", date.strip())
            if (name := _name(thing.get("author"))) is not None and "headline" in thing:
                found.setdefault("author", name)
            if (picture := _picture(thing.get("image"))) is not None and "headline" in thing:
                found.setdefault("image", picture)
    for time in tree.iterfind(".//time[@datetime]"):
        marks = f"{time.get('class')} {time.get('itemprop')}".lower()
        if "published" in marks or time.get("pubdate") is not None:
            found.setdefault("time", time.get("datetime").strip())
    return found


def _things(data: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(data, dict):
        yield data
        yield from _things(data.get("@graph"), depth + 1)
    elif isinstance(data, list):
        for one in data[:100]:
            yield from _things(one, depth + 1)


def _name(value: Any) -> str | None:
    if isinstance(value, list):
        return _name(value[0]) if len(value) == 1 else None
    if isinstance(value, dict):
        value = value.get("name")
    return value.strip() if isinstance(value, str) else None


def _picture(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url")
    return value if isinstance(value, str) else None
