"""Replaces trafilatura's slowest XPaths by equivalent faster ones; falls back when the installed version differs.

The results are the same: an expression that does not have the expected text stays as the library has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from foliot.core.limits import TooMuch, count_tags

REGULAR = "http://exslt.org/regular-expressions"
MOST_TAGS = 6000
"""Above this, elements are not searched by name: libxml2 compares each match with all matches before it."""
MOST_READ = 50_000
"""Above this, no article is extracted: the library would take some seconds and 100 MiB."""
DEEPEST = 250
"""Nesting depth; a little beyond it, libxml2 silently drops the rest of the page."""
_TESTED = re.compile(r"re:test\((@[\w@|-]+),(\s*'([^']*)')")
"""An XPath extension function in Python that is called for elements without the attribute too."""
_NAMED = re.compile(r"\.//\*\[((?:self::\w+(?: or )?)+)\](?=\[)")
"""Matches every element, and then tests for one of these names."""
_POSITION = re.compile(r"\[\s*\d|\b(?:position|last)\(")
_PREFIX = re.compile(r"(?<![\w:'-])([\w-]+):(?![:\w]*')(?=\w)")
_CLEANS = "INVALID_XML_CHARS"
_UNKNOWN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_CONTROLS = bytes({*range(32)} - {9, 10, 13})
_NO_CHARACTERS = ("\ufffe", "\uffff")


@dataclass(slots=True)
class _PageSize:
    """Of the current page. Concurrent readers may get the slower expression; the result is the same."""

    small: bool = False


_size = _PageSize()


@cache
def loader() -> Callable[[str], Any]:
    """Builds the tree of a page; slow to import."""
    from lxml import html
    from lxml.etree import ElementDefaultClassLookup, XPath
    from trafilatura import utils, xpaths

    # lxml looks up the Python class of every element that is touched; only the common base class is used here.
    same = ElementDefaultClassLookup(element=html.HtmlElement, comment=html.HtmlComment, entity=html.HtmlEntity)
    utils.HTML_PARSER.set_element_class_lookup(same)
    slow = vars(utils).get(_CLEANS)
    if isinstance(slow, re.Pattern) and slow.pattern == _UNKNOWN:
        setattr(utils, _CLEANS, _ControlCharacters(slow))
    for name, asked in vars(xpaths).items():
        if name.isupper() and isinstance(asked, list):
            # In place: the library's other modules hold the same lists.
            asked[:] = [_sooner(one) if type(one) is XPath else one for one in asked]

    deeper = XPath("/".join("*" * DEEPEST))

    def load(page: str) -> Any:
        _size.small = count_tags(page, MOST_READ) <= MOST_TAGS
        tree = utils.load_html(page)
        if tree is not None and deeper(tree):
            raise TooMuch(f"its elements are nested more than {DEEPEST} deep")
        return tree

    return load


class FasterXPath:
    """A rewritten expression of the library; some rewrites are for small pages only."""

    __slots__ = ("_any", "_small", "path")

    def __init__(self, path: str) -> None:
        from lxml.etree import XPath

        guarded, named = reworded(path)
        self.path = path
        self._any = XPath(guarded, namespaces={"re": REGULAR})
        self._small = self._any if named == guarded else XPath(named, namespaces={"re": REGULAR})

    def __call__(self, tree: Any) -> Any:
        return (self._small if _size.small else self._any)(tree)


def _sooner(question: Any) -> Any:
    return question if reworded(question.path) == (question.path, question.path) else FasterXPath(question.path)


def reworded(path: str) -> tuple[str, str]:
    """The same nodes: calls Python only for attributes that exist; on small pages, also finds elements by name."""
    if set(_PREFIX.findall(path)) - {"re"}:
        return path, path
    guarded = _TESTED.sub(_if_there, path)
    # "The first" means the first of each parent there, and the first of all here.
    return guarded, guarded if _POSITION.search(guarded) else _NAMED.sub(_by_name, guarded)


def _if_there(asked: re.Match[str]) -> str:
    attribute, rest, pattern = asked.groups()
    try:
        of_nothing = re.search(pattern, "") is not None
    except re.error:
        of_nothing = True
    return asked[0] if of_nothing else f"{attribute} and re:test(string({attribute}),{rest}"


def _by_name(names: re.Match[str]) -> str:
    return "(" + "|".join(f".//{name}" for name in re.findall(r"self::(\w+)", names[1])) + ")"


class _ControlCharacters:
    """Removes characters that XML does not allow; nearly every page has none, which a search finds quickly."""

    def __init__(self, slow: re.Pattern[str]) -> None:
        self._slow = slow

    def sub(self, by: str, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        clean = len(raw.translate(None, _CONTROLS)) == len(raw)
        if clean and (text.isascii() or not any(one in text for one in _NO_CHARACTERS)):
            return text
        return self._slow.sub(by, text)
