"""An invitation signs a person in once, with the role that was chosen, until its key is revoked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.core.access import Caller, Role
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.usecases import ApiKeys
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.invites import schema
from tests.asgi import Answer, Client
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.declared import conforms
from tests.features.sessions.test_login_links import house
from tests.features.sessions.test_rest_session import ADMIN, Browser, House
from tests.world import HOURLY, World

__all__ = ["house", "server"]


async def invited(house: House, by: str = "admin", **said: Any) -> Answer:
    bearer = f"Bearer {house.token(sub='ada', role=by)}"
    return await house.client.post("/api/invites", {"name": "eva", "role": "operator", **said}, Authorization=bearer)


def code(answer: Answer) -> dict[str, str]:
    assert answer.status == 201, answer.text
    return {"code": answer.json["url"].partition("=")[2]}


async def test_the_link_signs_in_once_with_the_chosen_role(house: House) -> None:
    answer = await invited(house)
    conforms(schema.Invite, answer.json)

    browser = await Browser.of(house.client, await house.sign_in(code(answer)))

    told = (await browser.send("GET", "/api/session")).json
    assert (told["user_id"], told["tenant_id"], told["role"]) == ("key:eva", "acme", "operator")
    assert (await browser.send("POST", "/api/schedules", HOURLY)).status == 201
    assert (await browser.send("POST", "/api/keys", {"name": "more", "role": "viewer"})).status == 403
    assert (await house.sign_in(code(answer))).status == 401, "a link works once"
    entries = await house.world.cases[AuditLog].list(ADMIN, PageRequest(9))
    (entry,) = [one for one in entries if one.verb == "invite"]
    assert (entry.user_id, entry.thing_id, (entry.became or {})["role"]) == ("ada", answer.json["key_id"], "operator")


async def test_revoking_the_key_ends_the_session_and_an_unused_link(house: House) -> None:
    used, unused = await invited(house), await invited(house, name="bob")
    browser = await Browser.of(house.client, await house.sign_in(code(used)))
    for answer in (used, unused):
        await house.world.cases[ApiKeys].revoke(Caller("acme", "ada", Role.ADMIN), answer.json["key_id"])
    house.world.clock.advance(10)

    assert (await browser.send("GET", "/api/schedules")).status == 401
    assert (await house.sign_in(code(unused))).status == 401


async def test_a_link_expires_and_never_outlives_the_access(house: House) -> None:
    now = house.world.clock.now()
    soon = await invited(house, link_hours=1)
    short = await invited(house, expires_at=(now + timedelta(hours=2)).isoformat())
    assert short.json["link_expires_at"] == short.json["expires_at"]

    house.world.clock.advance(timedelta(minutes=61))

    assert (await house.sign_in(code(soon))).status == 401
    assert (await house.sign_in(code(short))).status == 204


@pytest.mark.parametrize(
    ("role", "said", "status", "says"),
    [
        ("viewer", {}, 403, "may not"),
        ("operator", {"role": "admin"}, 403, "may not"),
        ("admin", {"role": "system"}, 403, "may not grant"),
        ("admin", {"role": "king"}, 422, "role"),
        ("admin", {"name": ""}, 422, "name"),
        ("admin", {"link_hours": 0}, 422, "link_hours"),
        ("admin", {"link_hours": 721}, 422, "link_hours"),
        ("admin", {"scopes": ["run:read"]}, 422, "scopes"),
    ],
)
async def test_an_invitation_grants_no_more_than_its_maker_has(
    house: House, role: str, said: dict[str, object], status: int, says: str
) -> None:
    refused = await invited(house, role, **said)

    assert (refused.status, says in refused.text) == (status, True), refused.text
    assert await house.world.cases[ApiKeys].list(ADMIN, PageRequest(9)) == []


async def test_local_mode_has_nothing_to_be_invited_to(client: Client, world: World) -> None:
    answer = await client.post("/api/invites", {"name": "eva", "role": "viewer"})

    assert (answer.status, "local mode" in answer.text) == (409, True)
    assert await world.cases[ApiKeys].list(Caller("default", "local", Role.SYSTEM), PageRequest(9)) == []


def test_the_command_prints_the_link(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COLUMNS", "200")
    made = {"key_id": "key_1", "name": "eva", "role": "operator", "url": "http://f.example/login?code=lgn_x"}
    times = {"link_expires_at": "2027-01-01T09:00:00Z", "expires_at": None}
    server.will("POST", "/api/invites", (201, made | times))

    shown = invoke("invite", "eva", "--role", "operator", "--link-hours", "5")

    assert server.body() == {"name": "eva", "role": "operator", "link_hours": 5}
    assert "http://f.example/login?code=lgn_x" in shown.out
    assert "signs in once" in shown.err
