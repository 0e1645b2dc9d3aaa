"""A schedule fails and is mended: one alert and one recovery in each channel, also when the process dies meanwhile."""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House
from tests.mail_server import mails, serving_mail
from tests.services import wait_until

MISBEHAVIOUR = {"/hang": (60, 200), "/slow": (10, 200), "/busy": (0, 429), "/broken": (0, 500)}
"""How long each waits, and what it answers then."""
KILLS = int(os.environ.get("FOLIOT_TEST_KILLS", "2"))
"""Rounds of failing and being mended, with a process killed in each half."""
STORM = int(os.environ.get("FOLIOT_TEST_STORM", "120"))
"""Schedules that fail at once."""

UP = ("up", "--port", "0")

pytestmark = pytest.mark.timeout(120 + 60 * KILLS + STORM // 5)


class Site(ThreadingHTTPServer):
    """The target of a schedule at /job, which fails until it is mended, and the receiver of a channel at /alerts.

    Channels that misbehave are at /hang, /slow, /busy and /broken.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.mended = False
        self.messages: list[dict[str, Any]] = []
        self.visits: list[tuple[str, float]] = []
        """Requests of the channels that misbehave: path and time."""
        self.over = threading.Event()
        self.delay = 0.0
        """Seconds that /alerts takes."""
        self.ids: list[str] = []
        self.times: list[float] = []
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
        if self.path in MISBEHAVIOUR:
            self.server.visits.append((self.path, time.monotonic()))
            seconds, status = MISBEHAVIOUR[self.path]
            self.server.over.wait(seconds)
            self.send_response(status)
            self.send_header("Retry-After", "5")
            self.end_headers()
            return
        if self.path == "/alerts":
            self.server.messages.append(json.loads(body))
            self.server.ids.append(self.headers["webhook-id"])
            self.server.times.append(time.monotonic())
            self.server.over.wait(self.server.delay)
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
        server.over.set()
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
        assert (alert["count"], alert["subject"]["name"]) == (5, "partner")
        assert "503" in alert["reason"]
        link = server.messages[0]["links"]["acknowledge"]
        assert wait_until(lambda: len(mails(tmp_path / "mail")) == 1, seconds=SECONDS)
        # Opened by a mail scanner, it acknowledges nothing; pressed, it does, once.
        assert visited(link) == 200
        assert house.foliot("alert", "show", alert["id"])["state"] == "open"
        assert (visited(link, b""), visited(link, b"")) == (200, 409)
        assert house.foliot("alert", "show", alert["id"])["state"] == "acknowledged"
        server.mended = True
        run(house, schedule, 1, "success")
        assert wait_until(lambda: server.types() == ["alert.opened", "alert.resolved"], seconds=SECONDS)
        assert wait_until(lambda: len(mails(tmp_path / "mail")) == 2, seconds=SECONDS)
        assert server.messages[0]["links"]["schedule"].endswith(f"/schedules/{schedule}")
    assert house.foliot("alert", "list", "--state", "open")["items"] == []


def visited(url: str, body: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_process_that_is_killed_again_and_again_notifies_of_each_opening_and_recovery_once(house: House) -> None:
    """`FOLIOT_TEST_KILLS=25` kills fifty times."""
    fail_and_recover(house, UP)


@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
def test_of_several_processes_any_can_be_killed_before_the_message_of_a_run_is_sent(
    house: House, server_database_url: str
) -> None:
    """The same: `FOLIOT_TEST_KILLS=25` kills fifty times."""
    house.environ |= {"DATABASE_URL": server_database_url, "FOLIOT_SECRET_KEY": secrets.token_urlsafe(48)}
    assert house.run("migrate").returncode == 0
    fail_and_recover(house, ("scheduler",), ("scheduler",), ("worker",), ("api", "--port", "0"))


def fail_and_recover(house: House, *commands: Sequence[str]) -> None:
    """A schedule fails and is mended again and again, and each time one of the processes is killed."""
    dice = random.Random(21)
    with site() as server:
        # Long enough that some are killed while they wait for the answer.
        server.delay = 0.3
        processes = [house.start(*command, lines=5 if command is UP else 1) for command in commands]
        house.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
        house.foliot("alert", "create-rule", "failures", "--on", "failed", "--to", "hook")
        schedule = str(
            house.foliot(
                *("schedule", "create", "partner", "--at", "2999-01-01T00:00:00Z", "--url", f"{server.url}/job"),
                *("--retries", "0"),
            )["id"]
        )
        for mended in [False, True] * KILLS:
            server.mended = mended
            run(house, schedule, 1, "success" if mended else "dead_letter")
            # Its message waits two seconds for others: a process is killed before, while and after it is sent.
            threading.Event().wait(dice.uniform(0, 2.6))
            victim = dice.randrange(len(processes))
            processes[victim].send_signal(signal.SIGKILL)
            processes[victim].wait(SECONDS)
            processes[victim] = house.start(*commands[victim], lines=5 if commands[victim] is UP else 1)
            # A message that was being sent is sent again when the lease of the dead process is over.
            assert wait_until(partial(settled, house), seconds=120)
        expected = {"alert.opened": KILLS, "alert.resolved": KILLS}
        assert Counter(server.types()) == expected
        print(f"{2 * KILLS} kills: {len(server.ids)} requests for {2 * KILLS} messages")


def settled(house: House) -> bool:
    return all(
        each["state"] == "sent" for alert in house.foliot("alert", "list")["items"] for each in alert["deliveries"]
    )


def test_channels_that_misbehave_delay_no_run_and_no_other_channel(house: House) -> None:
    with site() as server:
        house.up("--port", "0")
        for path in (*MISBEHAVIOUR, "/alerts"):
            house.foliot("channel", "create", path[1:], "webhook", "--set", f"url={server.url}{path}")
        to = [flag for path in (*MISBEHAVIOUR, "/alerts") for flag in ("--to", path[1:])]
        house.foliot("alert", "create-rule", "failures", "--on", "failed", *to)
        schedules = [
            str(
                house.foliot(
                    *("schedule", "create", f"job {number}", "--at", "2999-01-01T00:00:00Z"),
                    *("--url", f"{server.url}/job", "--retries", "0"),
                )["id"]
            )
            for number in range(3)
        ]
        for schedule in schedules:
            run(house, schedule, 1, "dead_letter")
        began = time.monotonic()
        assert wait_until(lambda: server.types() == ["alert.opened"] * 3, seconds=SECONDS)
        # A channel that hangs is given up after 15 s, and three slow messages take 30.
        assert time.monotonic() - began < 12
        assert {path for path, _ in server.visits} == set(MISBEHAVIOUR)
        server.mended = True
        run(house, schedules[0], 1, "success")
        assert wait_until(lambda: server.types().count("alert.resolved") == 1, seconds=SECONDS)
        states = {
            each["channel_id"]: each["state"]
            for alert in house.foliot("alert", "list")["items"]
            for each in alert["deliveries"]
        }
        assert set(states.values()) >= {"sent", "pending"}


def test_many_schedules_that_fail_at_once_are_one_message_a_minute(house: House) -> None:
    """`FOLIOT_TEST_STORM=10000` takes minutes, and has a message for each."""
    with site() as server:
        house.up("--port", "0")
        house.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
        house.foliot("alert", "create-rule", "failures", "--on", "failed", "--to", "hook")
        at = (datetime.now(UTC) + timedelta(seconds=8 + STORM / 400)).isoformat()  # noqa: TID251 -- a real process fires it
        each = {
            "type": "oneoff",
            "run_at": at,
            # It answers 503: a target that does not answer is left alone after a while.
            "action": {"kind": "webhook", "url": f"{server.url}/job"},
            "retry_policy": {"max_retries": 0},
        }
        for start in range(0, STORM, 1000):
            named = [{"name": f"job {number}", **each} for number in range(start, min(start + 1000, STORM))]
            asked(house, "/api/schedules/batch", {"schedules": named})
        assert wait_until(lambda: opened(house) == STORM, seconds=SECONDS + STORM / 10)
        # Of a storm in the suite the first message is enough: the rest follows a minute later.
        all_ = STORM if STORM > 500 else 21
        assert wait_until(lambda: sum(map(told_of, server.messages)) >= all_, seconds=SECONDS + 120)
        print(f"{STORM} alerts, {len(server.messages)} messages about {[told_of(one) for one in server.messages]}")
        apart = [after - before for before, after in pairwise(server.times)]
        assert min(apart, default=60) > 55


def asked(house: House, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {house.environ.get('FOLIOT_TOKEN', '')}"}
    with urllib.request.urlopen(
        urllib.request.Request(house.environ["FOLIOT_URL"] + path, data, headers), timeout=60
    ) as answer:
        return json.loads(answer.read())


def opened(house: House) -> int:
    return int(asked(house, "/api/alerts/counts")["open"])


def told_of(message: dict[str, Any]) -> int:
    return int(message.get("count", 1))


def test_a_monitor_that_curl_pings_is_reported_late_down_and_up_again(house: House) -> None:
    with site() as server:
        house.up("--port", "0")
        house.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
        for event in ("late", "missed"):
            house.foliot("alert", "create-rule", f"about {event}", "--on", event, "--to", "hook")
        monitor = house.foliot("monitor", "create", "Backup", "--every", "2", "--grace", "3")
        ping = ["curl", "-fsS", "-m", "10", "--retry", "5", "-o", "/dev/null"]
        subprocess.run([*ping, f"{monitor['ping_url']}/start"], check=True)
        subprocess.run([*ping, "--data-raw", "all is well", f"{monitor['ping_url']}/0"], check=True)
        assert house.foliot("monitor", "show", monitor["id"])["status"] == "up"

        def told() -> list[tuple[str, str]]:
            return [(each["type"], each["alert"]["event"]) for each in server.messages]

        assert wait_until(lambda: told() == [("alert.opened", "late"), ("alert.opened", "missed")], seconds=60)
        assert house.foliot("monitor", "show", monitor["id"])["status"] == "down"
        subprocess.run([*ping, monitor["ping_url"]], check=True)
        assert wait_until(lambda: len(told()) >= 4, seconds=60)
        assert set(told()[2:4]) == {("alert.resolved", "late"), ("alert.resolved", "missed")}


def test_the_heartbeat_of_an_installation_ends_with_its_processes_and_another_service_notices(
    house: House, tmp_path: Path
) -> None:
    outside = House(tmp_path / "outside" / "home")
    try:
        with site() as server:
            outside.up("--port", "0")
            outside.foliot("channel", "create", "hook", "webhook", "--set", f"url={server.url}/alerts")
            outside.foliot("alert", "create-rule", "silence", "--on", "late", "--to", "hook")
            # It is pinged every minute.
            monitor = outside.foliot("monitor", "create", "Foliot", "--every", "62", "--grace", "3")
            process = house.up("--port", "0", FOLIOT_HEARTBEAT_URL=monitor["ping_url"])

            def status() -> str:
                return str(outside.foliot("monitor", "show", monitor["id"])["status"])

            assert wait_until(lambda: status() == "up", seconds=SECONDS)
            process.send_signal(signal.SIGKILL)
            process.wait(SECONDS)
            assert wait_until(lambda: server.types() == ["alert.opened"], seconds=90)
            assert server.messages[0]["alert"]["summary"] == "Foliot is late"
            assert server.messages[0]["links"]["monitor"].endswith(f"/monitors/{monitor['id']}")
    finally:
        outside.clear()


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
