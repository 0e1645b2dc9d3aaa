"""CSS and XPath selectors, translated by parsel: what they select on a page, in document order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from foliot.core.limits import STRING, check_selector, check_xpath

MOST_FOUND = 10_000
"""Maximum matches of one selector; the rest is ignored."""
_XPATH = re.compile(r"\s*[(/]|\s*\.{1,2}/")
"""Beginnings that only XPaths have, and no CSS selector: `//h1`, `./b`, `(//h1)[1]`."""
_CALL = re.compile(r"([A-Za-z_][\w.:-]*)\s*\(")
_PREFIX = re.compile(r"([A-Za-z_][\w.-]*:(?!:)|\$[\w.-]*)")
_FUNCTIONS = frozenset(
    [
        "and",
        "boolean",
        "ceiling",
        "comment",
        "concat",
        "contains",
        "count",
        "div",
        "false",
        "floor",
        "has-class",
        "last",
        "local-name",
        "mod",
        "name",
        "node",
        "normalize-space",
        "not",
        "number",
        "or",
        "position",
        "processing-instruction",
        "round",
        "starts-with",
        "string",
        "string-length",
        "substring",
        "substring-after",
        "substring-before",
        "sum",
        "text",
        "translate",
        "true",
    ]
)
"""Functions of XPath 1.0 and parsel's `has-class`, node tests, and operators that may precede a parenthesis."""
_ALONE = re.compile(r"\s*::(text|attr\(.*\))\s*", re.DOTALL)
_ATTRIBUTE = re.compile(r"\"[^\"]*\"|'[^']*'|::attr\(\s*([A-Za-z_:][\w:.-]{0,99})\s*\)")


@dataclass(frozen=True, slots=True)
class Match:
    """An element, or the text or attribute of one."""

    element: Any
    """None where an XPath computes a value, such as `count(//li)`."""
    text: str | None = None
    """None where the element itself is selected."""
    attribute: str | None = None
    """The attribute that the text was read from."""


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One of the selectors between the commas of a list."""

    path: str
    own_text: bool = False
    attribute: str | None = None


def as_xpath(path: str) -> str:
    """An XPath in a form that no CSS selector has: `count(//li)` in parentheses."""
    return path if _XPATH.match(path) else f"({path})"


@lru_cache(maxsize=1024)
def compiled(selector: str) -> tuple[_Alternative, ...]:
    """Parses a selector into its alternatives; `ValueError` when it is invalid or would take too long to evaluate."""
    if _XPATH.match(selector):
        return (_Alternative(_checked_xpath(selector.strip())),)
    return tuple(_translated(selector))


def select(root: Any, selector: str) -> Iterator[Match]:
    """The matches of a selector in and below an element; `::text` is an element's own text, joined."""
    return islice(_selected(root, compiled(selector)), MOST_FOUND)


def elements(root: Any, selector: str) -> list[Any]:
    """The elements that a selector matches, or whose text or attributes it matches; each once."""
    found = (result for result, _ in _results(root, compiled(selector)))
    owners = dict.fromkeys(_owner(each) if isinstance(each, str) else each for each in found)
    return [each for each in owners if each is not None][:MOST_FOUND]


def _selected(root: Any, alternatives: tuple[_Alternative, ...]) -> Iterator[Match]:
    done: set[tuple[Any, bool, str | None]] = set()
    for result, wanted in _results(root, alternatives):
        if isinstance(result, str):
            yield Match(_owner(result), str(result), getattr(result, "attrname", None))
            continue
        key = (result, wanted.own_text, wanted.attribute)
        if key not in done:
            done.add(key)
            match = _match(result, wanted)
            if match is not None:
                yield match


def _results(root: Any, alternatives: tuple[_Alternative, ...]) -> list[tuple[Any, _Alternative]]:
    """The matches of all alternatives, in document order."""
    found = [(result, each) for each in alternatives for result in _evaluated(root, each.path)]
    if len(alternatives) > 1:
        # A union in XPath takes time quadratic in its matches.
        order = {element: at for at, element in enumerate(root.iter())}
        found.sort(key=lambda each: order[each[0]])
    return found


def _translated(selector: str) -> Iterator[_Alternative]:
    # Slow to import, and most processes never parse a page.
    from cssselect import SelectorError, parse
    from parsel.csstranslator import HTMLTranslator

    check_selector(selector)
    translator = HTMLTranslator()
    alone = _ALONE.fullmatch(selector) is not None
    # A name such as xlink:href is no CSS identifier; parsel accepts it as a string.
    quoted = _ATTRIBUTE.sub(lambda found: f'::attr("{found[1]}")' if found[1] else found[0], selector)
    try:
        for each in parse(quoted):
            path = translator.selector_to_xpath(each, prefix="descendant-or-self::")
            expression: Any = translator.xpath(each.parsed_tree)
            if each.pseudo_element is not None:
                expression = translator.xpath_pseudo_element(expression, each.pseudo_element)
            # `::text` without an element is that of the element that is searched, not of all below it.
            yield _Alternative("self::*" if alone else path, expression.textnode, expression.attribute)
    except (SelectorError, RecursionError) as wrong:
        raise ValueError(f"is not a CSS selector: {wrong}") from None


def _checked_xpath(path: str) -> str:
    from lxml import etree, html

    check_xpath(path)
    # libxml2 rejects these only when it evaluates them for a node, which may be days later.
    bare = STRING.sub("''", path)
    unknown = [name for name in _CALL.findall(bare) if name not in _FUNCTIONS]
    if unknown or (unknown := _PREFIX.findall(bare)):
        raise ValueError(f"is not an XPath expression: it has no function or prefix {unknown[0]!r}")
    try:
        _evaluated(html.Element("html"), path)
    except (etree.XPathError, ValueError) as wrong:
        raise ValueError(f"is not an XPath expression: {wrong}") from None
    return path


def _evaluated(root: Any, path: str) -> list[Any]:
    """Elements and texts; numbers and truth values as the text that XPath's `string()` makes of them."""
    import parsel  # noqa: F401 -- registers has-class() with lxml

    # Without namespaces, and so without EXSLT: no rule bounds the time of its regular expressions.
    found = root.xpath(path)
    if isinstance(found, list):
        return [each for each in found if isinstance(each, str) or isinstance(getattr(each, "tag", None), str)]
    if isinstance(found, bool):
        return [str(found).lower()]
    return [f"{found:.15g}" if isinstance(found, float) else str(found)]


def _match(element: Any, wanted: _Alternative) -> Match | None:
    if wanted.own_text:
        return Match(element, "".join(element.xpath("text()")))
    if wanted.attribute is None:
        return Match(element)
    value = element.get(wanted.attribute)
    return None if value is None else Match(element, value, wanted.attribute)


def _owner(text: Any) -> Any:
    """The element that contains a text; lxml returns the one that it follows."""
    parent = text.getparent() if hasattr(text, "getparent") else None
    return parent.getparent() if parent is not None and text.is_tail else parent
