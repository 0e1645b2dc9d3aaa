"""The Scrapyd of the tests does what tests ask of it, and the projects on it can be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scrapyd_server import TESTBOT, ScrapydServer, a_scrapyd

pytestmark = pytest.mark.timeout(180)


def test_a_spider_runs_and_its_items_and_log_are_there(scrapyd: ScrapydServer) -> None:
    scrapyd.tell("schedule", project="TestBot", spider="finds", jobid="found", items="2")
    scrapyd.waits_for("found", "finished")

    assert scrapyd.items_of("TestBot", "finds", "found") == [{"number": 0}, {"number": 1}]
    assert "Spider closed (finished)" in scrapyd.log_of("TestBot", "finds", "found").read_text()


def test_nothing_runs_when_the_next_test_begins(scrapyd: ScrapydServer, tmp_path: Path) -> None:
    scrapyd.tell("schedule", project="TestBot", spider="deaf", jobid="deaf", until=str(tmp_path / "go"))
    scrapyd.waits_for("deaf", "running")

    scrapyd.reset()

    assert scrapyd.state("deaf") == "finished"


def test_two_at_once_and_one_that_was_killed_comes_back_at_its_address(scrapyd: ScrapydServer, tmp_path: Path) -> None:
    with a_scrapyd(tmp_path / "other", TESTBOT, user="bot", password="s3cret") as other:
        assert other.port != scrapyd.port
        other.tell("schedule", project="TestBot", spider="quiet", jobid="forgotten", until=str(tmp_path / "go"))
        other.waits_for("forgotten", "running")
        before = other.url

        other.kill()
        assert not other.answers()
        other.start()

        assert (other.url, other.state("forgotten")) == (before, None)
        assert other.ask("listprojects")["projects"] == ["TestBot"]
    assert scrapyd.answers()
