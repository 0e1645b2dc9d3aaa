"""The article service: jobs with priorities, a cache, results and WebSockets."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foliot.config.settings import Settings
from tests.acceptance.house import SECONDS, House
from tests.acceptance.newspaper import Newspaper, a_newspaper
from tests.seeds.conftest import Start, curl, curl_status
from tests.services import wait_until

pytestmark = pytest.mark.timeout(240)

SUBMIT = """curl -X POST http://localhost:8000/jobs/submit \\
  -H "Content-Type: application/json" \\
  -d '{
    "articles": [
      {
        "url": "https://www.bbc.com/news/technology",
        "source": "BBC",
        "category": "Technology",
        "priority": 1
      },
      {
        "url": "https://techcrunch.com/",
        "source": "TechCrunch",
        "category": "Tech News",
        "priority": 2
      }
    ]
  }'"""
SAMPLE = """curl -X POST http://localhost:8000/jobs/submit \\
  -H "Content-Type: application/json" \\
  -d @sample_articles.json"""
STATUS = "curl http://localhost:8000/jobs/job_a1b2c3d4e5f6/status"
RESULTS = "curl http://localhost:8000/jobs/job_a1b2c3d4e5f6/results"
CANCEL = "curl -X DELETE http://localhost:8000/jobs/job_a1b2c3d4e5f6"
LIST = 'curl "http://localhost:8000/jobs/?status_filter=COMPLETED&limit=10"'
SOCKET = """
const ws = new WebSocket('ws://localhost:8000/ws/jobs/job_a1b2c3d4e5f6');

ws.onmessage = (event) => {
  const update = JSON.parse(event.data);
  console.log('Job update:', update);

  if (update.status === 'COMPLETED') {
    console.log('Job completed!');
    ws.close();
  }
};

ws.onopen = () => {
  console.log('Connected to job updates');
};
"""
ENVIRONMENT = {
    "REDIS_URL": "redis://localhost:6379",
    "MONGO_URL": "mongodb://localhost:27017",
    "MONGO_DB_NAME": "job_scheduler",
    "API_PORT": "8000",
    "MAX_RETRY_ATTEMPTS": "3",
    "SCRAPE_TIMEOUT": "30",
}
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def up(start: Start) -> House:
    return start()


@pytest.fixture(scope="module")
def site() -> Iterator[Newspaper]:
    with a_newspaper() as made:
        yield made


@pytest.fixture
def still(up: House) -> Iterator[House]:
    """With the queue of articles paused: no page of the wide world is asked for."""
    assert up.run("queue", "pause", "articles").returncode == 0
    yield up
    assert up.run("queue", "resume", "articles").returncode == 0


def test_a_job_is_submitted_looked_at_and_cancelled_as_written(still: House) -> None:
    code, text = curl_status(still, SUBMIT)
    made = json.loads(text)
    job = {"job_a1b2c3d4e5f6": made["job_id"]}
    status, results = curl(still, STATUS, **job), curl(still, RESULTS, **job)
    stopped, after = curl(still, CANCEL, **job), curl(still, STATUS, **job)

    assert code == 201
    assert {name: made[name] for name in ("status", "total_articles", "new_articles", "cached_articles")} == {
        "status": "IN_PROGRESS", "total_articles": 2, "new_articles": 2, "cached_articles": 0,
    }  # fmt: skip
    assert {"job_id", "status", "total_articles", "completed", "failed", "pending", "created_at", "updated_at"} <= set(
        status
    )
    assert (status["status"], status["pending"]) == ("IN_PROGRESS", 2)
    assert {"job_id", "status", "total_articles", "successful", "failed", "results", "failed_articles"} <= set(results)
    assert stopped["status"] == "CANCELLED"
    assert stopped["message"] == "Job cancelled. Removed 2 pending tasks."
    assert (after["status"], after["cancelled"]) == ("CANCELLED", 2)
    assert curl_status(still, CANCEL, **job)[0] == 400
    assert curl_status(still, STATUS)[0] == 404


def test_the_sample_is_taken_as_it_is(still: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    made = curl(still, SAMPLE)

    assert made["total_articles"] == 10
    assert curl(still, CANCEL, job_a1b2c3d4e5f6=made["job_id"])["status"] == "CANCELLED"


def test_what_breaks_a_rule_is_refused(up: House) -> None:
    twice = SUBMIT.replace("https://techcrunch.com/", "https://www.bbc.com/news/technology")
    none = SUBMIT.replace("https://techcrunch.com/", "no address")

    assert [curl_status(up, command)[0] for command in (twice, none)] == [422, 422]


def test_pages_come_back_and_the_second_time_from_the_cache(up: House, site: Newspaper, tmp_path: Path) -> None:
    command = SUBMIT.replace("https://www.bbc.com/news/technology", site.url("/n/1"))
    command = command.replace("https://techcrunch.com/", site.url("/n/2"))
    made = curl(up, command)
    job = {"job_a1b2c3d4e5f6": made["job_id"]}
    script = tmp_path / "client.js"
    server = up.environ["FOLIOT_URL"].replace("http", "ws", 1)
    script.write_text(SOCKET.replace("ws://localhost:8000", server).replace("job_a1b2c3d4e5f6", made["job_id"]))
    node = shutil.which("node")
    if node is not None:
        told = subprocess.run(
            [node, "--experimental-websocket", str(script)], capture_output=True, text=True, timeout=SECONDS, check=True
        )
        assert "Connected to job updates" in told.stdout
        assert "Job completed!" in told.stdout
    assert wait_until(lambda: curl(up, STATUS, **job)["status"] == "COMPLETED", seconds=SECONDS)
    results: dict[str, Any] = curl(up, RESULTS, **job)
    again = curl(up, command)

    assert results["successful"] == 2
    assert {"article_id", "url", "source", "category", "title", "content", "scraped_at", "cached"} <= set(
        results["results"][0]
    )
    assert (again["status"], again["cached_articles"]) == ("COMPLETED", 2)
    assert wait_until(lambda: len(curl(up, LIST)["jobs"]) == 2, seconds=SECONDS)


def test_the_table_of_variables_is_understood() -> None:
    settings = Settings.load(ENVIRONMENT)

    assert (settings.port, settings.mongo_db_name, settings.scrape_timeout) == (8000, "job_scheduler", 30)
    assert settings.scrape_attempts == 3
