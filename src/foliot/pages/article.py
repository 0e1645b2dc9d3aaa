"""Extracts the article of a page: title, text, author, date, language. Runs in a separate process.

Pages are untrusted: one that never finishes or crashes its parser costs that process, and nothing else.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from html import unescape
from typing import Any

from foliot.pages.charset import decoded
from foliot.pages.metadata import PageHead
from foliot.pages.trafilatura import loader

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
