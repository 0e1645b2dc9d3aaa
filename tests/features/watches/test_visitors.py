"""Two visitors of one page at once, and the retention of what they wrote, on every database."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from foliot.app.upkeep import watched as upkeep
from foliot.core.access import LOCAL
from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.engine.model.run import Succeeded
from foliot.engine.ports import ActionContext
from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.world import World


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    world.site.write("/1", product("29.90 €"))
    world.site.write("/2", product("29.90 €"))
    return Watched(world, client)


def attempt(watched: Watched, number: int) -> ActionContext:
    return ActionContext(
        run_id=f"run_{number:032x}",
        tenant_id=LOCAL.tenant_id,
        schedule_id=watched.watch["schedule_id"],
        kind="watch",
        attempt=1,
        max_attempts=1,
        scheduled_for=None,
        config={"watch": watched.watch["id"]},
        timeout=timedelta(minutes=1),
        now=watched.world.clock.now(),
        log=lambda message, level="info", at=None: None,
    )


async def test_two_runs_that_visit_a_page_at_once_record_one_change_and_open_one_alert(
    watched: Watched, world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerting = Alerting.on(world, client)
    await alerting.rule(await alerting.channel(), on=["changed"])
    await watched.create(urls=[f"{SHOP}/1"])
    await watched.pass_time()
    watched.site.write("/1", product("24.90 €"))
    action, answer, all_have_asked = world.watching, watched.site.send, asyncio.Barrier(4)
    assert action is not None

    async def send(request: OutgoingRequest) -> OutgoingResponse:
        await all_have_asked.wait()
        return await answer(request)

    monkeypatch.setattr(watched.site, "send", send)
    outcomes = await asyncio.gather(*(action.perform(attempt(watched, number)) for number in range(1, 5)))
    assert sum(isinstance(outcome, Succeeded) and outcome.changed for outcome in outcomes) == 1
    assert len(await watched.changes()) == 1
    assert len(await alerting.alerts()) == 1
    (page,) = await watched.pages()
    assert (page["visits"], page["changes"]) == (2, 1)


async def test_versions_and_changes_go_when_their_time_is_over_but_what_a_page_says_now_stays(
    watched: Watched, world: World
) -> None:
    await watched.create(fields=None, history="2d", schedule={"type": "interval", "interval_seconds": 86_400})
    await watched.pass_time(86_400)
    for price in ("1.00 €", "2.00 €"):
        watched.site.write("/1", product(price))
        await watched.pass_time(86_400)
    world.clock.advance(10 * 86_400)
    async with world.store.begin() as tx:
        await upkeep(tx, world.clock.now(), None)
        texts = (await tx.conn.exec_driver_sql("SELECT count(*) FROM watch_texts")).scalar_one()
    assert await watched.changes() == []
    first, second = await watched.pages()
    for page, price in ((first, "2.00"), (second, "29.90")):
        (version,) = (await watched.get(f"{watched.path}/pages/{page['id']}/versions"))["items"]
        text = (await watched.get(f"{watched.path}/pages/{page['id']}/versions/{version['id']}"))["text"]
        assert price in text
    assert texts == 2
    watched.site.write("/1", product("3.00 €"))
    await watched.pass_time(86_400)
    (change,) = await watched.changes()
    assert "- 2.00 €" in change["diff"]
    assert "+ 3.00 €" in change["diff"]
