"""The page at /docs keeps its promises: nothing from elsewhere, no token kept, no text read as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import foliot

PAGE = (Path(foliot.__file__).parent / "servers" / "http" / "docs.html").read_text(encoding="utf-8")


def test_it_fetches_nothing_but_the_api_it_stands_on() -> None:
    assert set(re.findall(r"\b(?:src|href)=[\"']([^\"']+)", PAGE)) == {"/openapi.json"}
    assert "://" not in PAGE
    assert re.findall(r"@import|url\(|//cdn", PAGE) == []
    assert re.findall(r"fetch\(([^,)]+)", PAGE) == ["url", '"/openapi.json"']


@pytest.mark.parametrize("place", ["localStorage", "sessionStorage", "cookie", "indexedDB", "console."])
def test_it_keeps_a_token_nowhere_but_in_its_field(place: str) -> None:
    assert place not in PAGE
    assert re.search(r'<input id="token" type="password"[^>]*autocomplete="off"', PAGE)


def test_it_sends_the_token_as_a_bearer() -> None:
    assert '{ Authorization: "Bearer " + byId("token").value.trim() }' in PAGE


@pytest.mark.parametrize(
    "door", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
)
def test_no_text_of_a_server_becomes_markup_or_script(door: str) -> None:
    assert door not in PAGE


@pytest.mark.parametrize(
    "rule",
    ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern", "default", "enum", "format"],
)
def test_it_shows_every_kind_of_limit_that_the_document_has(rule: str) -> None:
    assert f".{rule}" in PAGE
