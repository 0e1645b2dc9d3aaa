"""A schedule fails and is mended: one alert and one recovery in each channel, also when the process dies meanwhile."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House
from tests.mail_server import mails, serving_mail
from tests.services import wait_until

pytestmark = pytest.mark.timeout(180)


class Site(ThreadingHTTPServer):
    """The target of a schedule at /job, which fails until it is mended, and the receiver of a channel at /alerts."""

    daemon_threads = True

    def __init__(self) -> None:
        self.mended = False
        self.messages: list[dict[str, Any]] = []
        self.ids: list[str] = []
        super().__init__(("127.0.0.1", 0), Visit)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def types(self) -> list[str]:
        """Of the messages that arrived, each once: a repetition has the id of the first."""
        return [message["type"] for _, message in dict(zip(self.ids, enumerate(self.messages), strict=True)).values()]


class Visit(BaseHTTPRequestHandler):
    server: Site

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/alerts":
            self.server.messages.append(json.loads(body))
            self.server.ids.append(self.headers["webhook-id"])
        self.send_response(200 if self.path == "/alerts" or self.server.mended else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def prepare(house: House, server: Site, *channels: str) -> str:
    house.foliot("alert", "create-rule", "failures", "--on", "failed", "--after", "3", *channels)
    schedule: dict[str, Any] = house.foliot(
        "schedule", "create", "partner", "--at", "2999-01-01T00:00:00Z", "--url", f"{server.url}/job", "--retries", "0"
    )
    return str(schedule["id"])


def run(house: House, schedule: str, times: int, state: str) -> None:
    for _ in range(times):
        made = house.foliot("schedule", "run-now", schedule)["id"]
        assert wait_until(partial(ended, house, made, state), seconds=SECONDS)


def ended(house: House, run_id: str, state: str) -> bool:
    return bool(house.foliot("run", "show", run_id)["state"] == state)


def test_five_failures_and_a_success_are_one_alert_and_one_recovery_in_each_channel(
    house: House, tmp_path: Path
) -> None:
    with site() as server, serving_mail(tmp_path / "mail") as port:
        house.up("--port", "0")
        house.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
        mail = ["host=127.0.0.1", f"port={port}", "tls=none", "from=foliot@x.example", "to=ops@x.example"]
        settings = [flag for each in mail for flag in ("--set", each)]
        house.foliot("channel", "create", "mail", "email", *settings)
        schedule = prepare(house, server, "--to", "hook", "--to", "mail")
        run(house, schedule, 5, "dead_letter")
        assert wait_until(lambda: server.types() == ["alert.opened"], seconds=SECONDS)
        (alert,) = house.foliot("alert", "list", "--state", "open")["items"]
        assert (alert["count"], alert["subject"]["name"]) == (3, "partner")
        assert "503" in alert["reason"]
        server.mended = True
        run(house, schedule, 1, "success")
        assert wait_until(lambda: server.types() == ["alert.opened", "alert.resolved"], seconds=SECONDS)
        assert wait_until(lambda: len(mails(tmp_path / "mail")) == 2, seconds=SECONDS)
        assert server.messages[0]["links"]["schedule"].endswith(f"/schedules/{schedule}")
    assert house.foliot("alert", "list", "--state", "open")["items"] == []


def test_a_process_that_dies_before_it_sends_leaves_the_alert_to_its_successor(house: House) -> None:
    with site() as server:
        process = house.up("--port", "0")
        house.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
        schedule = prepare(house, server, "--to", "hook")
        run(house, schedule, 3, "dead_letter")
        # The message waits two seconds for others: it has not gone yet, or has just gone.
        process.send_signal(signal.SIGKILL)
        process.wait(SECONDS)
        house.up("--port", "0")
        assert wait_until(lambda: server.types() == ["alert.opened"], seconds=SECONDS)
        (alert,) = house.foliot("alert", "list")["items"]
        assert wait_until(
            lambda: [each["state"] for each in house.foliot("alert", "show", alert["id"])["deliveries"]] == ["sent"],
            seconds=120,
        )
