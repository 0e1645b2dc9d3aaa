"""Many schedules at once: tagged as a bulk action, and written down so that they can be read back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from foliot.core.access import LOCAL
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules.cli.transfer import read_documents
from foliot.servers.http import encode
from tests.asgi import Client
from tests.features.bulk.test_rest_bulks import hauler, make, read, work
from tests.world import EVERY_MINUTE, HOURLY, World


async def tags(client: Client) -> dict[str, list[str]]:
    found = (await client.get("/api/schedules?limit=500")).json["items"]
    return {one["name"]: one["tags"] for one in found}


async def test_tags_are_added_and_taken_away_on_all_that_match(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="one", tags=["prices", "old"])
    await world.schedule(EVERY_MINUTE, name="two", tags=["prices"])
    untouched = await world.schedule(EVERY_MINUTE, name="three", tags=["news"])
    there = await world.schedule(EVERY_MINUTE, name="four", tags=["prices", "shop"])

    made = await make(
        client, action="tag", filter="tag:prices", add_tags=["shop"], remove_tags=["old"], rate=50, expect=3
    )
    await work(world, hauler(world))

    assert (await read(client, made["id"]))["ok"] == 3
    assert await tags(client) == {
        "one": ["prices", "shop"],
        "two": ["prices", "shop"],
        "three": ["news"],
        "four": ["prices", "shop"],
    }
    versions = {one["name"]: one["version"] for one in (await client.get("/api/schedules")).json["items"]}
    assert (versions["three"], versions["four"], versions["one"]) == (1, 1, 2), "what changes nothing is no edit"
    entries = (await client.get("/api/audit?verb=tag")).json["items"]
    assert {entry["thing_id"] for entry in entries}.isdisjoint({untouched.id, there.id})
    assert len(entries) == 2


async def test_one_with_too_many_tags_is_refused_and_the_others_are_not(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="full", tags=[f"t{number}" for number in range(20)])
    await world.schedule(EVERY_MINUTE, name="free")

    made = await make(client, action="tag", filter="", add_tags=["more"], rate=50)
    await work(world, hauler(world))

    seen = await read(client, made["id"])
    assert (seen["ok"], seen["failed"]) == (1, 1)
    assert "would give it 21 tags" in seen["failures"][0]["message"]
    assert (await tags(client))["free"] == ["more"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "add_tags"),
        ({"add_tags": []}, "add_tags"),
        ({"add_tags": ["x" * 65]}, "add_tags[0]"),
        ({"add_tags": ["a"], "remove_tags": ["a"]}, "remove_tags"),
        ({"add_tags": "a"}, "add_tags"),
    ],
)
async def test_mistakes_are_told_by_field(client: Client, body: dict[str, Any], field: str) -> None:
    said = await make(client, 422, action="tag", filter="", **body)

    assert said["errors"][0]["field"] == field


async def test_tags_belong_to_no_other_action(client: Client) -> None:
    assert (await make(client, 422, action="pause", filter="", add_tags=["a"]))["errors"][0]["field"] == "add_tags"
    said = await make(client, 422, action="backfill", filter="")
    assert "is asked of one schedule" in said["errors"][0]["message"]


# --- written down -----------------------------------------------------------------------------------------------------

TRICKY = {
    "name": "On: yes, #1 – “näive” \U0001f552",
    "description": "two\nlines: 'and' \"quotes\"\t\x7f\u2028",
    "tags": ["yes", "12:30", "null", "a b"],
}


@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_what_is_written_down_makes_the_same_schedules_again(world: World, client: Client, form: str) -> None:
    body = {"no": 1, "list": [[], {}, [1, [2.5, None]], {"a": {"b": []}}], "0x1": "1e3", "": "~"}
    await world.schedule(EVERY_MINUTE, **TRICKY, action={**EVERY_MINUTE["action"], "body": body})
    await world.schedule(HOURLY, name="hourly", timezone="Europe/Stockholm", max_runs=7)
    paused = await world.schedule(EVERY_MINUTE, name="paused")
    await client.post(f"/api/schedules/{paused.id}/pause", {"reason": "waiting: for a key"})
    gone = await world.schedule(EVERY_MINUTE, name="gone")
    await client.delete(f"/api/schedules/{gone.id}")

    answer = await client.get(f"/api/schedules/export?format={form}")
    documents = read_documents("it", answer.text)

    assert answer.headers["content-disposition"] == f'attachment; filename="schedules.{form}"'
    assert {one["name"]: one["status"] for one in documents} == {
        TRICKY["name"]: "active",
        "hourly": "active",
        "paused": "paused",
    }
    for document in documents:
        draft = {name: value for name, value in document.items() if name not in {"status", "paused_reason"}}
        made = await client.post("/api/schedules", draft)
        assert made.status == 201, made.json
    again = read_documents("it", (await client.get(f"/api/schedules/export?format={form}")).text)
    states = [{**one, "status": "", "paused_reason": ""} for one in again]
    assert sorted(states[:3], key=repr) == sorted(states[3:], key=repr)


async def test_one_that_is_made_or_replaced_paused_never_fires(world: World, client: Client) -> None:
    """In one step: nobody sees it awake, so no instant that comes due meanwhile makes a run."""
    asleep = {**EVERY_MINUTE, "paused": True, "paused_reason": "waiting"}
    made = await client.post("/api/schedules", {**asleep, "name": "made"})
    awake = await world.schedule(EVERY_MINUTE, name="replaced")
    put = await client.put(f"/api/schedules/{awake.id}", {**asleep, "name": "replaced"})
    await world.pass_time(3)

    for answer in (made, put):
        assert answer.status in {200, 201}, answer.json
        assert (answer.json["status"], answer.json["paused_reason"]) == ("paused", "waiting")
    assert (await client.get("/api/runs")).json["items"] == []
    trail = (await client.get(f"/api/audit?thing_id={made.json['id']}")).json["items"]
    assert sorted(one["verb"] for one in trail) == ["create", "pause"]
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []


async def test_what_an_answer_says_of_its_state_is_no_wish(world: World, client: Client) -> None:
    made = await client.post("/api/schedules", {**EVERY_MINUTE, "paused": True, "paused_reason": "waiting"})
    copy = await client.post("/api/schedules", made.json)
    await client.post(f"/api/schedules/{made.json['id']}/resume")
    sent_back = await client.put(f"/api/schedules/{made.json['id']}", made.json)

    assert (copy.json["status"], sent_back.json["status"]) == ("active", "active")
    for wrong in ({"paused": "yes"}, {"paused": True, "paused_reason": "x" * 501}):
        assert (await client.post("/api/schedules", {**EVERY_MINUTE, **wrong})).status == 422


async def test_what_cannot_be_read_is_not_written_down_as_something_else(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="broken")
    await world.sql("UPDATE schedules SET spec = '{'")

    (document,) = read_documents("it", (await client.get("/api/schedules/export")).text)

    assert (document["name"], document["status"]) == ("broken", "damaged")


async def test_a_filter_or_ids_choose_what_is_written_down(world: World, client: Client) -> None:
    one = await world.schedule(EVERY_MINUTE, name="one", tags=["prices"])
    two = await world.schedule(EVERY_MINUTE, name="two")

    async def names(asked: str) -> list[str]:
        answer = await client.get(f"/api/schedules/export?{asked}")
        assert answer.status == 200, answer.text
        return [found["name"] for found in yaml.safe_load(answer.text)]

    assert await names("q=tag:prices") == ["one"]
    assert await names(f"ids={two.id},{one.id}") == ["two", "one"]
    assert await names("q=tag:none") == []
    assert (await client.get("/api/schedules/export?q=tagg:a")).status == 422
    assert (await client.get(f"/api/schedules/export?ids={','.join(str(n) for n in range(201))}")).status == 422


words = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words | st.floats(-1e6, 1e6, allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(words, plain, min_size=1, max_size=4), min_size=1, max_size=3))
def test_any_document_comes_back_as_it_went(documents: list[dict[str, Any]]) -> None:
    written = encode.yaml_list(documents)

    assert yaml.safe_load(written) == documents
    assert read_documents("it", written) == documents
