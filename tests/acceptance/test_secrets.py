"""A real Foliot uses a secret against a target that sends everything back; afterwards it is nowhere to be found."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import MetaData, create_engine, make_url, select
from sqlalchemy.ext.asyncio import create_async_engine

from tests.acceptance.house import SECONDS, House
from tests.databases import sqlite_files
from tests.services import wait_for

pytestmark = pytest.mark.timeout(240)

SECRET = 'canary/7h3-secret+"å"-of-acme'
SIGNING = "whsec_" + base64.b64encode(b"canary-signing-key-of-acme-000").decode()
# Parts of the values in every encoding in which the target sends them back.
NEEDLES = [
    SECRET,
    "canary",
    "7h3-secret",
    quote(SECRET, safe=""),
    json.dumps(SECRET)[1:-1],
    escape(SECRET),
    base64.b64encode(SECRET.encode()).decode()[:16],
    base64.urlsafe_b64encode(SECRET.encode()).decode()[:16],
    base64.b64encode(f"user:{SECRET}".encode()).decode()[8:24],
    SECRET.encode().hex()[:24],
    SIGNING.removeprefix("whsec_")[:24],
]


class Parrot(ThreadingHTTPServer):
    """Sends everything back that it got, in every way it knows."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: list[dict[str, str]] = []
        self.status = 200
        super().__init__(("127.0.0.1", 0), Repeat)


class Repeat(BaseHTTPRequestHandler):
    server: Parrot

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # What a header holds beyond ASCII is read as Latin-1.
        got = {name: value.encode("latin-1").decode() for name, value in self.headers.items()}
        self.server.got.append(got)
        token = got["X-Token"].removeprefix("Bearer ")
        raw = token.encode()
        ways = {
            "plain": token,
            "headers": got,
            "body": sent.decode(),
            "signing": SIGNING,
            "json": json.dumps(token),
            "twice": json.dumps(json.dumps(token)),
            "url": quote(token, safe=""),
            "html": escape(token),
            "base64": base64.b64encode(raw).decode(),
            "urlsafe": base64.urlsafe_b64encode(raw).decode(),
            "basic": base64.b64encode(b"user:" + raw).decode(),
            "hex": raw.hex(),
            token: "as a key",
        }
        answer = json.dumps(ways).encode()
        self.send_response(self.server.status, "canary")
        self.send_header("X-Echo", token.encode().decode("latin-1"))
        self.send_header("X-Echo-Encoded", base64.b64encode(raw).decode())
        self.send_header("Set-Cookie", f"token={quote(token, safe='')}")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def parrot() -> Iterator[Parrot]:
    with Parrot() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(house: House, method: str, path: str, body: object = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = Request(house.environ["FOLIOT_URL"] + path, data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=SECONDS) as answer:
        text: str = answer.read().decode()
    return text


def put(house: House, name: str, value: str) -> None:
    """By the command line, from a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "foliot", "secret", "set", name],
        env=house.environ, input=value + "\n", capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert value not in done.stdout + done.stderr


def dump(url: str) -> str:
    """Every row of every table as text, with what is compressed taken apart; of SQLite the files too."""
    parsed, found = make_url(url), MetaData()
    raw = b""
    if parsed.get_backend_name() == "sqlite":
        raw = b"".join(file.read_bytes() for file in sqlite_files(parsed) if file.exists())
        engine = create_engine(parsed.set(drivername="sqlite"))
        with engine.connect() as conn:
            found.reflect(conn)
            rows = [row for table in found.tables.values() for row in conn.execute(select(table))]
        engine.dispose()
    else:
        rows = wait_for(_rows(url, found))
    assert len(found.tables) > 10
    return raw.decode("latin-1") + raw.decode("utf-8", "replace") + "\n".join(_text(v) for row in rows for v in row)


async def _rows(url: str, found: MetaData) -> list[Any]:
    engine = create_async_engine(url)
    async with engine.connect() as conn:
        await conn.run_sync(found.reflect)
        rows = [row for table in found.tables.values() for row in await conn.execute(select(table))]
    await engine.dispose()
    return rows


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    with contextlib.suppress(zlib.error):
        value = zlib.decompress(value)
    return value.decode("utf-8", "replace")


def needles_in(text: str) -> list[str]:
    return [needle for needle in NEEDLES if needle in text]


def test_what_a_target_sends_back_is_kept_nowhere(
    house: House, parrot: Parrot, database_url: str, tmp_path: Path
) -> None:
    house.environ |= {"DATABASE_URL": database_url, "FOLIOT_LOG_LEVEL": "debug", "FOLIOT_LOG_FORMAT": "json"}
    process = house.up("--port", "0", FOLIOT_LOG_DIR=str(tmp_path / "logs"))
    put(house, "TOKEN", SECRET)
    put(house, "webhook_signing", SIGNING)
    action = {
        "kind": "webhook",
        "url": f"http://127.0.0.1:{parrot.server_port}/",
        "headers": {"X-Token": "Bearer {{ secret.TOKEN }}"},
    }
    wanted = {"name": "Echo", "type": "oneoff", "run_at": "2999-01-01T00:00:00Z", "action": action}
    made = json.loads(ask(house, "POST", "/api/schedules", {**wanted, "retry_policy": {"max_retries": 0}}))
    paths = [f"/api/schedules/{made['id']}", "/api/runs", "/api/secrets", "/api/dead-letters", "/api/audit", "/metrics"]
    said = ""
    for status, state in ((200, "success"), (500, "dead_letter")):
        parrot.status = status
        run = json.loads(ask(house, "POST", f"/api/schedules/{made['id']}/run-now"))["id"]
        said += house.run("run", "logs", run, "--follow").stdout
        shown = ask(house, "GET", f"/api/runs/{run}")
        assert json.loads(shown)["state"] == state
        assert shown.count("***") > 10
        paths += [f"/api/runs/{run}", f"/api/runs/{run}/events"]

    # The target did get it: otherwise nothing below means anything.
    assert [got["X-Token"] for got in parrot.got] == [f"Bearer {SECRET}"] * 2
    assert all(got["webhook-signature"].startswith("v1,") for got in parrot.got)
    for path in paths:
        assert needles_in(ask(house, "GET", path)) == [], path
    assert needles_in(said) == []
    assert needles_in(dump(database_url)) == []
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
    logs = house.log.read_text() + "".join(path.read_text() for path in (tmp_path / "logs").iterdir())
    assert "run_given_up" in logs
    assert needles_in(logs) == []
    rows, key = dump(database_url), (house.home / "secret.key").read_text().strip()
    assert needles_in(rows) == []
    assert key not in rows + logs


def test_the_commands_set_list_rekey_and_delete(house: House) -> None:
    house.up("--port", "0")
    put(house, "TOKEN", SECRET)
    (seen,) = house.foliot("secret", "list")["items"]
    assert (seen["name"], seen["version"]) == ("TOKEN", 1)
    assert house.foliot("secret", "rekey") == {"ok": True, "done": 0, "shut": [], "actions": 0}

    house.environ["FOLIOT_SECRET_KEY"] = secrets.token_urlsafe(48)
    assert house.foliot("secret", "rekey") == {"ok": True, "done": 1, "shut": [], "actions": 0}

    house.environ["FOLIOT_SECRET_KEY"] = secrets.token_urlsafe(48)
    done = house.run("secret", "rekey")
    assert done.returncode == 1
    assert "default/TOKEN cannot be decrypted with any given key" in done.stderr

    assert house.run("secret", "delete", "TOKEN").returncode == 0
    assert house.run("secret", "delete", "TOKEN").returncode == 3


def test_a_value_is_no_argument_and_not_empty(house: House) -> None:
    house.up("--port", "0")

    assert house.run("secret", "set", "TOKEN", SECRET).returncode == 2
    done = subprocess.run(
        [sys.executable, "-m", "foliot", "secret", "set", "TOKEN"],
        env=house.environ, input="", capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "standard input is empty" in done.stderr
