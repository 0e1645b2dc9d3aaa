"""Signing in with a browser: the cookie, who may use it, and what a page of another site cannot do with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import hs256
from foliot.core.access import Caller, Role
from foliot.core.errors import Unauthenticated
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.key_cache import KeyCache, LastUse
from foliot.features.api_keys.usecases import ApiKeys as KeysCases
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.sessions import schema as sessions_schema
from foliot.features.sessions.rest import session
from foliot.features.sessions.usecases import Sessions, Tickets
from foliot.servers.http import sse
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.asgi import Answer, Client
from tests.declared import conforms
from tests.tokens import SECRET, by_secret, claims, token
from tests.world import HOURLY, KEYRING, OneAction, World, open_world

HOST = "foliot.example"
ORIGIN = f"https://{HOST}"
ADMIN = Caller("acme", "ada", Role.ADMIN)


@dataclass(frozen=True)
class House:
    """A secured Foliot, and a browser in front of it."""

    world: World
    client: Client

    def token(self, *, life: timedelta = timedelta(hours=1), **said: Any) -> str:
        now = self.world.clock.now()
        said = {"sub": "ada", "tenant_id": "acme", "role": "admin", "exp": int((now + life).timestamp()), **said}
        return token({"alg": "HS256", "typ": "JWT"}, claims(now, **said), by_secret())

    async def sign_in(self, shown: object, **headers: str) -> Answer:
        return await self.client.post("/api/session", shown, **{"Origin": ORIGIN, **headers})

    async def browser(self, **said: Any) -> Browser:
        made = await self.sign_in({"token": self.token(**said)})
        assert made.status == 204, made.text
        return await Browser.of(self.client, made)


@dataclass(frozen=True)
class Browser:
    """Keeps its cookie, and the word that the page reads with it."""

    client: Client
    cookie: str
    csrf: str

    @classmethod
    async def of(cls, client: Client, made: Answer) -> Browser:
        cookie = made.headers["set-cookie"].split(";")[0]
        who = await client.get("/api/session", Cookie=cookie)
        return cls(client, cookie, who.json["csrf"])

    async def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        own = {"Cookie": self.cookie, "Origin": ORIGIN, "X_CSRF_Token": self.csrf}
        kept = {name: value for name, value in {**own, **headers}.items() if value}
        return await self.client.send(method, path, body, **kept)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_world() as world:
        tokens = Tokens(keys=hs256(SECRET), clock=world.clock, expected=Expectations(audience="foliot"))
        keys = KeyCache(store=world.store, clock=world.clock, pepper=KEYRING, last_use=LastUse(store=world.store))
        yield House(world, Client(create_app(world.cases, identity=CredentialCheck(tokens, keys)), host=HOST))


# --- in and out -------------------------------------------------------------------------------------------------------


async def test_a_stranger_learns_that_there_is_a_door_and_nothing_else(house: House) -> None:
    answer = await house.client.get("/api/session")

    assert answer.json == {"mode": "secured", "signed_in": False, "version": answer.json["version"]}
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers


async def test_a_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(house: House) -> None:
    shown = house.token()
    made = await house.sign_in({"token": shown})

    value, *flags = made.headers["set-cookie"].split("; ")
    assert made.status == 204
    assert value.startswith("__Host-foliot_session=ses_")
    assert set(flags) == {"Max-Age=3600", "Path=/", "HttpOnly", "SameSite=Strict", "Secure"}
    assert shown not in made.headers["set-cookie"], "what was shown is not kept by the browser"


@pytest.mark.parametrize(
    ("headers", "secure"),
    [
        ({"Origin": f"http://{HOST}"}, False),
        ({"Origin": ORIGIN}, True),
        ({"Origin": f"http://{HOST}", "X_Forwarded_Proto": "https"}, True),
    ],
)
async def test_a_cookie_is_for_https_alone_where_the_browser_came_by_it(
    house: House, headers: dict[str, str], secure: bool
) -> None:
    made = await house.client.post("/api/session", {"token": house.token()}, **headers)

    assert ("Secure" in made.headers["set-cookie"]) is secure


async def test_whoever_signed_in_is_told_who_they_are_and_what_they_may(house: House) -> None:
    browser = await house.browser(role="operator")

    answer = await browser.send("GET", "/api/session")

    told = conforms(sessions_schema.SessionInfo, answer.json)
    assert (told["mode"], told["signed_in"], told["user_id"], told["tenant_id"], told["role"]) == (
        "secured",
        True,
        "ada",
        "acme",
        Role.OPERATOR,
    )
    assert told["may"] is not None
    assert {"read:schedule", "run:dead_letter"} <= set(told["may"])
    assert not {"write:key", "read:house"} & set(told["may"])
    assert (told["timezone"], told["csrf"], told["demo"]) == ("UTC", browser.csrf, None)
    assert told["features"] is not None
    assert not told["features"].echo


async def test_a_session_may_do_what_its_role_may_and_is_named_in_the_trail(house: House) -> None:
    browser = await house.browser()

    made = await browser.send("POST", "/api/schedules", HOURLY)
    trail = await browser.send("GET", "/api/audit")

    assert made.status == 201
    assert [(one["verb"], one["thing"], one["door"], one["user_id"]) for one in trail.json["items"]] == [
        ("create", "schedule", "dashboard", "ada"),
        ("sign_in", "session", "dashboard", "ada"),
    ]
    viewer = await house.browser(role="viewer")
    assert (await viewer.send("POST", "/api/schedules", HOURLY)).json["code"] == "forbidden"


async def test_signing_out_takes_the_cookie_away_and_ends_the_session(house: House) -> None:
    browser, other = await house.browser(), await house.browser()
    ticket = (await browser.send("POST", "/api/stream-tickets")).json["ticket"]
    code = (await browser.send("POST", "/api/login-links")).json["url"].partition("=")[2]

    answer = await browser.send("DELETE", "/api/session")

    assert answer.status == 204
    taken = "__Host-foliot_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure"
    assert answer.headers["set-cookie"] == taken
    assert (await browser.send("GET", "/api/schedules")).json["code"] == "session_over", "whoever kept a copy is nobody"
    assert (await browser.send("GET", "/api/session")).json["signed_in"] is False
    assert (await house.sign_in({"code": code})).status == 401, "a link that it made signs nobody in"
    assert (await house.client.get(f"/api/runs?ticket={ticket}", Accept="text/event-stream")).status == 401
    assert (await other.send("GET", "/api/schedules")).status == 200, "the other browser of the same person stays"
    assert (await browser.send("DELETE", "/api/session")).status == 204
    verbs = [entry.verb for entry in await house.world.cases[AuditLog].list(ADMIN, PageRequest(10))]
    assert verbs.count("sign_out") == 1


@pytest.mark.parametrize("path", ["/api/session", "/api/sessions"])
@pytest.mark.parametrize("by_ticket", [False, True])
async def test_signing_out_ends_the_streams_of_the_session_and_no_others(
    house: House, monkeypatch: pytest.MonkeyPatch, path: str, by_ticket: bool
) -> None:
    monkeypatch.setattr(sse, "LOOK", 0.01)
    browser, other = await house.browser(), await house.browser(sub="bob")
    made = (await browser.send("POST", "/api/schedules", HOURLY)).json["id"]
    run_id = (await browser.send("POST", f"/api/schedules/{made}/run-now")).json["id"]
    url = f"/api/runs/{run_id}/events"
    mine: dict[str, str] = {"cookie": browser.cookie}
    ticket = ""
    if by_ticket:
        ticket, mine = f"?ticket={(await browser.send('POST', '/api/stream-tickets')).json['ticket']}", {}

    async with (
        house.client.stream(url + ticket, **mine) as ending,
        house.client.stream(url, cookie=other.cookie) as going,
    ):
        await ending.frames(1)
        await going.frames(1)
        await browser.send("DELETE", path)
        house.world.clock.advance(2)

        assert "no longer valid" in (await ending.frames())[-1]
        await other.send("POST", f"/api/runs/{run_id}/cancel")
        assert "event: end" in (await going.frames())[-1]


async def test_signing_out_everywhere_ends_all_sessions_of_one_person(house: House) -> None:
    mine = [await house.browser() for _ in range(3)]
    namesake = await house.browser(tenant_id="other")
    colleague = await house.browser(sub="bob")

    answer = await mine[0].send("DELETE", "/api/sessions")
    house.world.clock.advance(3)

    assert (answer.status, conforms(sessions_schema.SessionsEnded, answer.json).ended) == (200, 3)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert {(await one.send("GET", "/api/schedules")).status for one in mine} == {401}
    assert [(await one.send("GET", "/api/schedules")).status for one in (namesake, colleague)] == [200, 200]
    again = await house.client.send("DELETE", "/api/sessions", Authorization=f"Bearer {house.token()}")
    assert (again.status, again.json) == (200, {"ended": 0}), "a token asks for its own user too"


async def test_a_session_that_ended_in_another_process_is_over_within_five_seconds(house: House) -> None:
    browser, other = await house.browser(), await house.browser()
    assert (await browser.send("GET", "/api/schedules")).status == 200
    elsewhere = use_cases(house.world.store, house.world.clock, MemoryFeed(), OneAction(), pepper=KEYRING)

    await elsewhere[Sessions].end(elsewhere[Sessions].caller(browser.cookie.partition("=")[2]))
    house.world.clock.advance(3)

    assert (await browser.send("GET", "/api/schedules")).status == 401
    assert (await other.send("GET", "/api/schedules")).status == 200


async def test_without_a_master_key_signing_out_ends_the_session_too() -> None:
    async with open_store() as store:
        clock = StoppedClock()
        cases = use_cases(store, clock, MemoryFeed(), OneAction())
        tokens = Tokens(keys=hs256(SECRET), clock=clock, expected=Expectations(audience="foliot"))
        house = House(
            World(store, clock, cases, MemoryFeed()),
            Client(create_app(cases, identity=CredentialCheck(tokens)), host=HOST),
        )
        browser = await house.browser()

        assert (await browser.send("GET", "/api/schedules")).status == 200
        assert (await browser.send("DELETE", "/api/session")).status == 204
        assert (await browser.send("GET", "/api/schedules")).status == 401
        bare = {"Cookie": f"__Host-foliot_session={house.token()}"}
        assert (await house.client.get("/api/schedules", **bare)).status == 401, "a token alone is no session"
        forged = {"Cookie": f"{browser.cookie[:-32]}{'0' * 32}"}
        assert (await house.client.get("/api/schedules", **forged)).status == 401


@pytest.mark.parametrize("proto", ["https", "http"])
async def test_by_https_only_the_name_counts_that_no_neighbour_can_give(house: House, proto: str) -> None:
    made = await house.client.post("/api/session", {"token": house.token()}, Origin=f"http://{HOST}")
    cookie = made.headers["set-cookie"].split(";")[0]
    assert cookie.startswith("foliot_session=")

    answer = await house.client.get("/api/schedules", Cookie=cookie, X_Forwarded_Proto=proto)

    assert answer.status == (401 if proto == "https" else 200)


@pytest.mark.parametrize(
    "shown",
    [
        {"token": "x"},
        {"token": "flt_00000000_" + "A" * 43},
        {"token": "ses_e30.0"},
        {"code": "lgn_" + "A" * 43},
    ],
)
async def test_what_does_not_count_signs_nobody_in(house: House, shown: object) -> None:
    answer = await house.sign_in(shown)

    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("shown", [None, {}, [], "x", {"token": 1}, {"token": ""}, {"token": "a", "code": "b"}])
async def test_a_request_that_is_none_is_told_what_one_is(house: House, shown: object) -> None:
    answer = await house.sign_in(shown)

    assert (answer.status, answer.json["code"]) == (422, "invalid")


async def test_local_mode_asks_nobody_to_sign_in() -> None:
    async with open_world() as world:
        client = Client(create_app(world.cases))
        who = conforms(sessions_schema.SessionInfo, (await client.get("/api/session")).json)
        refused = await client.post("/api/session", {"token": "x"})

    assert (who["mode"], who["signed_in"], who["user_id"], who["role"], who["csrf"]) == (
        "local",
        True,
        "local",
        Role.SYSTEM,
        None,
    )
    assert who["features"] is not None
    assert who["features"].echo
    assert (refused.status, refused.json["code"]) == (409, "conflict")


# --- when it ends -----------------------------------------------------------------------------------------------------


async def test_a_session_ends_with_its_token_in_words_that_a_page_can_tell(house: House) -> None:
    browser = await house.browser(life=timedelta(minutes=10))
    assert (await browser.send("GET", "/api/schedules")).status == 200

    house.world.clock.advance(timedelta(minutes=11))

    answer = await browser.send("GET", "/api/schedules")
    assert (answer.status, answer.json["code"]) == (401, "session_over")
    who = await browser.send("GET", "/api/session")
    assert who.json["signed_in"] is False
    assert "Max-Age=0" in who.headers["set-cookie"]


async def test_a_session_ends_when_its_key_is_revoked(house: House) -> None:
    key = await house.world.cases[KeysCases].create(ADMIN, {"name": "browser", "role": "viewer"})
    made = await house.sign_in({"token": key.text})
    assert "Max-Age=2592000" in made.headers["set-cookie"], "a key without an end gives a session of 30 days"
    browser = await Browser.of(house.client, made)

    await house.world.cases[KeysCases].revoke(ADMIN, key.key.id)
    house.world.clock.advance(5)

    assert (await browser.send("GET", "/api/schedules")).json["code"] == "session_over"


async def test_nobody_makes_a_session_by_writing_one(house: House) -> None:
    browser = await house.browser(role="viewer")
    name, _, text = browser.cookie.partition("=")
    payload, _, seal = text.removeprefix("ses_").rpartition(".")

    for forged in (f"ses_{payload}.{'0' * 64}", f"ses_{payload}x.{seal}", f"ses_{payload}", "ses_", "", f"{text}é"):
        answer = await house.client.get("/api/schedules", Cookie=f"{name}={forged}")
        assert (answer.status, answer.json["code"]) == (401, "session_over"), forged
    bearer = await house.client.get("/api/schedules", Authorization=f"Bearer {text}")
    assert bearer.status == 401, "a session is a browser's alone"


# --- other sites ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"X_CSRF_Token": ""},
        {"X_CSRF_Token": "0" * 64},
        {"Origin": ""},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": f"https://{HOST}.evil.example"},
        {"Origin": f"https://{HOST}:8443"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
async def test_a_page_of_another_site_changes_nothing_with_the_cookie(house: House, headers: dict[str, str]) -> None:
    browser = await house.browser()

    for method, path in (("POST", "/api/schedules"), ("DELETE", "/api/schedules/x"), ("PUT", "/api/tenants/acme")):
        answer = await browser.send(method, path, HOURLY, **headers)
        assert (answer.status, answer.json["code"]) == (403, "forged"), (method, answer.text)
    assert await house.world.cases[Schedules].list(ADMIN, PageRequest()) == []


async def test_the_word_of_one_session_does_not_open_another(house: House) -> None:
    ada, eve = await house.browser(), await house.browser(sub="eve")

    answer = await ada.send("POST", "/api/schedules", HOURLY, X_CSRF_Token=eve.csrf)

    assert answer.json["code"] == "forged"


async def test_another_site_cannot_even_ask_with_the_cookie(house: House) -> None:
    browser = await house.browser()

    answer = await browser.send("GET", "/api/schedules", Sec_Fetch_Site="cross-site", Origin="")

    assert answer.json["code"] == "forged"


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_another_site_signs_nobody_in_or_out(house: House, origin: str) -> None:
    """Whoever is signed in as somebody else without noticing writes into the other's tenant."""
    for method, shown in (("POST", {"token": house.token()}), ("DELETE", None)):
        answer = await house.client.send(method, "/api/session", shown, Origin=origin)

        assert (answer.status, answer.json["code"]) == (403, "forged")
        assert "set-cookie" not in answer.headers


async def test_a_second_cookie_from_a_neighbour_fixes_nobody_to_a_foreign_session(house: House) -> None:
    ours, theirs = await house.browser(), await house.browser(sub="eve", tenant_id="evil")

    answer = await house.client.get("/api/schedules", Cookie=f"{theirs.cookie}; {ours.cookie}")

    assert (answer.status, answer.json["code"]) == (401, "session_over")


async def test_a_session_that_was_there_before_does_not_live_on_in_the_new_one(house: House) -> None:
    before = await house.browser(sub="eve", tenant_id="evil")
    made = await house.sign_in({"token": house.token()}, Cookie=before.cookie)
    after = await Browser.of(house.client, made)

    assert after.cookie != before.cookie
    assert (await after.send("GET", "/api/session")).json["tenant_id"] == "acme"


async def test_a_token_in_the_header_needs_no_page_and_does_not_mind_the_cookie(house: House) -> None:
    browser = await house.browser(role="viewer")
    bearer = f"Bearer {house.token()}"

    answer = await house.client.post("/api/schedules", HOURLY, Authorization=bearer, Cookie=browser.cookie)

    assert answer.status == 201


# --- wrong ones -------------------------------------------------------------------------------------------------------


def changed(text: str) -> str:
    """The same with another end."""
    return text[:-8] + ("A" * 8 if text[-8:] != "A" * 8 else "B" * 8)


async def credential(house: House, kind: str) -> dict[str, str]:
    """Something that signs somebody in."""
    match kind:
        case "token":
            return {"token": house.token()}
        case "key":
            return {"token": (await house.world.cases[KeysCases].create(ADMIN, {"name": "k", "role": "viewer"})).text}
        case _:
            return {"code": (await link(house)).json["url"].partition("=")[2]}


@pytest.mark.parametrize("kind", ["token", "key", "code"])
async def test_whoever_guesses_too_often_is_not_heard_for_a_while_and_keeps_nobody_out(house: House, kind: str) -> None:
    right = await credential(house, kind)
    ((name, text),) = right.items()
    codes = [(await house.sign_in({name: changed(text)})).status for _ in range(31)]
    assert codes == [401] * 30 + [429]

    refused = await house.sign_in(right)
    assert refused.status == 429, "whoever tries every end would find it"
    assert int(refused.headers["retry-after"]) >= 1
    for other in ("token", "key", "code"):
        sub = {"token": {"token": house.token(sub="bob")}}
        assert (await house.sign_in(sub.get(other) or await credential(house, other))).status == 204

    house.world.clock.advance(3)
    assert (await house.sign_in(right)).status == 204


async def test_no_more_guesses_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "REMEMBERED", 3)
    tries = session.FailedGuesses()
    for number in range(5):
        tries.wrong(session.guess("::1", f"flt_{number:08}_x"), 0.0)

    assert list(tries.buckets) == [session.guess("::1", f"flt_{number:08}_y") for number in (2, 3, 4)]


async def test_whoever_is_right_is_never_counted(house: House) -> None:
    await house.sign_in({"token": "x"})

    assert {(await house.sign_in({"token": house.token()})).status for _ in range(40)} == {204}


# --- links ------------------------------------------------------------------------------------------------------------


async def link(house: House, **said: Any) -> Answer:
    return await house.client.post("/api/login-links", None, Authorization=f"Bearer {house.token(**said)}")


async def test_a_link_signs_its_maker_in_once(house: House) -> None:
    made = conforms(sessions_schema.LoginLink, (await link(house, role="viewer")).json)
    address, _, code = made.url.partition("/login?code=")
    assert address == "http://127.0.0.1:8000", "where it arrived; Host is whatever somebody wrote"

    first = await house.sign_in({"code": code})
    second = await house.sign_in({"code": code})

    assert (first.status, second.status) == (204, 401)
    who = await (await Browser.of(house.client, first)).send("GET", "/api/session")
    assert (who.json["user_id"], who.json["tenant_id"], who.json["role"]) == ("ada", "acme", "viewer")


async def test_links_lead_where_the_operator_says(house: House) -> None:
    tokens = Tokens(keys=hs256(SECRET), clock=house.world.clock, expected=Expectations(audience="foliot"))
    app = create_app(house.world.cases, identity=CredentialCheck(tokens), public_url="https://foliot.example")
    bearer = {"Authorization": f"Bearer {house.token()}"}

    for host in ("evil.example", HOST):
        made = await Client(app, host=host).post("/api/login-links", None, **bearer)
        assert made.json["url"].startswith("https://foliot.example/login?code=")
    given = await Client(app, host=HOST).post("/api/session", {"token": house.token()})
    assert given.headers["set-cookie"].startswith("__Host-foliot_session=")


async def test_a_link_is_over_after_five_minutes(house: House) -> None:
    made = (await link(house)).json

    house.world.clock.advance(timedelta(minutes=5))

    assert (await house.sign_in({"code": made["url"].partition("=")[2]})).status == 401


async def test_a_link_gives_no_longer_session_than_its_maker_has(house: House) -> None:
    made = (await link(house, life=timedelta(minutes=3))).json
    code = made["url"].partition("=")[2]

    given = await house.sign_in({"code": code})
    assert "Max-Age=180" in given.headers["set-cookie"]

    late = (await link(house, life=timedelta(minutes=1))).json["url"].partition("=")[2]
    house.world.clock.advance(timedelta(minutes=2))
    assert (await house.sign_in({"code": late})).status == 401


async def test_a_code_is_no_ticket_and_a_ticket_no_code(house: House) -> None:
    code = (await link(house)).json["url"].partition("=")[2]
    bearer = f"Bearer {house.token()}"
    ticket = (await house.client.post("/api/stream-tickets", None, Authorization=bearer)).json["ticket"]

    assert (await house.sign_in({"code": ticket})).status == 401
    assert (await house.sign_in({"token": code})).status == 401


async def test_the_answer_of_a_link_is_not_given_twice(house: House) -> None:
    headers = {"Authorization": f"Bearer {house.token()}", "Idempotency_Key": "one"}
    first = await house.client.post("/api/login-links", None, **headers)
    again = await house.client.post("/api/login-links", None, **headers)

    assert (first.status, again.status) == (201, 409)
    assert first.headers["cache-control"] == "no-store"


# --- people -----------------------------------------------------------------------------------------------------------


async def test_members_are_who_was_seen_in_the_tenant(house: House) -> None:
    cases, clock = house.world.cases, house.world.clock
    await cases[KeysCases].create(ADMIN, {"name": "deploys", "role": "operator"})
    gone = await cases[KeysCases].create(ADMIN, {"name": "old", "role": "admin"})
    clock.advance(60)
    await cases[KeysCases].revoke(ADMIN, gone.key.id)
    await cases[KeysCases].create(Caller("other", "zoe", Role.ADMIN), {"name": "theirs", "role": "viewer"})
    clock.advance(60)
    browser = await house.browser(sub="bob", role="admin")

    answer = await browser.send("GET", "/api/members")

    found = {one.user_id: one for one in conforms(sessions_schema.MemberPage, answer.json).items}
    assert list(found) == ["bob", "ada", "key:deploys"]
    assert (found["ada"].keys, found["ada"].last_action) == (1, "revoke key")
    assert (found["bob"].roles, found["bob"].last_action) == ([Role.ADMIN], "sign_in session")
    assert (found["key:deploys"].roles, found["key:deploys"].last_seen_at) == ([Role.OPERATOR], None)


async def test_a_ticket_of_one_purpose_counts_for_no_other(house: House) -> None:
    """Even when what it begins with is changed: its digest is of its purpose."""
    cases = house.world.cases
    caller = Caller("acme", "ada", Role.OPERATOR)
    code, ticket = (await cases[Sessions].link(caller)).text, (await cases[Tickets].issue(caller)).text

    for text in (code, f"tkt_{code.removeprefix('lgn_')}"):
        with pytest.raises(Unauthenticated):
            await cases[Tickets].take(text)
    for text in (ticket, f"lgn_{ticket.removeprefix('tkt_')}"):
        with pytest.raises(Unauthenticated):
            await cases[Sessions].redeem(text)
    assert (await cases[Tickets].take(ticket)).user_id == (await cases[Sessions].redeem(code)).user_id == "ada"
