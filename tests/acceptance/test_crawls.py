"""Crawls from outside: real Foliot processes, a real Scrapyd, a real site, and what may go wrong with each."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.crawls import OVER, Door, Reader
from tests.acceptance.house import SECONDS, House, Target
from tests.scrapyd_server import TESTBOT, ScrapydServer, a_scrapyd
from tests.services import free_port, wait_until
from tests.site import Site, a_site
from tests.tokens import SECRET

pytestmark = pytest.mark.timeout(300)

QUICK = {"FOLIOT_CRAWL_POLL_SECONDS": "0.1", "FOLIOT_CRAWL_LOST_SECONDS": "2"}
POSTGRESQL = pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
LINES = int(os.environ.get("FOLIOT_TEST_LOG_LINES", "100000"))


@pytest.fixture
def door(house: House) -> Door:
    return Door(house)


@pytest.fixture
def site() -> Iterator[Site]:
    with a_site(200) as made:
        yield made


def up(house: House, *nodes: ScrapydServer, flags: tuple[str, ...] = (), **environ: str) -> None:
    house.environ |= {"SCRAPYD_URL": ",".join(node.url for node in nodes)} | QUICK
    house.up("--port", "0", "--grpc-port", "off", *flags, **environ)


def test_a_site_is_crawled_followed_and_not_crawled_twice(
    house: House, door: Door, scrapyd: ScrapydServer, site: Site
) -> None:
    up(house, scrapyd)
    site.open.clear()

    first = door.crawl("seo", site.url, depth=2)
    assert first == {
        "job_id": first["job_id"],
        "scheduled": False,
        "cached": False,
        "logs_url": f"/jobs/{first['job_id']}/logs",
        "status_url": f"/jobs/{first['job_id']}/status",
    }
    job = first["job_id"]
    reader = Reader(house, job).start()
    for _ in range(21):  # robots.txt, the front page, the first floor: there the site makes the spider wait
        assert site.reached.acquire(timeout=SECONDS)
    assert wait_until(lambda: any("Crawled (200)" in text for _, text in reader.lines), seconds=SECONDS)
    assert door.status(job)["status"] == "running"
    assert reader.ended is None
    site.open.set()
    reader.join(SECONDS)

    told = door.status(job)
    assert reader.ended == {"status": "finished", "spider_job_id": job}
    assert (told["status"], told["state"], told["kind"], told["error"]) == ("finished", "success", "crawl", None)
    assert told["scrapyd_job_id"] == job
    assert (told["progress"]["items"], told["progress"]["errors"]) == (200, 0)
    assert told["progress"]["pages"] >= 200
    assert any("Spider closed (finished)" in text for _, text in reader.lines)

    _, results = door.ask("GET", f"/jobs/{job}/results?limit=200")
    assert (results["status"], results["total"]) == ("finished", 200)
    assert {item["title"] for item in results["items"]} == {f"Page {number}" for number in range(200)}
    assert set(site.asked.values()) == {1}

    again = door.crawl("seo", site.url, depth=2)
    assert (again["job_id"], again["cached"]) == (job, True)
    anew = door.crawl("seo", site.url, depth=2, query="?ignore_cache=true")
    assert (anew["job_id"] != job, anew["cached"]) == (True, False)
    assert door.reaches(anew["job_id"], *OVER)["status"] == "finished"
    assert set(site.asked.values()) == {2}

    late = Reader(house, job, patience=150).start()
    late.join(SECONDS)
    assert late.lines == reader.lines, "the same lines, in pieces, long after the end"


def test_what_went_wrong_is_said_in_words(house: House, door: Door, scrapyd: ScrapydServer, tmp_path: Path) -> None:
    up(house, scrapyd)
    mine = {"project": "TestBot"}
    go = tmp_path / "go"
    jobs = {
        "raises": door.crawl("raises", **mine),
        "dies": door.crawl("dies", **mine),
        "killed": door.crawl("talks", **mine, params={"lines": 10, "until": str(go)}),
        "nothing": door.crawl("quiet", **mine, min_items=1),
        "stumbles": door.crawl("stumbles", **mine, params={"errors": 2, "max_errors": 1}),
        "unknown": door.crawl("unheard_of", **mine),
        "foreign": door.crawl("seo", project="Unheard"),
        "well": door.crawl("finds", **mine, params={"items": 2}, min_items=2),
    }
    killed = jobs["killed"]["job_id"]
    scrapyd.waits_for(killed, "running")
    assert wait_until(lambda: scrapyd.said("TestBot", "talks", killed, "line 10"), seconds=SECONDS)
    os.kill(scrapyd.process_of(killed), signal.SIGKILL)

    told = {name: door.reaches(made["job_id"], *OVER) for name, made in jobs.items()}

    assert {name for name, job in told.items() if job["status"] != "error"} == {"well"}
    said = {name: job["error"]["message"] for name, job in told.items() if job["error"]}
    assert "the spider broke on purpose" in said["raises"]
    assert said["dies"].startswith("The crawl was killed")
    assert said["killed"].startswith("The crawl was killed")
    assert said["nothing"] == "The crawl found 0 items, fewer than min_items 1."
    assert said["stumbles"].startswith("The crawl logged 2 errors, more than max_errors 1.")
    assert "unheard_of" in said["unknown"]
    assert "Unheard" in said["foreign"]
    assert told["well"]["progress"]["items"] == 2


def test_a_crawl_does_not_stay_running_when_its_scrapyd_is_gone(house: House, door: Door, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with a_scrapyd(tmp_path / "mortal", TESTBOT) as mortal:
        up(house, mortal, FOLIOT_TIME_SCALE="0.1")
        job = door.crawl("talks", project="TestBot", params={"lines": 5, "until": str(go)})["job_id"]
        reader = Reader(house, job).start()
        assert wait_until(lambda: any(text.endswith("line 5") for _, text in reader.lines), seconds=SECONDS)

        mortal.kill()

        assert wait_until(lambda: door.status(job)["state"] != "running", seconds=SECONDS)
        lost = door.status(job)
        assert lost["status"] in ("pending", "error")
        assert lost["error"]["code"] in ("node_lost", "crawl_lost")

        go.touch()
        mortal.start()
        assert door.reaches(job, *OVER)["status"] == "finished", "what was lost is crawled again"
        reader.join(SECONDS)


@pytest.mark.services
@POSTGRESQL
def test_every_line_is_read_once_and_in_order_through_the_death_of_every_part(
    house: House, door: Door, scrapyd: ScrapydServer, server_database_url: str, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    house.environ |= {
        "DATABASE_URL": server_database_url,
        "SCRAPYD_URL": scrapyd.url,
        "FOLIOT_TIME_SCALE": "0.1",
    } | QUICK
    assert house.run("migrate").returncode == 0
    port = str(free_port())
    parts = {"api": ("api", "--port", port), "scheduler": ("scheduler",), "worker": ("worker",)}
    running = {name: house.start(*command) for name, command in parts.items()}
    order = ("worker", "api", "scheduler")
    talk = {"lines": LINES, "portions": len(order) + 1, "until": str(go)}
    job = door.crawl("talks", project="TestBot", params=talk)["job_id"]
    readers = [Reader(house, job, patience=max(1, LINES // share)).start() for share in (2, 5, 1)]
    for number, name in enumerate(order):
        # In the middle of a portion, and the next one is said while the part is dead.
        some = number * (LINES // (len(order) + 1)) + 100
        assert wait_until(lambda: len(readers[0].lines) > some, seconds=SECONDS), name  # noqa: B023
        running[name].kill()
        running[name].wait()
        go.with_name(f"go-{number + 1}").touch()
        running[name] = house.start(*parts[name])
    go.touch()
    for reader in readers:
        reader.join(SECONDS * 2)

    assert door.status(job)["status"] == "finished"
    wanted = [f"[talks] line {number}" for number in range(1, LINES + 1)]
    for reader in readers:
        assert [text for _, text in reader.lines if re.search(r"line \d+$", text)] == wanted
        ids = [int(id_) for id_, _ in reader.lines]
        assert ids == sorted(set(ids))
        assert reader.begun > 1
    assert readers[0].lines == readers[1].lines == readers[2].lines
    assert scrapyd.ask("listjobs")["finished"][0]["id"] == job, "one crawl, whoever died"
    assert len([one for one in scrapyd.ask("listjobs")["finished"] if one["id"].startswith(job)]) == 1


def test_fifty_crawls_leave_the_one_slot_to_a_webhook(house: House, door: Door, target: Target, tmp_path: Path) -> None:
    target.answer.set()
    go = tmp_path / "go"
    # One runs, the others wait at Scrapyd: to Foliot all are under way, and watched.
    with a_scrapyd(tmp_path / "busy", TESTBOT, max_proc=1) as busy:
        up(house, busy, flags=("--concurrency", "1"))
        jobs = [
            door.crawl("quiet", project="TestBot", params={"until": str(go), "number": number})["job_id"]
            for number in range(50)
        ]
        assert wait_until(lambda: all(door.status(job)["state"] == "running" for job in jobs), seconds=SECONDS)
        schedule = house.foliot("schedule", "create", "one", "--at", "2999-01-01T00:00:00Z", "--url", target.url)
        _, run = door.ask("POST", f"/api/schedules/{schedule['id']}/run-now", {})

        assert target.called.acquire(timeout=SECONDS)
        _, ended = door.ask("GET", f"/api/runs/{run['id']}")
        assert wait_until(lambda: door.ask("GET", f"/api/runs/{run['id']}")[1]["state"] == "success", seconds=SECONDS)
        _, ended = door.ask("GET", f"/api/runs/{run['id']}")
        assert seconds_between(ended["created_at"], ended["started_at"]) < 2

        assert door.ask("DELETE", f"/jobs/{jobs[-1]}")[0] == 200
        assert door.reaches(jobs[-1], "cancelled")
        assert busy.state(jobs[-1]) != "running"


def seconds_between(first: str, last: str) -> float:
    from datetime import datetime

    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def test_a_private_address_is_no_place_to_start_in_secured_mode(house: House, scrapyd: ScrapydServer) -> None:
    house.environ["FOLIOT_JWT_SECRET"] = SECRET
    up(house, scrapyd)
    made = house.run("token", "--tenant", "acme", "--role", "admin")
    assert made.returncode == 0, made.stderr
    door = Door(house, made.stdout.strip())

    for url in (
        "http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://2130706433/", "file:///etc/passwd",
        f"http://127.0.0.1:{scrapyd.port}/addversion.json",
    ):  # fmt: skip
        status, answer = door.ask("POST", "/crawl", {"spider": "seo", "start_urls": ["https://example.com/", url]})
        assert status == 422, (url, answer)
        assert re.match(r"start_urls\.1", answer["errors"][0]["field"]), answer
    assert door.ask("GET", "/jobs")[1]["total"] == 0
