"""API keys against real processes: a revoked one is out within five seconds, and nothing ever writes one down."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House

pytestmark = pytest.mark.timeout(240)

SOON = 5.0
"""What is promised."""


class Guarded:
    """A house that asks who is there, and in which runs stay queued."""

    def __init__(self, house: House) -> None:
        self.house = house
        house.environ |= {
            "FOLIOT_JWT_SECRET": "a secret that only this test knows, and nobody else",
            "FOLIOT_QUEUES": "nobody",
            "LOG_LEVEL": "debug",
        }
        done = house.run("token", "--tenant", "acme", "--user", "ada", "--role", "admin", "--ttl", "1h")
        assert done.returncode == 0, done.stderr
        house.environ["FOLIOT_TOKEN"] = self.token = done.stdout.strip()

    def key(self, name: str, role: str = "operator") -> dict[str, Any]:
        made: dict[str, Any] = self.house.foliot("apikey", "create", name, "--role", role)
        return made

    def queued(self) -> str:
        schedule = self.house.foliot("schedule", "create", "x", "--every", "1h", "--url", "https://example.com/")
        run_id: str = self.house.foliot("schedule", "run-now", schedule["id"])["id"]
        return run_id

    @contextmanager
    def asked(self, method: str, path: str, bearer: str | None, port: str | None = None) -> Iterator[HTTPResponse]:
        """The answer, with its body still to be read."""
        headers = {"Accept": "text/event-stream" if "/events" in path else "*/*"}
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        with closing(HTTPConnection("127.0.0.1", int(port or self.house.port), timeout=SECONDS)) as connection:
            connection.request(method, path, headers=headers)
            with connection.getresponse() as answer:
                yield answer

    def status(self, method: str, path: str, bearer: str | None, port: str | None = None) -> int:
        with self.asked(method, path, bearer, port) as answer:
            return answer.status

    def ticket(self, bearer: str) -> str:
        with self.asked("POST", "/api/stream-tickets", bearer) as answer:
            assert answer.status == 201
            ticket: str = json.load(answer)["ticket"]
            return ticket

    @contextmanager
    def stream(
        self, run_id: str, bearer: str | None, query: str = "", port: str | None = None
    ) -> Iterator[HTTPResponse]:
        with self.asked("GET", f"/api/runs/{run_id}/events{query}", bearer, port) as answer:
            assert answer.status == 200
            assert answer.readline() == b"id: 1\n"
            yield answer


def test_a_revoked_key_is_out_within_five_seconds_and_nobody_else_is(house: House) -> None:
    guarded = Guarded(house)
    house.up("--port", "0")
    leaked, kept, run_id = guarded.key("leaked"), guarded.key("kept"), guarded.queued()
    ticket = guarded.ticket(leaked["key"])

    with (
        guarded.stream(run_id, leaked["key"]) as by_key,
        guarded.stream(run_id, None, f"?ticket={ticket}") as by_ticket,
        guarded.stream(run_id, kept["key"]) as other,
        guarded.stream(run_id, guarded.token) as by_token,
    ):
        # What is known about the key is remembered by now.
        assert {guarded.status("GET", "/api/runs", leaked["key"]) for _ in range(20)} == {200}
        revoked_at = time.monotonic()
        assert guarded.status("DELETE", f"/api/keys/{leaked['id']}", guarded.token) == 204
        assert b"no longer valid" in by_key.read()
        assert b"no longer valid" in by_ticket.read()
        assert time.monotonic() - revoked_at < SOON

        assert guarded.status("GET", "/api/runs", leaked["key"]) == 401
        assert guarded.status("GET", f"/api/runs/{run_id}/events?ticket={ticket}", None) == 401
        house.foliot("run", "cancel", run_id)
        assert b"event: end" in other.read()
        assert b"event: end" in by_token.read()

    _nothing_written(house, [leaked["key"], kept["key"], ticket, guarded.token], house.home / "foliot.db")


def _nothing_written(house: House, secrets: list[str], database: Path) -> None:
    with closing(sqlite3.connect(database)) as conn:
        dump = "\n".join(conn.iterdump())
    log = house.log.read_text()
    assert "api_keys" in dump
    assert log
    for secret in secrets:
        assert secret not in dump
        assert secret not in log
        # Not even the random part of it.
        assert secret[-20:] not in dump
        assert secret[-20:] not in log


def test_a_key_revoked_at_one_api_is_out_at_the_other(house: House, server_database_url: str) -> None:
    guarded = Guarded(house)
    house.environ["DATABASE_URL"] = server_database_url
    assert house.run("migrate").returncode == 0
    house.start("api", "--port", "0")
    there = house.port
    house.start("api", "--port", "0")
    leaked, run_id = guarded.key("leaked"), guarded.queued()
    # A ticket of one process opens a stream of the other.
    ticket = guarded.ticket(leaked["key"])

    with (
        guarded.stream(run_id, leaked["key"], port=there) as by_key,
        guarded.stream(run_id, None, f"?ticket={ticket}", port=there) as by_ticket,
    ):
        assert {guarded.status("GET", "/api/runs", leaked["key"], there) for _ in range(20)} == {200}
        revoked_at = time.monotonic()
        assert guarded.status("DELETE", f"/api/keys/{leaked['id']}", guarded.token) == 204
        assert b"no longer valid" in by_key.read()
        assert b"no longer valid" in by_ticket.read()
        assert time.monotonic() - revoked_at < SOON
        assert guarded.status("GET", "/api/runs", leaked["key"], there) == 401


def test_the_key_is_printed_once_with_a_word_of_caution(house: House) -> None:
    guarded = Guarded(house)
    house.up("--port", "0")

    made = house.run("apikey", "create", "deploys", "--role", "viewer", "--scope", "run:read")
    listed = house.run("apikey", "list")

    key = next(line.split()[1] for line in made.stdout.splitlines() if line.startswith("key "))
    assert made.stdout.count(key) == 1
    assert "cannot be shown again" in made.stderr
    assert key[:12] in listed.stdout
    assert key not in listed.stdout
    house.environ["FOLIOT_TOKEN"] = key
    assert house.foliot("run", "list") == {"items": [], "next_cursor": None}
    assert house.run("schedule", "list").returncode == 4
    house.environ["FOLIOT_TOKEN"] = guarded.token
    revoked = house.foliot("apikey", "list")["items"][0]["id"]
    assert house.run("apikey", "revoke", revoked).stdout == f"{revoked} is revoked.\n"
    assert house.run("apikey", "revoke", "key_" + "0" * 32).returncode == 3
