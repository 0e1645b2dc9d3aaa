"""`foliot up` where others can reach it: what stops its start, whom it lets in, and what its log never says."""

from __future__ import annotations

import json
import signal
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from foliot.db.clock import wall
from tests.acceptance.house import SECONDS, House
from tests.tokens import SECRET, by_secret, claims, token
from tests.zoo import zoo

pytestmark = pytest.mark.timeout(240)

MASTER = "h7Zc2Rq9Lw4Xk8Vn1Jm5Tp3Yb6Gd0Sf-EaUoIi"
METRICS = "Qx7mN2vB9cL4kH8j"


def get(house: House, path: str, shown: str | None = None) -> tuple[int, bytes]:
    headers = {} if shown is None else {"Authorization": f"Bearer {shown}"}
    request = urllib.request.Request(f"{house.environ['FOLIOT_URL']}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def made(house: House, *flags: str) -> str:
    done = house.run("token", *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("flags", "environ", "named"),
    [
        (["--host", "0.0.0.0"], {}, ["--host", "FOLIOT_JWT_SECRET", "FOLIOT_JWKS_URL", "FOLIOT_JWT_KEY_FILE"]),
        ([], {"FOLIOT_HOST": "::"}, ["FOLIOT_HOST", "FOLIOT_JWT_SECRET"]),
        ([], {"FOLIOT_JWT_SECRET": ""}, ["FOLIOT_JWT_SECRET"]),
        ([], {"FOLIOT_JWT_SECRET": "secret"}, ["FOLIOT_JWT_SECRET", "32 bytes"]),
        (["--host", "0.0.0.0"], {"FOLIOT_JWT_SECRET": "changeme" * 8}, ["FOLIOT_JWT_SECRET"]),
        ([], {"FOLIOT_JWT_SECRET": "your-secret-key-change-this-in-production"}, ["FOLIOT_JWT_SECRET"]),
        ([], {"FOLIOT_JWT_SECRET": SECRET, "FOLIOT_JWKS_URL": "https://x.example"}, ["JWT_SECRET", "JWKS_URL"]),
        ([], {"FOLIOT_JWT_SECRET": SECRET, "DATABASE_URL": "mysql://root@db/x"}, ["DATABASE_URL", "root"]),
        ([], {"FOLIOT_JWT_SECRET": SECRET, "CELERY_BROKER_URL": "amqp://guest:guest@mq//"}, ["CELERY_BROKER_URL"]),
        ([], {"FOLIOT_JWT_SECRET": SECRET, "RABBITMQ_URL": "amqp://admin:password123@mq//"}, ["RABBITMQ_URL"]),
        ([], {"FOLIOT_METRICS_TOKEN": METRICS}, ["FOLIOT_METRICS_TOKEN", "FOLIOT_JWT_SECRET"]),
        ([], {"FOLIOT_JWT_KEY_FILE": __file__}, ["FOLIOT_JWT_KEY_FILE", "public key"]),
    ],
)
def test_it_refuses_in_one_line_what_would_leave_the_door_open(
    house: House, flags: list[str], environ: dict[str, str], named: list[str]
) -> None:
    house.environ |= environ

    done = house.run("up", "--port", "0", *flags)

    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert all(name in line for name in named), line
    assert not any(secret in line for secret in (SECRET, METRICS, "password123", "guest:guest@"))


def test_with_a_key_it_listens_anywhere_and_asks_who_is_there(house: House) -> None:
    house.environ |= {"FOLIOT_JWT_SECRET": SECRET, "FOLIOT_METRICS_TOKEN": METRICS}
    house.start("up", "--port", "0", "--host", "0.0.0.0", lines=3)
    shown = house.said.split()[house.said.split().index("Dashboard") + 1]
    house.environ["FOLIOT_URL"] = shown.rstrip("/").replace("0.0.0.0", "127.0.0.1")

    assert get(house, "/health")[0] == 200
    for path in ("/api/schedules", "/api/runs", "/metrics", "/health/detailed"):
        assert get(house, path)[0] == 401, path

    viewer, system = made(house), made(house, "--tenant", "acme", "--role", "system", "--ttl", "5m")
    assert get(house, "/api/schedules", viewer)[0] == 200
    assert get(house, "/health/detailed", viewer)[0] == 403
    assert get(house, "/health/detailed", system)[0] == 200
    assert get(house, "/metrics", METRICS)[0] == 200
    assert get(house, "/api/schedules", METRICS)[0] == 401


def test_the_command_line_shows_its_token_and_explains_a_refusal(house: House) -> None:
    house.environ["FOLIOT_JWT_SECRET"] = SECRET
    process = house.up("--port", "0")

    refused = house.run("schedule", "list")
    assert refused.returncode == 4
    assert refused.stderr.startswith("error: a valid token or API key is required")
    assert "FOLIOT_TOKEN" in refused.stderr

    house.environ["FOLIOT_TOKEN"] = made(house, "--tenant", "acme", "--user", "ada", "--role", "operator")
    schedule = house.foliot("schedule", "create", "x", "--at", "2999-01-01T00:00:00Z", "--url", "https://example.com")
    assert (schedule["tenant_id"], schedule["user_id"]) == ("acme", "ada")

    house.environ["FOLIOT_TOKEN"] = made(house, "--tenant", "other")
    assert house.foliot("schedule", "list")["items"] == []
    assert house.run("schedule", "pause", schedule["id"]).returncode == 4

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def test_a_token_that_nobody_can_sign_is_refused_in_words(house: House) -> None:
    local = house.run("token")
    house.environ["FOLIOT_JWKS_URL"] = "https://id.example/jwks"
    provided = house.run("token")

    assert (local.returncode, provided.returncode) == (1, 1)
    assert "FOLIOT_JWT_SECRET" in local.stderr
    assert "--key-file" in provided.stderr
    assert local.stdout == provided.stdout == ""


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_key_and_no_token_reaches_the_log_even_when_it_says_everything(
    house: House, tmp_path: Path, form: str
) -> None:
    log = tmp_path / "logs"
    house.environ |= {"FOLIOT_JWT_SECRET": SECRET, "FOLIOT_SECRET_KEY": MASTER, "FOLIOT_METRICS_TOKEN": METRICS}
    house.environ |= {"LOG_LEVEL": "debug", "LOG_FORMAT": form, "LOG_DIR": str(log)}
    process = house.up("--port", "0")
    good = made(house, "--role", "system")
    shown = [good, *(text for _, text in zoo(wall(), "HS256", port=9) if text.isprintable() and text.isascii())]
    shown.append(token({"alg": "HS256"}, claims(wall(), exp=1), by_secret()))

    # Side by side: whoever shows many wrong ones is answered late.
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda text: get(house, "/api/schedules", text), (t for t in shown if 20 < len(t) < 8000)))
    get(house, "/metrics", METRICS)
    for path in (f"/api/runs/{good}", f"/api/runs?nonsense={good}", f"/{good}", f"/?token={good}"):
        get(house, path, good)
        get(house, path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0

    written = "".join(path.read_text() for path in (*log.iterdir(), house.log)) + house.said
    lines: list[dict[str, Any]] = [json.loads(line) for line in (log / "foliot.log").read_text().splitlines()]
    assert any(line.get("action") == "unauthenticated" for line in lines)
    signatures = [text.rpartition(".")[2] for text in shown if text.count(".") == 2]
    for secret in (SECRET, MASTER, METRICS, *shown, *signatures):
        assert len(secret) < 20 or secret not in written
    assert METRICS not in written
