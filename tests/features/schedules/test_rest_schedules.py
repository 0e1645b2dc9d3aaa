"""The HTTP API for schedules, with a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.core.errors import Unavailable
from foliot.db.database import Database, Transaction
from foliot.features.health import schema as health_schema
from foliot.features.runs import schema as runs_schema
from foliot.features.schedules import schema as schedules_schema
from foliot.servers.http.schema import Problem
from tests.asgi import Answer, Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, HOURLY, URL, OneAction, World, open_world

MINUTE = timedelta(minutes=1)
UNKNOWN_SCHEDULE = "sch_" + "0" * 32


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


def is_problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json
    assert (body["status"], body["code"]) == (status, code)
    assert set(body) >= {"type", "title", "status", "detail", "code"}
    conforms(Problem, body)
    return body


async def created(client: Client, raw: dict[str, Any] = EVERY_MINUTE, **changes: Any) -> dict[str, Any]:
    answer = await client.post("/api/schedules", {**raw, **changes})
    assert answer.status == 201, answer.text
    body: dict[str, Any] = answer.json
    return body


async def test_create_answers_with_the_schedule(world: World, client: Client) -> None:
    answer = await client.post("/api/schedules", {**HOURLY, "tags": ["prices"]})

    body = answer.json
    conforms(schedules_schema.Schedule, body)
    assert answer.status == 201
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["location"] == f"/api/schedules/{body['id']}"
    assert (body["status"], body["tenant_id"], body["version"]) == ("active", "default", 1)
    assert body["next_run_at"] == "2027-01-04T13:00:00Z"
    assert body["action"] == {"kind": "webhook", "url": URL, "method": "POST", "headers": {}}
    assert body["summary"]
    assert (await client.get(f"/api/schedules/{body['id']}")).json == body


async def test_an_answer_can_be_put_back(client: Client) -> None:
    body = await created(client)

    answer = await client.put(f"/api/schedules/{body['id']}", {**body, "name": "Renamed"})

    assert (answer.status, answer.json["name"], answer.json["version"]) == (200, "Renamed", 2)


async def test_mistakes_are_listed_with_field_message_and_what_was_got(client: Client) -> None:
    answer = await client.post("/api/schedules", {**HOURLY, "priority": 11, "cron_expr": "nonsense", "overlap": []})

    body = is_problem(answer, 422, "invalid")
    assert {error["field"] for error in body["errors"]} == {"priority", "cron_expr", "overlap"}
    assert next(error for error in body["errors"] if error["field"] == "priority")["got"] == 11


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b'{"name": "\\ud800"}', 400, "malformed"),
        (b'{"name": NaN}', 400, "malformed"),
        (b"[" * 100_000, 400, "malformed"),
        (b"[" * 65 + b"]" * 65, 422, "invalid"),
        (b"", 422, "invalid"),
        (b"null", 422, "invalid"),
        (b"[]", 422, "invalid"),
        (b'"text"', 422, "invalid"),
        (b" " * (1024 * 1024 + 1), 413, "too_large"),
    ],
)
async def test_a_body_that_is_no_request_is_refused(client: Client, body: bytes, status: int, code: str) -> None:
    is_problem(await client.post("/api/schedules", body), status, code)


async def test_json_deeper_than_64_is_refused_for_that(client: Client) -> None:
    body = is_problem(await client.post("/api/schedules", b"[" * 65 + b"]" * 65), 422, "invalid")

    assert "nested at most 64 deep" in body["detail"]


async def test_a_large_body_is_refused_while_it_streams(client: Client) -> None:
    is_problem(await client.post("/api/schedules", [b" " * 65_536] * 17), 413, "too_large")
    is_problem(await client.put(f"/api/schedules/{UNKNOWN_SCHEDULE}", [b" " * 65_536] * 17), 413, "too_large")


async def test_a_lying_content_length_is_no_way_around(client: Client) -> None:
    is_problem(await client.post("/api/schedules", [b" " * 65_536] * 17, content_length="5"), 413, "too_large")


@pytest.mark.parametrize("path", [UNKNOWN_SCHEDULE, "nonsense", "run_" + "0" * 32, "sch_\x00", "sch_" + "F" * 32])
async def test_an_unknown_id_is_not_found(client: Client, path: str) -> None:
    for method, tail in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/run-now"),
        ("GET", "/runs"),
        ("GET", "/instants"),
    ]:
        is_problem(await client.send(method, f"/api/schedules/{path}{tail}"), 404, "not_found")
    is_problem(await client.put(f"/api/schedules/{path}", HOURLY), 404, "not_found")
    is_problem(await client.patch(f"/api/schedules/{path}", {}), 404, "not_found")


async def test_etags_guard_against_lost_updates(client: Client) -> None:
    body = await created(client)
    url = f"/api/schedules/{body['id']}"

    assert (await client.patch(url, {"name": "Second"}, If_Match='"1"')).headers["etag"] == '"2"'
    is_problem(await client.patch(url, {"name": "Third"}, If_Match='"1"'), 412, "version_mismatch")
    is_problem(await client.put(url, HOURLY, If_Match='"9", "8"'), 412, "version_mismatch")
    is_problem(await client.delete(url, If_Match='"1"'), 412, "version_mismatch")
    assert (await client.patch(url, {"name": "Third"}, If_Match='"7", W/"2"')).status == 200
    assert (await client.delete(url, If_Match="*")).status == 204


async def test_pause_resume_and_delete(world: World, client: Client) -> None:
    body = await created(client)
    url = f"/api/schedules/{body['id']}"

    paused = await client.post(f"{url}/pause", {"reason": "holiday"})
    assert (paused.json["status"], paused.json["paused_reason"], paused.json["next_run_at"]) == (
        "paused",
        "holiday",
        None,
    )
    resumed = await client.post(f"{url}/resume")
    assert (resumed.json["status"], resumed.json["version"]) == ("active", 3)
    assert (await client.delete(url)).status == 204
    assert (await client.delete(url)).status == 204

    assert (await client.get(url)).json["status"] == "deleted"
    assert (await client.get("/api/schedules")).json["items"] == []
    assert len((await client.get("/api/schedules?status=deleted")).json["items"]) == 1
    is_problem(await client.post(f"{url}/pause"), 409, "conflict")
    is_problem(await client.patch(url, {"name": "x"}), 409, "conflict")


async def test_run_now_answers_202_with_a_manual_run(client: Client) -> None:
    body = await created(client)

    answer = await client.post(f"/api/schedules/{body['id']}/run-now", {"payload": {"body": {"sku": 1}}})

    assert answer.status == 202
    conforms(runs_schema.Run, answer.json)
    assert (answer.json["queue"], answer.json["state"], answer.json["origin"]) == ("manual", "queued", "manual")
    assert (await client.get(answer.headers["location"])).json["action"]["body"] == {"sku": 1}


async def test_lists_page_through_everything_once(client: Client) -> None:
    made = [(await created(client, name=f"Number {n}"))["id"] for n in range(7)]

    seen: list[str] = []
    url: str | None = "/api/schedules?limit=3"
    while url is not None:
        page = (await client.get(url)).json
        conforms(schedules_schema.SchedulePage, page)
        seen += [one["id"] for one in page["items"]]
        url = page["next_cursor"] and f"/api/schedules?limit=3&cursor={page['next_cursor']}"

    assert seen == made[::-1]


async def test_lists_filter(client: Client) -> None:
    await created(client, HOURLY, name="Prices of shoes", tags=["prices"])
    await created(client, name="News 100%")

    async def names(query: str) -> list[str]:
        return [one["name"] for one in (await client.get(f"/api/schedules?{query}")).json["items"]]

    assert await names("type=cron") == ["Prices of shoes"]
    assert await names("tag=prices") == ["Prices of shoes"]
    assert await names("tag=price") == []
    assert await names("q=SHOES") == ["Prices of shoes"]
    assert await names("q=%25") == ["News 100%"]
    assert await names("kind=webhook&status=active") == ["News 100%", "Prices of shoes"]
    assert await names("kind=crawl") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("cursor=%21%21", "cursor"),
        ("cursor=AAAA", "cursor"),
        ("status=sleeping", "status"),
        ("type=never", "type"),
        ("colour=red", "colour"),
        ("q=%00", "q"),
        ("tag=" + "t" * 201, "tag"),
    ],
)
async def test_a_wrong_parameter_is_named(client: Client, query: str, field: str) -> None:
    body = is_problem(await client.get(f"/api/schedules?{query}"), 422, "invalid")

    assert [error["field"] for error in body["errors"]] == [field]


async def test_instants_of_a_span(world: World, client: Client) -> None:
    body = await created(client)
    began = world.clock.now()
    await world.pass_time(2)
    url = f"/api/schedules/{body['id']}/instants"

    answer = await client.get(f"{url}?from={rfc3339(began)}&to={rfc3339(began + 5 * MINUTE)}&limit=3")

    conforms(schedules_schema.InstantPage, answer.json)
    assert [one["outcome"] for one in answer.json["items"]] == ["queued", "queued", "planned"]
    assert answer.json["items"][0]["run_id"].startswith("run_")
    following = await client.get(f"{url}?to={rfc3339(began + 5 * MINUTE)}&cursor={answer.json['next_cursor']}")
    assert [one["at"] for one in following.json["items"]] == [rfc3339(began + 4 * MINUTE)]
    assert following.json["next_cursor"] is None
    is_problem(await client.get(f"{url}?from=yesterday"), 422, "invalid")


@pytest.mark.parametrize("limit", [1, 2, 3, 500])
async def test_instants_end_where_the_runs_do(world: World, client: Client, limit: int) -> None:
    body = await created(client, max_runs=3)
    began = world.clock.now()
    await world.pass_time(1)
    url = f"/api/schedules/{body['id']}/instants"
    query = f"to={rfc3339(began + 60 * MINUTE)}&limit={limit}"

    page = (await client.get(f"{url}?from={rfc3339(began)}&{query}")).json
    pages = [page["items"]]
    while page["next_cursor"]:
        page = (await client.get(f"{url}?{query}&cursor={page['next_cursor']}")).json
        pages.append(page["items"])

    assert [one["outcome"] for items in pages for one in items] == ["queued", "planned", "planned"]
    assert all(pages)


async def test_preview_tells_the_next_instants_in_words_and_on_the_local_clock(client: Client) -> None:
    raw = {
        "type": "cron",
        "cron_expr": "30 2 * * *",
        "timezone": "Europe/Stockholm",
        "start_at": "2027-03-27T00:00:00Z",
    }

    answer = await client.post("/api/schedules/preview", {**raw, "count": 3})

    conforms(schedules_schema.SchedulePreview, answer.json)
    assert [one["at"] for one in answer.json["next"]][:1] == ["2027-03-27T01:30:00Z"]
    assert answer.json["next"][0]["local"] == "2027-03-27T02:30:00+01:00"
    assert len(answer.json["next"]) == 3
    assert any("2027-03-28" in note for note in answer.json["notes"])
    is_problem(await client.post("/api/schedules/preview", {"type": "cron", "cron_expr": "x"}), 422, "invalid")
    is_problem(await client.post("/api/schedules/preview", {**raw, "count": 501}), 422, "invalid")


async def test_words_that_cron_cannot_say_are_previewed_as_an_interval_and_created_from_it(client: Client) -> None:
    asked = {"words": "every other tuesday at 9", "timezone": "Europe/Stockholm", "count": 2}

    seen = (await client.post("/api/schedules/preview", asked)).json
    trigger = {name: seen[name] for name in ("type", "interval_seconds", "start_at", "timezone")}
    made = (await client.post("/api/schedules", {"name": "fortnight", **trigger, "payload": HOURLY["payload"]})).json

    conforms(schedules_schema.SchedulePreview, seen)
    locals_ = [datetime.fromisoformat(one["local"]) for one in seen["next"]]
    assert [(one.isoweekday(), one.hour) for one in locals_] == [(2, 9), (2, 9)]
    assert locals_[1] - locals_[0] == timedelta(days=14)
    assert made["next_run_at"] == seen["next"][0]["at"] == seen["start_at"]


async def test_a_repeated_key_has_one_effect_and_one_answer(client: Client) -> None:
    first = await client.post("/api/schedules", HOURLY, Idempotency_Key="k-1")
    again = await client.post("/api/schedules", HOURLY, Idempotency_Key="k-1")

    assert (again.status, again.body) == (201, first.body)
    assert again.headers == {**first.headers, "idempotent-replayed": "true"}
    assert {"etag", "location"} <= set(again.headers)
    assert len((await client.get("/api/schedules")).json["items"]) == 1
    is_problem(await client.post("/api/schedules", {**HOURLY, "name": "x"}, Idempotency_Key="k-1"), 422, "key_reused")
    is_problem(
        await client.post(f"/api/schedules/{first.json['id']}/run-now", HOURLY, Idempotency_Key="k-1"),
        422,
        "key_reused",
    )
    is_problem(await client.post("/api/schedules", HOURLY, Idempotency_Key="k" * 201), 422, "invalid")
    is_problem(await client.post("/api/schedules", HOURLY, Idempotency_Key=""), 422, "invalid")


@pytest.mark.parametrize("verb", ["pause", "resume"])
async def test_a_repeated_change_keeps_its_etag(client: Client, verb: str) -> None:
    body = await created(client)
    url = f"/api/schedules/{body['id']}"
    await client.post(f"{url}/pause")
    first = await client.post(f"{url}/{verb}", Idempotency_Key="k")
    await client.post(f"{url}/resume")

    again = await client.post(f"{url}/{verb}", Idempotency_Key="k")

    assert (again.body, again.headers["etag"]) == (first.body, first.headers["etag"])


async def test_a_preview_honours_its_key(world: World, client: Client) -> None:
    raw = {"type": "interval", "interval_seconds": 60}
    first = await client.post("/api/schedules/preview", raw, Idempotency_Key="k")
    world.clock.advance(timedelta(hours=1))

    again = await client.post("/api/schedules/preview", raw, Idempotency_Key="k")

    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    other = await client.post("/api/schedules/preview", {**raw, "count": 1}, Idempotency_Key="k")
    is_problem(other, 422, "key_reused")
    assert (await client.post("/api/schedules/preview", raw)).body != first.body


async def test_every_post_takes_a_key(client: Client) -> None:
    paths: dict[str, Any] = (await client.get("/openapi.json")).json["paths"]

    for path, methods in paths.items():
        if "post" in methods:
            assert "Idempotency-Key" in {one["name"] for one in methods["post"]["parameters"]}, path


async def test_run_now_with_a_key_runs_once(client: Client) -> None:
    body = await created(client)
    url = f"/api/schedules/{body['id']}/run-now"

    first, again = [await client.post(url, {}, Idempotency_Key="go") for _ in range(2)]

    assert first.body == again.body
    assert again.headers["location"] == first.headers["location"] == f"/api/runs/{first.json['id']}"
    assert len((await client.get("/api/runs")).json["items"]) == 1


async def test_the_guard_keeps_other_sites_out(world: World) -> None:
    client = Client(create_app(world.cases))

    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "127.0.0.1@evil.example", "[::1"):
        is_problem(await client.get("/health", Host=host), 403, "foreign_host")
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"):
        assert (await client.get("/health", Host=host)).status == 200
    for origin in ("https://evil.example", "null", "http://localhost:8000", "http://127.0.0.1:9999"):
        is_problem(await client.post("/api/schedules", HOURLY, Origin=origin), 403, "foreign_origin")
    assert (await client.post("/api/schedules", HOURLY, Origin="http://127.0.0.1:8000")).status == 201


async def test_what_the_framework_refuses_is_a_problem_too(client: Client) -> None:
    is_problem(await client.get("/api/nonsense"), 404, "no_such_route")
    answer = await client.put("/api/schedules", {})
    is_problem(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["allow"] or "GET" in answer.headers["allow"]


async def test_docs_work_offline_and_the_root_leads_there_where_no_dashboard_was_built(client: Client) -> None:
    root = await client.get("/")
    page = await client.get("/docs")

    assert root.status == 200
    assert 'href="/docs"' in root.text
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "/openapi.json" in page.text


async def test_the_openapi_document_refers_only_to_what_it_defines(client: Client) -> None:
    answer = await client.get("/openapi.json")
    known = set(answer.json["components"]["schemas"])

    wanted = {part.split('"')[0] for part in answer.text.split("#/components/schemas/")[1:]}

    assert wanted <= known
    assert "HTTPValidationError" not in known


async def test_a_bug_is_a_problem_without_a_traceback(world: World) -> None:
    class Broken:
        async def caller(self, bearer: str) -> Caller:
            raise ZeroDivisionError(f"secret internals of {bearer}")

        async def still(self, caller: Caller) -> bool:
            return True

    with capture_logs() as logged:
        client = Client(create_app(world.cases, identity=Broken()), quiet=True)
        answer = await client.get("/api/schedules", Authorization="Bearer secret")

    is_problem(answer, 500, "internal")
    assert "secret" not in answer.text
    assert [line["action"] for line in logged] == ["request_failed"]


class NoDatabase:
    """A store whose database is gone."""

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        raise Unavailable("the database did not answer")
        yield

    read = glance = begin


async def test_a_database_that_is_away_is_503_with_a_hint_when_to_come_back(world: World) -> None:
    cases = use_cases(cast("Database", NoDatabase()), world.clock, world.feed, OneAction())
    client = Client(create_app(cases))

    for answer in (
        await client.get("/api/schedules"),
        await client.post("/api/schedules", HOURLY),
        await client.get("/metrics"),
    ):
        is_problem(answer, 503, "unavailable")
        assert answer.headers["retry-after"] == "1"
    assert (await client.get("/health")).status == 200
    detailed = await client.get("/health/detailed")
    conforms(health_schema.HealthReport, detailed.json)
    assert (detailed.status, detailed.json["status"], detailed.json["database"]["status"]) == (503, "down", "down")


# --- the words of a refusal -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "field", "words", "got"),
    [
        ({**EVERY_MINUTE, "interval_seconds": None, "interval": 5}, "interval", '{"hours": 4}', 5),
        ({**HOURLY, "payload": {"uri": URL}}, "payload.uri", "did you mean 'url'? Known are body, headers,", None),
        ({**HOURLY, "zzz": 1}, "zzz", "known are action, after, alert, catchup, ", None),
        (b"", "body", "is empty; it must be an object", None),
        ([1], "body", "must be an object", "[1]"),
    ],
)
async def test_a_refusal_names_the_field_the_rule_and_what_it_got(
    client: Client, raw: Any, field: str, words: str, got: object
) -> None:
    body = is_problem(await client.post("/api/schedules", raw), 422, "invalid")

    (error,) = body["errors"]
    assert (error["field"], error["got"]) == (field, got)
    assert words in error["message"]


async def test_every_unknown_field_is_named(client: Client) -> None:
    body = is_problem(await client.post("/api/schedules", {**HOURLY, "yyy": 1, "zzz": 2}), 422, "invalid")

    assert [error["field"] for error in body["errors"]] == ["yyy", "zzz"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("limit=100000", "limit: must be at most 500, got '100000'"),
        ("limit=0", "limit: must be at least 1, got '0'"),
        ("limit=ten", "limit: must be a whole number, got 'ten'"),
        ("status=asleep", "status: must be one of active, paused, completed or deleted, got 'asleep'"),
        (f"q={'x' * 1001}", "q: must be at most 1000 characters, got '"),
    ],
)
async def test_a_wrong_parameter_is_refused_in_our_words(client: Client, query: str, words: str) -> None:
    body = is_problem(await client.get(f"/api/schedules?{query}"), 422, "invalid")

    assert body["detail"].startswith(words)


async def test_a_patch_without_a_body_says_so(client: Client) -> None:
    body = await created(client)

    answer = is_problem(await client.patch(f"/api/schedules/{body['id']}"), 422, "invalid")

    assert answer["errors"][0]["message"].startswith("is empty")
