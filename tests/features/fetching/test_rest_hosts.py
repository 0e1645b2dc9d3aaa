"""Hosts over HTTP: what they allow, who may change it, and turns for spiders."""

from __future__ import annotations

import pytest

from foliot.core.access import Caller, Role
from foliot.core.errors import Forbidden, Invalid, NotFound
from foliot.features.fetching.usecases import Hosts
from tests.world import World

KEEPER = Caller("default", "kim", Role.ADMIN)
TENANT = Caller("acme", "ann", Role.ADMIN)
OTHER = Caller("beta", "bob", Role.ADMIN)


async def test_the_operator_sets_the_limits_of_a_host_for_all(world: World) -> None:
    hosts = world.cases[Hosts]
    set_ = await hosts.put(KEEPER, "Shop.Example", {"rate": 0.5, "concurrency": 2, "robots": "ignore"})
    shown = await hosts.get(KEEPER, "shop.example")

    assert set_.row.host == shown.row.host == "shop.example"
    assert (shown.interval.total_seconds(), shown.manners.together, shown.settings.robots) == (2, 2, "ignore")
    assert [view.row.host for view in await hosts.list(KEEPER, None, 10)] == ["shop.example"]
    assert (await hosts.reset(KEEPER, "shop.example")).interval.total_seconds() == 0


async def test_another_tenant_slows_a_host_down_for_itself_alone(world: World) -> None:
    hosts = world.cases[Hosts]
    await hosts.put(KEEPER, "shop.example", {"rate": 2})
    mine = await hosts.put(TENANT, "shop.example", {"rate": 0.1})

    assert mine.own_rate == pytest.approx(0.1)
    assert mine.interval.total_seconds() == 0.5
    assert (await hosts.get(KEEPER, "shop.example")).own_rate is None
    with pytest.raises(Invalid, match="at most 2"):
        await hosts.put(TENANT, "shop.example", {"rate": 3})
    with pytest.raises(Forbidden):
        await hosts.put(TENANT, "shop.example", {"robots": "ignore"})


async def test_a_tenant_sees_no_host_of_another(world: World) -> None:
    hosts = world.cases[Hosts]
    await hosts.put(TENANT, "secret.example", {"rate": 1})

    assert [view.row.host for view in await hosts.list(TENANT, None, 10)] == ["secret.example"]
    assert await hosts.list(OTHER, None, 10) == []
    with pytest.raises(NotFound):
        await hosts.get(OTHER, "secret.example")


async def test_spiders_get_turns_an_interval_apart_and_their_answers_are_heard(world: World) -> None:
    hosts = world.cases[Hosts]
    await hosts.put(KEEPER, "shop.example", {"rate": 10, "concurrency": 100})
    asked = {"holder": "run_1", "wanted": 5}
    robots = {"status": 200, "path": "/robots.txt", "robots": "User-agent: *\nCrawl-delay: 2"}
    first = await hosts.allot(TENANT, "shop.example", asked)
    told = await hosts.allot(TENANT, "shop.example", asked | {"answers": [robots]})
    other = await hosts.allot(OTHER, "shop.example", {"holder": "run_1", "wanted": 5})

    assert (len(first.starts), first.robots_due) == (1, True)
    assert told.starts == []
    assert told.retry_in == pytest.approx(2, abs=0.2)
    assert other.starts == []
    assert (await hosts.get(KEEPER, "shop.example")).interval.total_seconds() == 2


@pytest.mark.parametrize("name", ["a/b", "", "-", "http://x", "a b"])
async def test_a_host_has_a_name(world: World, name: str) -> None:
    with pytest.raises(Invalid, match="must be a host"):
        await world.cases[Hosts].get(KEEPER, name)
