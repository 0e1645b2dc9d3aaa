"""The HTTP API with authentication: who is admitted, what others get, and what errors never reveal."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from foliot.app import build
from foliot.app.http import create_app
from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import SingleKey, VerificationKey, VerificationKeys, hs256, key_file
from foliot.commands.limits import FailedLoginDelay
from foliot.config.settings import Settings
from foliot.core.access import Role
from foliot.db.clock import wall
from foliot.features.health.metrics_rest import SCRAPER
from tests.asgi import Answer, Client
from tests.tokens import ALGORITHMS, SECRET, by, by_secret, claims, jwk, jwks, pem, private, token
from tests.world import HOURLY, World, open_world
from tests.zoo import zoo

METRICS = "m3tr1cs-for-the-one-who-scrapes"
HS = {"alg": "HS256", "typ": "JWT"}
GUARDED = "/api/schedules"
PUBLIC = ("/health", "/docs", "/openapi.json", "/")


def door(world: World, keys: VerificationKeys | None = None) -> Client:
    tokens = Tokens(keys=keys or hs256(SECRET), clock=world.clock, expected=Expectations(audience="foliot"))
    return Client(
        create_app(world.cases, identity=CredentialCheck(tokens), metrics_token=METRICS), host="foliot.example"
    )


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


def bearer(world: World, **changes: Any) -> str:
    return f"Bearer {token(HS, claims(world.clock.now(), **changes), by_secret())}"


class Listener(ThreadingHTTPServer):
    """A server on this machine that remembers what it was asked, and answers with a document."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.body = b"{}"
        super().__init__(("127.0.0.1", 0), Remembering)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/jwks"


class Remembering(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# --- who comes in -----------------------------------------------------------------------------------------------------


async def test_public_pages_ask_nobody(world: World) -> None:
    for path in PUBLIC:
        assert (await door(world).get(path)).status in {200, 307}, path


async def test_whoever_shows_nothing_is_asked_who_they_are(world: World) -> None:
    answer = await door(world).get(GUARDED)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json["code"] == "unauthenticated"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_a_good_token_comes_in_however_its_scheme_is_written(world: World, scheme: str) -> None:
    shown = bearer(world).partition(" ")[2]

    assert (await door(world).get(GUARDED, authorization=f"{scheme} {shown}")).status == 200


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_each_algorithm_comes_in_by_its_key(world: World, algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(pem(private(algorithm)))
    shown = token({"alg": algorithm}, claims(world.clock.now()), by(private(algorithm)))

    assert (await door(world, key_file(path)).get(GUARDED, authorization=f"Bearer {shown}")).status == 200


async def test_the_tenant_comes_from_the_token_alone(world: World) -> None:
    client = door(world)
    made = await client.post(GUARDED, HOURLY, authorization=bearer(world, tenant_id="acme"))
    assert made.status == 201, made.text
    assert (made.json["tenant_id"], made.json["user_id"]) == ("acme", "ada")

    mine = await client.get(f"{GUARDED}/{made.json['id']}", authorization=bearer(world, tenant_id="acme"))
    theirs = await client.get(f"{GUARDED}/{made.json['id']}", authorization=bearer(world, tenant_id="other"))
    spoofed = await client.get(
        f"{GUARDED}/{made.json['id']}", authorization=bearer(world, tenant_id="other"), X_Tenant_Id="acme"
    )
    assert (mine.status, theirs.status, spoofed.status) == (200, 404, 404)


async def test_a_role_opens_what_it_is_for(world: World) -> None:
    client = door(world)
    statuses = {
        role: (
            (await client.get(GUARDED, authorization=bearer(world, role=role.value))).status,
            (await client.post(GUARDED, HOURLY, authorization=bearer(world, role=role.value))).status,
            (await client.get("/health/detailed", authorization=bearer(world, role=role.value))).status,
        )
        for role in Role
    }

    assert statuses == {
        Role.VIEWER: (200, 403, 403),
        Role.OPERATOR: (200, 201, 403),
        Role.ADMIN: (200, 201, 403),
        Role.SYSTEM: (200, 201, 200),
    }


async def test_the_document_says_that_a_token_is_asked_for(world: World) -> None:
    guarded = (await door(world).get("/openapi.json")).json
    local = (await Client(create_app(world.cases)).get("/openapi.json")).json

    assert guarded["security"] == [{"bearer": []}]
    assert guarded["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert guarded["paths"]["/health"]["get"]["security"] == []
    assert "security" not in local


# --- who does not -----------------------------------------------------------------------------------------------------


def seen(answer: Answer) -> tuple[int, dict[str, str], bytes]:
    return answer.status, answer.headers, answer.body


@pytest.mark.parametrize("algorithm", ["HS256", "RS256"])
async def test_everything_in_the_zoo_gets_the_same_answer_and_calls_nobody(
    world: World, algorithm: str, listener: Listener, logged: list[MutableMapping[str, Any]]
) -> None:
    mine = private("RS256", 9)
    listener.body = jwks(jwk(mine, "mine"))
    client = door(
        world, None if algorithm == "HS256" else SingleKey(VerificationKey("RS256", private("RS256").public_key()))
    )
    expected = seen(await client.get(GUARDED))
    # So many wrong ones would be answered late.
    app: Any = client.app
    app.state.throttle = FailedLoginDelay(per_minute=1000)

    beasts = list(zoo(world.clock.now(), algorithm, listener.server_port))
    told = {name: seen(await client.get(GUARDED, authorization=f"Bearer {shown}")) for name, shown in beasts}

    assert len(told) > 250
    assert {name: answer for name, answer in told.items() if answer != expected} == {}
    assert expected[0] == 401
    assert listener.asked == []
    text = repr(logged)
    assert [name for name, shown in beasts if len(shown) > 20 and shown in text] == []
    assert any(line["action"] == "unauthenticated" for line in logged)


async def test_odd_headers_get_the_same_answer(world: World) -> None:
    client = door(world)
    expected = seen(await client.get(GUARDED))
    good = bearer(world)
    shown = good.partition(" ")[2]

    for header in (
        "", "Bearer", "Bearer ", "Bearer  " + shown, "Bearer\t" + shown, f"Token {shown}", f"Basic {shown}", shown,
        f"Bearer {shown}, Bearer {shown}", f"Bearer {shown};", f"Bearer {shown}\xa0", f"JWT {shown}",
    ):  # fmt: skip
        assert seen(await client.get(GUARDED, authorization=header)) == expected, header
    for path in (f"?access_token={shown}", f"?token={shown}", f"?authorization=Bearer%20{shown}"):
        assert (await client.get(GUARDED + path)).status == 401
    assert (await client.get(GUARDED, cookie=f"token={shown}")).status == 401
    assert (await client.get(GUARDED, authorization=good)).status == 200


async def test_two_authorization_headers_are_none(world: World) -> None:
    client = door(world)
    sent: list[Any] = []
    scope = client._scope("GET", GUARDED, [], {})
    scope["headers"] += [(b"authorization", bearer(world).encode())] * 2

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await client.app(scope, receive, send)

    assert sent[0]["status"] == 401


async def test_a_stranger_learns_nothing_about_what_exists(world: World) -> None:
    """Known or not, readable or not: whoever is not known gets one and the same answer."""
    client = door(world)
    made = await client.post(GUARDED, HOURLY, authorization=bearer(world))
    expected = seen(await client.get(GUARDED))

    for method, path, body in (
        ("GET", f"{GUARDED}/{made.json['id']}", None),
        ("GET", f"{GUARDED}/sch_unknown", None),
        ("GET", f"{GUARDED}?limit=x&nonsense=1", None),
        ("POST", GUARDED, {"name": 7}),
        ("POST", GUARDED, b"{"),
        ("DELETE", f"{GUARDED}/{made.json['id']}", None),
        ("GET", "/api/runs", None),
        ("GET", "/health/detailed", None),
        ("GET", "/metrics", None),
    ):
        assert seen(await client.send(method, path, body)) == expected, (method, path)


async def test_an_expired_token_is_told_no_more_than_a_forged_one(world: World) -> None:
    client, shown = door(world), bearer(world)
    assert (await client.get(GUARDED, authorization=shown)).status == 200

    world.clock.advance(timedelta(hours=2))

    assert seen(await client.get(GUARDED, authorization=shown)) == seen(await client.get(GUARDED))


# --- browsers ---------------------------------------------------------------------------------------------------------


async def test_the_host_may_have_any_name_and_no_other_site_is_invited(world: World) -> None:
    client = door(world)
    for method in ("GET", "OPTIONS", "POST"):
        answer = await client.send(
            method,
            GUARDED,
            HOURLY if method == "POST" else None,
            authorization=bearer(world),
            origin="https://elsewhere.example",
            access_control_request_method="POST",
        )
        assert answer.status in {200, 201, 405}
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


# --- metrics ----------------------------------------------------------------------------------------------------------


async def test_metrics_open_to_their_token_and_to_the_system(world: World) -> None:
    client = door(world)

    assert b"foliot_schedules" in (await client.get("/metrics", authorization=f"Bearer {METRICS}")).body
    assert (await client.get("/metrics", authorization=bearer(world, role="system"))).status == 200
    for role in ("viewer", "operator", "admin"):
        assert (await client.get("/metrics", authorization=bearer(world, role=role))).status == 403
    for wrong in (METRICS[:-1], METRICS + "x", METRICS.upper(), "ÿ"):
        assert (await client.get("/metrics", authorization=f"Bearer {wrong}")).status == 401
    assert (await client.get("/metrics")).status == 401


async def test_the_token_for_metrics_opens_nothing_else(world: World) -> None:
    for path in (GUARDED, "/health/detailed", "/api/runs"):
        assert (await door(world).get(path, authorization=f"Bearer {METRICS}")).status == 401
    assert (await door(world).get(GUARDED, authorization=bearer(world, tenant_id=SCRAPER.tenant_id))).status == 401


# --- a whole Foliot ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def whole(home: Path, **environ: str) -> AsyncIterator[tuple[build.App, Client]]:
    settings = Settings.load({"FOLIOT_HOME": str(home), **environ})
    await build.migrate(settings)
    app = build.build(settings, http=True, engine=False)
    try:
        await app.start()
        assert app.asgi is not None
        yield app, Client(app.asgi, host="foliot.example")
    finally:
        await app.stop()


def signed(algorithm: str, kid: str, which: int = 0) -> str:
    return f"Bearer {token({'alg': algorithm, 'kid': kid}, claims(wall()), by(private(algorithm, which)))}"


async def test_keys_of_a_real_provider_rotate_without_a_restart(tmp_path: Path, listener: Listener) -> None:
    listener.body = jwks(jwk(private("RS256"), "old"))
    async with whole(tmp_path, FOLIOT_JWKS_URL=listener.url) as (app, client):
        old, new = signed("RS256", "old"), signed("EdDSA", "new")
        assert (await client.get(GUARDED, authorization=old)).status == 200
        assert (await client.get(GUARDED, authorization=new)).status == 401
        assert listener.asked.count("/jwks") <= 2

        assert app.authentication is not None
        assert app.authentication.jwks is not None
        listener.body = jwks(jwk(private("RS256"), "old"), jwk(private("EdDSA"), "new"))
        await app.authentication.jwks.run_once()
        assert (await client.get(GUARDED, authorization=old)).status == 200
        assert (await client.get(GUARDED, authorization=new)).status == 200

        listener.body = jwks(jwk(private("EdDSA"), "new"))
        await app.authentication.jwks.run_once()
        assert (await client.get(GUARDED, authorization=old)).status == 401
        assert (await client.get(GUARDED, authorization=new)).status == 200


async def test_a_provider_that_is_away_at_the_start_does_not_stop_it(tmp_path: Path, listener: Listener) -> None:
    listener.body = b"not yet"
    async with whole(tmp_path, FOLIOT_JWKS_URL=listener.url) as (app, client):
        shown = signed("RS256", "one")
        away = await client.get(GUARDED, authorization=shown)
        assert (away.status, away.json["code"]) == (503, "unavailable")
        assert away.headers["retry-after"] == "1"
        assert (await client.get("/health")).status == 200
        assert (await client.get(GUARDED)).status == 401

        listener.body = jwks(jwk(private("RS256"), "one"))
        assert app.authentication is not None
        assert app.authentication.jwks is not None
        await app.authentication.jwks.run_once()
        assert (await client.get(GUARDED, authorization=shown)).status == 200

        listener.body = b"gone again"
        await app.authentication.jwks.run_once()
        system = token({"alg": "RS256", "kid": "one"}, claims(wall(), role="system"), by(private("RS256")))
        health = await client.get("/health/detailed", authorization=f"Bearer {system}")
        assert any("FOLIOT_JWKS_URL cannot be fetched" in problem for problem in health.json["problems"])


async def test_a_provider_that_never_answers_does_not_hold_the_start_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        began = asyncio.get_running_loop().time()
        async with whole(tmp_path, FOLIOT_JWKS_URL=url) as (_, client):
            assert asyncio.get_running_loop().time() - began < 10
            assert (await client.get(GUARDED, authorization=signed("RS256", "x"))).status == 503


async def test_with_tokens_webhooks_may_not_reach_this_machine_nor_the_provider(
    tmp_path: Path, listener: Listener
) -> None:
    listener.body = jwks(jwk(private("RS256"), "one"))
    async with whole(tmp_path, FOLIOT_JWKS_URL=listener.url) as (_, client):
        for url in (listener.url, "http://127.0.0.1/", "http://localhost:8080/", "http://10.0.0.1/"):
            draft = HOURLY | {"payload": {"url": url}}
            answer = await client.post(GUARDED, draft, authorization=signed("RS256", "one"))
            assert answer.status == 422, url
    place = f"127.0.0.1:{listener.server_port}"
    async with whole(tmp_path, FOLIOT_JWKS_URL=listener.url, FOLIOT_EGRESS_ALLOW=place) as (_, client):
        draft = HOURLY | {"payload": {"url": listener.url}}
        assert (await client.post(GUARDED, draft, authorization=signed("RS256", "one"))).status == 201


async def test_the_settings_of_tokens_reach_the_door(tmp_path: Path) -> None:
    environ = {
        "FOLIOT_JWT_SECRET": SECRET,
        "FOLIOT_JWT_AUDIENCE": "ours",
        "FOLIOT_JWT_ISSUER": "us",
        "FOLIOT_JWT_MAX_HOURS": "1",
        "FOLIOT_METRICS_TOKEN": METRICS,
    }
    async with whole(tmp_path, **environ) as (_, client):
        at = int(wall().timestamp())
        good = {"aud": "ours", "iss": "us", "exp": at + 600}
        for changes, status in (({}, 200), ({"aud": "foliot"}, 401), ({"iss": "them"}, 401), ({"exp": at + 7200}, 401)):
            shown = token(HS, claims(wall(), **good | changes), by_secret())
            assert (await client.get(GUARDED, authorization=f"Bearer {shown}")).status == status, changes
        assert (await client.get("/metrics", authorization=f"Bearer {METRICS}")).status == 200
