"""`foliot articles …` against a server that remembers what it was asked."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from foliot.features.articles.cli.articles import watch
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server

__all__ = ["server"]

JOB = "run_" + "1" * 32
MADE = {
    "job_id": JOB,
    "status": "PENDING",
    "total_articles": 4,
    "new_articles": 3,
    "cached_articles": 1,
    "message": "Job submitted: 3 articles to fetch, 1 from the cache.",
}
STATUS: dict[str, Any] = {
    "job_id": JOB,
    "kind": "articles",
    "status": "COMPLETED",
    "state": "success",
    "created_at": "2027-01-01T09:00:00Z",
    "finished_at": "2027-01-01T09:05:00Z",
    "total_articles": 4,
    "completed": 4,
    "cached": 1,
    "failed": 0,
    "pending": 0,
    "error": None,
}
PAGE: dict[str, Any] = {
    "job_id": JOB,
    "status": "COMPLETED",
    "total_articles": 4,
    "successful": 3,
    "failed": 1,
    "results": [
        {
            "article_id": "art_1",
            "url": "https://example.com/1",
            "title": "One \x1b[2J",
            "content": "three short words",
            "scraped_at": "2027-01-01T09:00:00Z",
            "cached": True,
        }
    ],
    "failed_articles": [
        {
            "article_id": "art_2",
            "url": "https://example.com/2",
            "error": "The page is gone.",
            "attempted_at": "2027-01-01T09:00:01Z",
        }
    ],
}


def news(seq: int, completed: int, failed: int = 0) -> dict[str, Any]:
    data = {"article_id": f"art_{seq}", "status": "scraped", "completed": completed, "failed": failed, "total": 4}
    return {"seq": seq, "at": "2027-01-01T09:00:00Z", "type": "progress", "data": data}


def streamed(*events: dict[str, Any]) -> str:
    told = "".join(f"id: {one['seq']}\nevent: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return told + 'event: end\ndata: {"state": "success"}\n\n'


@pytest.fixture(autouse=True)
def _address(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")


def words(text: str) -> str:
    return " ".join(text.split())


def test_urls_and_files_make_one_request(server: Script, tmp_path: Path) -> None:
    server.will("POST", "/jobs/submit", (201, MADE))
    lines, document, bare = tmp_path / "lines.txt", tmp_path / "document.json", tmp_path / "bare.json"
    lines.write_text("# the morning's\n\nhttps://example.com/2\n  https://example.com/3 \n", encoding="utf-8")
    given = {"articles": [{"url": "https://example.com/4", "priority": 9, "source": "Own"}], "max_age_seconds": 60}
    document.write_text(json.dumps(given), encoding="utf-8")
    bare.write_text('["https://example.com/5"]', encoding="utf-8")

    flags = ["--priority", "1", "--source", "Paper", "--category", "News", "--ignore-cache"]
    made = invoke("articles", "submit", "https://example.com/1", str(lines), str(document), str(bare), *flags)

    assert (made.code, words(made.out)) == (0, f"job {JOB} to fetch 3 from the cache 1")
    said = {"priority": 1, "source": "Paper", "category": "News"}
    assert server.body() == {
        "articles": [
            {"url": "https://example.com/1", **said},
            {"url": "https://example.com/2", **said},
            {"url": "https://example.com/3", **said},
            {"url": "https://example.com/4", "priority": 9, "source": "Own", "category": "News"},
            {"url": "https://example.com/5", **said},
        ],
        "max_age_seconds": 60,
        "ignore_cache": True,
    }
    invoke("articles", "submit", "https://example.com/1", "--max-age", "5")
    assert server.body() == {"articles": [{"url": "https://example.com/1"}], "max_age_seconds": 5}
    assert json.loads(invoke("articles", "submit", "https://example.com/1", "--json").out) == MADE


def test_the_list_may_come_through_a_pipe(server: Script) -> None:
    server.will("POST", "/jobs/submit", (201, MADE))

    assert invoke("articles", "submit", "-", said="https://example.com/1\nhttps://example.com/2\n").code == 0
    assert [one["url"] for one in server.body()["articles"]] == ["https://example.com/1", "https://example.com/2"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is neither an http or https URL nor a file that exists"),
        ("# nothing\n", "contains no article"),
        ('{"articles": [', "starts like JSON but is not valid"),
        ('{"urls": []}', "must be a list of articles"),
        ('{"articles": [], "colour": 1}', "not 'colour'"),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
    ],
    ids=["missing", "empty", "half", "strange", "more", "binary"],
)
def test_a_list_that_cannot_be_read_asks_nothing_of_the_server(
    server: Script, tmp_path: Path, content: str | bytes | None, said: str
) -> None:
    file = tmp_path / "list"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    refused = invoke("articles", "submit", str(file))

    assert (refused.code, said in words(refused.err)) == (2, True), refused.err
    assert server.asked.empty()


def test_what_the_server_refuses_is_said_url_by_url(server: Script) -> None:
    errors = [{"field": "articles.0.url", "message": "must name a host", "got": "http://"}]
    server.will("POST", "/jobs/submit", (422, {"title": "The request is invalid", "errors": errors}))

    refused = invoke("articles", "submit", "http://")

    assert (refused.code, 'articles.0.url: must name a host, got "http://"' in refused.err) == (4, True)


def test_a_job_is_followed_to_its_end_also_when_the_stream_is_cut(server: Script) -> None:
    server.will("POST", "/jobs/submit", (201, MADE))
    path = f"/api/runs/{JOB}"
    cut = streamed(news(1, 2)).removesuffix('event: end\ndata: {"state": "success"}\n\n')
    server.will("GET", f"{path}/events", cut, (200, {"items": [1]}), streamed(news(2, 3), news(3, 4)))
    server.will("GET", path, (200, {"state": "running"}))
    server.will("GET", f"/jobs/{JOB}/status", (200, STATUS))

    followed = invoke("articles", "submit", "https://example.com/1", "--follow")

    assert (followed.code, followed.out) == (0, "")
    assert [line for line in followed.err.splitlines() if "cut" not in line] == [
        f"foliot: {JOB}: Job submitted: 3 articles to fetch, 1 from the cache.",
        "foliot: 2 of 4 done, 1 from the cache",
        "foliot: 3 of 4 done, 1 from the cache",
        "foliot: 4 of 4 done, 1 from the cache",
        "foliot: COMPLETED: 4 of 4 done, 1 from the cache",
    ]


def test_a_partial_job_is_exit_6_and_programs_read_the_end(server: Script) -> None:
    ended = {**STATUS, "state": "partial", "completed": 3, "failed": 1}
    server.will("POST", "/jobs/submit", (201, MADE))
    server.will("GET", f"/api/runs/{JOB}/events", streamed(news(1, 3, failed=1)))
    server.will("GET", f"/jobs/{JOB}/status", (200, ended))

    followed = invoke("articles", "submit", "https://example.com/1", "-f", "--json")
    told = invoke("articles", "submit", "https://example.com/1", "-f")

    assert (followed.code, json.loads(followed.out)) == (6, ended)
    assert "partial: 3 of 4 done, 1 from the cache, 1 failed" in told.err
    assert f"foliot articles results {JOB} --format table shows why" in told.err


def test_who_waits_at_a_terminal_sees_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        """What a terminal is shown."""

        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    watch([news(1, 2), news(2, 3, failed=1)], MADE, quiet=False)

    shown = screen.getvalue()
    assert "4/4" in shown
    assert "1 cached, 1 failed" in shown
    assert "pages/s" in shown


def test_a_job_is_shown_and_listed(server: Script) -> None:
    server.will("GET", f"/jobs/{JOB}/status", (200, STATUS))
    server.will("GET", "/jobs/", (200, {"jobs": [STATUS], "total": 3}))

    shown = words(invoke("articles", "status", JOB, "--utc").out)
    assert shown.startswith(f"job {JOB} status COMPLETED articles 4 completed 4 from the cache 1 failed 0 pending 0")
    server.request()
    listed = invoke("articles", "list", "--status", "COMPLETED", "--limit", "1", "--skip", "1")
    assert "4 of 4 done, 1 from the cache" in words(listed.out)
    assert "there are 1 more: --skip 2" in listed.err
    assert server.request()[1] == "/jobs/?status_filter=COMPLETED&kind=articles&limit=1&skip=1"
    assert json.loads(invoke("articles", "list", "--json").out)["total"] == 3
    assert json.loads(invoke("articles", "status", JOB, "--json").out) == STATUS
    assert invoke("articles", "status", "run_x").code == 3


def test_results_are_printed_saved_or_shown(server: Script, tmp_path: Path) -> None:
    lines = '{"url": "https://example.com"}\n{"url": "é"}\n'
    target = tmp_path / "articles.csv"
    server.will("GET", f"/jobs/{JOB}/results", lines, lines, (200, PAGE))

    assert invoke("articles", "results", JOB).out == lines
    assert server.request()[3]["accept"] == "application/x-ndjson"
    assert invoke("articles", "results", JOB, "--format", "csv", "-o", str(target)).code == 0
    assert server.request()[3]["accept"] == "text/csv"
    assert target.read_text(encoding="utf-8") == lines
    shown = invoke("articles", "results", JOB, "--format", "table", "--limit", "1", "--utc")
    assert "https://example.com/1 One \\x1b[2J 3 2027-01-01 09:00:00Z yes" in words(shown.out)
    assert "https://example.com/2 The page is gone. 2027-01-01 09:00:01Z" in words(shown.out)
    assert "there are 2 more: --skip 1" in shown.err
    assert server.request()[1] == f"/jobs/{JOB}/results?limit=1&skip=0"
    assert invoke("articles", "results", JOB, "--format", "table", "-o", str(target)).code == 2


def test_a_job_is_cancelled(server: Script) -> None:
    told = {"job_id": JOB, "status": "CANCELLED", "message": "Job cancelled. Removed 3 pending tasks."}
    server.will("DELETE", f"/jobs/{JOB}", (200, told), (200, told), (400, {"detail": "job is over: finished"}))

    assert invoke("articles", "cancel", JOB).out == "Job cancelled. Removed 3 pending tasks.\n"
    assert json.loads(invoke("articles", "cancel", JOB, "--json").out) == told
    assert invoke("articles", "cancel", JOB).code == 4


def test_what_changed_is_shown_line_by_line(server: Script) -> None:
    first, second = (
        {"article_id": f"art_{at}", "url": f"https://example.com/{at}", "previous_scraped_at": before}
        for at, before in ((1, None), (2, "2027-01-01T09:00:00Z"))
    )
    whole = {
        **second,
        "title": "Bread is dear",
        "content": "Bread costs 5.\nMilk costs 2.\x1b[2J",
        "scraped_at": "2027-01-02T09:00:00Z",
        "previous": {
            "title": "Bread is dear",
            "content": "Bread costs 4.\nMilk costs 2.\x1b[2J",
            "scraped_at": "2027-01-01T09:00:00Z",
        },
    }
    pages = [{"results": [first], "successful": 2}, {"results": [second], "successful": 2}]
    path = f"/jobs/{JOB}/results"
    server.will("GET", path, *((200, page) for page in pages * 3))
    server.will("GET", f"{path}/art_2", (200, whole))

    assert invoke("articles", "diff", JOB, "--utc").out.splitlines() == [
        "--- https://example.com/2  2027-01-01 09:00:00Z",
        "+++ https://example.com/2  2027-01-02 09:00:00Z",
        "@@ -1,4 +1,4 @@",
        " Bread is dear",
        " ",
        "-Bread costs 4.",
        "+Bread costs 5.",
        " Milk costs 2.\\x1b[2J",
    ]
    assert [server.request()[1] for _ in range(3)] == [
        f"{path}?limit=100&skip=0",
        f"{path}?limit=100&skip=1",
        f"{path}/art_2",
    ]
    assert json.loads(invoke("articles", "diff", JOB, "https://example.com/2", "--json").out) == [whole]
    assert invoke("articles", "diff", JOB, "https://example.com/3").code == 3
    assert invoke("articles", "diff", JOB, "art_9").code == 3
    server.will("GET", f"{path}/art_2", (200, {**whole, "previous": None}))
    unchanged = invoke("articles", "diff", JOB, "art_2")
    assert (unchanged.code, unchanged.out) == (0, "")
    assert "no changes are known" in unchanged.err


def test_a_page_of_results_says_that_some_have_changed(server: Script) -> None:
    (one,) = PAGE["results"]
    changed = {**PAGE, "results": [{**one, "previous_scraped_at": "2027-01-01T08:00:00Z"}]}
    server.will("GET", f"/jobs/{JOB}/results", (200, changed), (200, PAGE))

    said = invoke("articles", "results", JOB, "--format", "table")
    assert f"1 of these have changed: foliot articles diff {JOB}" in said.err
    assert "have changed" not in invoke("articles", "results", JOB, "--format", "table").err
