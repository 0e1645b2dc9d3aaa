"""Extracts the article of a page: title, text, author, date, language. Runs in a separate process.

Pages are untrusted: one that never finishes or crashes its parser costs that process, and nothing else.

Metadata of a page: author, date, language, canonical URL, image.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import Any
from urllib.parse import urljoin

from foliot.pages.charset import decoded
from foliot.pages.trafilatura import loader

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


MOST_TEXT = 2 * 1024 * 1024
MOST_LINE = 1000
SIGN_IN, NO_TEXT = "sign_in", "no_text"
_LITTLE = 600
"""Characters; a page with a password field and no more text than this is a login form, not an article."""
_PASSWORD = re.compile(r"<input\b[^>]{0,500}\btype\s*=\s*[\"']?password", re.IGNORECASE)
_NEW_YEAR = re.compile(r"\b0?1(?:st)?[. /-]{1,2}(?:jan|0?1\b)|\bjan[a-z]*\.? 0?1\b", re.IGNORECASE)
_UNKEPT = re.compile("[\x00\ud800-\udfff]")
_RENEW = 500
"""After this many pages the caches of trafilatura are reset, because they grow without bound."""

_pages = 0


def extract_each(body: bytes, pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Extracts each page of a concatenated body; `unreadable` says why one cannot be parsed."""
    extracted = []
    begin = 0
    for page in pages:
        end = begin + page["size"]
        try:
            extracted.append(extract(body[begin:end], page["content_type"], page["url"]))
        except Exception as error:  # noqa: BLE001 -- pages are untrusted, and the others are still extracted
            extracted.append({"unreadable": _clean(f"{type(error).__name__}: {error}"[:MOST_LINE])})
        begin = end
    return extracted


def extract(body: bytes, content_type: str, url: str) -> dict[str, Any]:
    """The extracted fields; `missing` says why there is no article."""
    global _pages  # noqa: PLW0603 -- one for each process
    _pages += 1
    if _pages % _RENEW == 0:
        from trafilatura.meta import reset_caches

        reset_caches()
    page = decoded(body, content_type)
    if content_type.lower().startswith("text/plain"):
        return {"title": None, "content": _clean(page).strip()[:MOST_TEXT]}
    tree = loader()(page)
    text = "" if tree is None else _clean(_text(tree)).strip()
    if len(text) < _LITTLE and _PASSWORD.search(page):
        return {"missing": SIGN_IN}
    if not text:
        return {"missing": NO_TEXT}
    heading = PageHead.of(tree)
    title, author = _byline(tree, heading)
    return {
        "title": _line(title),
        "content": text[:MOST_TEXT],
        "author": _line(author),
        "published_at": _line(heading.published_at or _date(tree, page)),
        "language": heading.language,
        "canonical_url": _line(heading.canonical(url) or url),
        "image": _line(heading.image(url)),
    }


def _text(tree: Any) -> str:
    """The main text; does not change the tree."""
    text = _extracted(tree, _options())
    if not text.strip():
        return _extracted(tree, _options(fast=False, recall=True))
    if _tabular(text):
        # A page with a table layout: its menu must not be read as a row.
        other = _extracted(tree, _options(tables=False))
        return other if len(other) > len(text) / 2 else text
    return text


@cache
def _options(*, fast: bool = True, recall: bool = False, tables: bool = True) -> Any:
    from trafilatura.settings import Extractor

    return Extractor(fast=fast, recall=recall, tables=tables, comments=False, output_format="python")


def _extracted(tree: Any, options: Any) -> str:
    from trafilatura import bare_extraction

    found: Any = bare_extraction(tree, options=options)
    return "" if found is None else found.text or ""


def _byline(tree: Any, heading: PageHead) -> tuple[str | None, str | None]:
    """Title and author. The library's own metadata extraction would take as long again for fields that are not used."""
    from trafilatura.metadata import examine_meta, extract_author, extract_meta_json, extract_title

    found = examine_meta(tree)
    if found.author and " " not in found.author:
        found.author = None
    with suppress(Exception):
        # Structured data can be anything; what cannot be parsed is left out.
        found = extract_meta_json(tree, found)
    author = found.author or heading.author or extract_author(tree)
    return unescape(found.title or extract_title(tree) or ""), unescape(author or "")


def _tabular(text: str) -> bool:
    """Whether nearly all of a text is in rows of a table."""
    return text.startswith("|") and sum(len(line) for line in text.splitlines() if line.startswith("|")) > len(text) / 2


def _date(tree: Any, page: str) -> str | None:
    """The date in the text or the URL; a bare year, such as that of a copyright, is no date."""
    from htmldate import find_date
    from trafilatura.settings import set_date_params

    date: str | None = find_date(tree, **set_date_params())
    if date is None or not date.endswith("-01-01") or date in page:
        return date
    return date if _NEW_YEAR.search(page) else None


def _clean(text: str) -> str:
    """Without characters that JSON or a database cannot store."""
    return _UNKEPT.sub("", text)


def _line(text: str | None) -> str | None:
    return " ".join(_clean(text).split())[:MOST_LINE] or None if text else None
