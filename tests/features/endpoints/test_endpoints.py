"""Targets of webhooks: which calls are one target's, what they add up to, and how the command line shows them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.engine.model.run import is_test
from foliot.features.endpoints.model import TargetCall, endpoints, in_order, read_endpoint_sort, tried
from foliot.features.webhooks.model import address
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)


def call(minute: int, outcome: str = "success", *, url: str = "https://a/", took: float = 1, **more: Any) -> TargetCall:
    ended = NOON + timedelta(minutes=minute)
    said = {"run_id": f"run_{minute}", "schedule_id": None, "error": None, **more}
    return TargetCall(url=url, started_at=ended - timedelta(seconds=took), ended_at=ended, outcome=outcome, **said)


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

    found = in_order(endpoints([*flaky, *down, call(3)]), read_endpoint_sort(None))

    def ordered(sort: str | None) -> list[str]:
        return [one.url for one in in_order(found, read_endpoint_sort(sort))]

    assert ordered(None) == ordered("failing") == ["https://down/", "https://flaky/", "https://a/"]
    assert ordered("url") == ["https://a/", "https://down/", "https://flaky/"]
    assert ordered("-calls") == ["https://flaky/", "https://down/", "https://a/"]
    assert ordered("success_ratio") == ["https://down/", "https://flaky/", "https://a/"]
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
    monkeypatch.setenv("COLUMNS", "260")
    item: dict[str, object] = {
        "url": "https://down.example/in",
        "calls": 3,
        "success_ratio": 0.3333,
        "p50_ms": 12.5,
        "p95_ms": 400.0,
        "codes": {"connect": 2, "2xx": 1},
        "failing_since": "2027-01-04T12:00:00Z",
        "secrets": [
            {"name": "webhook_signing", "since": "2026-12-24T12:00:00Z", "version": 2},
            {"name": "gone", "since": None, "version": None},
        ],
    }
    breaker = {
        "target": "down.example:443",
        "state": "open",
        "since": "2027-01-04T12:01:00Z",
        "failures": 5,
        "why": "The target did not answer in time.",
        "next_trial_at": "2027-01-04T12:02:00Z",
    }
    trying = {**breaker, "target": "grpc:billing", "state": "half_open", "next_trial_at": None}
    item["breaker"] = breaker
    whole = {"items": [item], "next_cursor": None, "total": 1, "whole": True, "breakers": [breaker, trying]}
    answers = [(200, each) for each in ({**whole, "total": 4, "whole": False}, whole, {**whole, "items": []})]
    server.will("GET", "/api/endpoints", *answers)

    shown = invoke("endpoints", "--utc")
    for told in ("https://down.example/in", "33.3%", "12.5 / 400", "connect 2, 2xx 1", "2027-01-04"):
        assert told in shown.out
    for told in ("webhook_signing", "2026-12-24", "gone unknown"):
        assert told in " ".join(shown.out.split())
    assert "3 more targets did not fit" in shown.err
    assert "newest 2,000 runs" in shown.err
    assert "open, next trial 2027-01-04 12:02" in " ".join(shown.out.split())
    told = " ".join(shown.err.split())
    assert "the breaker of down.example:443 is open, next trial 2027-01-04 12:02" in told
    assert "the breaker of grpc:billing is half open, trial in progress; since 2027-01-04 12:01" in told
    assert "The target did not answer in time." in told
    assert json.loads(invoke("endpoints", "--json").out) == whole
    assert "No webhook was called" in invoke("endpoints").out


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
def test_a_test_carries_what_the_schedule_sends_but_for_the_body(method: str) -> None:
    action = {"url": "https://a/?k=1", "method": method, "headers": {"X-A": "b"}, "body": {"real": True}}

    made = tried(action, {"schedule": "Nightly"}, NOON)

    assert made is not None
    assert is_test("webhook", made)
    assert list(made)[-1] == "test"
    assert (made["url"], made["method"], made["headers"]) == (action["url"], method, {"X-A": "b"})
    assert made.get("body") == (
        {
            "type": "foliot.test",
            "test": True,
            "timestamp": "2027-01-04T12:00:00Z",
            "data": {"schedule": "Nightly"},
        }
        if method == "POST"
        else None
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_what_acts_by_its_method_is_not_tried_out(method: str) -> None:
    assert tried({"url": "https://a/", "method": method}, {}, NOON) is None


def test_only_a_webhook_is_a_test() -> None:
    assert not is_test("task", {"test": True})
    assert not is_test("webhook", {"test": "true"})


BULK = {
    "id": "blk_1",
    "action": "pause",
    "filter": "f",
    "state": "running",
    "done": 0,
    "total": 2,
    "ok": 0,
    "failed": 0,
    "outcomes": {},
    "rate": 5,
    "user_id": "ada",
    "failures": [],
}
TRIAL = {"dry_run": True, "count": 2, "sample": [], "hosts": ["a"], "warnings": []}


@pytest.fixture
def asked(server: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    return server


def test_a_test_is_sent_from_the_command_line(asked: Script) -> None:
    run = {"id": "run_1", "state": "queued", "kind": "webhook", "attempt": 0, "max_attempts": 1, "attempts": []}
    asked.will("POST", "/api/endpoints/test", (202, run))

    shown = invoke("endpoints", "test", "https://a/hook", "--schedule", "sch_1")

    assert shown.code == 0, shown.err
    assert asked.body() == {"url": "https://a/hook", "schedule_id": "sch_1"}
    assert "run_1" in shown.out
    assert "foliot run logs -f run_1" in shown.err


def test_what_a_target_did_not_take_is_sent_again(asked: Script) -> None:
    asked.will("POST", "/api/bulk", (202, BULK))

    shown = invoke("endpoints", "recover", "https://a/hook", "--since", "24h", "--rate", "2")

    assert shown.code == 0, shown.err
    replay, retry = asked.body(), asked.body()
    made = 'target:"https://a/hook" since:24h'
    assert replay == {"action": "replay", "filter": made, "rate": 2, "dry_run": False}
    failed = f"{made} state:failed -repeated:true -test:true"
    assert retry == {"action": "retry", "filter": failed, "rate": 2, "dry_run": False}
    assert invoke("endpoints", "recover", "https://a/hook").code == 2
    assert invoke("endpoints", "recover", 'https://a/"', "--since", "1h").code == 2


def test_whoever_calls_a_target_is_paused_only_when_somebody_says_so(asked: Script) -> None:
    asked.will("POST", "/api/bulk", (200, TRIAL))
    refused = invoke("endpoints", "disable", "https://a/hook")
    assert (refused.code, asked.body()["dry_run"]) == (2, True)
    assert "give --yes" in refused.err
    assert asked.asked.empty()

    asked.will("POST", "/api/bulk", (200, TRIAL), (202, BULK))
    paused = invoke("endpoints", "disable", "https://a/hook", "--yes", "--json")
    assert json.loads(paused.out)["items"][0]["id"] == "blk_1"
    asked.body()
    body = {"action": "pause", "filter": 'target:"https://a/hook"', "rate": 5, "expect": 2, "dry_run": False}
    assert asked.body() == body

    asked.will("POST", "/api/bulk", (200, {**TRIAL, "count": 0}))
    nobody = invoke("endpoints", "disable", "https://a/hook", "--yes")
    assert "would act on 0" in nobody.out
