"""The crawl gateway: REST and SSE in front of Scrapyd, as its guide asked for it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from foliot.config.settings import Settings
from tests.acceptance.house import House
from tests.scrapyd_server import ScrapydServer
from tests.seeds.conftest import Start, curl, curl_status
from tests.services import free_port
from tests.site import Site, a_site

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


def frames(text: str) -> list[tuple[str, Any]]:
    """Name and data of each event of a stream."""
    found = []
    for block in text.replace("\r", "").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


@pytest.fixture
def site() -> Iterator[Site]:
    with a_site(pages=30) as made:
        yield made


@pytest.fixture
def crawling(start: Start, scrapyd: ScrapydServer) -> House:
    return start(SCRAPYD_URL=scrapyd.url, FOLIOT_TIME_SCALE="0.2")


def test_the_log_of_a_crawl_is_streamed_line_by_line_and_ends_with_its_status(crawling: House, site: Site) -> None:
    """Against a real Scrapyd: `event: log` with ts, level, msg, then `event: end` with status and spider_job_id."""
    body = wanted(schedule_at=None, interval=None, start_urls=[site.url])
    site.open.clear()
    _, made = ask(crawling, body)
    url = f"{crawling.environ['FOLIOT_URL']}{made['logs_url']}"
    with subprocess.Popen(
        ["curl", "-sSN", "-i", "--max-time", "120", url], stdout=subprocess.PIPE, text=True
    ) as stream:
        assert stream.stdout is not None
        before = ""
        while "event: log" not in before:
            before += stream.stdout.readline()
        running = curl(crawling, f"curl http://localhost:8000/jobs/{made['job_id']}/status")
        site.open.set()
        text = before + stream.stdout.read()
    head, _, streamed = text.replace("\r", "").partition("\n\n")
    *lines, last = frames(streamed)
    status = curl(crawling, f"curl http://localhost:8000/jobs/{made['job_id']}/status")

    assert "content-type: text/event-stream" in head.lower()
    assert running["status"] == "running", "the first line came while the crawl went on"
    assert {name for name, _ in lines} <= {"log", "status"}
    logged = [data for name, data in lines if name == "log"]
    assert all({"ts", "level", "msg"} <= set(data) for data in logged)
    assert any("Spider opened" in data["msg"] for data in logged)
    assert any("Spider closed (finished)" in data["msg"] for data in logged)
    assert last[0] == "end"
    assert (last[1]["status"], last[1]["spider_job_id"]) == ("finished", status["spider_job_id"])
    assert status["status"] == "finished"


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
