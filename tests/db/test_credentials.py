"""Credentials in headers and URLs: encrypted at rest, never shown, and sent all the same."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import MetaData, text

from foliot.auth.keyring import Keyring
from foliot.core.access import LOCAL, Caller, Role
from foliot.db.database import Database
from foliot.db.sealer import Sealer
from foliot.engine.model.run import RunState
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.usecases import Secrets
from tests.asgi import Client
from tests.world import EVERY_MINUTE, KEYRING, World

CANARY = "canary-4f9d2c71"
HOST = "https://api.partner.com"
HEADERS = {
    "Authorization": f"Bearer {CANARY}-a",
    "Cookie": f"session={CANARY}-b",
    "X-Api-Key": f"{CANARY}-c",
    "X-Partner-Access-Token": f"{CANARY}-d",
    "X-Request-Source": "foliot",
}
URL = f"{HOST}/hook?page=2&access_token={CANARY}-e&sig={CANARY}-f#token={CANARY}-g"
SHOWN = f"{HOST}/hook?page=2&access_token=***&sig=***#token=***"
ACTION: dict[str, Any] = {"kind": "webhook", "url": URL, "headers": HEADERS, "body": {"hello": "world"}}
CRAWL: dict[str, Any] = {
    "kind": "crawl",
    "spider": "shop",
    "start_urls": [f"https://ada:{CANARY}-h@shop.example/list", f"https://other.example/?api_key={CANARY}-i"],
    "params": {"password": f"{CANARY}-j", "proxy": f"http://bob:{CANARY}-k@proxy.example:3128", "pages": 3},
}


async def dump(store: Database) -> str:
    """Everything that the database holds, as text."""
    found: list[str] = []
    async with store.read() as tx:
        names = MetaData()
        await tx.conn.run_sync(names.reflect)
        for table in names.sorted_tables:
            rows = await tx.conn.execute(text(f"SELECT * FROM {table.name}"))
            found += [repr([bytes(one) if isinstance(one, memoryview) else one for one in row]) for row in rows]
    return "\n".join(found)


async def created(client: Client, action: dict[str, Any] = ACTION, **changes: Any) -> dict[str, Any]:
    answer = await client.post("/api/schedules", {**EVERY_MINUTE, "action": action, **changes})
    assert answer.status == 201, answer.text
    body: dict[str, Any] = answer.json
    return body


async def sent(world: World, client: Client, schedule_id: str, **asked: Any) -> dict[str, Any]:
    """What a run of this schedule would be told to do."""
    answer = await client.post(f"/api/schedules/{schedule_id}/run-now", asked)
    assert answer.status == 202, answer.text
    (claimed,) = await world.claim(answer.json["id"])
    await world.finish(claimed)
    return dict(claimed.config)


@dataclass
class Asker:
    """Asks, and keeps every answer."""

    client: Client
    answers: list[str] = field(default_factory=list)

    async def __call__(self, method: str, url: str, body: object = None, **headers: str) -> Any:
        answer = await self.client.send(method, url, body, **headers)
        self.answers.append(answer.text)
        assert answer.status < 300, (method, url, answer.text)
        return answer.json if answer.headers.get("content-type") == "application/json" else None

    async def refused(self, url: str, body: object) -> None:
        answer = await self.client.post(url, body)
        self.answers.append(answer.text)
        assert answer.status == 422, answer.text


@pytest.fixture
def ask(client: Client) -> Asker:
    return Asker(client)


async def write_everywhere(world: World, ask: Asker) -> tuple[str, str]:
    """A schedule and a run of it that give rise to every kind of row; their ids."""
    hook = await ask("POST", "/api/schedules", {**EVERY_MINUTE, "action": ACTION}, Idempotency_Key="k-1")
    assert hook["action"]["url"] == SHOWN
    assert hook["action"]["headers"] == {**dict.fromkeys(HEADERS, "***"), "X-Request-Source": "foliot"}
    again = await ask("POST", "/api/schedules", {**EVERY_MINUTE, "action": ACTION}, Idempotency_Key="k-1")
    assert again == hook
    crawl = await ask("POST", "/api/schedules", {**EVERY_MINUTE, "name": "Crawl", "action": CRAWL})
    assert crawl["action"]["start_urls"] == ["https://***@shop.example/list", "https://other.example/?api_key=***"]
    assert crawl["action"]["params"] == {"password": "***", "proxy": "http://***@proxy.example:3128", "pages": 3}
    path = f"/api/schedules/{hook['id']}"
    await ask("PATCH", path, {"action": {"headers": {**HEADERS, "X-Api-Key": f"{CANARY}-z"}}})
    run = await ask("POST", f"{path}/run-now", {"payload": {"headers": {"Authorization": f"Basic {CANARY}-m"}}})
    assert run["action"]["headers"] == {"Authorization": "***"}
    await world.end(run["id"], RunState.DEAD_LETTER, {"code": "http_500", "message": "answered 500"})
    patch = {"headers": {"X-Api-Key": f"{CANARY}-n"}}
    await ask("POST", "/api/dead-letters/replay", {"ids": [run["id"]], "patch": patch})
    await ask("POST", "/api/bulk", {"action": "replay", "ids": [run["id"]], "patch": patch, "dry_run": True})
    await ask("POST", "/api/bulk", {"action": "replay", "ids": [run["id"]], "patch": patch})
    spider = {"user_id": "ada", **{name: CRAWL[name] for name in ("spider", "start_urls", "params")}}
    await ask("POST", "/crawl", spider)
    await world.pass_time(1)
    await ask.refused("/api/schedules", {**EVERY_MINUTE, "action": {**ACTION, "url": f"ftp{URL[5:]}"}})
    await ask.refused("/api/schedules", {**EVERY_MINUTE, "action": ACTION, "nmae": [ACTION, URL]})
    return hook["id"], run["id"]


async def test_no_answer_no_log_and_no_row_holds_a_credential(
    world: World, ask: Asker, logged: list[MutableMapping[str, Any]]
) -> None:
    schedule_id, run_id = await write_everywhere(world, ask)
    path = f"/api/schedules/{schedule_id}"
    (fired,) = [one for one in (await ask("GET", f"{path}/runs"))["items"] if one["scheduled_for"]]
    for url in (
        *(path, "/api/schedules", "/api/schedules?q=kind:webhook", "/api/schedules/export", f"{path}/instants"),
        *("/api/schedules/export?format=json", "/api/runs", f"/api/runs/{run_id}", f"/api/runs/{fired['id']}"),
        *("/api/runs/export", "/api/dead-letters", "/api/endpoints", "/api/audit", "/api/bulk", "/api/attention"),
    ):
        await ask("GET", url)

    assert [answer for answer in ask.answers if CANARY in answer] == []
    assert [answer for answer in ask.answers if "sealed.v1" in answer] == []
    assert CANARY not in repr(logged)
    held = await dump(world.store)
    assert "partner.com" in held, "the dump holds the rows"
    assert [line for line in held.splitlines() if CANARY in line] == []
    (claimed,) = await world.claim(fired["id"])
    assert claimed.config["headers"] == {**HEADERS, "X-Api-Key": f"{CANARY}-z"}
    assert claimed.config["url"] == URL
    assert f"{CANARY}-a" in claimed.hidden
    assert CANARY not in repr(claimed)


async def test_a_document_that_is_put_back_keeps_its_credentials(world: World, client: Client) -> None:
    made = await created(client)
    path = f"/api/schedules/{made['id']}"
    shown = (await client.get(path)).json

    put = await client.put(path, {**shown, "name": "Renamed"})
    assert (put.status, put.json["name"], put.json["action"]) == (200, "Renamed", shown["action"])
    assert (await sent(world, client, made["id"]))["headers"] == HEADERS
    patched = await client.patch(path, {"action": {**shown["action"], "url": SHOWN.replace("page=2", "page=3")}})
    assert patched.status == 200, patched.text
    now = await sent(world, client, made["id"])
    assert (now["headers"], now["url"]) == (HEADERS, URL.replace("page=2", "page=3"))
    changed = {**shown["action"]["headers"], "X-Api-Key": "another-key-of-mine"}
    assert (await client.patch(path, {"action": {"headers": changed}})).status == 200
    assert (await sent(world, client, made["id"]))["headers"] == {**HEADERS, "X-Api-Key": "another-key-of-mine"}
    (last,) = (await client.get("/api/audit?verb=patch&limit=1")).json["items"]
    assert (await client.post(f"/api/audit/{last['id']}/revert")).status == 200
    assert (await sent(world, client, made["id"]))["headers"] == HEADERS


async def test_a_crawl_that_is_put_back_keeps_its_credentials_wherever_its_urls_stand(
    world: World, client: Client
) -> None:
    made = await created(client, CRAWL)
    first, second = made["action"]["start_urls"]

    action = {**made["action"], "start_urls": ["https://third.example/", second, first]}
    put = await client.put(f"/api/schedules/{made['id']}", {**made, "action": action})

    assert put.status == 200, put.text
    now = await sent(world, client, made["id"])
    assert now["start_urls"] == ["https://third.example/", CRAWL["start_urls"][1], CRAWL["start_urls"][0]]
    assert now["params"] == CRAWL["params"]


async def test_a_copy_and_a_run_of_its_own_keep_them_too(world: World, client: Client) -> None:
    made = await created(client)

    copy = await client.post("/api/schedules", {**made, "name": "Copy"})
    assert copy.status == 201, copy.text
    assert (await sent(world, client, copy.json["id"]))["headers"] == HEADERS
    own = await sent(world, client, made["id"], payload={"headers": {"X-Api-Key": "***"}})
    assert own["headers"] == {"X-Api-Key": HEADERS["X-Api-Key"]}
    run = (await client.post(f"/api/schedules/{made['id']}/run-now", {})).json
    await world.end(run["id"], RunState.DEAD_LETTER, {"code": "http_500", "message": "answered 500"})
    patch = {"headers": made["action"]["headers"], "body": {"hello": "again"}}
    replayed = await client.post("/api/dead-letters/replay", {"ids": [run["id"]], "patch": patch})
    assert replayed.status == 202, replayed.text
    (claimed,) = await world.claim(replayed.json["items"][0]["id"])
    assert (claimed.config["headers"], claimed.config["body"]) == (HEADERS, {"hello": "again"})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": "https://evil.example/"}, "action.headers.Authorization"),
        ({"url": SHOWN.replace("partner", "evil")}, "action.url?access_token"),
        ({"headers": {"X-Other-Token": "***"}}, "action.headers.X-Other-Token"),
    ],
)
async def test_a_credential_does_not_move_to_another_host_or_name(
    client: Client, changes: dict[str, Any], field: str
) -> None:
    made = await created(client)

    for answer in (
        await client.put(f"/api/schedules/{made['id']}", {**made, "action": {**made["action"], **changes}}),
        await client.patch(f"/api/schedules/{made['id']}", {"action": changes}),
        await client.post("/api/schedules", {**made, "action": {**made["action"], **changes}}),
    ):
        assert answer.status == 422, answer.text
        assert answer.json["errors"][0]["field"] == field
        assert CANARY not in answer.text


async def test_stars_without_anything_behind_them_are_refused(client: Client) -> None:
    made = await client.post("/api/schedules", {**EVERY_MINUTE, "action": {**ACTION, "headers": {"Cookie": "***"}}})

    assert made.status == 422
    assert made.json["errors"][0]["field"] == "action.headers.Cookie"


async def test_a_secret_by_name_and_an_ordinary_header_are_shown_as_they_are(client: Client) -> None:
    headers = {"Authorization": "Bearer {{ secret.TOKEN }}", "X-Author": "ada", "Accept": "text/html"}

    made = await created(client, {"kind": "webhook", "url": f"{HOST}/?page=1&q=key", "headers": headers})

    assert (made["action"]["headers"], made["action"]["url"]) == (headers, f"{HOST}/?page=1&q=key")


async def test_a_row_from_before_is_masked_and_hidden_although_it_is_not_sealed(world: World, client: Client) -> None:
    sealer, world.store.sealer = world.store.sealer, None
    made = await world.schedule(action=ACTION)
    world.store.sealer = sealer

    shown = (await client.get(f"/api/schedules/{made.id}")).json
    assert shown["action"]["url"] == SHOWN
    assert (await client.put(f"/api/schedules/{made.id}", shown)).status == 200
    config = await sent(world, client, made.id)
    assert (config["headers"], config["url"]) == (HEADERS, URL)


async def test_what_was_sealed_for_another_tenant_host_or_key_does_not_open(store: Database) -> None:
    sealer = Sealer(KEYRING)
    sealed = sealer.seal("acme", {"url": URL, "headers": HEADERS})

    assert sealer.open("acme", sealed).action == {"url": URL, "headers": HEADERS}
    assert sealer.open("globex", sealed).locked
    assert sealer.open("acme", {**sealed, "url": "https://evil.example/"}).locked
    assert Sealer(Keyring.of(["another key " * 4])).open("acme", sealed).locked
    assert Sealer(None).open("acme", sealed).locked


async def test_a_run_whose_credential_cannot_be_opened_is_tried_again_and_sends_nothing(world: World) -> None:
    from foliot.testing import drain
    from tests.world import Webhook

    made = await world.schedule(action=ACTION)
    run = await world.cases[Schedules].run_now(LOCAL, made.id, {})
    world.store.sealer = Sealer(Keyring.of(["another key " * 4]))

    await drain(world.store, world.clock, Webhook())

    seen = await world.cases[Runs].get(LOCAL, run.id)
    assert (seen.state, (seen.attempts[0].error or {})["code"]) == (RunState.RETRYING, "secret_unavailable")


async def test_without_a_master_key_no_credential_is_taken(world: World, client: Client) -> None:
    world.store.sealer = Sealer(None)

    answer = await client.post("/api/schedules", {**EVERY_MINUTE, "action": ACTION})

    assert answer.status == 409
    assert "FOLIOT_SECRET_KEY" in answer.text
    assert CANARY not in answer.text
    assert (await client.post("/api/schedules", EVERY_MINUTE)).status == 201


async def test_nobody_of_another_tenant_copies_a_credential(world: World) -> None:
    from foliot.core.errors import Invalid

    made = await world.schedule(action=ACTION)
    raw = {**EVERY_MINUTE, "id": made.id, "action": {**ACTION, "headers": {"Cookie": "***"}}}

    with pytest.raises(Invalid, match="Cookie"):
        await world.cases[Schedules].create(Caller("globex", "bob", Role.ADMIN), raw)


async def test_rekeying_seals_what_was_left_open_and_what_an_older_key_sealed(world: World, client: Client) -> None:
    old = Keyring.of(["the key from before, long enough"])
    world.store.sealer = None
    open_row = await world.schedule(action=ACTION)
    world.store.sealer = Sealer(old)
    old_row = await world.schedule(action=ACTION)
    await client.post(f"/api/schedules/{old_row.id}/run-now", {"payload": {"headers": {"Cookie": f"a={CANARY}-q"}}})
    both = Keyring((*KEYRING.masters, *old.masters))
    world.store.sealer = Sealer(both)

    cases = Secrets(store=world.store, clock=world.clock, feed=world.feed, vault=both)
    done = await cases.rekey(Caller("default", "root", Role.SYSTEM))

    # Each schedule, its first version, and the run.
    assert (done.actions, done.shut) == (5, [])
    assert CANARY not in await dump(world.store)
    world.store.sealer = Sealer(KEYRING)
    for made in (open_row, old_row):
        assert (await sent(world, client, made.id))["headers"] == HEADERS
    assert (await cases.rekey(Caller("default", "root", Role.SYSTEM))).actions == 0
