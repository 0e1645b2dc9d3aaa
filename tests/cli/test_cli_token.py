"""`foliot token`, and what `foliot check` says about who may come in."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import VerificationKeys, hs256, key_file
from foliot.cli.root import app
from foliot.core.access import Role
from foliot.db.clock import StoreClock
from tests.tokens import ALGORITHMS, SECRET, jwk, jwks, pem, private, private_pem


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path / "home"))
    return tmp_path


def foliot(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stdout.strip(), done.stderr.strip()


def tokens(keys: VerificationKeys, **expected: Any) -> Tokens:
    return Tokens(keys=keys, clock=StoreClock(), expected=Expectations(**{"audience": "foliot"} | expected))


async def test_a_token_says_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_JWT_SECRET", SECRET)
    monkeypatch.setenv("FOLIOT_JWT_ISSUER", "us")
    monkeypatch.setenv("FOLIOT_JWT_AUDIENCE", "ours")

    code, out, _ = foliot("token", "--tenant", "acme", "--user", "ada", "--role", "admin", "--ttl", "1h30m")

    assert code == 0
    caller = await tokens(hs256(SECRET), audience="ours", issuer="us").caller(out)
    assert (caller.tenant_id, caller.user_id, caller.role) == ("acme", "ada", Role.ADMIN)
    assert caller.expires_at is not None
    assert 5395 <= (caller.expires_at - StoreClock().now()).total_seconds() <= 5400


async def test_asked_for_nothing_it_may_only_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_JWT_SECRET", SECRET)

    caller = await tokens(hs256(SECRET)).caller(foliot("token")[1])

    assert (caller.tenant_id, caller.role) == ("default", Role.VIEWER)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_private_key_signs_for_servers_that_know_its_public_half(algorithm: str, home: Path) -> None:
    (home / "private.pem").write_bytes(private_pem(private(algorithm)))
    (home / "public.pem").write_bytes(pem(private(algorithm)))

    code, out, _ = foliot("token", "--role", "system", "--key-file", str(home / "private.pem"))

    assert code == 0
    assert (await tokens(key_file(home / "public.pem")).caller(out)).role is Role.SYSTEM


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--ttl", "soon"], "--ttl"),
        (["--ttl", "0s"], "--ttl"),
        (["--ttl", "99999999999999d"], "--ttl"),
        (["--ttl", "40d"], "FOLIOT_JWT_MAX_HOURS"),
        (["--tenant", ""], "tenant_id"),
        (["--tenant", "x" * 65], "tenant_id"),
        (["--user", "a\nb"], "sub"),
        (["--role", "king"], "--role"),
        (["--key-file", "/nowhere"], "--key-file"),
    ],
)
def test_what_cannot_be_signed_is_said_in_words(flags: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_JWT_SECRET", SECRET)

    code, out, err = foliot("token", *flags)

    assert code in {1, 2}
    assert out == ""
    assert says in err
    assert "Traceback" not in err


# --- check ------------------------------------------------------------------------------------------------------------


def findings() -> dict[str, tuple[str, str]]:
    code, out, _ = foliot("check", "--json")
    found = json.loads(out)
    assert code == (0 if found["ok"] else 1)
    return {each["key"]: (each["level"], each["message"]) for each in found["findings"]}


def test_check_knows_local_mode() -> None:
    assert findings()["FOLIOT_HOST"] == ("ok", "127.0.0.1: local mode, which needs no tokens")


def test_check_warns_when_the_master_key_hangs_on_the_one_that_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_JWT_SECRET", SECRET)
    derived = findings()
    monkeypatch.setenv("FOLIOT_SECRET_KEY", SECRET[::-1])
    given = findings()

    assert derived["FOLIOT_JWT_SECRET"][0] == given["FOLIOT_JWT_SECRET"][0] == "ok"
    assert derived["FOLIOT_SECRET_KEY"][0] == "warning"
    assert "derived from FOLIOT_JWT_SECRET" in derived["FOLIOT_SECRET_KEY"][1]
    assert given["FOLIOT_SECRET_KEY"][0] == "ok"
    assert SECRET not in str(derived) + str(given)


def test_check_reads_the_key_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "key").write_bytes(pem(private("ES256")))
    monkeypatch.setenv("FOLIOT_JWT_KEY_FILE", str(home / "key"))
    fine = findings()
    (home / "key").write_bytes(b"hello")
    spoilt = findings()

    assert fine["FOLIOT_JWT_KEY_FILE"][0] == "ok"
    assert fine["FOLIOT_SECRET_KEY"] == ("warning", "not set: API keys and secrets answer 409 until it is")
    assert spoilt["FOLIOT_JWT_KEY_FILE"][0] == "error"


class Provider(HTTPServer):
    """Answers with a document."""

    body = b""


class Answer(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        monkeypatch.setenv("FOLIOT_JWKS_URL", f"http://127.0.0.1:{server.server_port}/jwks")
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("body", "level", "says"),
    [
        (jwks(jwk(private("RS256"), "one"), jwk(private("ES256"), "two")), "ok", "2 usable keys"),
        (jwks(), "error", "no key that can verify"),
        (b"<html>", "error", "not JSON"),
    ],
    ids=["keys", "none", "another page"],
)
def test_check_asks_the_identity_provider(provider: Provider, body: bytes, level: str, says: str) -> None:
    provider.body = body

    found = findings()["FOLIOT_JWKS_URL"]

    assert found[0] == level
    assert says in found[1]
