"""The page of runs and the page of one: pictures, views, exports, the log by its kinds, and what is off offline."""

from __future__ import annotations

import csv
import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from foliot.core.ids import id_at
from foliot.db.clock import wall
from tests.acceptance.house import SECONDS, House
from tests.browser.asking import ended, run_now, soon, told, webhook
from tests.browser.conftest import GONE, NARROW, Open, a_house, overflow, serious

pytestmark = pytest.mark.timeout(240)

MANY = 70_000


def rows(page: Page) -> Locator:
    return page.get_by_label("Runs", exact=True).locator("[data-id]")


def picture(page: Page) -> Locator:
    return page.get_by_role("application", name=re.compile("runs by time and duration"))


def mixed(house: House, page: Page, name: str) -> tuple[str, list[dict[str, Any]]]:
    """A filter, and what it finds: three runs that end well, and one that fails."""
    good = webhook(house, f"{name} good", f"{house.environ['FOLIOT_URL']}/api/echo/x")
    bad = webhook(house, f"{name} bad", "http://127.0.0.1:9/", retry_policy={"max_retries": 0, "dead_letter": False})
    ids = [run_now(house, schedule) for schedule in (good, good, bad, good)]
    return f"schedule:{good},{bad}", [ended(house, page, run) for run in ids]


def test_each_point_is_a_run(busy: House, tab: Open) -> None:
    opened = tab(busy)
    q, runs = mixed(busy, opened.page, "points")
    page = opened.go(f"/runs?q={q}")
    page.get_by_role("group", name="Chart").get_by_role("button", name="Runs").click()

    expect(page).to_have_url(re.compile("chart=runs"))
    drawn = page.get_by_role("list", name="Legend")
    expect(drawn).to_contain_text("success 3")
    expect(drawn).to_contain_text("failed 1")
    assert serious(page) == []
    picture(page).focus()
    page.keyboard.press("ArrowRight")
    tip = picture(page).get_by_role("status")
    expect(tip).to_be_visible()
    for _ in range(3):  # in the order in which they started, which need not be the one they were asked for in
        if "failed" not in (tip.text_content() or ""):
            page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("failed")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(runs[2]["id"]))

    page.go_back()
    expect(drawn).to_contain_text("failed 1")
    point_at_failed(page)
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile(runs[2]["id"]))


def point_at_failed(page: Page) -> None:
    """Move the pointer to the run that failed. The time axis moves on meanwhile, so its place is asked for anew."""
    tip, ring = picture(page).get_by_role("status"), picture(page).locator("circle[r='7']")
    for _ in range(20):
        picture(page).focus()
        page.keyboard.press("Escape")
        for _ in range(4):
            page.keyboard.press("ArrowRight")
            if "failed" in (tip.text_content() or ""):
                break
        place = [float(ring.get_attribute(name) or 0) for name in ("cx", "cy")]
        page.mouse.move(1, 1)
        picture(page).hover(position={"x": place[0], "y": place[1]})
        if "failed" in (tip.text_content() or ""):
            return
    raise AssertionError("the pointer never met the run that failed")


def test_a_drawn_span_is_a_filter(demo: House, tab: Open) -> None:
    page = tab(demo).go("/runs?q=since:7d&chart=runs")
    expect(picture(page)).to_be_visible()
    whole = told(demo, "/api/runs/count", q="since:7d")["count"]
    box = picture(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=5)
    page.mouse.up()

    expect(page).to_have_url(re.compile("since:.*until:"))
    q = page.get_by_role("combobox", name="Filter").input_value()
    said = told(demo, "/api/runs/count", q=q)["count"]
    assert 0 < said < whole
    expect(page.get_by_text(f"{said:,} matching")).to_be_visible()
    points = told(demo, "/api/runs/points", q=q, **span(q))
    assert sum(points["shown"].values()) == sum(points["counts"].values()) > 0
    for state, number in points["counts"].items():
        words = f"{state.replace('_', ' ')} {number:,}"
        expect(page.get_by_role("list", name="Legend")).to_contain_text(words)
    page.get_by_role("button", name="Reset zoom").click()
    expect(page).not_to_have_url(re.compile("until:"))


def drag(page: Page, place: Locator) -> None:
    """A finger that is drawn across."""
    box = place.bounding_box()
    assert box is not None
    touch = page.context.new_cdp_session(page)
    y = box["y"] + box["height"] / 2
    points = [{"x": box["x"] + box["width"] * part / 10, "y": y} for part in range(3, 8)]
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points[:1]})
    for point in points[1:]:
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_telephone_has_the_pictures_too(demo: House, tab: Open, theme: str) -> None:
    page = tab(demo, size=NARROW, theme=theme, finger=True).go("/runs?q=since:7d")
    expect(rows(page).first).to_be_visible()
    expect(page.get_by_role("group", name="Chart")).to_have_count(0)
    page.get_by_role("button", name="Show chart").tap()
    page.get_by_role("group", name="Chart").get_by_role("button", name="Runs").tap()
    expect(page.get_by_role("list", name="Legend")).to_contain_text("success")
    assert (overflow(page), serious(page)) == (0, [])

    # The first tap tells, as a pointer does that rests there; the second opens.
    picture(page).focus()
    page.keyboard.press("ArrowRight")
    ring = picture(page).locator("circle[r='7']")
    place = {axis: float(ring.get_attribute(f"c{axis}") or 0) for axis in ("x", "y")}
    page.keyboard.press("Escape")
    expect(ring).to_have_count(0)
    picture(page).tap(position={"x": place["x"], "y": place["y"]})
    tip = picture(page).get_by_role("status")
    expect(tip).to_contain_text("Tap again to open")
    shown = tip.bounding_box()
    assert shown is not None
    assert shown["x"] >= 0
    assert shown["x"] + shown["width"] <= NARROW[0]
    expect(page).to_have_url(re.compile("/runs\\?"))
    picture(page).tap(position={"x": place["x"], "y": place["y"]})
    expect(page).to_have_url(re.compile("/runs/run_"))

    page.go_back()
    expect(picture(page)).to_be_visible()
    drag(page, picture(page))
    expect(page).to_have_url(re.compile("since:.*until:"))
    page.get_by_role("button", name="Reset zoom").tap()
    page.get_by_role("group", name="Chart").get_by_role("button", name="Counts").tap()
    drag(page, page.get_by_role("group", name=re.compile("^Runs per")))
    expect(page).to_have_url(re.compile("since:.*until:"))
    expect(rows(page).first).to_be_visible()


def span(q: str) -> dict[str, str]:
    found = dict(part.split(":", 1) for part in q.split())
    return {"from": found["since"], "to": found["until"]}


def test_very_many_points_are_a_sample_that_says_so(own: House, tab: Open) -> None:
    opened = tab(own)
    _, runs = mixed(own, opened.page, "many")
    multiply(own, runs[0]["id"], MANY)
    page = opened.go("/runs")
    expect(rows(page).first).to_be_visible()
    before = busy_seconds(page)
    page.get_by_role("group", name="Chart").get_by_role("button", name="Runs").click()
    drawn = page.get_by_role("list", name="Legend")

    expect(drawn).to_contain_text(re.compile(rf"success [\d,]+ of {MANY + 3:,}"))
    expect(drawn).to_contain_text("failed 1")
    expect(drawn).to_contain_text("Common states are sampled")
    shown = int(re.findall(r"success ([\d,]+) of", drawn.inner_text())[0].replace(",", ""))
    assert 49_000 < shown < 51_000
    picture(page).hover(position={"x": 300, "y": 60})
    assert busy_seconds(page) - before < 3, "the page stood still"


def busy_seconds(page: Page) -> float:
    """How long the page's own thread has worked; the clock on the wall would tell what else the machine does."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


def multiply(house: House, run: str, number: int) -> None:
    """As if there had been so many like this one over the last day, none of them quite as long."""
    with closing(sqlite3.connect(house.home / "foliot.db", timeout=SECONDS)) as database, database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM runs WHERE id = ?", (run,)).fetchone())
        now = wall()

        def copy(place: int) -> dict[str, Any]:
            at = now - timedelta(seconds=60 + 80_000 * place / number)
            over = at + timedelta(milliseconds=1 + place % 5000)
            made = {"id": id_at("run", at), "created_at": at, "ready_at": at, "started_at": at, "finished_at": over}
            like = {name: written(value, row["created_at"]) for name, value in made.items()}
            return {**row, **like, "scheduled_for": None}

        names = ", ".join(row)
        places = ", ".join(f":{name}" for name in row)
        database.executemany(f"INSERT INTO runs ({names}) VALUES ({places})", map(copy, range(number)))


def written(value: object, like: str) -> object:
    """A moment as the database writes it."""
    if not isinstance(value, datetime):
        return value
    text = value.strftime("%Y-%m-%d %H:%M:%S.%f")
    return text + like[len(text) :]


def test_a_filter_is_kept_as_a_view(busy: House, tab: Open) -> None:
    opened = tab(busy)
    q, runs = mixed(busy, opened.page, "views")
    page = opened.go("/runs")
    views = page.get_by_role("group", name="Views")
    expect(views.get_by_role("button", name="All runs")).to_have_attribute("aria-pressed", "true")
    expect(views.get_by_role("button", name="Save view")).to_have_count(0)
    page.goto(f"{opened.url}/runs?q={q}")
    views.get_by_role("button", name="Save view").click()
    page.get_by_role("button", name="Save view").last.click()
    expect(page.get_by_role("alert")).to_have_text("Enter a name")
    page.get_by_role("textbox", name="Name").fill("Mine")
    page.keyboard.press("Enter")
    mine = views.get_by_role("button", name=f"Mine {len(runs)}", exact=True)
    expect(mine).to_have_attribute("aria-pressed", "true")

    views.get_by_role("button", name="All runs").click()
    expect(page).not_to_have_url(re.compile("q="))
    page.reload()
    mine.click()
    expect(page).to_have_url(re.compile(re.escape("schedule:")))
    expect(rows(page)).to_have_count(len(runs))
    run_now(busy, q.removeprefix("schedule:").split(",")[0])
    expect(views.get_by_role("button", name=f"Mine {len(runs) + 1}", exact=True)).to_be_visible()

    views.get_by_role("button", name="Edit view Mine").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_role("textbox", name="Name").fill("All runs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("already")
    page.get_by_role("textbox", name="Name").fill("Ours")
    page.keyboard.press("Enter")
    expect(views.get_by_role("button", name=re.compile("^Ours"))).to_be_visible()
    page.goto(f"{opened.url}/schedules")
    expect(page.get_by_role("group", name="Views").get_by_role("button", name="All", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Ours"))).to_have_count(0)
    page.go_back()
    views.get_by_role("button", name="Edit view Ours").click()
    page.get_by_role("menuitem", name="Remove").click()
    expect(views.get_by_role("button", name=re.compile("^Ours"))).to_have_count(0)
    expect(views.get_by_role("button", name="Save view")).to_be_visible()


def test_all_that_match_are_exported(busy: House, tab: Open) -> None:
    opened = tab(busy)
    q, runs = mixed(busy, opened.page, "export")
    page = opened.go(f"/runs?q={q}")
    expect(rows(page)).to_have_count(len(runs))
    newest = sorted((run["id"] for run in runs), reverse=True)

    def save(name: str) -> Path:
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"{len(runs)} as {name}").click()
        return Path(download.value.path())

    with save("CSV").open(newline="") as table:
        assert [row["id"] for row in csv.DictReader(table)] == newest
    lines = save("NDJSON").read_text().splitlines()
    assert [orjson.loads(line)["id"] for line in lines] == newest


def test_a_log_is_narrowed_to_an_attempt_and_to_categories(busy: House, tab: Open) -> None:
    opened = tab(busy)
    schedule = webhook(
        busy, "stumbles", "", action={"kind": "task", "task": "stumble"},
        retry_policy={"max_retries": 1, "delay_seconds": 1, "jitter": 0},
    )  # fmt: skip
    run = ended(busy, opened.page, run_now(busy, schedule))["id"]
    page = opened.go(f"/runs/{run}")
    lines = page.get_by_role("log").locator("[data-seq]")
    kinds = page.get_by_role("group", name="Categories")
    counts = told(busy, f"/api/runs/{run}/logs/count")
    assert counts["by_category"] == {"retry": 9, "redirect": 2}

    retry = kinds.get_by_role("button", name=re.compile("^retry"))
    expect(retry).to_have_text("retry 9")
    expect(kinds.get_by_role("button", name=re.compile("^redirect"))).to_have_text("redirect 2")
    retry.click()
    expect(lines).to_have_count(9)
    expect(page).to_have_url(re.compile("category=retry"))
    page.get_by_label("Attempt", exact=True).select_option("2")
    expect(lines).to_have_count(6)
    expect(retry).to_have_text("retry 6")
    page.reload()
    expect(lines).to_have_count(6)
    expect(retry).to_have_attribute("aria-pressed", "true")
    kinds.get_by_role("button", name=re.compile("^redirect")).click()
    expect(lines).to_have_count(7)
    page.get_by_label("Attempt", exact=True).select_option("")
    expect(lines).to_have_count(11)
    assert serious(page) == []

    lines.filter(has_text="/p/5>").get_by_text("Retrying").click()
    inspector = page.get_by_label(re.compile(r"^Line \d+"))
    expect(inspector).to_contain_text("category")
    similar = inspector.get_by_role("button", name="Show similar 9")
    similar.click()
    expect(page.get_by_label("Search the log")).to_have_value(re.compile("Retrying <GET"))
    expect(page).to_have_url(re.compile("only=1"))
    expect(lines).to_have_count(9)
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("done")


def test_what_cannot_be_done_offline_says_why(browser: Browser, tmp_path: Path, tab: Open) -> None:
    with a_house(tmp_path / "home") as house:
        opened = tab(house)
        opened.forgiven += GONE
        schedule = webhook(house, "to replay", f"{house.environ['FOLIOT_URL']}/api/echo/x")
        ended(house, opened.page, run_now(house, schedule))
        page = opened.go("/runs")
        rows(page).first.get_by_role("link", name=re.compile("run_")).click()
        replay, edit = (page.get_by_role("button", name=name) for name in (re.compile("^Replay"), "Edit & replay"))
        expect(replay).to_be_enabled()
        expect(edit).to_be_enabled()

        (process,) = house.processes
        process.kill()
        process.wait()
        for button in (replay, edit):
            expect(button).to_be_disabled()
            expect(button).to_have_attribute("title", re.compile("^Offline – the server is not responding"))
        page.keyboard.press("r")
        expect(page.get_by_role("button", name="Copy as", exact=True)).to_be_enabled()
        page.get_by_role("link", name="Runs", exact=True).first.click()
        expect(page.get_by_role("button", name="Export")).to_be_disabled()
        page.go_back()

        house.start("up", "--port", house.port, lines=3)
        expect(replay).to_be_enabled()
        expect(replay).not_to_have_attribute("title", re.compile("Offline"))
        assert told(house, "/api/runs/count")["count"] == 1, "nothing was done meanwhile"
        edit.click()
        page.get_by_role("dialog").get_by_role("button", name=re.compile("^Replay|^Run")).click()
        soon(page, lambda: told(house, "/api/runs/count")["count"], lambda number: number == 2)
