"""Watches over their whole life, on every database: visits, changes, alerts, versions and their removal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.engine.model.run import Succeeded
from foliot.engine.ports import ActionContext
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.watches.usecases.history import PageHistory
from foliot.testing import drain
from tests.asgi import Answer, Client
from tests.features.alerts.alerting import Alerting
from tests.givens import runs_of, statements
from tests.world import World

SHOP = "https://shop.example"
PRICES: dict[str, Any] = {
    "name": "Prices",
    "urls": [f"{SHOP}/1", f"{SHOP}/2"],
    "fields": {"price": {"css": ".price", "type": "price"}, "title": "h1"},
    "schedule": {"type": "interval", "interval_seconds": 3600},
}


def product(price: str, title: str = "Kettle", noise: str = "") -> str:
    return f"<html><title>Shop</title><body><h1>{title}</h1><p class='price'>{price}</p><i>{noise}</i></body></html>"


class Watched:
    """A world with a watch that its clock drives."""

    def __init__(self, world: World, client: Client) -> None:
        self.world = world
        self.client = client
        self.site = world.site
        self.watch: dict[str, Any] = {}

    async def create(self, **changes: Any) -> dict[str, Any]:
        document = {name: value for name, value in {**PRICES, **changes}.items() if value is not None}
        answer = await self.client.post("/api/watches", document)
        assert answer.status == 201, answer.text
        self.watch = answer.json
        return self.watch

    @property
    def path(self) -> str:
        return f"/api/watches/{self.watch['id']}"

    async def pass_time(self, seconds: float = 3600) -> dict[str, Any]:
        """Let the clock move on and the runs that are due be performed; the last run."""
        await self.turn(seconds)
        runs = (await self.client.get(f"/api/schedules/{self.watch['schedule_id']}/runs")).json["items"]
        return runs[0] if runs else {}

    async def turn(self, seconds: float) -> None:
        """The same, and nothing is asked afterwards."""
        self.world.clock.advance(seconds)
        assert self.world.watching is not None
        await drain(self.world.store, self.world.clock, self.world.watching)

    async def get(self, path: str) -> Any:
        answer = await self.client.get(path)
        assert answer.status == 200, answer.text
        return answer.json

    async def pages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.get(f"{self.path}/pages"))["items"]
        return found

    async def changes(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.get(f"/api/changes?{query}"))["items"]
        return found


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    world.site.write("/1", product("29.90 €"))
    world.site.write("/2", product("49.00 €", "Toaster"))
    return Watched(world, client)


async def test_the_first_visit_is_the_baseline_and_later_ones_find_what_changed(watched: Watched) -> None:
    await watched.create()
    run = await watched.pass_time()
    assert (run["state"], run["result"]["new"], await watched.changes()) == ("success", 2, [])
    watched.site.write("/1", product("24.90 €"))
    run = await watched.pass_time()
    assert (run["result"]["changed"], run["result"]["same"], run["result"]["matched"]) == (1, 1, 1)
    (change,) = await watched.changes()
    assert change["url"] == f"{SHOP}/1"
    assert change["kind"] == "changed"
    assert change["matched"]
    assert change["seq"] == 1
    assert change["fields"] == {
        "price": {"old": {"amount": "29.90", "currency": "EUR"}, "new": {"amount": "24.90", "currency": "EUR"}}
    }
    first, second = await watched.pages()
    assert (first["state"], first["changes"], second["state"]) == ("changed", 1, "same")
    assert first["why_then"].endswith("next in 1 h")
    found = await watched.get(watched.path)
    assert (found["states"], found["changes"]) == ({"changed": 1, "same": 1}, 1)


async def test_pages_that_are_gone_blocked_or_broken_have_states_of_their_own(watched: Watched) -> None:
    await watched.create(fields={"price": {"css": ".price", "type": "price"}})
    await watched.pass_time()
    wall = "<title>Just a moment...</title><div class='cf-challenge'>Verify you are human</div>"
    watched.site.write("/1", wall, 403)
    watched.site.write("/2", "<h1>Toaster</h1><p class='cost'>49.00 €</p>")
    run = await watched.pass_time()
    assert run["state"] in {"failed", "retrying", "dead_letter"}
    assert run["error"]["code"] == "no_page_read"
    first, second = await watched.pages()
    assert (first["state"], first["problem"]["code"]) == ("blocked", "captcha")
    assert (second["state"], second["problem"]["code"]) == ("error", "fields_missing")
    assert await watched.changes() == [], "neither is a change"
    watched.site.write("/1", product("29.90 €"))
    watched.site.pages.pop("/2")
    await watched.pass_time()
    assert [(each["kind"], each["url"]) for each in await watched.changes()] == [("removed", f"{SHOP}/2")]
    watched.site.write("/2", product("49.00 €"))
    await watched.pass_time()
    assert [each["kind"] for each in await watched.changes()] == ["new", "removed"]
    assert [page["state"] for page in await watched.pages()] == ["same", "new"]


async def test_a_condition_counts_as_it_is_crossed_and_opens_one_alert(
    watched: Watched, world: World, client: Client
) -> None:
    alerting = Alerting.on(world, client)
    await alerting.rule(await alerting.channel(), on=["changed"])
    await watched.create(when="new.price < 25", urls=[f"{SHOP}/1"])
    await watched.pass_time()
    for price in ("27.00 €", "24.00 €", "23.00 €", "26.00 €", "24.50 €"):
        watched.site.write("/1", product(price))
        await watched.pass_time()
    matched = await watched.changes("q=matched:true")
    assert [change["fields"]["price"]["new"]["amount"] for change in matched] == ["24.50", "24.00"]
    assert len(await watched.changes()) == 5
    alerts = (await client.get("/api/alerts")).json["items"]
    assert [alert["event"] for alert in alerts] == ["changed", "changed"]
    assert "26.00 EUR → 24.50 EUR" in alerts[0]["reason"]


async def test_every_visit_counts_where_that_is_asked_for(watched: Watched, world: World, client: Client) -> None:
    alerting = Alerting.on(world, client)
    await alerting.rule(await alerting.channel(), on=["changed"])
    await watched.create(when="price < 30", at="every_visit", urls=[f"{SHOP}/1"])
    await watched.pass_time()
    runs = [await watched.pass_time() for _ in range(3)]
    assert [run["result"]["matched"] for run in runs] == [1, 1, 1]
    assert len((await client.get("/api/alerts")).json["items"]) == 3
    assert await watched.changes() == []


async def test_texts_are_compared_without_what_is_ignored_and_every_version_is_kept(watched: Watched) -> None:
    watched.site.write("/1", "<p>One</p><p>Two</p><div class=ad>Buy 1</div><p>Updated 2026-01-01</p>")
    await watched.create(fields=None, urls=[f"{SHOP}/1"], ignore=[".ad", "dates"])
    await watched.pass_time()
    watched.site.write("/1", "<p>One</p><p>Two</p><div class=ad>Buy 2</div><p>Updated 2026-01-02</p>")
    run = await watched.pass_time()
    assert run["result"]["same"] == 1
    watched.site.write("/1", "<p>One</p><p>Three</p><div class=ad>Buy 2</div><p>Updated 2026-01-03</p>")
    await watched.pass_time()
    (change,) = await watched.changes()
    assert change["diff"] == "- Two\n+ Three"
    (page,) = await watched.pages()
    versions = (await watched.get(f"{watched.path}/pages/{page['id']}/versions"))["items"]
    assert len(versions) == 2
    assert versions[0]["id"] == page["version_id"] == change["version_id"]
    newest = await watched.get(f"{watched.path}/pages/{page['id']}/versions/{versions[0]['id']}")
    assert newest["text"] == "One\nThree\nUpdated"
    diff = await watched.get(f"{watched.path}/pages/{page['id']}/diff?as=words")
    assert [(part["sign"], part["text"]) for part in diff["parts"]] == [
        ("=", "One"), ("-", "Two"), ("+", "Three"), ("=", "Updated"),
    ]  # fmt: skip


async def test_an_unchanged_page_is_asked_for_with_its_etag(watched: Watched) -> None:
    watched.site.write("/1", product("29.90 €"), etag='"a"')
    await watched.create(urls=[f"{SHOP}/1"])
    await watched.pass_time()
    run = await watched.pass_time()
    assert run["result"]["same"] == 1
    assert watched.site.requests[-1].headers["If-None-Match"] == '"a"'


async def test_a_page_that_is_read_in_another_way_begins_anew(watched: Watched) -> None:
    await watched.create(urls=[f"{SHOP}/1"])
    await watched.pass_time()
    answer = await watched.client.patch(watched.path, {"fields": {"price": {"css": ".price", "type": "text"}}})
    assert answer.status == 200, answer.text
    await watched.pass_time()
    assert await watched.changes() == []
    (page,) = await watched.pages()
    assert page["fields"] == {"price": "29.90 €"}


async def test_a_sitemap_finds_pages_and_its_new_and_vanished_ones_are_changes(watched: Watched) -> None:
    def sitemap(*paths: str) -> None:
        urls = "".join(f"<url><loc>{SHOP}{path}</loc></url>" for path in paths)
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        watched.site.write("/sitemap.xml", body, content_type="application/xml")

    sitemap("/1", "/2")
    await watched.create(urls=None, sitemap=f"{SHOP}/sitemap.xml")
    await watched.pass_time()
    assert await watched.changes() == []
    assert len(await watched.pages()) == 2
    watched.site.write("/3", product("9.00 €", "Cup"))
    sitemap("/1", "/2", "/3")
    await watched.pass_time()
    assert [(each["kind"], each["url"]) for each in await watched.changes()] == [("new", f"{SHOP}/3")]
    watched.site.write("/sitemap.xml", "<html>maintenance</html>", 503)
    run = await watched.pass_time()
    assert run["state"] == "partial"
    assert len(await watched.pages()) == 3
    assert (await watched.get(watched.path))["problem"]["code"] == "source_unreadable"


async def test_changes_are_read_on_without_loss_and_as_ndjson_csv_and_atom(watched: Watched, client: Client) -> None:
    await watched.create()
    await watched.pass_time()
    for price in ("1.00 €", "2.00 €", "3.00 €"):
        watched.site.write("/1", product(price))
        await watched.pass_time()
    page = await watched.get("/api/changes?limit=2")
    assert [each["seq"] for each in page["items"]] == [3, 2]
    assert page["last_seq"] == 3
    rest = await watched.get(f"/api/changes?limit=2&cursor={page['next_cursor']}")
    assert [each["seq"] for each in rest["items"]] == [1]
    assert rest["next_cursor"] is None
    assert [each["seq"] for each in (await watched.get("/api/changes?after=1"))["items"]] == [2, 3]
    assert (await client.get("/api/changes?q=kind:gone")).status == 422
    lines = (await client.get("/api/changes/export")).text.splitlines()
    assert len(lines) == 3
    table = (await client.get("/api/changes/export?format=csv")).text.splitlines()
    assert table[0].startswith("id,seq,at")
    assert len(table) == 4
    path = watched.watch["feed_url"].partition("8000")[2] or watched.watch["feed_url"].split("/", 3)[3]
    feed = await client.get("/" + path.lstrip("/"))
    assert feed.status == 200
    assert feed.text.count("<entry>") == 3
    assert "2.00 EUR → 3.00 EUR" in feed.text
    assert (await client.get(f"{watched.path}/feed.atom?key=wrong")).status == 404


async def test_deleting_a_watch_takes_everything_of_it(watched: Watched, world: World) -> None:
    await watched.create(fields=None)
    await watched.pass_time()
    assert (await watched.client.delete(watched.path)).status == 204
    assert (await watched.client.get(watched.path)).status == 404
    schedule = await watched.get(f"/api/schedules/{watched.watch['schedule_id']}")
    assert schedule["status"] == "deleted"
    async with world.store.read() as tx:
        for table in ("watch_pages", "watch_versions", "watch_texts", "watch_changes", "watches"):
            rows = (await tx.conn.exec_driver_sql(f"SELECT count(*) FROM {table}")).scalar()
            assert rows == 0, table


async def test_a_watch_is_paused_resumed_and_visited_at_once(watched: Watched, client: Client) -> None:
    await watched.create()
    assert (await client.post(f"{watched.path}/pause", {})).json["status"] == "paused"
    await watched.pass_time()
    assert watched.site.asked == []
    assert (await client.post(f"{watched.path}/visit", {})).status == 202
    await watched.pass_time(1)
    assert sorted(watched.site.asked) == ["/1", "/2"]
    assert (await client.post(f"{watched.path}/resume", {})).json["status"] == "active"


async def test_another_tenant_sees_nothing_of_it(watched: Watched, world: World) -> None:
    await watched.create()
    await watched.pass_time()
    watched.site.write("/1", product("1.00 €"))
    await watched.pass_time()
    other = Caller("someone-else", "someone", Role.ADMIN)
    history = world.cases[PageHistory]
    assert await history.changes(other, history.read_changes(""), 10) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"urls": []}, "urls"),
        ({"urls": ["ftp://x"]}, "urls.0"),
        ({"sitemap": SHOP}, "urls"),
        ({"fields": {"price": {"css": ":::"}}}, "fields.price.css"),
        ({"fields": {"old": "h1"}}, "fields.old"),
        ({"when": "prise < 3"}, "when"),
        ({"schedule": {"type": "cron", "cron_expr": "nonsense"}}, "schedule.cron_expr"),
        ({"schedule": None}, "schedule"),
        ({"schedule": None, "revisit": {"budget": "many"}}, "revisit.budget"),
        ({"ignore": [{"regex": "("}]}, "ignore.0.regex"),
        ({"history": "1s"}, "history"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_what_is_wrong_is_named(watched: Watched, changes: dict[str, Any], field: str) -> None:
    document = {name: value for name, value in {**PRICES, **changes}.items() if value is not None}
    answer: Answer = await watched.client.post("/api/watches", document)
    assert answer.status == 422, answer.text
    assert field in [error["field"] for error in answer.json["errors"]], answer.text


async def test_a_preview_shows_what_was_found_and_what_is_missing(watched: Watched) -> None:
    document = {"urls": [f"{SHOP}/1"], "fields": {"price": {"css": ".pricee", "type": "price"}, "title": "h1"}}
    answer = await watched.client.post("/api/watches/preview", {**document, "when": "price < 30", "find": "29.90 €"})
    assert answer.status == 200, answer.text
    (page,) = answer.json["pages"]
    assert page["fields"] == {"price": None, "title": "Kettle"}
    assert page["missing"] == ["price"]
    assert page["hints"]["price"] == "The page has no pricee; did you mean .price?"
    assert page["state"] == "error"
    assert page["selectors"][0]["css"] == "p.price"
    assert "29.90 €" in page["text"]
    assert answer.json["when"] is False
    good = {"urls": [f"{SHOP}/1"], "fields": {"price": {"css": ".price", "type": "price"}}, "when": "price < 30"}
    answer = await watched.client.post("/api/watches/preview", good)
    assert answer.json["when"] is True
    assert answer.json["pages"][0]["around"]["price"] == "Kettle 29.90 €"


async def test_a_condition_about_a_change_counts_at_each_and_one_about_a_value_once(watched: Watched) -> None:
    await watched.create(when="drops(price, 10%)", urls=[f"{SHOP}/1"])
    await watched.pass_time()
    for price in ("26.00 €", "20.00 €", "19.00 €", "10.00 €"):
        watched.site.write("/1", product(price))
        await watched.pass_time()
    assert [change["matched"] for change in await watched.changes()] == [True, False, True, True]


async def test_a_page_that_stays_away_counts_at_every_visit_where_that_is_asked_for(watched: Watched) -> None:
    await watched.create(when="removed", at="every_visit", urls=[f"{SHOP}/1", f"{SHOP}/2"])
    await watched.pass_time()
    watched.site.pages.pop("/1")
    assert [(await watched.pass_time())["result"]["matched"] for _ in range(3)] == [1, 1, 1]


async def test_numbers_are_plotted_and_another_condition_is_tried_over_stored_versions(watched: Watched) -> None:
    await watched.create()
    await watched.pass_time()
    for price in ("27.00 €", "24.00 €", "23.00 €", "26.00 €", "24.50 €"):
        watched.site.write("/1", product(price))
        await watched.pass_time()
    plot = await watched.get(f"{watched.path}/plot")
    assert (plot["field"], plot["unit"]) == ("price", "EUR")
    assert [page["url"] for page in plot["pages"]] == [f"{SHOP}/1", f"{SHOP}/2"]
    assert [point["value"] for point in plot["pages"][0]["points"]] == [29.9, 27, 24, 23, 26, 24.5]
    assert [point["value"] for point in plot["pages"][1]["points"]] == [49]
    (listed,) = (await watched.get("/api/watches"))["items"]
    assert listed["line"] == {"field": "price", "values": [29.9, 27, 24, 23, 26, 24.5]}
    tried = await watched.client.post(f"{watched.path}/try-condition", {"when": "price < 25"})
    assert [each["matched"] for each in tried.json["items"]] == [True, False, False, True, False]
    assert [each["holds"] for each in tried.json["items"]] == [True, False, True, True, False]
    assert tried.json["matched"] == 2
    every = await watched.client.post(f"{watched.path}/try-condition", {"when": "price < 25", "at": "every_visit"})
    assert every.json["matched"] == 3
    wrong = await watched.client.post(f"{watched.path}/try-condition", {"when": "prise < 25"})
    assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "when")
    assert (await watched.client.get(f"{watched.path}/plot?field=title")).status == 422


async def test_a_list_of_watches_takes_as_many_statements_as_one(watched: Watched, world: World) -> None:
    async def asked() -> int:
        with statements(world.store) as seen:
            assert (await watched.client.get("/api/watches")).status == 200
        return len(seen)

    await watched.create()
    await watched.pass_time()
    watched.site.write("/1", product("1.00 €"))
    await watched.pass_time()
    alone = await asked()
    for number in range(5):
        await watched.create(name=f"Prices {number}")
    assert await asked() == alone


async def test_a_schedule_follows_runs_that_found_a_change_that_counts(watched: Watched, world: World) -> None:
    await watched.create(when="price < 25", urls=[f"{SHOP}/1"])
    follow = {"schedule": watched.watch["schedule_id"], "outcome": "changed"}
    body = {"counted": "{{ parent.result.matched }}", "first": "{{ parent.result.changes.0.words }}"}
    action = {"kind": "webhook", "url": "https://x.example/", "method": "POST", "body": body}
    child = await watched.client.post(
        "/api/schedules", {"name": "React", "type": "after", "after": follow, "action": action}
    )
    assert (child.status, child.json["summary"]) == (201, "After Prices finds a change")
    world.clock.advance(1)
    await watched.pass_time()
    runs = []
    for price in ("27.00 €", "24.00 €", "23.00 €"):
        watched.site.write("/1", product(price))
        runs.append(await watched.pass_time())
    made = await runs_of(world.store, child.json["id"])
    assert len(made) == 1, "only the run that crossed is followed"
    parent = await watched.get(f"/api/runs/{made[0]['parent_id']}")
    (change,) = parent["result"]["changes"]
    assert (change["words"], change["fields"]["price"]["new"]["amount"]) == ("price: 27.00 EUR → 24.00 EUR", "24.00")
    assert runs[-1]["result"]["changes"] == []
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert [(hole.name, hole.what) for hole in proof.holes] == []


async def test_an_attempt_counts_what_one_before_it_has_written(watched: Watched, world: World) -> None:
    await watched.create(urls=[f"{SHOP}/1", f"{SHOP}/2"])
    await watched.pass_time()
    watched.site.write("/1", product("20.00 €"))
    assert world.watching is not None
    config = {"watch": watched.watch["id"]}
    results = []
    for attempt in (1, 2):
        ctx = ActionContext(
            run_id=f"run_{1:032x}",
            tenant_id=LOCAL.tenant_id,
            schedule_id=watched.watch["schedule_id"],
            kind="watch",
            attempt=attempt,
            max_attempts=2,
            scheduled_for=None,
            config=config,
            timeout=timedelta(minutes=1),
            now=world.clock.now(),
            log=lambda message, level="info", at=None: None,
        )
        outcome = await world.watching.perform(ctx)
        assert isinstance(outcome, Succeeded)
        results.append((outcome.changed, outcome.result["matched"], outcome.result["visited"]))
    assert results == [(True, 1, 2), (True, 1, 0)], "the second attempt has nothing left to visit"
