"""One spelling for each page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.features.fetching import url as page_url
from foliot.features.fetching.url import BadUrl, one_spelling


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("HTTP://Example.com:80/a/../b?b=2&a=1#part", "http://example.com/b?a=1&b=2"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com:443/x", "https://example.com/x"),
        ("https://example.com:8443/x", "https://example.com:8443/x"),
        ("https://example.com./x", "https://example.com/x"),
        ("  https://example.com/x  ", "https://example.com/x"),
        ("https://example.com/?utm_source=a&id=7&fbclid=zz", "https://example.com/?id=7"),
        ("https://exämple.com/", "https://xn--exmple-cua.com/"),
        ("http://[2001:DB8::1]:8000/x", "http://[2001:db8::1]:8000/x"),
        ("https://example.com/%7Euser/a%20b", "https://example.com/~user/a%20b"),
    ],
)
def test_spellings_of_one_page_are_one(given_: str, expected: str) -> None:
    assert one_spelling(given_) == expected
    assert one_spelling(expected) == expected


@pytest.mark.parametrize(
    "bad", ["", "nope", "//example.com/", "ftp://example.com/", "https://", "https://u:p@example.com/", None, 7,
            "http://[::1", "https://example.com:99999/", "https://example.com/" + "x" * 9000]
)  # fmt: skip
def test_what_names_no_page_is_refused(bad: object) -> None:
    with pytest.raises(BadUrl):
        one_spelling(bad)


@given(
    host=st.from_regex(r"[a-z]{1,8}\.test", fullmatch=True),
    path=st.lists(st.from_regex(r"[a-zA-Z0-9%~ ._-]{0,6}", fullmatch=True), max_size=4),
    query=st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), st.text(max_size=5), max_size=3),
)
def test_a_spelling_is_its_own_spelling(host: str, path: list[str], query: dict[str, str]) -> None:
    text = f"https://{host}/{'/'.join(path)}?" + "&".join(f"{name}={value}" for name, value in query.items())
    try:
        once = one_spelling(text)
    except BadUrl:
        return
    assert one_spelling(once) == once


@given(
    scheme=st.sampled_from(["http", "https"]),
    host=st.sampled_from(["example.com", "127.0.0.1", "a-b.test", "x"])
    | st.from_regex(r"(?:[a-z0-9-]{1,66}|[A-Z0-9.]{1,4})(?:\.[a-z0-9-]{1,8}){0,10}\.?", fullmatch=True),
    port=st.just("") | st.sampled_from([":", ":80", ":443", ":8080", ":080", ":0", ":65535", ":59999", ":99999"]),
    path=st.lists(
        st.sampled_from(["a", "B-1", "", ".", "..", ".a", "a.", "a.html"])
        | st.from_regex(r"[A-Za-z0-9._~/%;,=+ -]{1,8}", fullmatch=True),
        max_size=4,
    ),
)
def test_what_needs_no_second_look_is_spelt_as_it_would_be_after_one(
    scheme: str, host: str, port: str, path: list[str]
) -> None:
    """Most URLs are told by their looks to be spelt right; the long way must say the same."""

    def spelt() -> str | None:
        try:
            return one_spelling(text)
        except BadUrl:
            return None

    text = f"{scheme}://{host}{port}{''.join(f'/{part}' for part in path)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_url, "_is_plain", lambda _: False)
        the_long_way = spelt()
    assert spelt() == the_long_way


def test_the_usual_needs_no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_url, "_read", None)
    for text in ("https://www.example.com/news/2026/a-b_c~1.html", "http://127.0.0.1:8765/a/1", "https://example.com/"):
        assert one_spelling(text) == text


def test_what_is_very_long_is_not_looked_at_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may bring megabytes, and a pattern takes its time with them."""
    monkeypatch.setattr(page_url, "_PLAIN", None)
    with pytest.raises(BadUrl, match="at most"):
        one_spelling("https://" + ".".join(["a" * 63] * 9) + "/" * 1_000_000)
