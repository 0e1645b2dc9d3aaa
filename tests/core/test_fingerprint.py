"""Which failures are alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.failure_fingerprint import DIGITS, fingerprint, host_of, normalised


def of(message: str, code: str = "http_500", kind: str = "webhook") -> str:
    return fingerprint(kind, {"code": code, "message": message})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("answered 500 after 31 ms", "answered 503 after 7.5 ms"),
        ("no run run_" + "0" * 32, "no run run_" + "a1" * 16),
        ("order 6f1e8c9a-0b1c-4d2e-8f3a-123456789abc", "order 00000000-1111-4222-8333-444444444444"),
        ("no field 'price' in page", 'no field "title" in page'),
        ("GET https://a.example.com/1 failed", "GET https://a.example.com/2?x=y failed"),
        ("key 0xdeadbeef1234 unknown", "key 0x00ff unknown"),
        ("two  blanks", "Two blanks"),
    ],
)
def test_particulars_do_not_count(one: str, other: str) -> None:
    assert of(one) == of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of("connection refused"), of("connection reset")),
        (of("no", code="http_500"), of("no", code="http_502")),
        (of("no", kind="webhook"), of("no", kind="crawl")),
        (of("GET https://a.example.com/1 failed"), of("GET https://b.example.com/1 failed")),
        (of("connect to a.example.com:443 timed out"), of("connect to b.example.com:443 timed out")),
    ],
)
def test_what_went_wrong_does(one: str, other: str) -> None:
    assert one != other


def test_where_it_was_going_counts_where_the_error_does_not_say() -> None:
    error = {"code": "target_unreachable", "message": "The target could not be reached."}

    assert fingerprint("webhook", error, "a.example.com") != fingerprint("webhook", error, "b.example.com")
    assert fingerprint("webhook", error, None) == fingerprint("webhook", error)


@pytest.mark.parametrize(
    ("message", "host"),
    [
        ("GET https://user:pw@Shop.Example.com:8443/x failed", "shop.example.com"),
        ("connect timeout api.partner.io:443", "api.partner.io"),
        ("nothing at 127.0.0.1:9", "127.0.0.1"),
        ("http://[::1]:80/ refused", "[::1]"),
        ("the target answered 500", None),
        ("", None),
    ],
)
def test_a_host_is_found_where_one_is_named(message: str, host: str | None) -> None:
    assert host_of({"message": message}) == host


@given(st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.text())), st.text(max_size=900))
def test_whatever_stands_there_has_a_fingerprint(error: object, message: str) -> None:
    assert len(fingerprint("webhook", error)) == DIGITS  # type: ignore[arg-type]
    assert len(of(message)) == DIGITS
    assert normalised(normalised(message)) == normalised(normalised(normalised(message)))
