"""The crawl gateway: REST and SSE in front of Scrapyd, as its guide asked for it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from foliot.config.settings import Settings
from tests.acceptance.house import House
from tests.seeds.conftest import Start, curl, curl_status
from tests.services import free_port

pytestmark = pytest.mark.timeout(240)

REQUEST = """
{
  "user_id": "abc123",
  "spider": "seo",
  "start_urls": ["https://example.com"],
  "depth": 2,
  "schedule_at": "2099-06-01T09:00:00Z",      // optional
  "interval": "0 9 * * *",                  // cron (optional)
  "ignore_cache": false,                    // bypass dedupe
  "params": { "lang": "en" }                // spider-specific args
}
"""
ENVIRONMENT = {
    "MONGO_URI": "mongodb://mongodb:27017",
    "REDIS_HOST": "redis",
    "REDIS_PORT": "6379",
    "REDIS_DB": "0",
    "CRAWL_CACHE_TTL": "3600",
    "RABBITMQ_URL": "amqp://rabbitmq:5672//",
    "SCRAPYD_URL": "http://scrapyd:6800",
    "LOG_LEVEL": "info",
}


@pytest.fixture(scope="module")
def up(start: Start) -> House:
    # No Scrapyd answers there: what is asked for waits, and everything else is answered.
    return start(SCRAPYD_URL=f"http://127.0.0.1:{free_port()}", CRAWL_CACHE_TTL="3600")


def wanted(**changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(
        re.sub(r"//.*", "", REQUEST.replace("https://", "https:__")).replace("https:__", "https://")
    )
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


def ask(house: House, body: dict[str, Any], query: str = "") -> tuple[int, Any]:
    header = "-H 'Content-Type: application/json'"
    code, text = curl_status(
        house, f"curl -X POST 'http://localhost:8000/crawl{query}' {header} -d '{json.dumps(body)}'"
    )
    return code, json.loads(text)


def test_the_same_request_is_one_job_and_ignore_cache_another(up: House) -> None:
    now = wanted(schedule_at=None, interval=None)
    code, first = ask(up, now)
    again_code, again = ask(up, now)
    _, anew = ask(up, now, "?ignore_cache=true")
    _, in_body = ask(up, {**now, "ignore_cache": True})

    assert (code, first["scheduled"], first["cached"]) == (200, False, False)
    assert first["logs_url"] == f"/jobs/{first['job_id']}/logs"
    assert again_code == 200
    assert {"job_id", "scheduled", "cached", "cached_at"} == set(again)
    assert (again["job_id"], again["scheduled"], again["cached"]) == (first["job_id"], False, True)
    assert len({first["job_id"], anew["job_id"], in_body["job_id"]}) == 3


def test_a_moment_and_a_rhythm_are_planned_and_both_at_once_refused(up: House) -> None:
    code, once = ask(up, wanted(interval=None))
    cron_code, cron = ask(up, wanted(schedule_at=None))
    every_code, every = ask(up, wanted(schedule_at=None, interval="4h"))
    both, refused = ask(up, wanted())

    assert (code, once["scheduled"]) == (202, True)
    assert once["next_run"].startswith("2099-06-01T09:00:00")
    assert (cron_code, cron["scheduled"], every_code, every["scheduled"]) == (202, True, 202, True)
    assert "T09:00:00" in cron["next_run"]
    assert (both, refused["errors"][0]["field"]) == (422, "interval")


def test_a_job_tells_its_status_and_streams_its_log(up: House) -> None:
    _, made = ask(up, wanted(schedule_at=None, interval=None, user_id="status"))
    status = curl(up, f"curl http://localhost:8000/jobs/{made['job_id']}/status")
    headers = curl(up, f"curl -i --max-time 2 http://localhost:8000/jobs/{made['job_id']}/logs?format=text")

    assert {"job_id", "status", "started_at", "spider_job_id"} <= set(status)
    assert status["status"] in {"pending", "running", "finished", "error"}
    assert "200 OK" in headers
    assert curl_status(up, "curl http://localhost:8000/jobs/run_none/status")[0] == 404


@pytest.mark.parametrize("change", [{"spider": None}, {"start_urls": ["no url"]}, {"depth": "deep"}, {"surprise": 1}])
def test_a_wrong_payload_is_refused(up: House, change: dict[str, Any]) -> None:
    code, problem = ask(up, wanted(schedule_at=None, interval=None, **change))

    assert code == 422
    assert problem["errors"]


def test_the_table_of_variables_is_understood() -> None:
    settings = Settings.load(ENVIRONMENT | {"DATABASE_URL": "postgresql://db/foliot"})

    assert settings.mongo_uri is not None
    assert settings.crawl_cache_ttl == 3600
    assert "redis" in str(settings.redis_url.reveal() if settings.redis_url else "")
    assert settings.broker_url is not None
