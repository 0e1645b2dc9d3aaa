"""The library that reads pages, asked the same questions in words that libxml2 answers sooner.

Nothing of what it finds changes: whatever is not written as expected here stays as the library has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from foliot.core.page_bounds import TooMuch, count_tags

REGULAR = "http://exslt.org/regular-expressions"
MOST_TAGS = 6000
"""With more, names are not looked for by name: libxml2 compares what it finds of each with all it has found before."""
MOST_READ = 50_000
"""With more, no article is looked for: the library takes some seconds and 100 MiB for these."""
DEEPEST = 250
"""Elements within elements; where they are a few more, libxml2 leaves the rest of the page out without a word."""
_TESTED = re.compile(r"re:test\((@[\w@|-]+),(\s*'([^']*)')")
"""A question that Python is asked about an attribute, also of elements that have no such attribute."""
_NAMED = re.compile(r"\.//\*\[((?:self::\w+(?: or )?)+)\](?=\[)")
"""Every element, and then whether it has one of these names."""
_POSITION = re.compile(r"\[\s*\d|\b(?:position|last)\(")
_PREFIX = re.compile(r"(?<![\w:'-])([\w-]+):(?![:\w]*')(?=\w)")
_CLEANS = "INVALID_XML_CHARS"
_UNKNOWN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
_CONTROLS = bytes({*range(32)} - {9, 10, 13})
_NO_CHARACTERS = ("\ufffe", "\uffff")


@dataclass(slots=True)
class _Size:
    """Of the page that is being read. Who reads several at once may ask the slower way; the answer is the same."""

    small: bool = False


_size = _Size()


@cache
def loader() -> Callable[[str], Any]:
    """What makes a tree of a page; importing it takes its time."""
    from lxml import html
    from lxml.etree import ElementDefaultClassLookup, XPath
    from trafilatura import utils, xpaths

    # The library asks Python for the class of every element that it touches, and uses nothing but what all have.
    same = ElementDefaultClassLookup(element=html.HtmlElement, comment=html.HtmlComment, entity=html.HtmlEntity)
    utils.HTML_PARSER.set_element_class_lookup(same)
    slow = vars(utils).get(_CLEANS)
    if isinstance(slow, re.Pattern) and slow.pattern == _UNKNOWN:
        setattr(utils, _CLEANS, _Cleaner(slow))
    for name, asked in vars(xpaths).items():
        if name.isupper() and isinstance(asked, list):
            # In place: the library's other modules hold the same lists.
            asked[:] = [_sooner(one) if type(one) is XPath else one for one in asked]

    deeper = XPath("/".join("*" * DEEPEST))

    def load(page: str) -> Any:
        _size.small = count_tags(page, MOST_READ) <= MOST_TAGS
        tree = utils.load_html(page)
        if tree is not None and deeper(tree):
            raise TooMuch(f"its elements stand more than {DEEPEST} deep in each other")
        return tree

    return load


class Question:
    """An expression of the library in other words, of which some are for small pages only."""

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
    return question if reworded(question.path) == (question.path, question.path) else Question(question.path)


def reworded(path: str) -> tuple[str, str]:
    """The same nodes: Python is asked only about attributes that are there; for small pages, names are looked for by
    name as well.
    """
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


class _Cleaner:
    """Takes characters out that XML does not know; nearly every page has none, which is seen sooner than looked for."""

    def __init__(self, slow: re.Pattern[str]) -> None:
        self._slow = slow

    def sub(self, by: str, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        clean = len(raw.translate(None, _CONTROLS)) == len(raw)
        if clean and (text.isascii() or not any(one in text for one in _NO_CHARACTERS)):
            return text
        return self._slow.sub(by, text)
