"""Extracts fields from a page by CSS and XPath selectors, in a separate process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from foliot.core.page_bounds import count_tags
from foliot.features.pipelines.steps.item_fields import BUDGET, within
from foliot.pages.selectors import Match, elements, select

MOST_TEXT = 1024 * 1024
_LINKS = frozenset({"href", "src", "action", "data-src", "poster"})


def read_page(body: bytes, url: str, each: str | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the page, or of every element that `each` matches, as JSON.

    `wanted` has for each field its selector, and whether all matches are wanted.
    """
    count_tags(body)
    tree = _tree(body)
    if tree is None:
        return {"error": "it is no HTML", "found": []}
    roots = [tree] if each is None else elements(tree, each)
    base = _base(tree, url)
    found, over = within(({name: _read(root, base, *said) for name, said in wanted.items()} for root in roots), BUDGET)
    return {"error": "its selectors find more than 6 MiB" if over else None, "found": [] if over else found}


def _tree(body: bytes) -> Any:
    from lxml import etree, html

    try:
        # Without network access and with the parser's limit on depth.
        return html.document_fromstring(
            body, parser=html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
        )
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _base(tree: Any, url: str) -> str:
    said = tree.xpath("//base/@href")
    return _joined(url, str(said[0])) if said else url


def _read(root: Any, base: str, selector: str, every: bool) -> Any:  # noqa: FBT001 -- as it came through JSON
    found = (value for match in select(root, selector) if (value := _value(match, base)) is not None)
    return list(found) if every else next(found, None)


def _value(match: Match, base: str) -> str | None:
    if match.attribute is None:
        text = match.element.text_content() if match.text is None else match.text
        return " ".join(text.split())[:MOST_TEXT] or None
    value = match.text or ""
    return _joined(base, value.strip()) if match.attribute in _LINKS else value[:MOST_TEXT]


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link
