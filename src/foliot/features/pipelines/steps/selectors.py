"""Reads fields off a page by CSS selectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from foliot.core.page_bounds import check_selector, count_tags
from foliot.features.pipelines.steps.item_fields import BUDGET, within

MOST_FOUND = 10_000
MOST_TEXT = 1024 * 1024
_LINKS = frozenset({"href", "src", "action", "data-src", "poster"})
_END = re.compile(r"::(?:(text)|attr\(\s*([A-Za-z_:][\w:.-]{0,99})\s*\))\s*$")


@lru_cache(maxsize=1024)
def compiled(selector: str) -> tuple[str, str | None, bool]:
    """An XPath, the attribute that is wanted, and whether only an element's own text is; `ValueError` otherwise."""
    from cssselect import HTMLTranslator, SelectorError

    check_selector(selector)
    end = _END.search(selector)
    plain = selector[: end.start()].strip() if end else selector.strip()
    try:
        path = HTMLTranslator().css_to_xpath(plain or "*", prefix="descendant-or-self::")
    except (SelectorError, RecursionError) as wrong:
        raise ValueError(f"is no CSS selector: {wrong}") from None
    if "::" in plain and not end:
        raise ValueError("ends with something else than ::text or ::attr(name)")
    return path if plain else "self::*", end[2] if end else None, bool(end and end[1])


def read_page(body: bytes, url: str, each: str | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the page, or of every element that `each` finds, as JSON. Runs in a process of its own.

    `wanted` has for each field its selector, and whether all that it finds is wanted.
    """
    count_tags(body)
    tree = _tree(body)
    if tree is None:
        return {"error": "it is no HTML", "found": []}
    roots = [tree] if each is None else tree.xpath(compiled(each)[0])[:MOST_FOUND]
    base = _base(tree, url)
    found, over = within(({name: _read(root, base, *said) for name, said in wanted.items()} for root in roots), BUDGET)
    return {"error": "its selectors find more than 6 MiB" if over else None, "found": [] if over else found}


def _tree(body: bytes) -> Any:
    from lxml import etree, html

    try:
        # Nothing is fetched for it, and no tree is deeper than the parser allows.
        return html.document_fromstring(
            body, parser=html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
        )
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _base(tree: Any, url: str) -> str:
    said = tree.xpath("//base/@href")
    return _joined(url, str(said[0])) if said else url


def _read(root: Any, base: str, selector: str, every: bool) -> Any:  # noqa: FBT001 -- as it came through JSON
    path, attribute, own = compiled(selector)
    found = [value for one in root.xpath(path)[:MOST_FOUND] if (value := _value(one, base, attribute, own)) is not None]
    return found if every else next(iter(found), None)


def _value(element: Any, base: str, attribute: str | None, own: bool) -> str | None:  # noqa: FBT001
    if attribute is None:
        text = "".join(element.xpath("text()")) if own else element.text_content()
        return " ".join(text.split())[:MOST_TEXT] or None
    value = element.get(attribute)
    if value is None:
        return None
    return _joined(base, value.strip()) if attribute in _LINKS else value[:MOST_TEXT]


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link
