"""The library that reads pages, asked the same questions in words that libxml2 answers sooner.

Nothing of what it finds changes: whatever is not written as expected here stays as the library has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

_TESTED = re.compile(r"re:test\((@[\w@|-]+),")
"""A question that Python is asked about an attribute, also of elements that have no such attribute."""
_NAMED = re.compile(r"\.//\*\[((?:self::\w+(?: or )?)+)\](?=\[)")
"""Every element, and then whether it has one of these names."""
_POSITION = re.compile(r"\[\d")
REGULAR = "http://exslt.org/regular-expressions"
_CLEANS = "INVALID_XML_CHARS"
_CONTROLS = bytes({*range(32)} - {9, 10, 13})
_NO_CHARACTERS = ("\ufffe", "\uffff")


@cache
def loader() -> Callable[[str], Any]:
    """What makes a tree of a page; importing it takes its time."""
    from lxml import html
    from lxml.etree import ElementDefaultClassLookup
    from trafilatura import utils, xpaths

    # The library asks Python for the class of every element that it touches, and uses nothing but what all have.
    same = ElementDefaultClassLookup(element=html.HtmlElement, comment=html.HtmlComment, entity=html.HtmlEntity)
    utils.HTML_PARSER.set_element_class_lookup(same)
    if (slow := vars(utils).get(_CLEANS)) is not None:
        setattr(utils, _CLEANS, _Cleaner(slow))
    for name, asked in vars(xpaths).items():
        if name.isupper() and isinstance(asked, list):
            # In place: the library's other modules hold the same lists.
            asked[:] = [_sooner(one) for one in asked]
    return utils.load_html


def _sooner(question: Any) -> Any:
    from lxml.etree import XPath

    path = reworded(question.path)
    return question if path == question.path else XPath(path, namespaces={"re": REGULAR})


def reworded(path: str) -> str:
    """The same nodes: Python is asked only about attributes that are there, and names are looked for by name."""
    path = _TESTED.sub(r"\1 and re:test(string(\1),", path)
    # "The first" means the first of each parent there, and the first of all here.
    return path if _POSITION.search(path) else _NAMED.sub(_by_name, path)


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
