"""`foliot up` seen from its target: each instant called once, also across a stop, a crash and a second Foliot."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chaos.stage import ask, wait_until
from foliot.db.clock import wall
from tests.acceptance.house import SECONDS, House

pytestmark = pytest.mark.timeout(240)

SCALED = {"FOLIOT_TIME_SCALE": "0.1", "FOLIOT_LOG_LEVEL": "warning"}


class Receiver(ThreadingHTTPServer):
    """Writes down every call; those to /slow are answered when the gate opens."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Noting)
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.gate = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def to(self, path: str) -> list[dict[str, str]]:
        return [headers for called, headers in list(self.calls) if called == path]

    def instants(self, path: str) -> list[datetime]:
        return sorted(datetime.fromisoformat(headers["x-foliot-scheduled-for"]) for headers in self.to(path))


class Noting(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.path == "/slow":
            self.server.gate.wait(SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionResetError, BrokenPipeError):
            """The caller was stopped in the middle, as it should be."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.gate.set()
        server.shutdown()
        thread.join()


def every_second(house: House, url: str, **changes: Any) -> str:
    """A schedule that begins with the next second."""
    raw = {
        "name": url,
        "type": "interval",
        "interval_seconds": 1,
        "start_at": (wall().replace(microsecond=0) + timedelta(seconds=1)).isoformat(),
        "action": {"kind": "webhook", "url": url},
        "overlap": "allow_all",
        "catchup": {"mode": "all", "max_runs": 100},
        **changes,
    }
    status, made = ask(int(house.port), "POST", "/api/schedules", raw)
    assert status == 201, made
    return str(made["id"])


def rows(house: House, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(house.home / "foliot.db", timeout=10)) as connection:
        return connection.execute(query, values).fetchall()


def nothing_open(house: House) -> bool:
    return not rows(house, "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1")


def seconds_from(first: datetime, count: int) -> list[datetime]:
    return [first + timedelta(seconds=place) for place in range(count)]


def test_each_second_is_called_once_and_a_second_foliot_is_turned_away(house: House, receiver: Receiver) -> None:
    house.up("--port", "0", **SCALED)
    end = wall().replace(microsecond=0) + timedelta(seconds=6)
    schedule_id = every_second(house, receiver.url("/tick"), end_at=end.isoformat())

    second = house.run("up", "--port", "0")
    path = f"/api/schedules/{schedule_id}"
    wait_until(lambda: ask(int(house.port), "GET", path)[1]["status"] == "completed", SECONDS, "the last instant")
    wait_until(lambda: nothing_open(house), SECONDS, "the last run")

    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert "another Foliot is already running" in second.stderr
    instants = receiver.instants("/tick")
    assert instants == seconds_from(instants[0], int((end - instants[0]).total_seconds()))
    assert len({headers["webhook-id"] for headers in receiver.to("/tick")}) == len(instants)
    audit = house.run("audit")
    assert (audit.returncode, audit.stdout) == (0, f"all accounted for: 1 schedule, {len(instants)} instants\n")


def test_a_run_that_cannot_finish_in_time_is_handed_back_and_keeps_its_attempt(
    house: House, receiver: Receiver
) -> None:
    process = house.up("--port", "0", FOLIOT_SHUTDOWN_SECONDS="0.3", **SCALED)
    schedule_id = every_second(house, receiver.url("/slow"), start_at=(wall() + timedelta(days=30)).isoformat())
    _, run = ask(int(house.port), "POST", f"/api/schedules/{schedule_id}/run-now", {})
    wait_until(lambda: bool(receiver.to("/slow")), SECONDS, "the call")

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    handed_back = rows(house, "SELECT state, attempt FROM runs WHERE id = ?", run["id"])
    receiver.gate.set()
    house.up("--port", "0", **SCALED)
    wait_until(lambda: nothing_open(house), SECONDS, "the run")

    assert handed_back == [("queued", 0)]
    assert rows(house, "SELECT state, attempt, epoch FROM runs WHERE id = ?", run["id"]) == [("success", 1, 2)]
    assert [headers["webhook-id"] for headers in receiver.to("/slow")] == [run["id"], run["id"]]


def test_what_came_due_while_it_was_dead_is_settled_by_each_schedule_s_own_rule(
    house: House, receiver: Receiver
) -> None:
    process = house.up("--port", "0", **SCALED)
    patient = every_second(house, receiver.url("/all"))
    strict = every_second(house, receiver.url("/none"), catchup={"mode": "none", "grace_seconds": 1})
    wait_until(lambda: bool(receiver.to("/all") and receiver.to("/none")), SECONDS, "the first calls")

    process.kill()
    process.wait(SECONDS)
    died = wall()
    time.sleep(4)  # noqa: TID251 -- an outage is made of time
    house.up("--port", "0", **SCALED)
    back = wall()
    wait_until(lambda: receiver.instants("/all")[-1] > back, SECONDS, "an instant after the outage")
    for schedule_id in (patient, strict):
        assert ask(int(house.port), "POST", f"/api/schedules/{schedule_id}/pause", {})[0] == 200
    wait_until(lambda: nothing_open(house), SECONDS, "the last run")

    called = sorted(set(receiver.instants("/all")))
    assert called == seconds_from(called[0], len(called))
    assert any(died < instant < back for instant in called)
    assert not rows(house, "SELECT fate FROM ledger WHERE schedule_id = ?", patient)
    ((missed, first, last),) = rows(
        house, "SELECT sum(count), min(first_at), max(last_at) FROM ledger WHERE schedule_id = ?", strict
    )
    assert missed >= 2
    assert not any(_inside(instant, first, last) for instant in receiver.instants("/none"))
    audit = house.run("audit")
    assert audit.returncode == 0, audit.stdout


def _inside(instant: datetime, first: object, last: object) -> bool:
    return _moment(first) <= instant <= _moment(last)


def _moment(stored: object) -> datetime:
    found = datetime.fromisoformat(str(stored))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
