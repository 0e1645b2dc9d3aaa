"""Named sessions of hosts: cookies sealed by tenant, sent to their host alone, and renewed by a sign-in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select, update

from foliot.core.access import Caller, Role
from foliot.core.errors import Invalid, NotFound
from foliot.features.fetching.model import FetchFailure, Page, Render
from foliot.features.host_sessions.tables import host_sessions
from foliot.features.host_sessions.usecases import HostSessions
from tests.features.fetching.rendered import renderer
from tests.features.host_sessions.signed_site import PASSWORD, STEPS, SignedSite, session_processes, signed_site
from tests.net.outside import serving
from tests.world import World

ADMIN = Caller("default", "kim", Role.ADMIN)
OTHER = Caller("acme", "ann", Role.ADMIN)


def cookie(**fields: Any) -> dict[str, Any]:
    return {"name": "sid", "value": "given-by-hand", **fields}


async def put(world: World, site: SignedSite, caller: Caller = ADMIN, **body: Any) -> None:
    await world.cases[HostSessions].put(caller, site.host, "shop", body)


def sign_in(site: SignedSite, **more: Any) -> dict[str, Any]:
    return {"url": site.url("/login"), "steps": STEPS, **more}


async def test_cookies_are_sent_to_their_host_alone_and_to_their_tenant_alone(world: World) -> None:
    async with signed_site() as site, serving() as elsewhere, session_processes(world.store) as (process,):
        site.valid.add("given-by-hand")
        await put(world, site, cookies=[cookie(), cookie(name="deep", path="/in/deep")])
        await put(world, site, OTHER, cookies=[cookie(value="of-another")])

        assert (await process.get(site.url("/in"))).status == 200
        assert (await process.get(site.url("/in"), session=None)).status == 401
        assert (await process.get(site.url("/in"), tenant="acme")).status == 401
        other = await process.get(f"http://127.0.0.1:{elsewhere.port}/")

    assert isinstance(other, Page), "another host is fetched, without cookies"
    assert not any(b"Cookie" in head for head in elsewhere.requests)
    assert site.cookies_of("/in") == ["sid=given-by-hand", "", "sid=of-another"]


async def test_what_answers_set_is_kept_for_all_processes(world: World) -> None:
    async with signed_site() as site, session_processes(world.store, 2) as (one, other):
        site.valid.add("given-by-hand")
        await put(world, site, cookies=[cookie()])
        site.sets = "basket=7; Path=/"
        assert (await one.get(site.url("/in"))).status == 200
        site.sets = ""
        assert (await other.get(site.url("/in/next"))).status == 200

    assert sorted(site.cookies_of("/in/next")[0].split("; ")) == ["basket=7", "sid=given-by-hand"]


async def test_cookies_are_encrypted_at_rest_and_never_shown(world: World) -> None:
    async with signed_site() as site:
        await put(world, site, cookies=[cookie()])
        (shown,) = await world.cases[HostSessions].list(ADMIN)
        async with world.store.read() as tx:
            (row,) = (await tx.conn.execute(select(host_sessions))).all()

        assert (shown.count, shown.cookies) == (1, None)
        assert row.sealed is not None
        assert b"given-by-hand" not in bytes(row.sealed)
        async with world.store.begin() as tx:
            # A row of one tenant that is copied to another cannot be opened there.
            await tx.conn.execute(update(host_sessions).values(tenant_id="acme"))
        async with session_processes(world.store) as (process,):
            failure = await process.get(site.url(), tenant="acme")
    assert isinstance(failure, FetchFailure)
    assert failure.problem.code == "session_unusable"


async def test_a_session_that_does_not_exist_is_named(world: World) -> None:
    async with signed_site() as site, session_processes(world.store) as (process,):
        failure = await process.get(site.url())

    assert isinstance(failure, FetchFailure)
    assert (failure.problem.code, failure.permanent) == ("session_missing", True)
    assert [path for path, _ in site.asked] == ["/robots.txt"]


async def test_a_sign_in_without_a_browser_says_so(world: World) -> None:
    async with signed_site() as site, session_processes(world.store) as (process,):
        await put(world, site, login=sign_in(site))
        failure = await process.get(site.url())

    assert isinstance(failure, FetchFailure)
    assert failure.problem.code == "no_browser"


@pytest.mark.slow
async def test_a_browser_signs_in_once_for_many_pages_and_again_when_the_session_has_ended(world: World) -> None:
    async with (
        signed_site() as site,
        renderer(secrets={"SHOP_PASSWORD": PASSWORD}) as browsers,
        session_processes(world.store, renderer=browsers) as (process,),
    ):
        await put(world, site, login=sign_in(site))
        pages = await asyncio.gather(
            *(process.get(site.url(f"/in/{number}"), render=Render.NEVER) for number in range(6))
        )
        assert [getattr(page, "status", page) for page in pages] == [200] * 6
        assert site.sign_ins == 1

        rendered = await process.get(site.url("/in/rendered"), render=Render.ALWAYS)
        assert isinstance(rendered, Page), rendered
        assert rendered.rendered is not None
        assert b"Prices for members" in rendered.rendered
        assert site.sign_ins == 1

        site.valid.clear()
        assert (await process.get(site.url("/in/soon"), render=Render.NEVER)).status == 401, "not twice in ten minutes"
        await _long_ago(world)
        await process.sessions.find("default", "shop", site.host, anew=True)
        site.redirects = True
        assert (await process.get(site.url("/in/again"), render=Render.NEVER)).status == 200
    assert site.sign_ins == 2
    assert PASSWORD not in str(site.asked)


@pytest.mark.slow
async def test_a_sign_in_that_fails_is_not_tried_for_every_page(world: World) -> None:
    async with (
        signed_site() as site,
        renderer(secrets={"SHOP_PASSWORD": "a-wrong-password"}, seconds=6) as browsers,
        session_processes(world.store, renderer=browsers) as (process,),
    ):
        await put(world, site, login=sign_in(site))
        first, second = await process.get(site.url("/in/1")), await process.get(site.url("/in/2"))
        (shown,) = await world.cases[HostSessions].list(ADMIN)

    for failure in (first, second):
        assert isinstance(failure, FetchFailure)
        assert (failure.problem.code, failure.permanent) == ("sign_in_failed", False)
    assert second.retry_after is not None
    assert len(site.cookies_of("/login")) == 1
    assert shown.problem is not None
    assert "a-wrong-password" not in shown.problem


async def _long_ago(world: World) -> None:
    async with world.store.begin() as tx:
        (row,) = (await tx.conn.execute(select(host_sessions.c.signed_in_at))).all()
        earlier = row.signed_in_at.replace(year=row.signed_in_at.year - 1)
        await tx.conn.execute(update(host_sessions).values(signed_in_at=earlier))


async def test_a_session_is_replaced_and_deleted(world: World) -> None:
    cases = world.cases[HostSessions]
    await cases.put(ADMIN, "Shop.Example", "shop", {"cookies": [cookie()]})
    changed = await cases.put(
        ADMIN, "shop.example", "shop", {"login": {"url": "https://shop.example/login", "every": "12h"}}
    )

    assert (changed.count, changed.host) == (1, "shop.example"), "cookies stay where none are given"
    assert await cases.list(OTHER) == []
    with pytest.raises(NotFound):
        await cases.delete(OTHER, "shop.example", "shop")
    await cases.delete(ADMIN, "shop.example", "shop")
    assert await cases.list(ADMIN) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "login"),
        ({"login": {}}, "login.url"),
        ({"login": {"url": "ftp://x"}}, "login.url"),
        ({"login": {"url": "https://x.example/", "every": "1s"}}, "login.every"),
        ({"login": {"url": "https://x.example/", "steps": [{"do": "dance"}]}}, "login.steps.0.do"),
        ({"login": {"url": "https://x.example/", "step": []}}, "login.step"),
        ({"cookies": {}}, "cookies"),
        ({"cookies": [{"name": "a"}]}, "cookies.0.value"),
        ({"cookies": [cookie(value="a;b")]}, "cookies.0"),
        ({"cookies": [cookie(expires="soon")]}, "cookies.0.expires"),
    ],
)
async def test_errors_name_the_field_and_no_value_of_a_cookie(world: World, body: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await world.cases[HostSessions].put(ADMIN, "shop.example", "shop", body)
    assert refused.value.field == field
    assert "given-by-hand" not in str(refused.value)
