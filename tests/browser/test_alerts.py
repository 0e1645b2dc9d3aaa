"""From an empty installation to the first message by the dashboard alone; monitors; and the channels of a schedule."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.house import House
from tests.browser.asking import ended, run_now, told, webhook
from tests.browser.conftest import NARROW, Open, overflow, serious
from tests.mail_server import mails, serving_mail
from tests.services import wait_until

pytestmark = pytest.mark.timeout(240)
HOURLY = {"type": "cron", "cron_expr": "0 * * * *", "run_at": None}
Picture = Callable[[Page, str], Path]


def test_the_first_mail_arrives_by_the_dashboard_alone(own: House, tab: Open, tmp_path: Path, picture: Picture) -> None:
    with serving_mail(tmp_path / "mail") as port:
        page = tab(own).go("/")
        page.get_by_role("navigation").get_by_role("link", name="Alerts").click()
        page.get_by_role("button", name="Set up notifications").click()
        picture(page, "no channels")
        page.get_by_role("button", name="Add channel").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name", exact=True).fill("ops")
        dialog.get_by_label("To", exact=True).fill("ops@x.example")
        dialog.get_by_label("From", exact=True).fill("foliot@x.example")
        dialog.get_by_label("SMTP server").fill("127.0.0.1")
        dialog.get_by_label("Port").fill(str(port))
        dialog.get_by_label("Encryption").select_option("none")
        expect(dialog.get_by_label("Notify this channel when any schedule fails three times")).to_be_checked()
        picture(page, "first channel")
        assert serious(page) == []
        dialog.get_by_role("button", name="Add and test").click()
        assert wait_until(lambda: len(mails(tmp_path / "mail")) == 1, seconds=30)
        expect(page.get_by_text("last message")).to_be_visible()
        page.get_by_role("tab", name="Rules").click()
        expect(page.get_by_text("failed, late, missed · 3 failures in a row · all schedules → ops")).to_be_visible()
        # A schedule whose target is not there, three times.
        schedule = webhook(own, "broken", "http://127.0.0.1:9/", **HOURLY, retry_policy={"max_retries": 0})
        for _ in range(3):
            ended(own, page, run_now(own, schedule))
        assert wait_until(lambda: len(mails(tmp_path / "mail")) == 2, seconds=30)
        link = page.get_by_role("navigation").get_by_role("link", name="Alerts")
        page.reload()
        expect(link).to_contain_text("1")
        link.click()
        expect(page.get_by_role("link", name="broken failed")).to_be_visible()
        picture(page, "open alert")
        page.get_by_role("button", name="Acknowledge", exact=True).click()
        expect(page.get_by_role("link", name="broken failed")).to_have_count(0)
        page.get_by_role("tab", name="Channels").click()
        page.get_by_role("button", name="Edit…").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Kind")).to_be_disabled()
        dialog.get_by_label("To", exact=True).fill("ops@x.example, second@x.example")
        picture(page, "edited channel")
        dialog.get_by_role("button", name="Save and test").click()
        assert wait_until(lambda: any("second@x.example" in mail for mail in mails(tmp_path / "mail")), seconds=30)


def test_a_monitor_is_created_pinged_and_paused(busy: House, tab: Open, picture: Picture) -> None:
    page = tab(busy).go("/monitors")
    page.get_by_role("button", name="New monitor").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Nightly backup")
    dialog.get_by_label("A ping is expected").select_option("cron")
    dialog.get_by_role("button", name="Create monitor").click()
    expect(page.get_by_role("heading", name="Nightly backup")).to_be_visible()
    line = page.locator("code", has_text="-o /dev/null").inner_text()
    # The line as it is copied.
    assert subprocess.run(line, shell=True, check=False).returncode == 0
    address = line.split()[-1]
    subprocess.run(["curl", "-fsS", "--data-raw", "disk full", f"{address}/3"], check=True, capture_output=True)
    expect(page.get_by_text("exit code 3")).to_be_visible()
    expect(page.get_by_text("down", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log, 9 bytes").click()
    expect(page.get_by_text("disk full")).to_be_visible()
    picture(page, "monitor")
    assert serious(page) == []
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("up", exact=True)).to_be_visible()
    small = tab(busy, size=NARROW)
    small.go(page.url.removeprefix(small.url))
    expect(small.page.get_by_role("heading", name="Nightly backup")).to_be_visible()
    assert overflow(small.page) == 0
    # It would ask once more for the pings of the monitor that is deleted next.
    small.page.close()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No monitors")).to_be_visible()


def test_the_editor_chooses_who_is_notified_and_what_is_followed(busy: House, tab: Open, picture: Picture) -> None:
    config = {"url": f"{busy.environ['FOLIOT_URL']}/api/echo/alerts"}
    told(busy, "/api/channels", {"name": "editor-ops", "kind": "webhook", "config": config})
    parent = webhook(busy, "editor-parent", "http://127.0.0.1:9/", **HOURLY)
    child = webhook(busy, "editor-child", "http://127.0.0.1:9/", **HOURLY)
    page = tab(busy).go(f"/schedules/{child}/edit")
    page.get_by_role("radio", name="After others").click()
    page.get_by_label("After runs of").fill("editor-paren")
    page.get_by_label("After runs of").fill("editor-parent")
    page.get_by_label("After runs of").press("Enter")
    expect(page.get_by_role("list", name="Followed schedules")).to_contain_text("editor-parent")
    page.get_by_label("When its run").select_option("any")
    page.locator("summary", has_text="Notifications").click()
    page.get_by_label("editor-ops").check()
    page.get_by_label("After this many failures in a row").fill("3")
    picture(page, "editor")
    page.get_by_role("button", name="Save").first.click()
    page.wait_for_url(f"**/schedules/{child}")
    saved = told(busy, f"/api/schedules/{child}")
    assert saved["alert"] == {"after": 3, "to": ["editor-ops"]}
    assert (saved["type"], saved["after"]["schedule"], saved["after"]["outcome"]) == ("after", [parent], "any")
    expect(page.get_by_text("After editor-parent ends").first).to_be_visible()
    expect(page.get_by_text("on failed (3 in a row), by its own settings")).to_be_visible()
