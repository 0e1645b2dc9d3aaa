"""Lists of pages that a site names: pages that leave a sitemap, and feeds that never stop naming new ones."""

from __future__ import annotations

import pytest

from foliot.core.access import LOCAL
from foliot.features.watches import action
from foliot.features.watches.sql.pages import SqlWatchedPages
from tests.asgi import Client
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.world import World


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    for number in range(1, 5):
        world.site.write(f"/{number}", product(f"{number}.00 €"))
    return Watched(world, client)


def sitemap(watched: Watched, *numbers: int) -> None:
    urls = "".join(f"<url><loc>{SHOP}/{number}</loc></url>" for number in numbers)
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    watched.site.write("/sitemap.xml", body, content_type="application/xml")


def links(watched: Watched, *numbers: int) -> None:
    watched.site.write("/list", "".join(f"<a class=product href=/{number}>{number}</a>" for number in numbers))


async def listed(watched: Watched) -> list[str]:
    return sorted(page["url"].removeprefix(SHOP) for page in await watched.pages())


@pytest.mark.parametrize("timing", [{}, {"schedule": None, "revisit": {"budget": "1000/hour", "at_most": "10m"}}])
async def test_a_page_that_leaves_the_sitemap_is_visited_once_more(watched: Watched, timing: dict[str, object]) -> None:
    sitemap(watched, 1, 2, 3)
    await watched.create(urls=None, sitemap=f"{SHOP}/sitemap.xml", **timing)
    await watched.pass_time()
    await watched.pass_time()
    sitemap(watched, 1)
    watched.site.pages.pop("/2")
    watched.site.write("/3", product("3.00 €"), 503)
    await watched.pass_time()
    assert [(each["kind"], each["url"]) for each in await watched.changes()] == [("removed", f"{SHOP}/2")]
    assert await listed(watched) == ["/1", "/3"], "one that could not be read is tried again"
    watched.site.write("/3", product("3.00 €"))
    await watched.pass_time(7200)
    assert len(await watched.changes()) == 1
    assert await listed(watched) == ["/1"]
    assert (await watched.get(watched.path))["pages"] == 1
    before = len(watched.site.asked)
    await watched.pass_time()
    assert set(watched.site.asked[before:]) <= {"/sitemap.xml", "/1"}


async def test_the_oldest_pages_make_room_where_a_list_always_names_new_ones(
    watched: Watched, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action, "MOST_PAGES", 2)
    links(watched, 1, 2)
    await watched.create(urls=None, links={"css": "a.product", "from": f"{SHOP}/list"})
    await watched.pass_time()
    links(watched, 3)
    await watched.pass_time()
    assert await listed(watched) == ["/2", "/3"]
    links(watched, 1, 4)
    await watched.pass_time()
    assert await listed(watched) == ["/1", "/4"], "a page that is named again is listed again"
    async with world.store.read(LOCAL.tenant_id) as tx:
        known = await SqlWatchedPages(tx).listed(watched.watch["id"])
    assert sum(not is_listed for _, is_listed in known.values()) == 2


async def test_pages_that_are_no_longer_listed_are_forgotten_with_their_versions_beyond_a_number(
    watched: Watched, world: World
) -> None:
    await watched.create(urls=[f"{SHOP}/{number}" for number in range(1, 5)], fields=None)
    await watched.pass_time()
    await watched.client.patch(watched.path, {"urls": [f"{SHOP}/1"]})
    async with world.store.begin(LOCAL.tenant_id) as tx:
        await SqlWatchedPages(tx).forget_unlisted(watched.watch["id"], 1)
        known = await SqlWatchedPages(tx).listed(watched.watch["id"])
        counts = [
            (await tx.conn.exec_driver_sql(f"SELECT count(*) FROM {table}")).scalar_one()
            for table in ("watch_versions", "watch_texts")
        ]
    assert sorted(is_listed for _, is_listed in known.values()) == [False, True]
    assert counts == [2, 2]
