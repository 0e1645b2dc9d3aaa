"""How a schedule is shown on a terminal: in words, not as JSON."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.features.schedules.view import SCHEDULE, span
from foliot.terminal.group import JsonObject

CATCHUP = {"mode": "latest", "window_seconds": 3600, "max_runs": 10, "grace_seconds": 60}
RETRIES: dict[str, Any] = {
    "strategy": "exponential",
    "max_retries": 3,
    "delay_seconds": 10.0,
    "max_delay_seconds": 600.0,
    "jitter": 0.1,
    "dead_letter": True,
}
WEBHOOK: dict[str, Any] = {"kind": "webhook", "url": "https://a.example/", "method": "PUT", "headers": {}, "body": None}


def shown(capsys: pytest.CaptureFixture[str], **fields: Any) -> dict[str, str]:
    SCHEDULE(JsonObject({"queue": "default", "priority": 5, **fields}))
    lines = [line.split("  ", 1) for line in capsys.readouterr().out.splitlines()]
    return {label.strip(): value.strip() for label, value in lines}


@pytest.mark.parametrize(
    ("field", "value", "label", "words"),
    [
        ("catchup", CATCHUP, "catch-up", "latest: the latest missed run, of the last 1 h; late after 1 min"),
        ("catchup", CATCHUP | {"mode": "all"}, "catch-up", "all: missed runs, at most 10, of the last 1 h"),
        ("catchup", CATCHUP | {"mode": "none"}, "catch-up", "none; late after 1 min"),
        ("retry_policy", RETRIES, "retries", "3, after 10 s (exponential, at most 10 min), then a dead letter"),
        ("retry_policy", RETRIES | {"strategy": "fixed"}, "retries", "3, after 10 s, then a dead letter"),
        ("retry_policy", RETRIES | {"max_retries": 0, "dead_letter": False}, "retries", "none, without a dead letter"),
        ("action", WEBHOOK, "action", "PUT https://a.example/"),
        ("action", WEBHOOK | {"body": {"a": "é"}}, "action", 'PUT https://a.example/ {"body": {"a": "é"}}'),
        ("action", {"kind": "task", "task": "t", "args": {}}, "action", '{"kind": "task", "task": "t"}'),
    ],
)
def test_rules_are_words(capsys: pytest.CaptureFixture[str], field: str, value: object, label: str, words: str) -> None:
    assert shown(capsys, **{field: value})[label].startswith(words)


@pytest.mark.parametrize(
    ("seconds", "says"), [(90, "90 s"), (120, "2 min"), (86_400, "1 d"), (0.5, "0.5 s"), (0, "0 s")]
)
def test_spans_are_in_the_largest_unit_that_divides_them(seconds: float, says: str) -> None:
    assert span(seconds) == says
