"""What a person does to a schedule's instants and to many schedules, seen in the page and asked of the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from foliot.features.schedules.cli.transfer import read_documents
from tests.acceptance.house import House
from tests.browser.asking import ended, run_now, soon, told, webhook
from tests.browser.conftest import Open, serious

pytestmark = pytest.mark.timeout(240)
HOURLY = {"type": "cron", "cron_expr": "0 * * * *", "run_at": None}


def test_the_next_instant_is_skipped_and_taken_back(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "skipping", "http://127.0.0.1:9/", **HOURLY)
    at = told(busy, f"/api/schedules/{schedule}")["next_run_at"]
    page = tab(busy).go(f"/schedules/{schedule}")

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Skip next run").click()

    expect(page.get_by_role("note").filter(has_text="will be skipped")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="skipped by local")).to_have_count(1)
    said = told(busy, f"/api/schedules/{schedule}")
    assert said["skips"] == {"at": at, "by": "local"}
    assert said["next_run_at"] > at

    page.get_by_role("note").get_by_role("button", name="Undo").click()

    expect(page.get_by_role("note").filter(has_text="will be skipped")).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text="skipped by")).to_have_count(0)
    assert told(busy, f"/api/schedules/{schedule}")["skips"] is None


def test_a_backfill_says_how_many_runs_it_makes_and_makes_them_once(busy: House, tab: Open) -> None:
    echo = f"{busy.environ['FOLIOT_URL']}/api/echo/backfill"
    schedule = webhook(busy, "filling", echo, **HOURLY, overlap="allow_all")
    trial = told(
        busy,
        f"/api/schedules/{schedule}/backfill",
        {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T06:00:00Z", "dry_run": True},
    )
    assert trial["count"] == 6
    page = tab(busy).go(f"/schedules/{schedule}")

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Backfill…").click()
    dialog = page.get_by_role("dialog")
    # On the viewer's clock, in Stockholm.
    dialog.get_by_label("From").fill("2026-01-01T01:00:00")
    dialog.get_by_label("To, empty").fill("2026-01-01T07:00:00")

    expect(dialog.get_by_text("for 6 scheduled times")).to_be_visible()
    dialog.get_by_role("button", name="Create 6 runs").click()

    expect(dialog.get_by_text("6 of 6")).to_be_visible()
    runs = soon(
        page,
        lambda: told(busy, f"/api/schedules/{schedule}/runs")["items"],
        lambda found: len(found) == 6 and all(one["finished_at"] for one in found),
    )
    assert sorted(one["fills"] for one in runs) == [f"2026-01-01T0{hour}:00:00Z" for hour in range(6)]
    assert {one["state"] for one in runs} == {"success"}

    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Backfill…").click()
    dialog.get_by_label("From").fill("2026-01-01T01:00:00")
    dialog.get_by_label("To, empty").fill("2026-01-01T07:00:00")
    expect(dialog.get_by_text("skipped: 6 succeeded")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create runs")).to_be_disabled()


def test_all_that_match_are_tagged_and_written_down(busy: House, tab: Open, tmp_path: Path) -> None:
    for number in range(3):
        webhook(busy, f"many {number}", "http://127.0.0.1:9/", tags=["many"])
    page = tab(busy).go("/schedules?q=tag:many")
    page.get_by_role("checkbox", name="Select all loaded rows").check()

    page.get_by_role("button", name="Tag…").click()
    page.get_by_role("dialog").get_by_label("Add").fill("grouped")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Tag 3 schedules").click()

    expect(page.get_by_role("status").filter(has_text="3 of 3")).to_be_visible()
    expect(page.get_by_role("button", name="#grouped")).to_have_count(3)
    page.get_by_role("checkbox", name="Select all loaded rows").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export YAML").click()
    file = tmp_path / "schedules.yaml"
    download.value.save_as(file)
    documents = read_documents(str(file), file.read_text())
    assert sorted((one["name"], tuple(one["tags"])) for one in documents) == [
        (f"many {number}", ("many", "grouped")) for number in range(3)
    ]


def test_the_slowest_and_flakiest_lead_to_the_runs_that_prove_them(demo: House, tab: Open) -> None:
    said = told(demo, "/api/schedules/ranking", over="7d")
    page = tab(demo).go("/?ranked=7d")

    for title, key, proof in (("Slowest", "slowest", "slow"), ("Flakiest", "flakiest", "failed")):
        card = page.get_by_role("heading", name=title, exact=True).locator("xpath=ancestor::section")
        expect(card.get_by_role("listitem")).to_have_count(len(said[key]))
        first = said[key][0]
        expect(card.get_by_role("listitem").first).to_contain_text(first["name"])
        proven = told(demo, "/api/runs/count", q=first["q"][proof])["count"]
        if proof == "failed":
            assert proven == first["failed"]
        else:
            assert proven * 20 >= first["runs"], "at least five of a hundred took so long"
    page.get_by_role("heading", name="Flakiest", exact=True).locator("xpath=ancestor::section").get_by_role(
        "listitem"
    ).first.get_by_role("link").nth(1).click()
    expect(page.get_by_text(f"{said['flakiest'][0]['failed']:,} matching")).to_be_visible()


def test_run_now_waits_five_seconds_in_which_it_can_be_undone(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "undone", f"{busy.environ['FOLIOT_URL']}/api/echo/x")
    page = tab(busy).go(f"/schedules/{schedule}")

    def runs() -> list[dict[str, Any]]:
        return list(told(busy, "/api/runs", q=f"schedule:{schedule}")["items"])

    announced = page.get_by_text("undone runs in five seconds")

    page.get_by_role("button", name="Run now").first.click()
    page.get_by_role("button", name="Undo").click()
    expect(announced).to_have_count(0)
    page.wait_for_timeout(6000)
    assert runs() == []

    page.keyboard.press("r")
    expect(announced).to_be_visible()
    assert runs() == []
    soon(page, runs, lambda items: len(items) == 1)
    expect(page.get_by_role("button", name="Now", exact=True)).to_have_count(0)

    page.keyboard.press("r")
    page.get_by_role("button", name="Now", exact=True).click()
    soon(page, runs, lambda items: len(items) == 2)


def test_two_runs_of_a_schedule_are_compared(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "compared", f"{busy.environ['FOLIOT_URL']}/api/echo/x")
    opened = tab(busy)
    good = ended(busy, opened.page, run_now(busy, schedule))
    action = {"kind": "webhook", "url": "http://127.0.0.1:9/"}
    told(busy, f"/api/schedules/{schedule}", {"action": action}, method="PATCH")
    bad = ended(busy, opened.page, run_now(busy, schedule))
    page = opened.go(f"/runs/{bad['id']}?tab=compare")

    # The newest success is what a failure is compared with.
    expect(page.get_by_role("combobox", name="Compare with")).to_have_value(good["id"])
    expect(page.get_by_role("row", name="State")).to_contain_text("dead lettersuccess")
    expect(page.get_by_role("row", name="Settings")).to_contain_text("version 2version 1")
    log = page.locator("section").filter(has=page.get_by_role("heading", name="Log, without times"))
    expect(log).to_contain_text("127.0.0.1:9")
    assert serious(page) == []


def test_two_versions_of_a_schedule_are_compared(busy: House, tab: Open) -> None:
    schedule = webhook(busy, "edited twice", "http://127.0.0.1:9/", priority=3)
    told(busy, f"/api/schedules/{schedule}", {"priority": 7}, method="PATCH")
    told(busy, f"/api/schedules/{schedule}", {"overlap": "allow_all"}, method="PATCH")
    page = tab(busy).go(f"/schedules/{schedule}?tab=versions")
    differences = page.get_by_role("table", name="Differences")

    expect(differences.get_by_role("row")).to_have_text(["SettingVersion 2Version 3", "overlapskipallow_all"])
    page.get_by_role("combobox", name="Version", exact=True).select_option("1")

    expect(differences.get_by_role("row")).to_have_text(
        ["SettingVersion 1Version 3", "overlapskipallow_all", "priority37"]
    )
    expect(page.get_by_role("list", name="Versions").get_by_role("listitem")).to_have_count(3)
    assert serious(page) == []
