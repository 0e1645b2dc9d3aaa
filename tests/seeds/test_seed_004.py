"""The multi-tenant scheduler: schedules behind a JWT, retries, dead letters, and what it is watched by."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foliot.config.settings import Settings
from tests.acceptance.house import SECONDS, House
from tests.seeds.conftest import Start, curl, curl_status
from tests.services import free_port, wait_until
from tests.tokens import SECRET

pytestmark = pytest.mark.timeout(240)

CREATE = """curl -X POST http://localhost:8000/api/schedules \\
  -H "Authorization: Bearer YOUR_JWT_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{
    "name": "Daily Task",
    "type": "cron",
    "cron_expr": "0 2 * * *",
    "payload": {
      "url": "https://api.example.com/webhook",
      "method": "POST"
    }
  }'"""
ENVIRONMENT = {
    "DATABASE_URL": "mysql+pymysql://user:password@localhost:3306/scheduler",
    "REDIS_URL": "redis://localhost:6379/0",
    "SCHEDULER_TICK_INTERVAL": "5",
    "SCHEDULER_BATCH_SIZE": "100",
}


@pytest.fixture(scope="module")
def dead() -> int:
    """A port where nobody answers."""
    return free_port()


@pytest.fixture(scope="module")
def up(start: Start, dead: int) -> House:
    return start(FOLIOT_JWT_SECRET=SECRET, FOLIOT_EGRESS_ALLOW=f"127.0.0.1:{dead}", FOLIOT_EGRESS_PORTS=f"443,{dead}")


@pytest.fixture(scope="module")
def token(up: House) -> str:
    return up.run("token", "--tenant", "acme", "--user", "ada", "--role", "admin").stdout.strip()


def ask(up: House, token: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    sent = "" if body is None else f"-H 'Content-Type: application/json' -d '{json.dumps(body)}'"
    command = f"curl -X {method} -H 'Authorization: Bearer {token}' {sent} 'http://localhost:8000{path}'"
    code, text = curl_status(up, command)
    return code, json.loads(text) if text else None


def test_the_example_makes_a_schedule_that_can_be_asked_for_all_that_is_listed(up: House, token: str) -> None:
    code, text = curl_status(up, CREATE, YOUR_JWT_TOKEN=token)
    made = json.loads(text)
    path = f"/api/schedules/{made['id']}"

    assert code == 201
    assert (made["status"], made["type"], made["tenant_id"], made["user_id"]) == ("active", "cron", "acme", "ada")
    assert "T02:00:00" in made["next_run_at"]
    assert ask(up, token, "GET", "/api/schedules?status=active")[1]["items"][0]["id"] == made["id"]
    assert ask(up, token, "GET", path)[1]["name"] == "Daily Task"
    whole = {
        "name": "Daily Task",
        "type": "interval",
        "interval_seconds": 60,
        "payload": {"url": "https://api.example.com/webhook"},
    }
    assert ask(up, token, "PUT", path, whole)[1]["type"] == "interval"
    assert ask(up, token, "POST", f"{path}/pause")[1]["status"] == "paused"
    assert ask(up, token, "POST", f"{path}/resume")[1]["status"] == "active"
    assert ask(up, token, "POST", f"{path}/pause")[0] == 200
    assert ask(up, token, "GET", f"{path}/runs") == (200, {"items": [], "next_cursor": None})
    assert ask(up, token, "DELETE", path)[0] == 204
    assert ask(up, token, "GET", path)[1]["status"] == "deleted", "softly"


def test_nobody_is_let_in_without_a_token_and_no_tenant_sees_another(up: House, token: str) -> None:
    _, text = curl_status(up, CREATE, YOUR_JWT_TOKEN=token)
    other = up.run("token", "--tenant", "globex", "--user", "bob", "--role", "admin").stdout.strip()
    path = f"/api/schedules/{json.loads(text)['id']}"

    assert curl_status(up, CREATE)[0] == 401
    assert ask(up, other, "GET", path)[0] == 404
    assert ask(up, token, "GET", path)[0] == 200
    assert ask(up, token, "DELETE", path)[0] == 204
    assert ask(up, token, "POST", "/api/schedules", {"name": "x", "type": "cron", "cron_expr": "61 * * * *"})[0] == 422


@pytest.mark.parametrize("strategy", ["exponential", "linear", "fixed"])
def test_a_run_that_fails_is_tried_again_and_given_up(up: House, token: str, dead: int, strategy: str) -> None:
    policy = {"strategy": strategy, "max_retries": 1, "delay_seconds": 0.1, "jitter": 0}
    target = {"url": f"http://127.0.0.1:{dead}/", "method": "POST"}
    body = {
        "name": strategy,
        "type": "oneoff",
        "run_at": "2099-01-01T00:00:00Z",
        "payload": target,
        "retry_policy": policy,
    }
    _, made = ask(up, token, "POST", "/api/schedules", body)
    code, run = ask(up, token, "POST", f"/api/schedules/{made['id']}/run-now", {})

    assert (code, run["queue"]) == (202, "manual")
    assert wait_until(
        lambda: ask(up, token, "GET", f"/api/runs/{run['id']}")[1]["state"] == "dead_letter", seconds=SECONDS
    )
    _, ended = ask(up, token, "GET", f"/api/runs/{run['id']}")
    assert [attempt["number"] for attempt in ended["attempts"]] == [1, 2]
    assert (ended["worker"] is not None, ended["duration_ms"] is not None) == (True, True)
    letters = ask(up, token, "GET", "/api/dead-letters")[1]["items"]
    assert sum(group["count"] for group in letters) >= 1


def test_health_and_metrics_tell_what_was_listed(up: House, token: str) -> None:
    system = up.run("token", "--tenant", "acme", "--user", "ops", "--role", "system").stdout.strip()

    assert curl(up, "curl http://localhost:8000/health")["status"] == "ok"
    assert ask(up, system, "GET", "/health/detailed")[0] == 200
    text = curl(up, f"curl -H 'Authorization: Bearer {system}' http://localhost:8000/metrics")
    for name in ("foliot_schedules{", "foliot_runs{", "foliot_run_success_ratio", "foliot_run_duration_seconds"):
        assert name in text


def test_the_table_of_variables_is_understood() -> None:
    settings = Settings.load(ENVIRONMENT)

    assert (settings.tick_interval, settings.batch_size) == (5, 100)
    assert settings.database_url.startswith("mysql")
