"""Targets of webhooks: which calls are one target's, what they add up to, and how the command line shows them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.domain.endpoint import Call, address, endpoints
from tests.unit.test_cli import Script, invoke, server

__all__ = ["server"]

NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)


def call(minute: int, outcome: str = "success", *, url: str = "https://a/", took: float = 1, **more: Any) -> Call:
    ended = NOON + timedelta(minutes=minute)
    said = {"run_id": f"run_{minute}", "schedule_id": None, "error": None, **more}
    return Call(url=url, started_at=ended - timedelta(seconds=took), ended_at=ended, outcome=outcome, **said)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://Example.com/Hook?key=s3cret#x", "https://example.com/Hook"),
        ("HTTP://user:pa@ss@example.com:8080", "http://example.com:8080/"),
        ("https://[::1]:9000/a", "https://[::1]:9000/a"),
        ("https://example.com/{{ date }}/in", "https://example.com/{{ date }}/in"),
        ("https://example.com?key=s3cret", "https://example.com/"),
        ("https://user:s3cret@", None),
        ("ftp://example.com/", None),
        ("/path", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_an_address_holds_nothing_that_may_be_secret(url: object, told: str | None) -> None:
    assert address(url) == told


def test_whoever_fails_now_comes_before_whoever_fails_more() -> None:
    flaky = [call(minute, "failed" if minute % 2 else "success", url="https://flaky/") for minute in range(9)]
    down = [call(1, url="https://down/"), call(2, "failed", url="https://down/")]

    found = endpoints([*flaky, *down, call(3)])

    assert [one.url for one in found] == ["https://down/", "https://flaky/", "https://a/"]
    assert found[0].failing_since == NOON + timedelta(minutes=2, seconds=-1)
    assert [one.failing_since for one in found[1:]] == [None, None]


def test_what_ended_on_our_side_says_nothing_about_the_target() -> None:
    assert endpoints([call(1, outcome) for outcome in ("cancelled", "handed_back", "lost")]) == []


def test_a_share_of_the_calls_is_counted_not_reckoned() -> None:
    (one,) = endpoints([call(minute, took=minute) for minute in range(1, 21)])
    (alone,) = endpoints([call(1, took=3)])

    assert (one.took_ms(0.5), one.took_ms(0.95), one.took_ms(1)) == (10_000, 19_000, 20_000)
    assert (alone.took_ms(0.5), alone.took_ms(0.95)) == (3000, 3000)


def test_an_error_without_a_code_is_counted_too() -> None:
    (one,) = endpoints([call(1, "failed"), call(2, "failed", error={"code": "http_500"}), call(3, "failed")])

    assert one.codes == {"unknown": 2, "http_500": 1}


def test_the_command_line_shows_them_and_what_is_missing(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")
    item = {
        "url": "https://down.example/in",
        "calls": 3,
        "success_ratio": 0.3333,
        "p50_ms": 12.5,
        "p95_ms": 400.0,
        "codes": {"connect": 2, "2xx": 1},
        "failing_since": "2027-01-04T12:00:00Z",
    }
    whole = {"items": [item], "next_cursor": None, "total": 1, "whole": True}
    answers = [(200, each) for each in ({**whole, "total": 4, "whole": False}, whole, {**whole, "items": []})]
    server.will("GET", "/api/endpoints", *answers)

    shown = invoke("endpoints", "--utc")
    for told in ("https://down.example/in", "33.3%", "12.5 / 400", "connect 2, 2xx 1", "2027-01-04"):
        assert told in shown.out
    assert "3 targets more had no room" in shown.err
    assert "newest 2,000 runs" in shown.err
    assert json.loads(invoke("endpoints", "--json").out) == whole
    assert "No webhook was called" in invoke("endpoints").out
