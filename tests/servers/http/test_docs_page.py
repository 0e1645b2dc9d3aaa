"""The page at /docs keeps its promises: nothing from elsewhere, no token kept, no text read as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import foliot

PAGE = (Path(foliot.__file__).parent / "servers" / "http" / "docs.html").read_text(encoding="utf-8")


def test_it_fetches_nothing_but_the_api_it_stands_on() -> None:
    # The description of the API, the dashboard's icon, and the way back to the dashboard.
    assert set(re.findall(r"\b(?:src|href)=[\"']?([^\"'\s>]+)", PAGE)) == {"/openapi.json", "/favicon.svg", "/"}
    assert set(re.findall(r"<link\b[^>]*>", PAGE)) == {'<link rel="icon" href="/favicon.svg" type="image/svg+xml">'}
    assert "src=" not in PAGE
    assert "://" not in PAGE
    assert re.findall(r"@import|url\(|//cdn", PAGE) == []
    assert re.findall(r"fetch\(([^,)]+)", PAGE) == ["url", '"/openapi.json"']


THEME = 'const { theme } = JSON.parse(localStorage.getItem("foliot.prefs") || "{}");'
"""All that it does with the browser's storage: it reads the theme chosen in the dashboard, and writes nothing."""

TOKEN = [
    (
        'const authorization = () => byId("token").value.trim() ? '
        '{ Authorization: "Bearer " + byId("token").value.trim() } : {};'
    ),
    'byId("token").onchange = () => { if (!api) load(); };',
]
"""All that it does with the token: it goes into a header, and loads the page when it is entered."""


def test_it_reads_the_theme_of_the_dashboard_and_nothing_else_from_storage() -> None:
    assert PAGE.count(THEME) == 1
    assert re.findall(r"setItem|\.dataset\.theme = (\w+)", PAGE) == ["theme"]


@pytest.mark.parametrize(
    "place",
    ["localStorage", "sessionStorage", "Storage", "setItem", "cookie", "indexedDB", "caches", "history.", "console."],
)
def test_it_keeps_a_token_nowhere_but_in_its_field(place: str) -> None:
    assert place not in PAGE.replace(THEME, "", 1)
    assert [line for line in PAGE.splitlines() if 'byId("token")' in line] == TOKEN
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
