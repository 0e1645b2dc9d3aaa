"""`foliot login-link`, `foliot members`, `foliot demo`, and what `foliot up` shows, against a server that remembers."""

from __future__ import annotations

import os
import pty
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from foliot.cli import serve_output as showing
from foliot.config.settings import Settings
from foliot.core.errors import Conflict
from tests.cli.cli_server import Script, invoke


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with Script() as script:
        thread = threading.Thread(target=script.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{script.server_port}")
        yield script
        script.shutdown()
        thread.join()


def test_a_login_link_leads_back_the_way_we_came(server: Script) -> None:
    made = {"url": "http://inside.example/login?code=lgn_x", "expires_at": "2027-01-01T09:05:00Z"}
    server.will("POST", "/api/login-links", (201, made))

    shown = invoke("login-link", "--utc")

    assert shown.code == 0
    assert shown.out.strip() == f"http://127.0.0.1:{server.server_port}/login?code=lgn_x"
    assert "once" in shown.err


def test_where_nobody_signs_in_the_address_is_not_said_to_end(server: Script) -> None:
    made = {"url": "http://inside.example/", "expires_at": "2027-01-01T09:05:00Z"}
    server.will("POST", "/api/login-links", (201, made))

    shown = invoke("login-link", "--utc")

    assert shown.out.strip() == f"http://127.0.0.1:{server.server_port}/"
    assert "once" not in shown.err
    assert "at any time" in shown.err


def test_signing_out_says_how_many_sessions_there_were(server: Script) -> None:
    server.will("DELETE", "/api/sessions", (200, {"ended": 2}))
    shown = invoke("sign-out")
    server.will("DELETE", "/api/sessions", (200, {"ended": 0}))
    as_json = invoke("sign-out", "--json")

    assert (shown.code, as_json.code) == (0, 0)
    assert shown.out.startswith("2 sessions ended")
    assert as_json.out.split() == ["{", '"ended":', "0", "}"]


def test_members_are_listed_with_what_they_last_did(server: Script) -> None:
    ada = {"user_id": "ada", "roles": ["admin"], "keys": 2, "last_seen_at": None, "last_action": "pause schedule"}
    server.will("GET", "/api/members", (200, {"items": [ada], "next_cursor": None}))

    shown = invoke("members")

    assert shown.code == 0
    assert {"ada", "admin", "2"} <= set(shown.out.split())
    assert "pause schedule" in shown.out


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"on": True, "schedules": 12, "runs": 2983}, "The demo is on: 12 schedules, 2983 runs."),
        ({"on": False, "schedules": 0, "runs": 0}, "There is no demo here. Start one: foliot up --demo"),
    ],
)
def test_the_demo_says_how_much_there_is_of_it(server: Script, found: dict[str, Any], said: str) -> None:
    server.will("GET", "/api/demo", (200, found))

    assert invoke("demo", "status").out.strip() == said


def test_the_demo_is_removed_by_a_word(server: Script) -> None:
    server.will("DELETE", "/api/demo", (200, {"schedules": 12, "runs": 1}))

    assert invoke("demo", "remove").out.strip() == "Removed 12 schedules and 1 run of the demo."


# --- what `foliot up` shows -------------------------------------------------------------------------------------------


def test_a_taken_port_is_the_next_one_for_a_demo_that_nobody_gave_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(showing, "USUAL_PORT", taken.getsockname()[1])
        settings = Settings.load({"FOLIOT_HOME": str(tmp_path)}, port=taken.getsockname()[1])

        with pytest.raises(Conflict, match="is taken by another program"):
            showing.listen(settings, demo=False)
        with showing.listen(settings, demo=True) as other:
            assert other.getsockname()[1] != taken.getsockname()[1]


def test_a_port_that_somebody_chose_is_that_one_or_none(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings.load({"FOLIOT_HOME": str(tmp_path)}, port=taken.getsockname()[1])

        with pytest.raises(Conflict, match="is taken by another program"):
            showing.listen(settings, demo=True)


def test_the_block_names_every_address_and_where_the_data_is(tmp_path: Path) -> None:
    settings = Settings.load({"FOLIOT_HOME": str(tmp_path)})
    app: Any = SimpleNamespace(settings=settings, grpc=None, discord=None, discord_missing=None, demo=object())

    said = showing.block(app, "http://127.0.0.1:8000", "off")

    assert "Dashboard  http://127.0.0.1:8000/" in said
    assert "http://127.0.0.1:8000/docs" in said
    assert str(tmp_path / "foliot.db") in said
    assert "Demo" in said
    assert "press o" not in said, "nobody sits in front of a test"


async def test_a_key_is_read_only_from_a_terminal_in_front_of_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that is not ours to read from would stop the whole process."""
    above, below = pty.openpty()
    try:
        with os.fdopen(os.dup(below)) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert showing._terminal() is None
            with showing.keys("http://127.0.0.1:8000"):
                os.write(above, b"o")
    finally:
        os.close(above)
        os.close(below)


def test_the_key_opens_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio
    import webbrowser

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    reading, writing = os.pipe()

    async def press() -> None:
        os.write(writing, b"xO")
        showing._pressed(reading, "http://127.0.0.1:8000")
        await asyncio.get_running_loop().shutdown_default_executor()

    try:
        asyncio.run(press())
    finally:
        os.close(reading)
        os.close(writing)

    assert opened == ["http://127.0.0.1:8000"]
