"""`foliot listen`: what a webhook brings, whether its signature is right, and answers to try retries with."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import pytest

from foliot.features.webhooks import cli
from foliot.features.webhooks.signature import sign
from tests.cli.cli_server import invoke

SECRET = "whsec_" + base64.b64encode(b"a key of thirty-two bytes, as is").decode()
OTHER = "whsec_" + base64.b64encode(b"another key of thirty-two bytes!").decode()


class Listening:
    """A running receiver."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("foliot: listening on http://127.0.0.1:"), said
        self.port = int(said.split(":")[3].split("/")[0])

    def send(self, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, "/hook?x=1", body=body, headers=dict(headers or {}))
            return connection.getresponse().status
        finally:
            connection.close()

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        document: dict[str, Any] = json.loads(self.process.stdout.readline())
        return document

    def stop(self) -> tuple[str, str]:
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=20)


@contextmanager
def listening(*flags: str) -> Iterator[Listening]:
    command = [sys.executable, "-m", "foliot", "listen", "--port", "0", *flags]
    environ = {name: value for name, value in os.environ.items() if name != "FOLIOT_WEBHOOK_SECRET"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            yield Listening(process)
        finally:
            process.kill()


def signed(secret: str, body: bytes) -> dict[str, str]:
    at = datetime.now(UTC)  # noqa: TID251 -- the receiver refuses what is old by its own clock
    return {
        "webhook-id": "run_1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": sign([secret], "run_1", at, body) or "",
    }


def test_a_request_is_shown_whole_and_credentials_are_not() -> None:
    with listening() as receiver:
        status = receiver.send(b'{"sku": 991}', {"X-Foliot-Attempt": "2", "Authorization": "Bearer hunter2"})
        out, err = receiver.stop()

    assert (status, receiver.process.returncode) == (200, 0)
    assert "POST /hook?x=1  answered 200" in out
    assert "X-Foliot-Attempt: 2" in out
    assert '"sku": 991' in out
    assert "Authorization: ***" in out
    assert "hunter2" not in out + err
    assert err == "foliot: 1 request received\n"


def test_the_first_requests_fail_and_later_ones_get_the_status() -> None:
    with listening("--fail-first", "2", "--status", "202", "--json") as receiver:
        statuses = [receiver.send(b"{}") for _ in range(4)]
        shown = [receiver.line()["answered"] for _ in range(4)]

    assert statuses == shown == [500, 500, 202, 202]


def test_signatures_are_checked_and_a_wrong_one_is_refused() -> None:
    body = b'{"a": 1}'
    with listening("--secret", SECRET, "--json") as receiver:
        statuses = [
            receiver.send(body, signed(SECRET, body)),
            receiver.send(body + b" ", signed(SECRET, body)),
            receiver.send(body, signed(OTHER, body)),
            receiver.send(body),
            receiver.send(body, signed(SECRET, body) | {"webhook-signature": "nonsense"}),
        ]
        verdicts = [receiver.line()["signature"] for _ in statuses]

    assert statuses == [200, 401, 401, 401, 401]
    assert verdicts[0] == "valid"
    assert [verdict.partition(":")[0] for verdict in verdicts[1:]] == ["invalid"] * 4


def test_a_signature_is_said_to_be_unchecked_without_a_secret() -> None:
    body = b"{}"
    with listening("--json") as receiver:
        assert receiver.send(body, signed(SECRET, body)) == 200
        assert receiver.line()["signature"] == "not checked: give --secret"


def test_the_receiver_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening("--json", "--count", "2") as receiver:
        connection = HTTPConnection("127.0.0.1", receiver.port, timeout=10)
        connection.putrequest("POST", "/hook")
        connection.putheader("Content-Length", str(cli.MOST_BYTES + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()
        assert receiver.send(b"{}") == 200
        assert receiver.process.wait(20) == 0, "it stops after --count"

    long = "x" * (cli.MOST_SHOWN + 5)
    assert cli._pretty(long).endswith("and 5 more characters")


def test_it_listens_on_loopback_only_and_says_when_the_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answered = invoke("listen", "--port", port)

    assert answered.code == 1
    assert answered.err.startswith(f"error: --port: cannot listen on 127.0.0.1:{port} (")
    assert cli.HOST == "127.0.0.1"


@pytest.mark.parametrize("secret", ["hunter2", "whsec_!!!", "@/nowhere"])
def test_a_secret_that_signs_nothing_is_wrong_usage_and_not_repeated(secret: str) -> None:
    answered = invoke("listen", "--port", "0", "--secret", secret)

    assert answered.code == 2
    assert "--secret" in answered.err
    assert "hunter2" not in answered.err
