"""Ten thousand watched pages on SQLite: lists, changes and plots cost little, whatever is stored."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta
from time import process_time

import pytest

from foliot.app.http import create_app
from foliot.core.access import LOCAL
from foliot.core.ids import new_id
from foliot.engine.model.views import PageRequest
from foliot.features.watches.model.watch import ChangeKind, PageChange, PageVersion
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions, SqlWatchedPages
from foliot.features.watches.usecases.watches import find_watch
from tests.asgi import Client
from tests.features.watches.test_watches import PRICES, SHOP
from tests.world import World, open_world

PAGES = 10_000
MOST_SECONDS = 1.0
"""Of processor time."""
MOST_BYTES = 20_000_000


async def filled(world: World, client: Client) -> str:
    """A watch of ten thousand pages, each of which has changed twice."""
    made = await client.post("/api/watches", {**PRICES, "urls": [f"{SHOP}/{number}" for number in range(PAGES)]})
    assert made.status == 201, made.text
    watch_id, now = made.json["id"], world.clock.now()
    async with world.store.begin(LOCAL.tenant_id) as tx:
        watch = await find_watch(tx, LOCAL.tenant_id, watch_id)
        pages = await SqlWatchedPages(tx).find(LOCAL.tenant_id, watch_id, PageRequest(PAGES))
        of = {"tenant_id": LOCAL.tenant_id, "watch_id": watch_id, "expires_at": now + timedelta(days=365)}
        changes = []
        for number, page in enumerate(pages):
            fields = {"price": {"amount": f"{number}.00", "currency": "EUR"}}
            version = PageVersion(id=new_id("wve"), page_id=page.id, at=now, digest="0" * 64, fields=fields, **of)
            if number % 100 == 0:
                await SqlVersions(tx).add(version, None)
            changes += [
                PageChange(
                    id=new_id("chg"), page_id=page.id, url=page.url, at=now, kind=ChangeKind.CHANGED,
                    matched=number % 7 == 0, fields={"price": {"old": None, "new": fields["price"]}}, diff="",
                    version_id=version.id, **of,
                )
                for _ in range(2)
            ]  # fmt: skip
        await SqlChanges(tx).add(watch.tenant_id, changes)
    return str(watch_id)


@pytest.mark.slow
async def test_lists_and_changes_take_less_than_a_second_and_little_memory() -> None:
    async with open_world() as world:
        client = Client(create_app(world.cases))
        watch = await filled(world, client)
        asked = (
            "/api/watches",
            f"/api/watches/{watch}/pages?limit=500",
            f"/api/watches/{watch}/pages?state=changed",
            f"/api/watches/{watch}/plot",
            "/api/changes?limit=500",
            "/api/changes?q=matched:true since:7d",
            f"/api/changes?q=watch:{watch} kind:changed",
        )
        tracemalloc.start()
        for path in asked:
            before = process_time()
            answer = await client.get(path.replace(" ", "%20"))
            assert answer.status == 200, answer.text
            assert process_time() - before < MOST_SECONDS, path
        size = 0
        async with client.stream("/api/changes/export") as export:
            while (part := await export.parts.get()) is not None:
                size += len(part)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES, "answers are read in parts"
        tracemalloc.stop()
        assert size > 2 * PAGES * 300
