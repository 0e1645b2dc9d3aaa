"""API keys and stream tickets at the HTTP API: who gets access, with what, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from foliot.app.http import create_app
from foliot.auth.identity import LONGER, SHAPE, CredentialCheck
from foliot.auth.keyring import Keyring
from foliot.auth.tokens import LEEWAY, Expectations, Signer, Tokens
from foliot.auth.verification_keys import hs256
from foliot.core.access import Caller, Role
from foliot.core.document import rfc3339
from foliot.core.errors import Unauthenticated
from foliot.features.api_keys import schema as api_keys_schema
from foliot.features.api_keys.key_cache import KeyCache, LastUse
from foliot.features.api_keys.usecases import MOST
from foliot.features.api_keys.usecases import ApiKeys as KeysCases
from foliot.features.sessions import schema as sessions_schema
from foliot.features.sessions.usecases import Tickets
from foliot.servers.http import sse
from tests.asgi import Answer, Client
from tests.declared import conforms
from tests.features.schedules.test_rest_schedules import is_problem
from tests.world import KEYRING, URL, World, open_world

ACME, GLOBEX = "acme", "globex"
SECRET = "a secret that signs the tokens of tests"
EXPECTED = Expectations(audience="foliot")
UNKNOWN_KEY = "key_" + "0" * 32
HOURLY = {"name": "Hourly", "type": "interval", "interval_seconds": 3600, "payload": {"url": URL}}


@dataclass
class House:
    """A Foliot that asks who is there, and whom it knows."""

    world: World
    keyring: Keyring = KEYRING
    keys: KeyCache = field(init=False)
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        world = self.world
        self.keys = KeyCache(
            store=world.store, clock=world.clock, pepper=self.keyring, last_use=LastUse(store=world.store)
        )
        self.client = Client(create_app(world.cases, identity=self.identity))

    @property
    def identity(self) -> CredentialCheck:
        return CredentialCheck(Tokens(keys=hs256(SECRET), clock=self.world.clock, expected=EXPECTED), self.keys)

    async def key(self, tenant: str = ACME, role: Role = Role.ADMIN, **more: Any) -> dict[str, Any]:
        """A key, made by somebody who stands above all."""
        maker = Caller(tenant, "root", Role.SYSTEM)
        made = await self.world.cases[KeysCases].create(maker, {"name": f"{tenant} {role}", "role": role.value, **more})
        return {"id": made.key.id, "key": made.text, "authorization": f"Bearer {made.text}"}

    async def ask(self, method: str, url: str, key: dict[str, Any], body: object = None, **headers: str) -> Answer:
        return await self.client.send(method, url, body, authorization=key["authorization"], **headers)

    async def run(self, key: dict[str, Any]) -> str:
        """A run that stays queued."""
        schedule = (await self.ask("POST", "/api/schedules", key, HOURLY)).json
        run_id: str = (await self.ask("POST", f"/api/schedules/{schedule['id']}/run-now", key)).json["id"]
        return run_id

    async def ticket(self, key: dict[str, Any]) -> str:
        answer = await self.ask("POST", "/api/stream-tickets", key)
        assert answer.status == 201
        conforms(sessions_schema.StreamTicket, answer.json)
        ticket: str = answer.json["ticket"]
        return ticket


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_world() as world:
        yield House(world)


def refused(answer: Answer) -> None:
    is_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


# --- making keys ------------------------------------------------------------------------------------------------------


async def test_a_new_key_is_shown_once_and_opens_the_door(house: House) -> None:
    admin = await house.key()

    answer = await house.ask("POST", "/api/keys", admin, {"name": "deploys", "role": "operator"})

    assert (answer.status, answer.headers["cache-control"]) == (201, "no-store")
    conforms(api_keys_schema.NewApiKey, answer.json)
    assert SHAPE.fullmatch(answer.json["key"])
    assert answer.json["key"].startswith(answer.json["hint"])
    assert answer.json["id"].endswith(answer.json["hint"].removeprefix("flt_"))
    assert answer.json["created_by"] == "key:acme admin"
    fresh = {"authorization": f"Bearer {answer.json['key']}"}
    assert (await house.ask("GET", "/api/schedules", fresh)).status == 200
    listed = await house.ask("GET", "/api/keys", admin)
    conforms(api_keys_schema.ApiKeyPage, listed.json)
    assert [one["name"] for one in listed.json["items"]] == ["deploys", "acme admin"]
    assert answer.json["key"] not in listed.text
    made = (await house.ask("POST", "/api/schedules", fresh, HOURLY)).json
    assert (made["tenant_id"], made["user_id"]) == (ACME, "key:deploys")


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (None, {"body"}),
        ([], {"body"}),
        ({}, {"name", "role"}),
        ({"name": "x", "role": "king"}, {"role"}),
        ({"name": "x", "role": ["admin"]}, {"role"}),
        ({"name": "", "role": "viewer"}, {"name"}),
        ({"name": "x" * 201, "role": "viewer"}, {"name"}),
        ({"name": "x\u0001", "role": "viewer"}, {"name"}),
        ({"name": "x\n", "role": "viewer", "expires_at": "2027-01-04T12:00:00Z"}, {"expires_at"}),
        ({"name": "x", "role": "viewer", "expires_at": "2028-01-04T12:00:00"}, {"expires_at"}),
        ({"name": "x", "role": "viewer", "expires_at": "tomorrow"}, {"expires_at"}),
        ({"name": "x", "role": "viewer", "expires_at": 7}, {"expires_at"}),
        ({"name": "x", "role": "viewer", "scopes": []}, {"scopes"}),
        ({"name": "x", "role": "viewer", "scopes": "run:read"}, {"scopes"}),
        ({"name": "x", "role": "viewer", "scopes": ["run:read", "run:fly"]}, {"scopes[1]"}),
        ({"name": "x", "role": "viewer", "scopes": [["run:read"]]}, {"scopes[0]"}),
        ({"name": "x", "role": "viewer", "scopes": ["schedule:write"]}, {"scopes[0]"}),
        ({"name": "x", "role": "viewer", "ttl": 5, "tenant_id": GLOBEX}, {"ttl", "tenant_id"}),
    ],
)
async def test_a_wrong_request_names_every_wrong_field(house: House, body: object, fields: set[str]) -> None:
    answer = await house.ask("POST", "/api/keys", await house.key(), body)

    is_problem(answer, 422, "invalid")
    assert {error["field"] for error in answer.json["errors"]} == fields


async def test_nobody_hands_out_more_than_they_have(house: House) -> None:
    admin = await house.key()
    later = "2027-01-05T12:00:00Z"
    narrow = await house.key(scopes=["key:write", "run:read"], expires_at=later)
    operator = await house.key(role=Role.OPERATOR)

    async def status(key: dict[str, Any], **body: Any) -> int:
        return (await house.ask("POST", "/api/keys", key, {"name": "x", "role": "viewer", **body})).status

    assert await status(operator) == 403
    assert await status(admin, role="system") == 403
    assert await status(admin, role="admin") == 201
    assert await status(narrow) == 403
    assert await status(narrow, scopes=["schedule:read"], expires_at=later) == 403
    assert await status(narrow, scopes=["run:read", "schedule:read"], expires_at=later) == 403
    assert await status(narrow, scopes=["run:read"]) == 403
    assert await status(narrow, scopes=["run:read"], expires_at="2027-01-05T12:00:01Z") == 403
    assert await status(narrow, scopes=["run:read"], expires_at=later) == 201


async def test_a_key_may_only_what_its_scopes_say(house: House) -> None:
    reader = await house.key(role=Role.OPERATOR, scopes=["schedule:read"])

    assert (await house.ask("GET", "/api/schedules", reader)).status == 200
    is_problem(await house.ask("GET", "/api/runs", reader), 403, "forbidden")
    is_problem(await house.ask("POST", "/api/schedules", reader, HOURLY), 403, "forbidden")


async def test_there_are_at_most_a_hundred_keys_that_count(house: House) -> None:
    admin = await house.key()
    others = [await house.key(role=Role.VIEWER) for _ in range(MOST - 1)]

    answer = await house.ask("POST", "/api/keys", admin, {"name": "x", "role": "viewer"})
    is_problem(answer, 429, "too_many")
    assert "revoke one" in answer.json["detail"]

    await house.ask("DELETE", f"/api/keys/{others[0]['id']}", admin)
    assert (await house.ask("POST", "/api/keys", admin, {"name": "x", "role": "viewer"})).status == 201
    await house.key(GLOBEX)


async def test_the_key_of_a_repeated_request_is_not_shown_again(house: House) -> None:
    admin = await house.key()
    body = {"name": "x", "role": "viewer"}
    first = await house.ask("POST", "/api/keys", admin, body, Idempotency_Key="k1")

    again = await house.ask("POST", "/api/keys", admin, body, Idempotency_Key="k1")

    assert first.status == 201
    is_problem(again, 409, "conflict")
    assert len((await house.ask("GET", "/api/keys", admin)).json["items"]) == 2


async def test_keys_are_listed_page_by_page(house: House) -> None:
    admin = await house.key()
    for _ in range(4):
        await house.key(role=Role.VIEWER)

    page = (await house.ask("GET", "/api/keys?limit=3", admin)).json
    rest = (await house.ask("GET", f"/api/keys?limit=3&cursor={page['next_cursor']}", admin)).json

    assert [len(page["items"]), len(rest["items"]), rest["next_cursor"]] == [3, 2, None]


# --- what stops to count ----------------------------------------------------------------------------------------------


async def test_unknown_revoked_expired_and_malformed_keys_answer_alike(house: House) -> None:
    admin = await house.key()
    revoked = await house.key(role=Role.VIEWER)
    expiring = await house.key(role=Role.VIEWER, expires_at="2027-01-04T12:00:01Z")
    assert (await house.ask("GET", "/api/schedules", expiring)).status == 200
    await house.ask("DELETE", f"/api/keys/{revoked['id']}", admin)
    house.world.clock.advance(1)
    shown = admin["key"]
    wrong = [
        revoked["key"],
        expiring["key"],
        shown[:-1] + ("A" if shown[-1] != "A" else "B"),
        shown.upper(),
        shown + "A",
        "flt_",
        "flt_" + "x" * 5000,
        "é" * 56,
        f"{shown} ",
        f" {shown}",
    ]

    answers = [await house.client.get("/api/schedules", authorization=f"Bearer {one}") for one in wrong]

    for answer in answers:
        refused(answer)
    assert len({answer.body for answer in answers}) == 1


async def test_a_revoked_key_is_refused_within_two_seconds(house: House) -> None:
    admin, other = await house.key(), await house.key(role=Role.VIEWER)
    assert (await house.ask("GET", "/api/schedules", other)).status == 200

    assert (await house.ask("DELETE", f"/api/keys/{other['id']}", admin)).status == 204
    house.world.clock.advance(2)

    refused(await house.ask("GET", "/api/schedules", other))
    listed = (await house.ask("GET", "/api/keys", admin)).json["items"]
    found = next(one for one in listed if one["id"] == other["id"])
    assert (found["revoked_at"], found["revoked_by"]) == ("2027-01-04T12:00:00Z", "key:acme admin")


async def test_revoking_twice_is_the_same_as_once(house: House) -> None:
    admin, other = await house.key(), await house.key(role=Role.VIEWER)
    await house.ask("DELETE", f"/api/keys/{other['id']}", admin)
    before = (await house.ask("GET", "/api/keys", admin)).body
    house.world.clock.advance(60)

    assert (await house.ask("DELETE", f"/api/keys/{other['id']}", admin)).status == 204
    assert (await house.ask("GET", "/api/keys", admin)).body == before


async def test_a_foreign_key_answers_as_an_unknown_one(house: House) -> None:
    admin, foreign = await house.key(), await house.key(GLOBEX)

    theirs = await house.ask("DELETE", f"/api/keys/{foreign['id']}", admin)
    unknown = await house.ask("DELETE", f"/api/keys/{UNKNOWN_KEY}", admin)

    is_problem(unknown, 404, "not_found")
    assert theirs.text.replace(foreign["id"], UNKNOWN_KEY) == unknown.text
    is_problem(await house.ask("DELETE", "/api/keys/' OR 1=1", admin), 404, "not_found")
    house.world.clock.advance(2)
    assert (await house.ask("GET", "/api/keys", foreign)).status == 200


async def test_a_key_made_before_a_rotation_works_and_moves_to_the_newest_pepper(house: House) -> None:
    old = await house.key()
    rotated = House(
        house.world, Keyring.of(["a newer master key, made in a hurry", *["a master key that only tests know"]])
    )

    assert (await rotated.ask("GET", "/api/schedules", old)).status == 200

    alone = House(house.world, Keyring.of(["a newer master key, made in a hurry"]))
    assert (await alone.ask("GET", "/api/schedules", old)).status == 200
    refused(await House(house.world).ask("GET", "/api/schedules", old))


async def test_the_last_use_is_written_in_batches_and_at_most_once_a_minute(house: House) -> None:
    admin = await house.key()

    async def used() -> str | None:
        moment: str | None = (await house.ask("GET", "/api/keys", admin)).json["items"][0]["last_used_at"]
        return moment

    assert await used() is None
    assert (await house.keys.last_use.run_once()).keys == 1
    assert await used() == "2027-01-04T12:00:00Z"
    house.world.clock.advance(59)
    await used()
    assert (await house.keys.last_use.run_once()).keys == 0
    house.world.clock.advance(1)
    await used()
    assert (await house.keys.last_use.run_once()).keys == 1
    assert await used() == "2027-01-04T12:01:00Z"


async def test_many_requests_at_once_ask_the_store_once(house: House) -> None:
    admin = await house.key()
    asked = 0
    glance = house.world.store.glance

    def counted() -> Any:
        nonlocal asked
        asked += 1
        return glance()

    @dataclass
    class Counting:
        glance: Any

    house.keys.store = Counting(counted)  # type: ignore[assignment]
    bearers = [admin["key"]] * 50 + ["flt_00000000_" + "A" * 43] * 50

    answers = await asyncio.gather(*(house.keys.caller(one) for one in bearers), return_exceptions=True)

    assert [isinstance(one, Caller) for one in answers] == [True] * 50 + [False] * 50
    assert asked == 2


async def test_strangers_cannot_fill_the_memory(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.features.api_keys.key_cache.MOST", 10)
    for number in range(30):
        with pytest.raises(Unauthenticated):
            await house.keys.caller(f"flt_00000000_{number:043d}")

    assert len(house.keys._found) == 10


async def test_a_server_without_a_master_key_says_which_setting_it_needs(house: House) -> None:
    admin = await house.key()
    cases = house.world.cases
    bare = cases.but(replace(cases[KeysCases], pepper=None), replace(cases[Tickets], pepper=None))
    house.client = Client(create_app(bare, identity=house.identity))

    for path, body in (("/api/keys", {"name": "x", "role": "viewer"}), ("/api/stream-tickets", None)):
        answer = await house.ask("POST", path, admin, body)
        is_problem(answer, 409, "conflict")
        assert "FOLIOT_SECRET_KEY" in answer.json["detail"]


# --- tickets ----------------------------------------------------------------------------------------------------------


async def test_a_ticket_opens_one_stream(house: House) -> None:
    admin = await house.key()
    run_id, ticket = await house.run(admin), await house.ticket(admin)

    async with house.client.stream(f"/api/runs/{run_id}/events?ticket={ticket}") as stream:
        assert (await stream.frames(1))[0].startswith("id: 1\n")
    refused(await house.client.get(f"/api/runs/{run_id}/events?ticket={ticket}", accept="text/event-stream"))


async def test_a_ticket_lasts_sixty_seconds(house: House) -> None:
    admin = await house.key()
    run_id = await house.run(admin)
    answer = (await house.ask("POST", "/api/stream-tickets", admin)).json
    assert answer["expires_at"] == "2027-01-04T12:01:00Z"

    house.world.clock.advance(60)

    url = f"/api/runs/{run_id}/events?ticket={answer['ticket']}"
    refused(await house.client.get(url, accept="text/event-stream"))


async def test_a_ticket_counts_nowhere_but_at_streams(house: House) -> None:
    admin = await house.key()
    run_id, ticket = await house.run(admin), await house.ticket(admin)
    events = f"/api/runs/{run_id}/events"

    refused(await house.client.get(f"{events}?ticket={ticket}"))
    refused(await house.client.get(f"{events}?ticket={ticket}", accept="application/json"))
    for path in (f"/api/runs/{run_id}", "/api/runs", "/api/schedules", "/api/keys", "/metrics"):
        refused(await house.client.get(f"{path}?ticket={ticket}", accept="text/event-stream"))
    refused(await house.client.post(f"/api/stream-tickets?ticket={ticket}"))
    refused(await house.client.get("/api/runs", authorization=f"Bearer {ticket}"))
    # None of these spent it.
    async with house.client.stream(f"{events}?ticket={ticket}") as stream:
        assert await stream.frames(1)


@pytest.mark.parametrize("name", ["token", "access_token", "key", "api_key", "authorization", "ticket"])
async def test_a_key_in_the_address_is_never_accepted(house: House, name: str) -> None:
    admin = await house.key()
    run_id = await house.run(admin)

    for path in (f"/api/runs/{run_id}/events", "/api/schedules"):
        answer = await house.client.get(f"{path}?{name}={admin['key']}", accept="text/event-stream")
        refused(answer)
        assert admin["key"] not in answer.text


async def test_a_ticket_stands_for_who_asked_for_it(house: House) -> None:
    admin, foreign = await house.key(), await house.key(GLOBEX)
    narrow = await house.key(role=Role.OPERATOR, scopes=["ticket:write", "schedule:read"])
    run_id = await house.run(admin)

    async def follow(key: dict[str, Any], run: str = run_id) -> Answer:
        ticket = await house.ticket(key)
        return await house.client.get(f"/api/runs/{run}/events?ticket={ticket}", accept="text/event-stream")

    theirs, unknown = await follow(foreign), await follow(foreign, "run_" + "0" * 32)
    is_problem(unknown, 404, "not_found")
    assert theirs.text.replace(run_id, "run_" + "0" * 32) == unknown.text
    is_problem(await follow(narrow), 403, "forbidden")


async def test_a_ticket_of_a_revoked_key_opens_nothing(house: House) -> None:
    admin, other = await house.key(), await house.key(role=Role.VIEWER)
    run_id, ticket = await house.run(admin), await house.ticket(other)
    await house.ask("DELETE", f"/api/keys/{other['id']}", admin)
    house.world.clock.advance(2)

    refused(await house.client.get(f"/api/runs/{run_id}/events?ticket={ticket}", accept="text/event-stream"))


async def test_a_ticket_whose_row_was_damaged_stands_for_nobody(house: House) -> None:
    admin = await house.key()
    run_id = await house.run(admin)
    for damage in ("{", "[]", "{}", '{"user_id": "x", "role": "king"}', "7"):
        ticket = await house.ticket(admin)
        await house.world.sql("UPDATE tickets SET caller = :damage", damage=damage)
        refused(await house.client.get(f"/api/runs/{run_id}/events?ticket={ticket}", accept="text/event-stream"))


async def test_a_ticket_takes_no_body(house: House) -> None:
    admin = await house.key()

    is_problem(await house.ask("POST", "/api/stream-tickets", admin, {"tenant_id": GLOBEX}), 422, "invalid")
    assert (await house.ask("POST", "/api/stream-tickets", admin, {})).status == 201


# --- how long keys live -----------------------------------------------------------------------------------------------


async def test_a_key_outlives_the_token_that_made_it_by_so_much_and_no_more(house: House) -> None:
    signer = Signer(key=hs256(SECRET).key, expected=EXPECTED)
    now = house.world.clock.now()
    token = signer.sign(tenant_id=ACME, user_id="ada", role=Role.ADMIN, life=timedelta(minutes=5), now=now)
    ada = {"authorization": f"Bearer {token}"}
    latest = now + timedelta(minutes=5) + LONGER

    async def make(**said: Any) -> Any:
        return await house.ask("POST", "/api/keys", ada, {"name": "mine", "role": "viewer", **said})

    unsaid = await make()
    assert (unsaid.status, unsaid.json["expires_at"]) == (201, rfc3339(latest)), "not said is not forever"
    assert (await make(expires_at=rfc3339(latest))).status == 201
    refused = await make(expires_at=rfc3339(latest + timedelta(seconds=1)))
    assert (refused.status, refused.json["code"]) == (403, "forbidden")
    assert "FOLIOT_MAX_KEY_DAYS" in refused.text


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_ticket", [False, True])
async def test_a_stream_ends_when_its_key_is_revoked_and_others_go_on(
    house: House, monkeypatch: pytest.MonkeyPatch, by_ticket: bool
) -> None:
    monkeypatch.setattr(sse, "LOOK", 0.01)
    admin, other = await house.key(), await house.key(role=Role.VIEWER)
    run_id = await house.run(admin)
    url = f"/api/runs/{run_id}/events"
    query, headers = f"?ticket={await house.ticket(other)}", {}
    if not by_ticket:
        query, headers = "", {"authorization": other["authorization"]}

    async with (
        house.client.stream(url, authorization=admin["authorization"]) as going,
        house.client.stream(url + query, **headers) as ending,
    ):
        await going.frames(1)
        await ending.frames(1)
        await house.ask("DELETE", f"/api/keys/{other['id']}", admin)
        house.world.clock.advance(2)

        assert [frame for frame in await ending.frames() if frame.startswith(":")] == [
            ": your credential is no longer valid; reconnect with a valid one"
        ]
        await house.ask("POST", f"/api/runs/{run_id}/cancel", admin)
        assert "event: end" in (await going.frames())[-1]


async def test_a_stream_ends_when_what_was_shown_expires(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LOOK", 0.01)
    brief = await house.key(expires_at="2027-01-04T12:00:30Z")
    run_id = await house.run(brief)

    async with house.client.stream(f"/api/runs/{run_id}/events", authorization=brief["authorization"]) as stream:
        await stream.frames(1)
        house.world.clock.advance(30)

        assert "no longer valid" in (await stream.frames())[-1]


@pytest.mark.parametrize("by_ticket", [False, True])
async def test_a_token_that_expires_ends_its_stream_too(
    house: House, monkeypatch: pytest.MonkeyPatch, by_ticket: bool
) -> None:
    monkeypatch.setattr(sse, "LOOK", 0.01)
    signer = Signer(key=hs256(SECRET).key, expected=EXPECTED)
    life, now = timedelta(minutes=5), house.world.clock.now()
    token = signer.sign(tenant_id=ACME, user_id="ada", role=Role.ADMIN, life=life, now=now)
    ada = {"authorization": f"Bearer {token}"}
    url = f"/api/runs/{await house.run(ada)}/events"
    query, headers = f"?ticket={await house.ticket(ada)}", {}
    if not by_ticket:
        query, headers = "", ada

    async with house.client.stream(url + query, **headers) as stream:
        await stream.frames(1)
        house.world.clock.advance(life + LEEWAY)

        assert "no longer valid" in (await stream.frames())[-1]


# --- at rest ----------------------------------------------------------------------------------------------------------


async def test_no_table_holds_a_key_or_a_ticket(house: House) -> None:
    admin = await house.key()
    made = await house.ask("POST", "/api/keys", admin, {"name": "x", "role": "viewer"}, Idempotency_Key="one")
    ticket = await house.ask("POST", "/api/stream-tickets", admin, Idempotency_Key="two")
    await house.keys.last_use.run_once()

    async with house.world.store.begin() as tx:
        tables = (await tx.conn.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))).scalars().all()
        dump = "\n".join([str((await tx.conn.execute(text(f"SELECT * FROM {name}"))).all()) for name in tables])

    assert made.json["id"] in dump
    for secret in (admin["key"], made.json["key"], ticket.json["ticket"]):
        assert secret not in dump
        assert secret[-20:] not in dump
