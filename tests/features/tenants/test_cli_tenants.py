"""`foliot tenant …` against a server that remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.cli_server import Answered, Handler, Script, invoke

TENANT: dict[str, Any] = {
    "tenant_id": "acme",
    "limits": {"schedules": 500, "streams": None},
    "effective": {
        "requests_per_minute": 6000,
        "schedules": 500,
        "concurrent_runs": None,
        "run_now_per_minute": 600,
        "streams": None,
    },
    "egress_allow": ["example.com"],
    "updated_by": "root",
    "updated_at": "2027-01-01T09:00:00Z",
}


class Putting(Handler):
    """One that takes a PUT too."""

    do_PUT = Handler.answer  # noqa: N815 -- the name http.server calls


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with Script() as script:
        script.RequestHandlerClass = Putting
        thread = threading.Thread(target=script.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{script.server_port}")
        yield script
        script.shutdown()
        thread.join()


def run(*arguments: str) -> Answered:
    return invoke("tenant", *arguments)


def test_what_is_shown_says_whose_each_limit_is(server: Script) -> None:
    server.will("GET", "/api/tenants/acme", (200, TENANT))

    shown = run("show", "acme", "--utc")

    assert shown.code == 0
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert "schedules 500" in lines
    assert "streams no limit" in lines
    assert "requests per minute 6000 (settings)" in lines
    assert "may call example.com" in lines


def test_setting_changes_what_is_named_and_leaves_the_rest(server: Script) -> None:
    server.will("GET", "/api/tenants/acme", (200, TENANT))
    server.will("PUT", "/api/tenants/acme", (200, TENANT))

    assert run("set", "acme", "--concurrent-runs", "20", "--streams", "default").code == 0

    server.request()
    assert server.body() == {"limits": {"schedules": 500, "concurrent_runs": 20}, "egress_allow": ["example.com"]}


def test_none_lifts_a_limit_and_a_list_of_targets_can_be_taken_back(server: Script) -> None:
    server.will("GET", "/api/tenants/acme", (200, TENANT))
    server.will("PUT", "/api/tenants/acme", (200, TENANT))

    run("set", "acme", "--schedules", "none", "--egress-allow", "default")
    server.request()
    assert server.body() == {"limits": {"schedules": None, "streams": None}, "egress_allow": []}

    run("set", "acme", "--egress-allow", "*.example.com, 203.0.113.0/24")
    server.request()
    assert server.body()["egress_allow"] == ["*.example.com", "203.0.113.0/24"]


@pytest.mark.parametrize("value", ["many", "-1", "1.5", "²"])
def test_a_limit_that_is_no_number_is_wrong_usage_and_sets_nothing(server: Script, value: str) -> None:
    server.will("GET", "/api/tenants/acme", (200, TENANT))

    answered = run("set", "acme", f"--schedules={value}")

    assert answered.code == 2
    assert "--schedules: must be a whole number, none or default" in answered.err


def test_setting_nothing_is_wrong_usage(server: Script) -> None:
    answered = run("set", "acme")

    assert (answered.code, "say what to change" in answered.err) == (2, True)


def test_the_list_shows_only_what_is_a_tenants_own(server: Script) -> None:
    server.will("GET", "/api/tenants", (200, {"items": [TENANT], "next_cursor": None}))

    shown = run("list", "--utc")

    assert "schedules 500, streams no limit" in shown.out
    assert "6000" not in shown.out


def test_an_id_is_one_segment_of_the_path(server: Script) -> None:
    server.will("GET", "/api/tenants/a%2Fb", (200, TENANT))

    assert run("show", "a/b").code == 0
