"""Reads the fields and the text of a watched page, and recognises captchas and login walls. Runs in a separate process.

What a watch says about reading is a document: `{"select", "text", "fields", "ignore"}`, validated before it is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from foliot.core.limits import count_tags
from foliot.pages.article import extract
from foliot.pages.charset import decoded
from foliot.pages.field_values import read_value
from foliot.pages.html_text import MOST_TEXT, parsed, text_of
from foliot.pages.price import find_price
from foliot.pages.selectors import Match, as_xpath, elements, select
from foliot.pages.suggestions import near_selector
from foliot.pages.walls import Arrival, wall_of

MOST_LIST = 1000
MOST_LINKS = 10_000
LONGEST_URL = 8192
LONGEST_VALUE = 10_000
AROUND = 80
"""Characters on each side of a value that a preview shows."""
_DATES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b"
    r"|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\b"
    r"|\b(?:\d{1,2}\.? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?(?: \d{1,2},?)?(?: \d{4})?\b"
    r"|\b\d{1,4} (?:second|minute|hour|day|week|month|year)s? ago\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9}|\*)\]")
_JSON_START = ("{", "[")


def read_watched(
    body: bytes, about: Mapping[str, Any], reading: Mapping[str, Any], *, explain: bool = False
) -> dict[str, Any]:
    """`fields`, `text`, the fields that are `missing`, and the `wall` that stands before the page, if one does.

    `about` says how the page was reached: `content_type`, `url`, `status`, and `asked`, its URL before redirects.
    `explain` adds what stands around each value and what a selector may have meant.
    """
    count_tags(body)
    page = _WatchedPage.of(decoded(body, about["content_type"]), about["content_type"], about["url"])
    fields = {name: page.field(wanted) for name, wanted in reading["fields"].items()}
    missing = [name for name, value in fields.items() if value is None]
    needed = [name for name in missing if not reading["fields"][name].get("optional")]
    text = page.text(reading)
    whole = page.whole_text()
    arrival = Arrival(
        status=about["status"], url=about["url"], asked=about["asked"], lost=bool(needed), blind=not fields
    )
    wall = None if page.root is None else wall_of(page.root, whole, arrival)
    answer: dict[str, Any] = {"fields": fields, "text": text, "missing": needed, "wall": wall}
    if explain:
        answer["whole"] = whole[:20_000]
        answer["found"] = {name: page.around(value, whole) for name, value in fields.items()}
        answer["hints"] = {name: page.hint(reading["fields"][name]) for name in missing}
    return answer


def read_links(body: bytes, content_type: str, url: str, selector: str) -> dict[str, Any]:
    """The addresses that a selector's elements link to, whole, each once and in the order of the page."""
    count_tags(body)
    page = _WatchedPage.of(decoded(body, content_type), content_type, url)
    found: dict[str, None] = {}
    for match in () if page.root is None else select(page.root, selector):
        link = match.text if match.attribute is not None else _href(match.element)
        if link and (whole := _joined(page.base, link.strip())) and whole.startswith(("http://", "https://")):
            found.setdefault(whole.partition("#")[0][:LONGEST_URL])
    return {"urls": list(found)[:MOST_LINKS]}


def _href(element: Any) -> str | None:
    if element is None:
        return None
    if element.get("href"):
        return str(element.get("href"))
    inner = element.xpath(".//a/@href")
    return str(inner[0]) if inner else None


@dataclass(slots=True)
class _WatchedPage:
    """A page of HTML, or a document of JSON."""

    source: str
    content_type: str
    url: str
    base: str
    root: Any = None
    """The parsed HTML; None for JSON."""
    document: Any = None
    _whole: str | None = None

    @classmethod
    def of(cls, source: str, content_type: str, url: str) -> _WatchedPage:
        kind = content_type.lower()
        if "json" in kind or ("html" not in kind and source.lstrip()[:1] in _JSON_START):
            try:
                return cls(source, content_type, url, url, document=json.loads(source))
            except (ValueError, RecursionError):
                pass
        root = parsed(source)
        return cls(source, content_type, url, _base(root, url), root)

    def field(self, wanted: Mapping[str, Any]) -> Any:
        """The value of a field, as JSON; None where the page has none."""
        kind = wanted.get("type", "text")
        if "json" in wanted:
            found = [] if self.document is None else list(_reach(self.document, _steps(wanted["json"])))
            return read_value(kind, [_plain(each) for each in found if each is not None][:MOST_LIST], self.base)
        if self.root is None:
            return None
        if "regex" in wanted:
            hit = re.search(wanted["regex"], self.whole_text())
            return None if hit is None else read_value(kind, [hit[1] if hit.re.groups else hit[0]], self.base)
        selector = wanted.get("css") or (as_xpath(wanted["xpath"]) if "xpath" in wanted else None)
        if selector is None:
            return self._usual(kind)
        found = []
        for match in select(self.root, selector):
            text = _value(match, link=kind == "link")
            if text:
                found.append(text)
            if len(found) >= (MOST_LIST if kind == "list" else 20):
                break
        return read_value(kind, found, self.base)

    def _usual(self, kind: str) -> Any:
        """A field without a selector: the price of the product, or the article's text."""
        if kind == "price":
            found = find_price(self.source.encode("utf-8", "replace"), "text/html; charset=utf-8")
            return None if found is None else {"amount": _digits(str(found.price)), "currency": found.currency or None}
        return (self._article() or "")[:LONGEST_VALUE] or None

    def _article(self) -> str | None:
        read = extract(self.source.encode("utf-8", "replace"), "text/html; charset=utf-8", self.url)
        content = read.get("content")
        return str(content) if content else None

    def text(self, reading: Mapping[str, Any]) -> str | None:
        """The text that is compared; None where the watch compares fields alone."""
        if not reading["compare_text"]:
            return None
        selector = reading.get("select")
        if self.root is None:
            value = self.document
            if selector:
                value = [_plain(each) for each in _reach(self.document, _steps(selector))]
            text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
        elif reading.get("text") == "article":
            text = self._article() or ""
        else:
            for each in reading["ignore"]:
                self._drop(each)
            roots = [self.root] if not selector else elements(self.root, selector)
            text = "\n".join(text_of(root) for root in roots)
        return _without(text, reading["ignore"])[:MOST_TEXT]

    def _drop(self, ignored: Mapping[str, Any]) -> None:
        selector = ignored.get("css") or (as_xpath(ignored["xpath"]) if "xpath" in ignored else None)
        for element in [] if selector is None else elements(self.root, selector):
            if element.getparent() is not None:
                element.drop_tree()

    def whole_text(self) -> str:
        if self._whole is None:
            if self.root is None:
                self._whole = self.source[:MOST_TEXT]
            else:
                self._whole = text_of(self.root)[:MOST_TEXT]
        return self._whole

    def around(self, value: Any, whole: str) -> str | None:
        """The text in which a value stands, on the page."""
        needle = value[0] if isinstance(value, list) and value else value
        needle = needle.get("amount") if isinstance(needle, dict) else needle
        if needle is None:
            return None
        shown = str(needle)
        at = next((at for form in (shown, shown.replace(".", ","), shown[:40]) if (at := whole.find(form)) >= 0), -1)
        if at < 0:
            return None
        return " ".join(whole[max(at - AROUND, 0) : at + len(shown) + AROUND].split())

    def hint(self, wanted: Mapping[str, Any]) -> str | None:
        """What a selector that found nothing may have meant."""
        if self.root is None:
            return "The page is JSON: read it by json, as in offers.0.price." if "json" not in wanted else None
        if "json" in wanted:
            return "The page is no JSON: read it by css or xpath."
        return near_selector(self.root, wanted)


def _base(root: Any, url: str) -> str:
    said = root.xpath("//base/@href")
    return _joined(url, str(said[0])) or url if said else url


def _joined(base: str, link: str) -> str | None:
    try:
        return urljoin(base, link)
    except ValueError:
        return None


def _value(match: Match, *, link: bool) -> str:
    if match.attribute is not None or match.text is not None:
        return " ".join((match.text or "").split())[:LONGEST_VALUE]
    element = match.element
    if link:
        return _href(element) or ""
    said = element.get("content") if element.tag == "meta" else element.get("datetime")
    return str(said) if said else " ".join(text_of(element).split())[:LONGEST_VALUE]


def _without(text: str, ignore: Sequence[Mapping[str, Any]]) -> str:
    """The text without what is ignored."""
    for each in ignore:
        if "regex" in each:
            text = re.sub(each["regex"], "", text)
        elif each.get("what") == "dates":
            text = _DATES.sub("", text)
        elif each.get("what") == "numbers":
            text = re.sub(r"\d+(?:[.,]\d+)*", "", text)
    lines = [" ".join(line.split()) for line in text.split("\n")]
    if any(each.get("what") == "whitespace" for each in ignore):
        return " ".join(line for line in lines if line)
    return "\n".join(line for line in lines if line)


def _steps(path: str) -> list[str]:
    """`$.offers[0].price` and `offers.0.price` are one path; `*` is every element."""
    return [found[1] or found[2] for found in _PATH.finditer(path.removeprefix("$"))]


def _reach(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    values = [value]
    for step in steps:
        following: list[Any] = []
        for each in values:
            if step == "*" and isinstance(each, list | dict):
                following += list(each.values()) if isinstance(each, dict) else each
            elif isinstance(each, dict) and step in each:
                following.append(each[step])
            elif isinstance(each, list) and step.isascii() and step.isdigit() and int(step) < len(each):
                following.append(each[int(step)])
        values = following[:MOST_LINKS]
    yield from values


def _plain(value: Any) -> Any:
    """A value of a JSON document as text; numbers stay."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)[:LONGEST_VALUE]
    return value if isinstance(value, int | float) else str(value)[:LONGEST_VALUE]


def _digits(price: str) -> str:
    """Without trailing zeros, but with at least two decimal places."""
    whole, _, places = price.partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
