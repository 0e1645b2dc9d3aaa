"""Finding, counting and drawing runs by a filter, against the real store on every database."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from sqlalchemy import insert, select

from foliot.app.http import create_app
from foliot.core.ids import floor_id, id_at
from foliot.engine.model.run import RunState
from foliot.engine.sql import tables
from foliot.features.dead_letters import schema as dead_letters_schema
from foliot.features.filters import schema as filters_schema
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.filters.sql.runs import RunConditions
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.rest import export as run_export
from foliot.features.schedules import schema as schedules_schema
from foliot.features.search import schema as search_schema
from tests.asgi import Answer, Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World, open_world

REFUSED = {"code": "connect", "message": "connection to api.partner.io:443 refused after 31 ms"}
REFUSED_AGAIN = {"code": "connect", "message": "connection to api.partner.io:443 refused after 7 ms"}
TEAPOT = {"code": "http_418", "message": "the target answered 418"}


@pytest.fixture
async def here() -> AsyncIterator[Client]:
    """For what no database has a part in: one in memory."""
    async with open_world() as made:
        yield Client(create_app(made.cases))


async def get(client: Client, path: str, params: dict[str, str]) -> Answer:
    return await client.get(f"{path}?{urlencode(params)}")


async def asked(client: Client, q: str, path: str = "/api/runs") -> Answer:
    answer = await get(client, path, {"q": q})
    assert answer.status == 200, answer.json
    return answer


async def found(client: Client, q: str) -> list[str]:
    """The ids, newest first."""
    answer = await asked(client, q)
    conforms(runs_schema.RunPage, answer.json)
    return [one["id"] for one in answer.json["items"]]


async def furnished(world: World, client: Client) -> list[str]:
    """Six runs of two schedules, a minute apart, oldest first, ended in different ways."""
    await world.schedule(EVERY_MINUTE, name="Nightly prices", tags=["prices"])
    await world.schedule(EVERY_MINUTE, name="Weekly report", queue="scraping")
    await world.pass_time(3)
    runs = (await client.get("/api/runs")).json["items"][::-1]
    ids = {
        one["schedule_name"]: [run["id"] for run in runs if run["schedule_name"] == one["schedule_name"]]
        for one in runs
    }
    nightly, weekly = ids["Nightly prices"], ids["Weekly report"]
    await world.end(nightly[0], RunState.SUCCESS)
    await world.end(nightly[1], RunState.DEAD_LETTER, REFUSED)
    await world.end(nightly[2], RunState.DEAD_LETTER, TEAPOT)
    await world.end(weekly[0], RunState.DEAD_LETTER, REFUSED_AGAIN)
    await world.end(weekly[1], RunState.FAILED, TEAPOT)
    return [*nightly, *weekly]


async def test_a_filter_finds_what_it_describes(world: World, client: Client) -> None:
    n0, n1, n2, w0, w1, w2 = await furnished(world, client)
    every = sorted([n0, n1, n2, w0, w1, w2], reverse=True)

    def newest_first(*ids: str) -> list[str]:
        return sorted(ids, reverse=True)

    assert await found(client, "") == every
    assert await found(client, "state:success") == [n0]
    assert await found(client, "state:dead,failed") == newest_first(n1, n2, w0, w1)
    assert await found(client, "-state:success,queued") == newest_first(n1, n2, w0, w1)
    assert await found(client, 'schedule:"nightly prices"') == newest_first(n0, n1, n2)
    assert await found(client, "schedule:week*") == newest_first(w0, w1, w2)
    assert await found(client, "schedule:nobody") == []
    assert await found(client, "-schedule:week*") == newest_first(n0, n1, n2)
    assert await found(client, "tag:prices state:dead_letter") == newest_first(n1, n2)
    assert await found(client, "queue:scraping") == newest_first(w0, w1, w2)
    assert await found(client, "kind:webhook queue:default") == newest_first(n0, n1, n2)
    assert await found(client, "REFUSED") == newest_first(n1, w0)
    assert await found(client, "report") == newest_first(w0, w1, w2)
    assert await found(client, '"100%"') == []
    assert await found(client, "code:http_418") == newest_first(n2, w1)
    assert await found(client, "origin:replay") == []
    assert await found(client, f"id:{n1}") == [n1]
    assert await found(client, "worker:worker-*") == newest_first(n0, n1, n2, w0, w1)
    assert await found(client, "-worker:worker-1") == [w2]
    assert await found(client, "since:90s") == newest_first(n1, n2, w1, w2)
    assert await found(client, "until:90s") == newest_first(n0, w0)
    assert await found(client, "since:2027-01-04T12:02Z until:2027-01-04T12:03Z") == newest_first(n1, w1)
    assert await found(client, "late:true") == newest_first(n0, w0)
    assert await found(client, "late:false") == newest_first(n1, n2, w1, w2)


async def test_a_filter_goes_on_page_by_page(world: World, client: Client) -> None:
    every = sorted(await furnished(world, client), reverse=True)
    first = (await get(client, "/api/runs", {"q": "state:dead_letter,failed,success", "limit": "3"})).json
    cursor = first["next_cursor"]
    more = {"q": "state:dead_letter,failed,success", "limit": "3", "cursor": cursor}
    second = (await get(client, "/api/runs", more)).json

    seen = [one["id"] for one in [*first["items"], *second["items"]]]

    assert seen == [one for one in every if one in seen]
    assert len(seen) == 5
    assert second["next_cursor"] is None


async def test_schedules_are_counted_as_they_are_listed(world: World, client: Client) -> None:
    await furnished(world, client)
    for q, number in (("", 2), ("tag:prices", 1), ("failing:true", 2), ("status:paused", 0), ("nightly", 1)):
        counted = (await asked(client, q, "/api/schedules/count")).json
        listed = (await asked(client, q, "/api/schedules")).json["items"]

        assert counted == {"count": len(listed)}
        assert len(listed) == number, q


async def test_older_parameters_narrow_a_filter(world: World, client: Client) -> None:
    n0, *_ = await furnished(world, client)

    answer = await get(client, "/api/runs", {"q": "late:true", "status": "success", "queue": "default_queue"})

    assert [one["id"] for one in answer.json["items"]] == [n0]


async def test_counts_agree_with_lists(world: World, client: Client) -> None:
    await furnished(world, client)
    for q in ("", "state:failed", "tag:prices", "late:true", "since:90s", "-state:dead_letter", "refused"):
        counted = (await asked(client, q, "/api/runs/count")).json
        conforms(filters_schema.RunCount, counted)
        runs = (await asked(client, q)).json["items"]

        assert counted["count"] == len(runs)
        by_state: dict[str, int] = {}
        for run in runs:
            by_state[run["state"]] = by_state.get(run["state"], 0) + 1
        assert counted["by_state"] == by_state


async def test_a_series_has_a_bar_for_every_stretch_of_time(world: World, client: Client) -> None:
    await furnished(world, client)
    params = {"from": "2027-01-04T12:00:00Z", "to": "2027-01-04T12:05:00Z", "bucket_seconds": "60"}

    drawn = (await get(client, "/api/runs/series", params)).json

    conforms(filters_schema.RunSeries, drawn)
    assert [one["total"] for one in drawn["items"]] == [0, 2, 2, 2, 0]
    assert drawn["items"][1]["counts"] == {"success": 1, "dead_letter": 1}
    assert [one["late"] for one in drawn["items"]] == [0, 2, 0, 0, 0]
    assert drawn["items"][1]["p95_ms"] == 0
    assert drawn["items"][0]["p95_ms"] is None


async def test_a_series_of_the_last_day_is_drawn_without_being_told_how(world: World, client: Client) -> None:
    await furnished(world, client)

    drawn = (await client.get("/api/runs/series")).json

    assert sum(one["total"] for one in drawn["items"]) == 6
    assert 24 <= len(drawn["items"]) <= 121
    assert drawn["items"][0]["at"] == drawn["from"]


async def test_too_fine_a_series_is_refused_with_what_would_do(here: Client) -> None:
    answer = await get(here, "/api/runs/series", {"bucket_seconds": "1"})

    assert answer.status == 422
    assert answer.json["errors"][0]["field"] == "bucket_seconds"
    assert "173 or more" in answer.json["errors"][0]["message"]


async def test_letters_that_failed_alike_stand_together(world: World, client: Client) -> None:
    _, n1, _, w0, *_ = await furnished(world, client)

    answer = await asked(client, "", "/api/dead-letters/groups")

    conforms(dead_letters_schema.FailureGroupPage, answer.json)
    groups: list[dict[str, Any]] = answer.json["items"]
    assert answer.json["total"] == 2
    by_code = {one["code"]: one for one in groups}
    refused = by_code["connect"]
    assert (refused["count"], refused["host"]) == (2, "api.partner.io")
    assert {one["name"] for one in refused["schedules"]} == {"Nightly prices", "Weekly report"}
    assert refused["sample_id"] == max(n1, w0)
    assert sum(one["count"] for one in refused["arrivals"]) == 2
    assert by_code["http_418"]["count"] == 1
    assert await found(client, f"state:dead_letter fingerprint:{refused['fingerprint']}") == sorted(
        [n1, w0], reverse=True
    )


async def test_a_page_of_groups_goes_on(world: World, client: Client) -> None:
    await furnished(world, client)
    first = (await get(client, "/api/dead-letters/groups", {"limit": "1"})).json
    more = {"limit": "1", "cursor": first["next_cursor"]}
    second = (await get(client, "/api/dead-letters/groups", more)).json

    assert {first["items"][0]["code"], second["items"][0]["code"]} == {"connect", "http_418"}
    assert second["next_cursor"] is None


async def test_schedules_are_found_by_the_same_grammar(world: World, client: Client) -> None:
    await furnished(world, client)

    async def names(q: str) -> list[str]:
        answer = await asked(client, q, "/api/schedules")
        conforms(schedules_schema.SchedulePage, answer.json)
        return sorted(one["name"] for one in answer.json["items"])

    assert await names("NIGHTLY") == ["Nightly prices"]
    assert await names("weekly report") == ["Weekly report"]
    assert await names("tag:prices") == ["Nightly prices"]
    assert await names("queue:scraping type:interval status:active") == ["Weekly report"]
    assert await names("zone:UTC kind:webhook") == ["Nightly prices", "Weekly report"]
    assert await names("zone:Stockholm") == []
    assert await names("name:week*") == ["Weekly report"]
    assert await names("failing:true") == ["Nightly prices", "Weekly report"]
    assert await names("-failing:true") == []
    assert await names("status:deleted") == []


async def test_names_and_errors_are_found_in_any_case_in_any_alphabet(world: World, client: Client) -> None:
    one = await world.schedule(EVERY_MINUTE, name="ÄPFEL Übernacht")
    await world.pass_time(1)
    (run,) = (await client.get("/api/runs")).json["items"]
    await world.end(run["id"], RunState.DEAD_LETTER, {"code": "connect", "message": "ZURÜCK an Absender"})

    for q in ('schedule:"ÄPFEL Übernacht"', 'schedule:"äpfel übernacht"', "schedule:äpf*", "ÜBERNACHT", "zurück"):
        assert await found(client, q) == [run["id"]], q
    for q in ('name:"ÄPFEL Übernacht"', "äpfel", "ÄPFEL"):
        assert [found_["id"] for found_ in (await asked(client, q, "/api/schedules")).json["items"]] == [one.id], q
    suggested = await get(client, "/api/suggest", {"field": "schedule", "prefix": "äPF"})
    assert [found_["value"] for found_ in suggested.json["items"]] == ["ÄPFEL Übernacht"]


async def test_words_are_looked_for_in_what_an_error_says_not_in_how_it_is_kept(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="one")
    await world.pass_time(1)
    (run,) = (await client.get("/api/runs")).json["items"]
    said = "100% of C:\\Temp_1 is full: no message for 50 s"
    await world.end(run["id"], RunState.DEAD_LETTER, {"code": "disk", "message": said})

    for q in (r"c:\temp_1", "100%", "FULL:", "message", "temp_"):
        assert await found(client, f'"{q}"') == [run["id"]], q
    for q in ("code", "disk", "10%0", "temp1", "tempx1", r"c:\\temp"):
        assert await found(client, f'"{q}"') == [], q


@pytest.mark.parametrize(
    ("q", "position", "suggestion"),
    [
        ("sate:failed", [0, 4], "state:failed"),
        ("kind:crawl state:faild", [17, 22], "kind:crawl state:failed"),
        ("since:tomorrow", [6, 14], None),
        ('"never closed', [0, 13], '"never closed"'),
        ("state:", [0, 6], None),
        ("kind:crwal", [5, 10], "kind:crawl"),
    ],
)
async def test_a_typo_is_shown_where_it_is(here: Client, q: str, position: list[int], suggestion: str | None) -> None:
    for path in ("/api/runs", "/api/runs/count", "/api/runs/series", "/api/dead-letters/groups"):
        answer = await get(here, path, {"q": q})

        (complaint,) = answer.json["errors"]
        assert (answer.status, complaint["field"]) == (422, "q")
        assert complaint["position"] == position
        assert complaint.get("suggestion") == suggestion


async def test_what_was_begun_is_completed(world: World, client: Client) -> None:
    n0, *_ = await furnished(world, client)

    async def values(field: str, prefix: str) -> list[str]:
        answer = await get(client, "/api/suggest", {"field": field, "prefix": prefix})
        conforms(search_schema.SuggestionList, answer.json)
        return [one["value"] for one in answer.json["items"]]

    assert await values("schedule", "PRICES") == ["Nightly prices"]
    assert await values("tag", "pri") == ["prices"]
    assert await values("queue", "scr") == ["scraping"]
    assert await values("kind", "craw") == ["crawl"]
    assert await values("state", "dead") == ["dead_letter"]
    assert (await values("zone", "PT"))[0] == "America/Los_Angeles"
    assert await values("worker", "work") == ["worker-1"]
    assert await values("pipeline", "x") == []
    assert await values("any", n0) == [n0]
    found = (await get(client, "/api/suggest", {"field": "any", "prefix": "night"})).json["items"]
    assert [(one["field"], one["label"]) for one in found] == [("schedule", "Nightly prices")]
    assert (await get(client, "/api/suggest", {"field": "colour"})).status == 422


async def test_time_is_found_through_ids_where_they_agree_with_the_clock(world: World, client: Client) -> None:
    """Tests stop the clock in another year; here ids are given the time of their runs, as in real life."""
    await furnished(world, client)
    ids = sorted(one["id"] for one in (await client.get("/api/runs")).json["items"])
    for place, run_id in enumerate(ids):
        at = datetime(2027, 1, 4, 12, 1 + place // 2, tzinfo=UTC)
        new = f"{floor_id('run', at)}7{place:019x}"
        for table, column in (("attempts", "run_id"), ("runs", "id")):
            await world.sql(f"UPDATE {table} SET {column} = :new WHERE {column} = :old", new=new, old=run_id)
    sieve_of = partial(RunConditions.of, dialect=world.store.dialect, tenant_id="default", now=world.clock.now())
    async with world.store.read() as tx:
        sieve = await sieve_of(
            tx.conn, query=FilterQuery((FilterTerm("since", at=world.clock.now() - timedelta(seconds=90)),))
        )
        assert len(sieve._bounds) == 1

    assert len(await found(client, "since:90s")) == 4
    assert len(await found(client, "until:90s")) == 2
    assert len(await found(client, "since:1d until:1h")) == 0


async def scattered(client: Client, **params: str) -> dict[str, Any]:
    answer = await get(client, "/api/runs/points", params)
    assert answer.status == 200, answer.json
    conforms(filters_schema.RunPoints, answer.json)
    body: dict[str, Any] = answer.json
    assert len(body["id"]) == len(body["at_ms"]) == len(body["took_ms"]) == len(body["state"])
    return body


async def test_points_are_the_runs_that_have_begun(world: World, client: Client) -> None:
    await furnished(world, client)
    for q in ("", "state:dead_letter", "schedule:nightly*", "refused", "state:queued"):
        body = await scattered(client, q=q)
        runs = (await asked(client, q)).json["items"]
        begun = [one for one in runs if one["started_at"] is not None]
        start = datetime.fromisoformat(body["from"])
        drawn = {
            run: (body["states"][state], start + timedelta(milliseconds=at), took)
            for run, state, at, took in zip(body["id"], body["state"], body["at_ms"], body["took_ms"], strict=True)
        }

        assert drawn == {
            one["id"]: (one["state"], datetime.fromisoformat(one["created_at"]), one["duration_ms"]) for one in begun
        }
        assert body["not_begun"] == len(runs) - len(begun)
        assert sum(body["counts"].values()) == sum(body["shown"].values()) == len(begun)


async def test_points_are_bounded_in_time(world: World, client: Client) -> None:
    n0, n1, *_ = await furnished(world, client)

    body = await scattered(client, **{"from": "2027-01-04T12:02:00Z", "to": "2027-01-04T12:03:00Z"})

    assert n1 in body["id"]
    assert n0 not in body["id"]
    assert body["at_ms"] == [0, 0]


async def copy(world: World, run_id: str, number: int) -> None:
    async with world.store.begin() as tx:
        row = (await tx.conn.execute(select(tables.runs).where(tables.runs.c.id == run_id))).mappings().one()
        made = [{**row, "id": id_at("run", row["created_at"]), "scheduled_for": None} for _ in range(number)]
        await tx.conn.execute(insert(tables.runs), made)


async def test_of_too_many_points_the_rare_are_whole_and_the_common_a_sample(world: World, client: Client) -> None:
    n0, *_ = await furnished(world, client)
    await copy(world, n0, 400)

    body = await scattered(client, limit="100")

    assert body["counts"] == {"success": 401, "dead_letter": 3, "failed": 1}
    assert (body["shown"]["dead_letter"], body["shown"]["failed"]) == (3, 1)
    assert 40 < body["shown"]["success"] < 160
    assert body["shown"] == Counter(body["states"][place] for place in body["state"])
    assert sorted((await scattered(client, limit="100"))["id"]) == sorted(body["id"]), "always the same ones"


async def exported(client: Client, q: str, form: str) -> str:
    answer = await get(client, "/api/runs/export", {"q": q, "format": form})
    assert answer.status == 200, answer.json
    assert answer.headers["content-disposition"] == f'attachment; filename="runs.{form}"'
    return answer.text


async def test_an_export_is_the_whole_list(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_export, "BATCH", 2)
    await furnished(world, client)
    for q in ("", "state:dead_letter", "schedule:nobody"):
        listed = (await asked(client, q)).json["items"]

        documents = [orjson.loads(line) for line in (await exported(client, q, "ndjson")).splitlines()]
        rows = list(csv.DictReader(StringIO(await exported(client, q, "csv"))))

        assert documents == listed
        assert [row["id"] for row in rows] == [one["id"] for one in listed]
        assert [row["error"] for row in rows] == [(one["error"] or {}).get("message", "") for one in listed]


async def test_a_table_of_runs_holds_no_formula(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE, name="=cmd|' /C calc'!A0")
    await world.pass_time(1)
    (run,) = (await client.get("/api/runs")).json["items"]
    await world.end(run["id"], RunState.FAILED, {"code": "x", "message": '@SUM(1+1),"two"\nlines'})

    (row,) = csv.DictReader(StringIO(await exported(client, "", "csv"), newline=""))

    assert row["schedule_name"] == "'=cmd|' /C calc'!A0"
    assert row["error"] == '\'@SUM(1+1),"two"\nlines'


async def test_a_bad_filter_is_told_before_anything_is_sent(here: Client) -> None:
    answer = await get(here, "/api/runs/export", {"q": "stat:failed"})

    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "q")
