"""Secret values are taken out of whatever is kept, in every usual encoding."""

from __future__ import annotations

import base64
import html
import json
import time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.mask import HIDDEN
from foliot.core.redact import Redactor

SECRET = 's3cr3t/"å\\ +&<value>'
WAYS: dict[str, Any] = {
    "plain": lambda text: text,
    "json": lambda text: json.dumps({"a": text}),
    "json, characters kept": lambda text: json.dumps([text], ensure_ascii=False),
    "url": lambda text: quote(text, safe=""),
    "url with slashes": quote,
    "form": quote_plus,
    "html": html.escape,
    "hex": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "url-safe base64": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "basic authentication": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "base64 of a header": lambda text: base64.b64encode(f"Bearer {text}\r\n".encode()).decode(),
    "json in json in json": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "url in url": lambda text: quote(quote(text, safe=""), safe=""),
    "html in json": lambda text: json.dumps(html.escape(html.escape(text))),
    "form in json": lambda text: json.dumps(json.dumps(quote_plus(text))),
    "base64 in a url": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "numbered entities": lambda text: "".join(one if one.isalnum() else f"&#{ord(one)};" for one in text),
    "repr of bytes": lambda text: json.dumps(repr(text.encode())),
    "latin-1 in json": lambda text: json.dumps(json.dumps(text.encode().decode("latin-1"))),
    "latin-1": lambda text: text.encode().decode("latin-1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_found_in_every_form(way: str) -> None:
    kept = Redactor.of([SECRET]).text(f"before {WAYS[way](SECRET)} after")

    assert HIDDEN in kept
    assert kept.startswith("before ")
    assert kept.endswith(" after")
    assert "s3cr3t" not in kept
    assert base64.b64encode(b"s3cr3t").decode()[:6] not in kept


@pytest.mark.parametrize("value", ["%41%42%43%44", "a\\\\\\\\b\\u00e5c\\", "100%25 &amp; 1+1", '""""""""', "\\" * 9])
def test_a_value_that_looks_escaped_itself_is_found_too(value: str) -> None:
    for said in (value, json.dumps(value)[1:-1], quote(value, safe=""), html.escape(value)):
        assert Redactor.of([value]).text(f"<{said}>") == f"<{HIDDEN}>"


@pytest.mark.parametrize("unit", ["\\", "%25", "&amp;", "&", "%", "\\u0041", "%41", "+", "ab\\", "a%"])
@pytest.mark.parametrize("value", ["\\" * 100, "%25" * 100, "&amp;" * 100, 'a"' * 2000, "%41" * 1000])
def test_no_answer_takes_long_to_look_through(unit: str, value: str) -> None:
    redactor = Redactor.of([value])
    began = time.process_time()
    redactor.text(unit * (65_536 // len(unit)), cut=True)

    assert time.process_time() - began < 1


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=8, max_size=80), st.binary(max_size=9))
def test_no_base64_of_anything_around_a_value_gives_it_away(value: str, around: bytes) -> None:
    encoded = base64.b64encode(around + value.encode() + around).decode()
    kept = Redactor.of([value]).text(encoded)

    longest = max(kept.split(HIDDEN), key=len)
    # What is left is the surroundings and, at each side, less than two bytes of the value.
    assert HIDDEN in kept
    assert len(longest) <= (len(around) + 3) * 4 // 3 + 4


def test_documents_lose_it_in_keys_lists_and_depths() -> None:
    document = {"headers": {"X-Echo": f"a {SECRET}"}, SECRET: [SECRET, 1, None, True, {"deep": (SECRET,)}]}

    assert Redactor.of([SECRET]).document(document) == {
        "headers": {"X-Echo": f"a {HIDDEN}"},
        HIDDEN: [HIDDEN, 1, None, True, {"deep": [HIDDEN]}],
    }


def test_what_is_too_deep_to_look_at_is_hidden_whole() -> None:
    deep: Any = SECRET
    for _ in range(100):
        deep = [deep]
    assert "s3cr3t" not in json.dumps(Redactor.of([SECRET]).document(deep))


@pytest.mark.parametrize("length", range(4, len(SECRET)))
def test_the_beginning_of_a_value_at_the_end_of_a_cut_answer_goes_too(length: int) -> None:
    answer = {"body": "a" * 100 + SECRET[:length], "truncated": True}

    assert Redactor.of([SECRET]).document(answer)["body"] == "a" * 100 + HIDDEN


def test_an_answer_that_was_not_cut_keeps_its_end() -> None:
    answer = {"body": "ends in s3cr", "truncated": False}
    assert Redactor.of([SECRET]).document(answer) == answer


def test_a_signing_secret_is_hidden_without_its_prefix_too() -> None:
    bare = base64.b64encode(b"a-secret-of-24-bytes-or-").decode()
    redactor = Redactor.of([f"whsec_{bare}"])

    assert redactor.text(f"key {bare}") == f"key {HIDDEN}"
    assert redactor.text(f"whsec_{bare}") == HIDDEN


def test_the_longer_of_two_values_goes_first() -> None:
    assert Redactor.of(["password", "password-and-more"]).text("x password-and-more y password") == "x *** y ***"


def test_a_redactor_shows_no_values() -> None:
    assert "s3cr3t" not in repr(Redactor.of([SECRET]))


def test_nothing_hidden_changes_nothing() -> None:
    assert Redactor.of([]).document({"a": ["b"]}) == {"a": ["b"]}
