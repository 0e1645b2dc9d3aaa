"""What the library that reads pages is asked, and how that is put here: on any page both must find the same."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lxml import html
from lxml.etree import XPath
from trafilatura import utils

from foliot.pages.trafilatura import MOST_TAGS, REGULAR, FasterXPath, loader, reworded

PAGES = sorted((Path(__file__).parents[1] / "pages").glob("*.html"))
SIGNS = re.compile(r"\(\?[:!]|\[(.)[^\]]*\]|[\^$()?\\]")
TAGS = "div section article aside main p span ul ol li a h1 h2 details address".split()  # noqa: SIM905 -- shorter to read
ATTRIBUTES = ("id", "class", "role", "style", "itemprop", "data-component", "rel")


def as_it_came() -> ModuleType:
    """The library's questions, read anew: the ones it uses in this process may have been put otherwise already."""
    found = importlib.util.find_spec("trafilatura.xpaths")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


XPATHS = as_it_came()


QUESTIONS = {
    f"{name}[{at}]": one
    for name, asked in vars(XPATHS).items()
    if name.isupper() and isinstance(asked, list)
    for at, one in enumerate(asked)
}


def vocabulary() -> list[str]:
    """Every word that some question looks for, as it is, inside another and misspelt."""
    asked = " ".join(question.path for question in QUESTIONS.values())
    found = (SIGNS.sub(r"\1", part) for literal in re.findall(r"'([^']*)'", asked) for part in literal.split("|"))
    words = sorted({word for word in found if word})
    return words + [f"x{word}-x" for word in words] + [word.upper() for word in words]


def made_up(seed: int, words: list[str]) -> Any:
    """A page without sense whose elements have the names and marks that questions are about."""
    chance = random.Random(seed)

    def element(depth: int) -> str:
        tag = chance.choice(TAGS)
        marks = chance.sample(ATTRIBUTES, k=chance.choice((0, 1, 1, 2, 3)))
        marked = "".join(f' {mark}="{chance.choice(words)}"' for mark in marks)
        inside = "".join(element(depth + 1) for _ in range(chance.randint(0, 4))) if depth < 6 else "text"
        return f"<{tag}{marked}>{inside}</{tag}>"

    return html.document_fromstring("<html><body>" + "".join(element(0) for _ in range(12)) + "</body></html>")


@pytest.fixture(scope="module")
def trees() -> list[Any]:
    words = vocabulary()
    real = [html.document_fromstring(path.read_bytes()) for path in PAGES]
    return real + [made_up(seed, words) for seed in range(30)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_nodes_are_found(name: str, trees: list[Any]) -> None:
    question = QUESTIONS[name]
    others = [XPath(path, namespaces={"re": REGULAR}) for path in reworded(question.path)]
    for tree in trees:
        for place in (tree, tree.find(".//div")):
            if place is not None:
                found = question(place)
                assert all(other(place) == found for other in others)


def test_questions_find_something_and_some_are_put_otherwise(trees: list[Any]) -> None:
    """Or the test before would compare nothing with nothing."""
    for way in (0, 1):
        changed = [one for one in QUESTIONS.values() if reworded(one.path)[way] != one.path]
        answered = [one for one in changed if any(one(tree) for tree in trees)]
        assert len(changed) > 10
        assert len(answered) >= len(changed) - 2


@pytest.mark.parametrize(
    "path",
    [
        ".//*[self::div or self::p][@class][1]",
        ".//*[self::div or self::p][@class][last()]",
        ".//*[self::div or self::p][position()=1]",
    ],
)
def test_the_first_of_each_parent_stays_that(path: str) -> None:
    """Were names looked for first, only the first of all would be found."""
    tree = html.document_fromstring("<body><section><p class=a></p></section><section><p class=b></p></section></body>")
    assert reworded(path) == (path, path)
    assert [one.get("class") for one in XPath(path)(tree)] == ["a", "b"]


@pytest.mark.parametrize("path", [".//*[re:test(@id, '^$')]", ".//*[re:test(@id, 'x*')]", ".//*[other:test(@id, 'x')]"])
def test_what_also_fits_nothing_or_is_not_known_stays_as_it_is(path: str) -> None:
    assert reworded(path) == (path, path)


def test_the_library_uses_what_was_put_otherwise() -> None:
    loader()
    from trafilatura import core

    asked = vars(core)["REMOVE_COMMENTS_AND_LISTS_XPATH"][0]
    assert isinstance(asked, FasterXPath)
    guarded, named = reworded(asked.path)
    assert "@id and re:test(string(@id)," in guarded
    assert ".//div|" in named


def test_names_are_looked_for_by_name_on_small_pages_only() -> None:
    """libxml2 compares what it finds of each name with everything found before: a large page would take minutes."""
    question = FasterXPath(".//*[self::div or self::p][@class]")
    used: list[str] = []
    question._any = lambda tree: used.append("any")
    question._small = lambda tree: used.append("small")
    for tags in (MOST_TAGS // 2, MOST_TAGS * 2):
        tree = loader()("<html><body>" + "<p class=a>x" * tags + "</body></html>")
        question(tree)

    assert used == ["small", "any"]


@pytest.mark.parametrize("odd", ["\x00", "\x08", "\x0b", "\x0c", "\x1f", "\ufffe", "\uffff"])
@pytest.mark.parametrize("around", ["plain", "schön", "漢字", "\U0001f600"])
def test_characters_that_xml_does_not_know_are_taken_out(odd: str, around: str) -> None:
    loader()
    slow = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
    for text in (f"{around}{odd}{around}\t\r\n", f"{odd}", around, f"\ud800{odd}", "\ud800"):
        assert utils.INVALID_XML_CHARS.sub("", text) == slow.sub("", text)
