"""The dashboard's files as browsers get them, over the real app."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from foliot.app.http import create_app
from tests.asgi import Client
from tests.world import World, open_world

HTML = "text/html,application/xhtml+xml"
INDEX = '<!doctype html><script type="module" src="/assets/index-Dq3.js"></script>'
SCRIPT = "console.log('a dashboard')" * 100


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    root = tmp_path / "dist"
    (root / "assets").mkdir(parents=True)
    (root / "index.html").write_text(INDEX)
    (root / "favicon.svg").write_text("<svg/>")
    (root / "assets" / "index-Dq3.js").write_text(SCRIPT)
    (root / "assets" / "index-Dq3.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    (tmp_path / "secret.txt").write_text("not for browsers")
    return root


@pytest.fixture
def client(world: World, pages: Path) -> Client:
    return Client(create_app(world.cases, pages=pages))


@pytest.mark.parametrize("path", ["/", "/schedules", "/runs/run_1?tab=log", "/crawls/x", "/login?code=c", "/healthy"])
async def test_every_address_of_the_dashboard_is_its_first_page(client: Client, path: str) -> None:
    answer = await client.get(path, Accept=HTML)

    assert (answer.status, answer.text) == (200, INDEX)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_page_may_load_nothing_from_elsewhere_and_no_page_may_frame_it(client: Client) -> None:
    answer = await client.get("/")

    rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'self'"
    assert rules["script-src"] == "'self'"
    assert rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert not [rule for rule in rules.values() if "http" in rule or "*" in rule]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/api/nowhere", "/jobs/x/nothing", "/crawl/x", "/metrics/x", "/health/x", "/ws/x", "/docs/x", "/openapi.json/x"],
)
async def test_what_belongs_to_a_route_is_never_answered_by_the_dashboard(client: Client, path: str) -> None:
    answer = await client.get(path, Accept=HTML)

    assert answer.status in {401, 404}
    assert answer.headers["content-type"] == "application/problem+json"


async def test_whoever_asks_for_no_page_hears_that_there_is_no_such_route(client: Client) -> None:
    for path, accept in (("/assets/gone-1.js", "*/*"), ("/schedules", "application/json"), ("/x.png", "image/*")):
        answer = await client.get(path, Accept=accept)
        assert (answer.status, answer.json["code"]) == (404, "no_such_route"), path
    posted = await client.post("/schedules", {}, Accept=HTML)
    assert (posted.status, posted.json["code"]) == (404, "no_such_route")


async def test_a_file_with_a_digest_in_its_name_is_kept_for_ever_and_others_are_not(client: Client) -> None:
    script, icon = await client.get("/assets/index-Dq3.js"), await client.get("/favicon.svg")

    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.text == SCRIPT
    assert icon.headers["cache-control"] == "no-cache"


async def test_whoever_takes_it_gets_what_was_compressed_before(client: Client, pages: Path) -> None:
    packed = await client.get("/assets/index-Dq3.js", Accept_Encoding="gzip, deflate, br")

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert packed.headers["content-type"].startswith("text/javascript")
    assert packed.body == (pages / "assets" / "index-Dq3.js.gz").read_bytes()
    assert (await client.get("/assets/index-Dq3.js.gz")).status == 404, "a packed file is no file of its own"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/assets//secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets",
    ],
)
async def test_no_path_leads_out_of_the_build(client: Client, path: str) -> None:
    answer = await client.get(path)

    assert answer.status == 404
    assert "not for browsers" not in answer.text


async def test_whoever_asks_for_the_head_gets_no_body(client: Client) -> None:
    answer = await client.send("HEAD", "/")

    assert (answer.status, answer.body) == (200, b"")


async def test_who_builds_again_is_served_the_new_page_without_a_restart(client: Client, pages: Path) -> None:
    assert (await client.get("/")).text == INDEX

    (pages / "assets" / "index-New.js").write_text("new")
    (pages / "index.html").write_text("<!doctype html>new")

    assert (await client.get("/")).text == "<!doctype html>new"
    assert (await client.get("/assets/index-New.js")).text == "new"


@pytest.mark.parametrize("built", [False, None])
async def test_without_a_build_a_plain_page_says_so_and_leads_to_the_documentation(
    world: World, tmp_path: Path, built: bool | None
) -> None:
    client = Client(create_app(world.cases, pages=None if built is None else tmp_path / "nothing"))

    home, other = await client.get("/"), await client.get("/runs/run_1", Accept=HTML)

    assert (home.status, other.status) == (200, 404)
    assert 'href="/docs"' in home.text
    assert "make dashboard" in home.text
    assert "<script" not in home.text
    assert "default-src 'none'" in home.headers["content-security-policy"]


async def test_in_local_mode_no_other_name_gets_the_dashboard(world: World, pages: Path) -> None:
    app = create_app(world.cases, pages=pages)

    assert (await Client(app, host="evil.example").get("/", Accept=HTML)).status == 403
    followed = await Client(app).get("/", Accept=HTML, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert followed.status == 200
