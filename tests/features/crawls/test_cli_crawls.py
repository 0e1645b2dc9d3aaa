"""`foliot crawl …` against a server that remembers what it was asked."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from foliot.features.crawls.cli.crawls import LogPrinter
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

JOB = "run_" + "1" * 32
PLAN = "sch_" + "2" * 32
STATUS: dict[str, Any] = {
    "job_id": JOB,
    "kind": "crawl",
    "status": "finished",
    "state": "success",
    "run_id": JOB,
    "created_at": "2027-01-01T09:00:00Z",
    "updated_at": "2027-01-01T09:05:00Z",
    "started_at": "2027-01-01T09:00:01Z",
    "finished_at": "2027-01-01T09:05:00Z",
    "spider_job_id": JOB,
    "scrapyd_job_id": JOB,
    "next_run": None,
    "progress": {"pages": 12, "items": 3, "errors": 0, "pages_per_minute": 40.0},
    "error": None,
}
FRESH = {"job_id": JOB, "scheduled": False, "cached": False, "logs_url": "l", "status_url": "s"}


def event(seq: int, kind: str, **said: Any) -> str:
    told = {"seq": seq, "at": "2027-01-01T09:00:00Z", "type": kind, **said}
    return f"id: {seq}\nevent: {kind}\ndata: {json.dumps(told)}\n\n"


STREAM = (
    event(1, "state", state="queued")
    + event(2, "log", level="info", message="Spider opened \x1b[2J")
    + event(3, "progress", data={"pages": 12, "items": 3, "errors": 1}, message="")
    + event(4, "log", level="error", message="Crawled")
    + 'event: end\ndata: {"run_id": "x", "state": "success", "seq": 4}\n\n'
)


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("SCRAPYD_URL", raising=False)


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["https://example.com", "https://example.org", "--depth", "2"],
        ["--depth", "2", "https://example.com", "https://example.org"],
        ["start", "https://example.com", "https://example.org", "--depth", "2"],
    ],
    ids=["url first", "flag first", "by name"],
)
def test_a_url_begins_a_crawl_wherever_it_stands(server: Script, arguments: list[str]) -> None:
    server.will("POST", "/crawl", (200, FRESH))

    made = invoke("crawl", *arguments)

    assert (made.code, words(made.out)) == (0, f"job {JOB}")
    assert server.body() == {
        "spider": "seo",
        "start_urls": ["https://example.com", "https://example.org"],
        "depth": 2,
    }


def test_every_flag_has_its_place_in_the_request(server: Script) -> None:
    server.will("POST", "/crawl", (202, {"job_id": PLAN, "scheduled": True, "next_run": "2027-01-02T08:00:00Z"}))

    flags = "--spider news --project Other --param max_pages=10 --param lang=en --min-items 1 --max-errors 2"
    more = "--user ada --priority 1 --timezone Europe/Stockholm --ignore-cache --utc"
    made = invoke("crawl", "https://example.com", *flags.split(), *more.split(), "--cron", "0 9 * * *")

    assert words(made.out) == f"job {PLAN} planned yes next 2027-01-02 08:00:00Z"
    assert server.body() == {
        "spider": "news",
        "start_urls": ["https://example.com"],
        "project": "Other",
        "params": {"max_pages": 10, "lang": "en"},
        "min_items": 1,
        "max_errors": 2,
        "user_id": "ada",
        "priority": 1,
        "ignore_cache": True,
        "interval": "0 9 * * *",
        "timezone": "Europe/Stockholm",
    }
    invoke("crawl", "https://example.com", "--every", "4h")
    assert server.body()["interval"] == 14_400
    invoke("crawl", "https://example.com", "--at", "2027-06-01T09:00:00Z")
    assert server.body()["schedule_at"] == "2027-06-01T09:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lsit"], "'lsit' is neither an http or https URL nor a command: cancel, deploy, list"),
        (["example.com"], "neither an http or https URL"),
        (["https://example.com", "--param", "x"], "--param: must be name=value"),
        (
            ["https://example.com", "--at", "2027-06-01T09:00:00Z", "--every", "4h"],
            "--at and --every cannot be combined",
        ),
        (["https://example.com", "--every", "4h", "--follow"], "--follow: a planned crawl has not started"),
        (["deploy", "--node", "scrapyd:6800", "nowhere"], "not a Scrapy project"),
    ],
)
def test_wrong_usage_asks_nothing_of_the_server(server: Script, arguments: list[str], said: str) -> None:
    answered = invoke("crawl", *arguments)

    assert answered.code == 2
    assert said in words(answered.err) or arguments[0] == "deploy", answered.err
    assert server.asked.empty()


def test_without_anything_it_says_how(server: Script) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        shown = invoke("crawl", *arguments)
        assert all(word in shown.out + shown.err for word in ("start", "list", "logs", "results", "cancel", "deploy"))
    assert server.asked.empty()


def test_a_crawl_is_followed_to_its_end(server: Script) -> None:
    server.will("POST", "/crawl", (200, FRESH))
    server.will("GET", f"/jobs/{JOB}/status", (200, {**STATUS, "status": "running"}), (200, STATUS))
    server.will("GET", f"/api/runs/{JOB}/events", STREAM)

    followed = invoke("crawl", "https://example.com", "--follow", "--utc")

    assert followed.code == 0
    assert followed.out == (
        "2027-01-01 09:00:00Z  info      Spider opened \\x1b[2J\n2027-01-01 09:00:00Z  error     Crawled\n"
    )
    assert followed.err == (f"foliot: {JOB} has started\nfoliot: finished: 12 pages, 3 items, 1 errors\n")


def test_a_crawl_that_ends_badly_is_exit_1(server: Script) -> None:
    error = {"code": "x", "message": "the spider raised\x1b[2J"}
    ended = {**STATUS, "status": "error", "state": "dead_letter", "error": error}
    server.will("POST", "/crawl", (200, {**FRESH, "cached": True, "cached_at": "2027-01-01T09:00:00Z"}))
    server.will("GET", f"/jobs/{JOB}/status", (200, ended))
    server.will("GET", f"/api/runs/{JOB}/events", STREAM)

    followed = invoke("crawl", "https://example.com", "-f")

    assert followed.code == 1
    assert "was already requested; following it" in followed.err
    assert "error: 12 pages, 3 items, 1 errors -- the spider raised\\x1b[2J" in followed.err


def test_who_waits_at_a_terminal_sees_the_progress_below_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        """What a terminal is shown."""

        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    LogPrinter(utc=True).print(
        [
            {"type": "progress", "data": {"pages": 1, "items": 0, "errors": 0, "pages_per_minute": 6.0}},
            {"type": "log", "level": "info", "message": "Crawled", "at": "2027-01-01T09:00:00Z"},
            {"type": "progress", "data": {"pages": 2}},
        ]
    )

    shown = "1 pages, 0 items, 0 errors (6.0 pages per minute)"
    back = "\r\x1b[K"
    line = "2027-01-01 09:00:00Z  info      Crawled\n"
    assert (
        screen.getvalue() == f"{back}{shown}{back}{line}{back}{shown}{back}{shown.replace('1 pages', '2 pages')}{back}"
    )


def test_crawls_are_listed_with_how_far_they_came(server: Script) -> None:
    failed = {**STATUS, "status": "error", "progress": None, "error": {"code": "x", "message": "the spider raised"}}
    server.will("GET", "/jobs/", (200, {"jobs": [STATUS, failed], "total": 9}))

    shown = invoke("crawl", "list", "--status", "error", "--limit", "2", "--skip", "3", "--utc")

    assert "finished 2027-01-01 09:00:00Z 2027-01-01 09:05:00Z 12 pages, 3 items, 0 errors" in words(shown.out)
    assert "the spider raised" in shown.out
    assert "there are 4 more: --skip 5" in shown.err
    assert server.request()[1] == "/jobs/?status_filter=error&kind=crawl&limit=2&skip=3"
    assert json.loads(invoke("crawl", "list", "--json").out)["total"] == 9


def test_the_list_says_what_each_crawl_is_about(server: Script) -> None:
    about = {"host": "example.com", "count": 3, "spider": "seo", "source": None}
    one = {**about, "host": "example.org", "count": 1}
    server.will("GET", "/jobs/", (200, {"jobs": [{**STATUS, "about": about}, {**STATUS, "about": one}], "total": 2}))

    shown = invoke("crawl", "list").out

    assert "example.com and 2 more URLs" in shown
    assert re.search(r"example\.org +seo", shown)


def test_a_crawl_is_shown(server: Script) -> None:
    server.will("GET", f"/jobs/{JOB}/status", (200, STATUS))
    server.will("GET", f"/jobs/{PLAN}/status", (200, {**STATUS, "job_id": PLAN, "next_run": "2027-01-02T09:00:00Z"}))

    assert f"job {JOB} status finished state success created" in words(invoke("crawl", "status", JOB).out)
    planned = words(invoke("crawl", "status", PLAN, "--utc").out)
    assert f"run {JOB}" in planned
    assert "next 2027-01-02 09:00:00Z" in planned
    assert json.loads(invoke("crawl", "status", JOB, "--json").out) == STATUS
    assert invoke("crawl", "status", "run_x").code == 3


def test_the_log_is_printed_as_it_is_stored(server: Script) -> None:
    lines = [
        {"seq": 1, "at": "2027-01-01T09:00:00Z", "type": "state", "state": "queued", "message": ""},
        {"seq": 2, "at": "2027-01-01T09:00:00Z", "type": "log", "level": "info", "message": "Crawled"},
    ]
    server.will("GET", f"/jobs/{PLAN}/status", (200, {**STATUS, "job_id": PLAN}))
    server.will("GET", f"/api/runs/{JOB}/events", (200, {"items": lines, "next_cursor": None}))
    server.will("GET", f"/jobs/{JOB}/status", (200, {**STATUS, "run_id": None}))

    assert invoke("crawl", "logs", PLAN, "--utc").out == "2027-01-01 09:00:00Z  info      Crawled\n"
    assert [json.loads(line) for line in invoke("crawl", "logs", PLAN, "--json").out.splitlines()] == lines
    assert (invoke("crawl", "logs", JOB).code, invoke("crawl", "logs", JOB).out) == (0, "")
    assert "has not run yet" in invoke("crawl", "logs", JOB, "-f").err


def test_results_are_printed_or_saved_whole(server: Script, tmp_path: Path) -> None:
    lines = '{"url": "https://example.com"}\n{"url": "é"}\n'
    server.will("GET", f"/jobs/{JOB}/results", lines)
    target = tmp_path / "pages.csv"

    assert invoke("crawl", "results", JOB).out == lines
    assert server.request()[3]["accept"] == "application/x-ndjson"
    saved = invoke("crawl", "results", JOB, "--format", "csv", "-o", str(target))
    assert (saved.code, saved.out, target.read_text(encoding="utf-8")) == (0, "", lines)
    assert server.request()[3]["accept"] == "text/csv"
    assert list(tmp_path.iterdir()) == [target]
    away = invoke("crawl", "results", JOB, "-o", str(tmp_path / "no" / "where"))
    assert (away.code, "--output: cannot write" in away.err) == (2, True)


def test_a_page_of_results_is_json(server: Script) -> None:
    page = {"job_id": JOB, "status": "finished", "total": 2, "not_kept": 0, "items": [1, 2]}
    server.will("GET", f"/jobs/{JOB}/results", (200, page))

    assert json.loads(invoke("crawl", "results", JOB, "--format", "json", "--limit", "2").out) == page
    assert server.request()[1] == f"/jobs/{JOB}/results?limit=2&skip=0"


def test_half_a_download_is_none(server: Script, tmp_path: Path) -> None:
    server.will("GET", f"/jobs/{JOB}/results", "drop")
    target = tmp_path / "pages.ndjson"
    target.write_text("before", encoding="utf-8")

    cut = invoke("crawl", "results", JOB, "-o", str(target))

    assert cut.code == 5
    assert (target.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == ("before", [target])


def test_a_crawl_is_cancelled(server: Script) -> None:
    told = {"job_id": JOB, "status": "CANCELLED", "message": "Job cancelled. Removed 1 pending tasks."}
    server.will("DELETE", f"/jobs/{JOB}", (200, told), (200, told), (400, {"detail": "job is over: finished"}))

    assert invoke("crawl", "cancel", JOB).out == "Job cancelled. Removed 1 pending tasks.\n"
    assert json.loads(invoke("crawl", "cancel", JOB, "--json").out) == told
    over = invoke("crawl", "cancel", JOB)
    assert (over.code, "job is over: finished" in over.err) == (4, True)
