"""Names and beginnings of ids, resolved by the server on every database."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from foliot.app.http import create_app
from foliot.core.access import Caller, Interface, Role
from foliot.engine.model.run import RunState
from foliot.features.search import schema
from foliot.features.search.usecases import MOST_MATCHES, ReferenceKind, ReferenceResolver
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World, open_world

OTHER = Caller("other", "eve", Role.ADMIN, Interface.REST)
OWN = Caller("default", "ann", Role.VIEWER, Interface.REST)
SCHEDULE = ReferenceKind.SCHEDULE


async def resolved(client: Client, kind: str, ref: str) -> dict[str, Any]:
    answer = await client.get(f"/api/resolve?{urlencode({'kind': kind, 'ref': ref})}")
    assert answer.status == 200, answer.json
    conforms(schema.ReferenceResolution, answer.json)
    found: dict[str, Any] = answer.json
    return found


async def ids(client: Client, kind: str, ref: str) -> list[str]:
    return [one["id"] for one in (await resolved(client, kind, ref))["matches"]]


async def test_a_schedule_is_found_by_name_by_id_and_by_its_beginning(world: World, client: Client) -> None:
    prices = await world.schedule(name="Prices of the day")
    report = await world.schedule(name="sch_report")

    assert await ids(client, "schedule", "Prices of the day") == [prices.id]
    assert await ids(client, "schedule", "PRICES of the day") == [prices.id]
    assert await ids(client, "schedule", prices.id) == [prices.id]
    assert await ids(client, "schedule", prices.id[:24]) == [prices.id]
    assert await ids(client, "schedule", "sch_report") == [report.id], "a name may look like an id"
    assert await ids(client, "schedule", "Prices") == [], "the beginning of a name is not the name"


async def test_an_exact_name_wins_over_one_of_another_case(world: World, client: Client) -> None:
    await world.schedule(name="PRICES")
    small = await world.schedule(name="prices")

    found = await ids(client, "schedule", "prices")

    # MariaDB compares names regardless of case.
    assert small.id in found
    assert await ids(client, "schedule", small.id) == [small.id]


async def test_several_of_one_name_are_all_named_and_bounded(world: World, client: Client) -> None:
    made = [await world.schedule(name="twin") for _ in range(MOST_MATCHES + 2)]

    found = await resolved(client, "schedule", "twin")

    assert [one["id"] for one in found["matches"]] == [one.id for one in reversed(made)][:MOST_MATCHES]
    assert found["more"]
    assert found["matches"][0]["hint"] == "webhook, active"


async def test_a_name_that_does_not_exist_suggests_others(world: World, client: Client) -> None:
    await world.schedule(name="nightly-prices")
    await world.schedule(name="nightly-report")

    found = await resolved(client, "schedule", "nightly-prics")

    assert (found["matches"], found["suggestions"][0]) == ([], "nightly-prices")
    assert (await resolved(client, "schedule", "zzz"))["suggestions"] == []
    assert (await resolved(client, "schedule", "100%"))["suggestions"] == []


async def test_a_deleted_schedule_is_found_by_id_only(world: World, client: Client) -> None:
    gone = await world.schedule(name="gone")
    assert (await client.delete(f"/api/schedules/{gone.id}")).status == 204

    assert await ids(client, "schedule", gone.id[:30]) == [gone.id]
    assert await ids(client, "schedule", "gone") == []


async def test_a_run_is_found_by_its_beginning_or_as_the_newest_of_its_schedule(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="often")
    await world.pass_time(3)
    newest, middle, oldest = (one["id"] for one in (await client.get("/api/runs")).json["items"])

    assert await ids(client, "run", middle[:28]) in ([middle], [newest, middle, oldest])
    assert await ids(client, "run", middle) == [middle]
    assert (await resolved(client, "run", "often"))["matches"][0] | {"hint": ""} == {
        "kind": "run",
        "id": newest,
        "name": "often",
        "hint": "",
    }
    assert await ids(client, "dead_letter", oldest) == []
    await world.end(oldest, RunState.DEAD_LETTER, {"code": "x", "message": "y"})
    assert await ids(client, "dead_letter", oldest) == [oldest]
    assert await ids(client, "job", oldest) == [], "a webhook is no job"


async def test_keys_are_found_by_name(world: World, client: Client) -> None:
    key = (await client.post("/api/keys", {"name": "ci", "role": "viewer"})).json

    assert await ids(client, "key", "ci") == [key["id"]]
    assert await ids(client, "key", key["id"][:20]) == [key["id"]]
    assert await ids(client, "bulk", "blk_") == []


async def test_another_tenant_finds_nothing(world: World) -> None:
    mine = await world.schedule(name="mine")

    for ref in ("mine", mine.id, mine.id[:8]):
        found = await world.cases[ReferenceResolver].resolve(OTHER, SCHEDULE, ref)
        assert (list(found.matches), list(found.suggestions)) == ([], [])
    assert len((await world.cases[ReferenceResolver].resolve(OWN, SCHEDULE, "mine")).matches) == 1


async def test_a_reference_is_checked() -> None:
    async with open_world() as world:
        client = Client(create_app(world.cases))

        for query in ("kind=schedule", "kind=colour&ref=x", "kind=schedule&ref=", f"kind=schedule&ref={'x' * 201}"):
            assert (await client.get(f"/api/resolve?{query}")).status == 422, query
