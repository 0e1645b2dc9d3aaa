"""What "Copy as" offers, pasted into a shell: it does what the page says, at the server that showed it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import SECONDS, House
from tests.browser.conftest import Open, a_house

LANGUAGES = ("curl", "CLI", "Python")
READS = {
    "/schedules": "List schedules",
    "/schedules?q=tag%3Ademo&sort=-duration": "List schedules",
    "/schedules/{schedule}": "Show",
    "/calendar": "Count runs by hour",
    "/calendar?view=week&by=tag&q=tag%3Ademo": "Show the timeline",
    "/runs?q=state%3Afailed%2Cdead_letter%20%22answered%22&sort=-duration": "List runs",
    "/runs/{run}": "Show this run",
    "/crawls": "List article jobs",
    "/crawls/{job}": "Show the results",
    "/pipelines": "List pipelines",
    "/dead-letters?q=since%3A7d": "List dead letters by cause",
    "/bulk/{bulk}": "Show this bulk action",
    "/endpoints?sort=-calls": "List endpoints",
    "/queues": "List queues",
    "/audit-log?thing=schedule": "List audit entries",
    "/alerts": "List alerts",
    "/alerts?tab=history": "List alerts",
    "/alerts?tab=rules": "List alert rules",
    "/alerts/{alert}": "Show this alert",
    "/monitors": "List monitors",
    "/monitors/{monitor}": "Show this monitor",
    "/watches": "List watches",
    "/watches/{watch}": "Show this watch",
    "/hosts": "List hosts",
}
NAMES = ("id", "name", "job_id", "fingerprint", "url", "local", "host")
"""By which an object of an answer is recognised in a table."""


@pytest.fixture(scope="module")
def shop(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A demo of its own: the snippets change it."""
    with a_house(tmp_path_factory.mktemp("copied") / "home", "--demo") as made:
        yield made


@pytest.fixture(scope="module")
def things(shop: House) -> dict[str, str]:
    letters = shop.foliot("run", "list", "--status", "dead_letter", "--limit", "9")["items"]
    nightly = shop.foliot("schedule", "list", "--kind", "webhook")["items"][0]
    return {
        "run": letters[0]["id"],
        "schedule": nightly["id"],
        "name": nightly["name"],
        "job": shop.foliot("articles", "list")["jobs"][0]["job_id"],
        "alert": shop.foliot("alert", "list", "--limit", "1")["items"][0]["id"],
        "monitor": shop.foliot("monitor", "create", "pasted", "--every", "1h")["id"],
        "watch": shop.foliot("watch", f"{shop.environ['FOLIOT_URL']}/api/echo/watched", "--every", "1d")["id"],
        "bulk": shop.foliot("bulk", "start", "tag", nightly["id"], "--add-tag", "demo")["id"],
        **{f"letter {language}": run["id"] for language, run in zip(LANGUAGES, letters[1:], strict=False)},
    }


@pytest.fixture
def paste(shop: House, tmp_path: Path) -> Callable[[str, str], str]:
    """Runs a snippet in a shell that knows nothing but the program."""
    program = tmp_path / "foliot"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m foliot "$@"\n')
    program.chmod(0o755)
    environ = {name: value for name, value in shop.environ.items() if not name.startswith("FOLIOT_")}
    environ["PATH"] = f"{tmp_path}:{environ['PATH']}"

    def run(language: str, text: str) -> str:
        if language == "Python":
            command, given = [sys.executable, "-"], text
        else:
            command, given = ["bash", "-s"], text
        done = subprocess.run(
            command, input=given, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


def offered(page: Page, verb: str) -> dict[str, str]:
    """The snippets of one call, by language."""
    page.get_by_role("button", name="Copy as").click()
    box = page.get_by_role("dialog", name="Copy as")
    expect(box).to_contain_text(verb)
    if (choice := box.get_by_role("button", name=verb, exact=True)).count():
        choice.click()
    snippets = {}
    for language in LANGUAGES:
        box.get_by_role("tab", name=language).click()
        snippets[language] = box.locator("pre:visible").text_content() or ""
    page.keyboard.press("Escape")
    return snippets


def names_in(answer: Any) -> set[str]:
    """Names of an object, or of the first ones of a list."""
    lists = [] if "id" in answer else [value for value in answer.values() if isinstance(value, list)]
    shown = [one for one in lists[0] if one.get("total", 1)][:3] if lists else [answer]
    return {str(one[name]) for one in shown for name in NAMES if one.get(name)}


@pytest.mark.parametrize("path", READS)
def test_what_is_read_is_what_the_page_shows(
    path: str, shop: House, things: dict[str, str], tab: Open, paste: Callable[[str, str], str]
) -> None:
    page = tab(shop).go(path.format_map(things))
    snippets = offered(page, READS[path])
    by_curl = json.loads(paste("curl", snippets["curl"]))
    printed = [ast.literal_eval(line) for line in paste("Python", snippets["Python"]).splitlines()]
    # A list is printed item by item.
    by_python = {"items": printed} if "for item in" in snippets["Python"] else printed[0]
    by_cli = paste("CLI", snippets["CLI"])

    assert "code" not in by_curl, by_curl
    assert by_python.keys() in (by_curl.keys(), {"items"})
    assert names_in(by_curl) == names_in(by_python) != set()
    # The calendar prints local hours without the T.
    assert any(name in by_cli or name[:16].replace("T", " ") in by_cli for name in names_in(by_curl)), by_cli
    assert all(shop.environ["FOLIOT_URL"] in text for text in snippets.values())


def test_a_schedule_is_created_by_each(shop: House, tab: Open, paste: Callable[[str, str], str]) -> None:
    page = tab(shop).go("/schedules/new")
    page.get_by_label("Name", exact=True).fill("it's pasted")
    snippets = offered(page, "Create")

    created: list[dict[str, Any]] = []
    for count, language in enumerate(LANGUAGES, 1):
        paste(language, snippets[language])
        created = shop.foliot("schedule", "list", "-q", 'name:"it\'s pasted"')["items"]
        assert len(created) == count, language
    alike = [
        {name: one[name] for name in ("action", "cron_expr", "timezone", "overlap", "catchup", "retry_policy", "queue")}
        for one in created
    ]
    assert alike == [alike[0]] * 3


def test_a_schedule_of_another_kind_is_created_from_its_document(
    shop: House, tab: Open, paste: Callable[[str, str], str]
) -> None:
    page = tab(shop).go("/schedules/new?template=articles")
    page.get_by_label("Name", exact=True).fill("pasted articles")
    page.get_by_label("Articles, one per line").fill("http://127.0.0.1/a")
    snippets = offered(page, "Create")

    paste("CLI", snippets["CLI"])

    (created,) = shop.foliot("schedule", "list", "-q", 'name:"pasted articles"')["items"]
    assert created["action"]["kind"] == "articles"


def test_a_schedule_is_changed_by_each(
    shop: House, things: dict[str, str], tab: Open, paste: Callable[[str, str], str]
) -> None:
    page = tab(shop).go(f"/schedules/{things['schedule']}/edit")
    page.get_by_label("Name", exact=True).fill("renamed")
    snippets = offered(page, "Change")

    for language in LANGUAGES:
        paste(language, snippets[language])
        assert shop.foliot("schedule", "show", things["schedule"])["name"] == "renamed", language
        shop.foliot("schedule", "edit", things["schedule"], "--name", things["name"])


@pytest.mark.parametrize("kind", ["webhook", "pipeline"])
def test_a_run_is_started_by_each(
    kind: str, shop: House, things: dict[str, str], tab: Open, paste: Callable[[str, str], str]
) -> None:
    path = {"webhook": f"/schedules/{things['schedule']}", "pipeline": "/pipelines/demo-prices"}[kind]
    page = tab(shop).go(path)
    snippets = offered(page, {"webhook": "Run now", "pipeline": "Run this pipeline now"}[kind])
    query = f"origin:manual kind:{kind}"
    before = shop.foliot("run", "count", "-q", query)["count"]

    for count, language in enumerate(LANGUAGES, 1):
        paste(language, snippets[language])
        assert shop.foliot("run", "count", "-q", query)["count"] == before + count, language


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_dead_letter_is_replayed_as_it_was_edited(
    language: str, shop: House, things: dict[str, str], tab: Open, paste: Callable[[str, str], str]
) -> None:
    letter = things[f"letter {language}"]
    page = tab(shop).go(f"/runs/{letter}")
    page.get_by_role("button", name="Edit & replay").first.click()
    box = page.get_by_role("dialog", name="Edit and replay")
    parameters = box.get_by_label("Parameters (JSON)")
    changed = json.loads(parameters.input_value()) | {"body": {"note": "it's pasted"}}
    parameters.fill(json.dumps(changed))
    box.get_by_role("button", name="Copy as").click()
    copied = page.get_by_role("dialog", name="Copy as")
    expect(copied).to_contain_text("Replay")
    copied.get_by_role("tab", name=language).click()

    paste(language, copied.locator("pre:visible").text_content() or "")

    replays = shop.foliot("run", "list", "-q", "origin:replay since:1h", "--limit", "100")["items"]
    (replay,) = [run for run in replays if run["parent_id"] == letter]
    assert shop.foliot("run", "show", replay["id"])["action"]["body"] == {"note": "it's pasted"}
