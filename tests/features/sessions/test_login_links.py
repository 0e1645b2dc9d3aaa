"""Who may create a login link: every user, for themselves, and with no more rights than their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import hs256
from foliot.core.access import Caller, Role
from foliot.features.api_keys.key_cache import KeyCache, LastUse
from foliot.features.api_keys.usecases import ApiKeys as KeysCases
from tests.asgi import Client
from tests.features.sessions.test_rest_session import ADMIN, HOST, Browser, House
from tests.tokens import SECRET
from tests.world import HOURLY, KEYRING, open_world

NARROW = ["run:read", "ticket:write"]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_world() as world:
        tokens = Tokens(keys=hs256(SECRET), clock=world.clock, expected=Expectations(audience="foliot"))
        keys = KeyCache(store=world.store, clock=world.clock, pepper=KEYRING, last_use=LastUse(store=world.store))
        yield House(world, Client(create_app(world.cases, identity=CredentialCheck(tokens, keys)), host=HOST))


async def code_of(house: House, bearer: str) -> str:
    made = await house.client.post("/api/login-links", None, Authorization=f"Bearer {bearer}")
    assert made.status == 201, made.text
    return str(made.json["url"].partition("=")[2])


async def who(house: House, bearer: str) -> dict[str, Any]:
    told = (await house.client.get("/api/session", Authorization=f"Bearer {bearer}")).json
    return {name: told[name] for name in ("user_id", "tenant_id", "role", "may")}


async def key(house: House, **said: Any) -> tuple[str, str]:
    made = await house.world.cases[KeysCases].create(ADMIN, {"name": "robot", **said})
    return made.key.id, made.text


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_a_link_signs_in_its_maker_with_the_same_rights(house: House, role: str) -> None:
    for bearer in (house.token(sub="vera", role=role), (await key(house, role=role))[1]):
        browser = await Browser.of(house.client, await house.sign_in({"code": await code_of(house, bearer)}))

        told = (await browser.send("GET", "/api/session")).json
        assert {name: told[name] for name in ("user_id", "tenant_id", "role", "may")} == await who(house, bearer)
        made = await browser.send("POST", "/api/schedules", HOURLY)
        assert made.status == (403 if role == "viewer" else 201)


async def test_a_narrowed_key_makes_a_session_as_narrow(house: House) -> None:
    _, bearer = await key(house, role="admin", scopes=NARROW)
    browser = await Browser.of(house.client, await house.sign_in({"code": await code_of(house, bearer)}))

    assert sorted((await browser.send("GET", "/api/session")).json["may"]) == ["read:run", "write:ticket"]
    assert (await browser.send("GET", "/api/runs")).status == 200
    assert (await browser.send("GET", "/api/schedules")).status == 403
    assert (await browser.send("POST", "/api/keys", {"name": "mine", "role": "admin"})).status == 403


async def test_a_key_without_the_right_to_tickets_makes_no_link(house: House) -> None:
    _, bearer = await key(house, role="admin", scopes=["run:read"])

    assert (await house.client.post("/api/login-links", None, Authorization=f"Bearer {bearer}")).status == 403


@pytest.mark.parametrize("wish", [{"user_id": "bob"}, {"role": "admin"}, {"tenant_id": "other"}, {"ttl": 60}, [1], "x"])
async def test_nobody_chooses_whom_a_link_signs_in(house: House, wish: object) -> None:
    bearer = f"Bearer {house.token(role='viewer')}"

    refused = await house.client.post("/api/login-links", wish, Authorization=bearer)

    assert refused.status == 422
    assert "signs in its caller" in refused.text


async def test_a_link_of_a_key_that_was_revoked_meanwhile_signs_nobody_in(house: House) -> None:
    key_id, bearer = await key(house, role="operator")
    code = await code_of(house, bearer)

    await house.world.cases[KeysCases].revoke(Caller("acme", "ada", Role.ADMIN), key_id)
    house.world.clock.advance(3)

    assert (await house.sign_in({"code": code})).status == 401


async def test_links_of_links_do_not_outlive_the_first(house: House) -> None:
    browser = await Browser.of(
        house.client,
        await house.sign_in({"code": await code_of(house, house.token(life=timedelta(minutes=10)))}),
    )
    house.world.clock.advance(timedelta(minutes=9))
    again = (await browser.send("POST", "/api/login-links")).json["url"].partition("=")[2]

    assert "Max-Age=60" in (await house.sign_in({"code": again})).headers["set-cookie"]
