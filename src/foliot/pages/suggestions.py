"""Suggests selectors: near ones for a selector that found nothing, and robust ones for a value on the page."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from foliot.core.limits import count_tags
from foliot.pages.charset import decoded
from foliot.pages.html_text import parsed, text_of
from foliot.pages.price import find_price
from foliot.pages.selectors import compiled, elements

MOST_NAMES = 3000
MOST_ELEMENTS = 20_000
MOST_SUGGESTIONS = 5
_NAME = re.compile(r"[.#]([\w-]+)")
_STABLE = re.compile(r"[A-Za-z][A-Za-z_-]{1,40}")
"""Names without digits: those with them are often made by a build, and change with the next one."""
_TELLING = ("itemprop", "data-testid", "data-test", "data-qa", "property", "name", "aria-label")


def near_selector(root: Any, wanted: Mapping[str, Any]) -> str | None:
    """A sentence about what the selector may have meant; None where nothing is near."""
    selector = str(wanted.get("css") or "")
    known = _names(root)
    for name in _NAME.findall(selector):
        if name in known:
            continue
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        if close:
            return f"The page has no {name}; did you mean {selector.replace(name, close[0])}?"
        if selector:
            return f"The page has no class or id {name}."
    if wanted.get("type") == "price":
        from lxml import html

        found = find_price(html.tostring(root), "text/html; charset=utf-8")
        if found is not None:
            return f"The page states a price of {found.price} {found.currency}: leave the selector out to read it."
    return None


def _names(root: Any) -> list[str]:
    names: dict[str, None] = {}
    for value in root.xpath("//@class | //@id"):
        names.update(dict.fromkeys(str(value).split()))
        if len(names) > MOST_NAMES:
            break
    return list(names)


def selectors_for(body: bytes, content_type: str, text: str) -> dict[str, Any]:
    """Selectors that find the element whose text this is, and it alone or first, the most robust first."""
    count_tags(body)
    root = parsed(decoded(body, content_type))
    wanted = " ".join(text.split())
    holding = [
        element
        for element in islice(root.iter(), MOST_ELEMENTS)
        if isinstance(element.tag, str)
        and element.tag not in {"script", "style"}
        and wanted in " ".join((element.text_content() or "").split())
    ]
    if not holding or not wanted:
        return {"selectors": []}
    # The innermost that has all of the text.
    target = min(holding, key=lambda element: len(element.text_content()))
    answers: list[dict[str, Any]] = []
    for selector in _candidates(target):
        try:
            compiled(selector)
        except ValueError:
            continue
        matches = elements(root, selector)
        if target in matches:
            first = matches[0] is target
            answers.append({"css": selector, "matches": len(matches), "first": first, "text": text_of(target)[:200]})
    answers.sort(key=lambda each: (not each["first"], int(each["matches"]) > 1))
    return {"selectors": answers[:MOST_SUGGESTIONS]}


def _candidates(element: Any) -> Iterator[str]:
    own = list(_own(element))
    yield from own
    last = own[0] if own else element.tag
    for parent in element.iterancestors():
        if not isinstance(parent.tag, str) or parent.tag in {"body", "html"}:
            break
        for name in _own(parent):
            yield f"{name} {last}"
            break
    path = element.getroottree().getpath(element)
    yield path


def _own(element: Any) -> Iterator[str]:
    for attribute in _TELLING:
        value = element.get(attribute)
        if value and len(value) <= 60 and '"' not in value and "\\" not in value:
            yield f'[{attribute}="{value}"]'
    if (name := element.get("id")) and _STABLE.fullmatch(name):
        yield f"#{name}"
    names = [name for name in (element.get("class") or "").split() if _STABLE.fullmatch(name)]
    if names:
        yield element.tag + "".join(f".{name}" for name in names[:2])
