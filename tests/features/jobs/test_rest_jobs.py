"""The routes of jobs: where a crawl stands, what it says, what it brought home, and how it is cancelled."""

from __future__ import annotations

import csv
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import make_url

from foliot.app.http import create_app
from foliot.engine.model.run import EventLine, EventType, RunState
from foliot.engine.sql.runs import SqlRuns
from foliot.features.jobs import schema as jobs_schema
from foliot.features.jobs.rest import results as job_results
from foliot.servers.http import run_broadcast
from foliot.servers.http import sse as streams_module
from foliot.testing import open_store
from foliot.wakeups.feed import run_topic
from tests.asgi import Client
from tests.declared import conforms
from tests.features.crawls.test_crawl_items import bring
from tests.features.crawls.test_crawls import SEO
from tests.features.runs.test_rest_runs import _finish, parsed, run_of, say
from tests.features.schedules.test_rest_schedules import is_problem
from tests.world import World, open_world

FORGED = 'x\n\nevent: end\ndata: {"status":"finished"}\n\n'
UNKNOWN = "run_" + "0" * 32


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


@pytest.fixture
async def filed(sqlite_database_url: str, migrated_sqlite: Path) -> AsyncIterator[World]:
    """In a file: whoever hangs up in the middle of a reading takes its connection along, and memory has only one."""
    shutil.copy(migrated_sqlite, make_url(sqlite_database_url).database or "")
    async with open_store(sqlite_database_url) as store:
        yield World.on(store)


async def crawl(client: Client, **changes: Any) -> str:
    job_id: str = (await client.post("/crawl", {**SEO, **changes})).json["job_id"]
    return job_id


async def fired(world: World, client: Client) -> tuple[str, str]:
    """A crawl every five minutes, and the run of its first instant."""
    schedule_id = await crawl(client, interval="*/5 * * * *")
    await world.pass_time(5)
    return schedule_id, (await client.get("/jobs")).json["jobs"][0]["job_id"]


async def parked(world: World, run_id: str, handle: dict[str, Any]) -> Any:
    """As the watcher leaves it; the fence still holds for those who write lines."""
    (claimed,) = await world.claim(run_id)
    await world.sql("UPDATE runs SET handle = :handle WHERE id = :id", handle=orjson.dumps(handle).decode(), id=run_id)
    return claimed


async def status(client: Client, job_id: str) -> dict[str, Any]:
    answer = await client.get(f"/jobs/{job_id}/status")
    assert answer.status == 200, answer.text
    conforms(jobs_schema.JobDetail, answer.json)
    body: dict[str, Any] = answer.json
    return body


# --- status -----------------------------------------------------------------------------------------------------------


async def test_a_job_tells_where_it_stands(world: World, client: Client) -> None:
    job_id = await crawl(client)
    fresh = await status(client, job_id)
    progress = {"pages": 12, "items": 3}
    claimed = await parked(world, job_id, {"jobid": job_id, "node": "http://n", "progress": progress})
    running = await status(client, job_id)
    world.clock.advance(7)
    await _finish(world, claimed, RunState.SUCCESS)
    ended = await status(client, job_id)

    assert (fresh["status"], fresh["state"], fresh["spider_job_id"], fresh["started_at"]) == (
        "pending",
        "queued",
        None,
        None,
    )
    assert (running["status"], running["state"]) == ("running", "running")
    assert running["spider_job_id"] == running["scrapyd_job_id"] == job_id
    assert (running["progress"], running["started_at"]) == (progress, "2027-01-04T12:00:00Z")
    assert (ended["status"], ended["state"]) == ("finished", "success")
    assert ended["finished_at"] == ended["updated_at"] == "2027-01-04T12:00:07Z"
    assert [ended[name] for name in ("total_articles", "completed", "failed", "pending", "next_run")] == [None] * 5
    assert (ended["job_id"], ended["run_id"], ended["kind"]) == (job_id, job_id, "crawl")


@pytest.mark.parametrize(
    ("state", "word"),
    [("partial", "finished"), ("failed", "error"), ("dead_letter", "error"), ("cancelled", "cancelled")],
)
async def test_every_end_has_its_word(world: World, client: Client, state: str, word: str) -> None:
    job_id = await crawl(client)
    error = {"code": "crawl_failed", "message": "the spider raised"}
    await world.end(job_id, RunState(state), error)

    found = await status(client, job_id)
    assert (found["status"], found["state"], found["error"]) == (word, state, error)


async def test_a_crawl_that_waits_for_another_try_says_when(world: World, client: Client) -> None:
    job_id = await crawl(client)
    (claimed,) = await world.claim(job_id)
    at = world.clock.now() + timedelta(seconds=10)
    down = {"code": "scrapyd_away", "message": "does not come from a Scrapyd"}
    await _finish(world, claimed, RunState.RETRYING, ready_at=at, error=down)

    found = await status(client, job_id)
    assert (found["status"], found["state"], found["next_run"]) == ("pending", "retrying", "2027-01-04T12:00:10Z")
    assert found["error"] is None or found["error"] == down


async def test_a_schedule_answers_with_its_newest_run_and_its_next(world: World, client: Client) -> None:
    schedule_id = await crawl(client, interval="*/5 * * * *")
    planned = await status(client, schedule_id)
    await world.pass_time(5)
    run_id = (await client.get("/jobs")).json["jobs"][0]["job_id"]
    await world.end(run_id, RunState.SUCCESS)
    ran = await status(client, schedule_id)

    assert (planned["status"], planned["state"], planned["run_id"]) == ("pending", None, None)
    assert (planned["kind"], planned["next_run"]) == ("crawl", "2027-01-04T12:05:00Z")
    assert (ran["job_id"], ran["run_id"], ran["status"]) == (schedule_id, run_id, "finished")
    assert ran["next_run"] == "2027-01-04T12:10:00Z"
    assert (await status(client, run_id))["status"] == "finished"


async def test_a_job_says_what_it_is_about(world: World, client: Client) -> None:
    alone = await crawl(client, start_urls=["https://shop.example.com/a", "https://b.example.org/"])
    _, of_schedule = await fired(world, client)
    batch = {"articles": [{"url": "https://news.example/1", "source": "News", "category": "x"}]}
    articles = (await client.post("/jobs/submit", batch)).json["job_id"]

    listed = {one["job_id"]: one["about"] for one in (await client.get("/jobs/")).json["jobs"]}

    first = {"host": "shop.example.com", "count": 2, "spider": "seo", "project": "DiscoveryBot", "source": None}
    assert listed[alone] == first == (await status(client, alone))["about"]
    assert (listed[of_schedule]["host"], listed[of_schedule]["spider"]) == ("example.com", "seo")
    assert articles in listed


async def test_what_is_no_job_is_not_found(world: World, client: Client) -> None:
    webhook = await run_of(world, client)
    for job_id in (UNKNOWN, "run_1", "sch_" + "0" * 32, "art_" + "0" * 32, webhook["id"], webhook["schedule_id"]):
        for part in ("status", "logs", "results"):
            is_problem(await client.get(f"/jobs/{job_id}/{part}"), 404, "not_found")
        is_problem(await client.delete(f"/jobs/{job_id}"), 404, "not_found")


async def test_jobs_are_listed_with_and_without_a_slash(world: World, client: Client) -> None:
    made = [await crawl(client, depth=depth) for depth in range(4)]
    await run_of(world, client)
    await crawl(client, interval="0 9 * * *")
    await world.end(made[0], RunState.SUCCESS)

    for path in ("/jobs", "/jobs/"):
        page = (await client.get(path)).json
        conforms(jobs_schema.JobPage, page)
        assert ([one["job_id"] for one in page["jobs"]], page["total"]) == (made[::-1], 4)
        part = (await client.get(f"{path}?limit=2&skip=1&status_filter=PENDING")).json
        assert ([one["job_id"] for one in part["jobs"]], part["total"]) == ([made[2], made[1]], 3)
        for wrong in ("status_filter=asleep", "limit=0", "limit=501", "skip=-1", "skip=x", "cursor=1"):
            is_problem(await client.get(f"{path}?{wrong}"), 422, "invalid")


# --- logs -------------------------------------------------------------------------------------------------------------


async def test_a_log_is_told_as_it_grows_and_then_ends(world: World, client: Client) -> None:
    job_id = await crawl(client)
    async with client.stream(f"/jobs/{job_id}/logs") as stream:
        claimed = await parked(world, job_id, {"jobid": f"{job_id}-2"})
        await say(world, claimed, "Spider opened")
        first = await stream.frames(1)
        await progress(world, claimed)
        await say(world, claimed, "Crawled")
        second = await stream.frames(1)
        await _finish(world, claimed, RunState.FAILED, error={"code": "x", "message": "y"})
        world.feed.wake(run_topic(job_id))
        rest = await stream.frames()

    at = "2027-01-04T12:00:00Z"
    assert first == [f'id: 3\nevent: log\ndata: {{"ts":"{at}","level":"INFO","msg":"Spider opened"}}']
    assert second == [f'id: 5\nevent: log\ndata: {{"ts":"{at}","level":"INFO","msg":"Crawled"}}']
    assert rest == [f'event: end\ndata: {{"status":"error","spider_job_id":"{job_id}-2"}}']


async def progress(world: World, claimed: Any) -> None:
    async with world.store.begin() as tx:
        line = EventLine(world.clock.now(), EventType.PROGRESS, data={"pages": 1})
        assert await SqlRuns(tx).append([(claimed.fence, [line])])


async def logged(world: World, client: Client, *messages: str) -> str:
    job_id = await crawl(client)
    (claimed,) = await world.claim(job_id)
    await say(world, claimed, *messages)
    await _finish(world, claimed, RunState.SUCCESS)
    return job_id


@pytest.mark.parametrize("last", range(8))
async def test_a_reader_goes_on_exactly_where_it_stopped(world: World, client: Client, last: int) -> None:
    job_id = await logged(world, client, "one", "two", "three", "four")
    async with client.stream(f"/jobs/{job_id}/logs", Last_Event_ID=str(last)) as stream:
        frames = parsed(await stream.frames())

    assert [seq for seq, _, _ in frames] == [*range(max(3, last + 1), 7), None]
    assert frames[-1][1:] == ("end", {"status": "finished", "spider_job_id": None})


async def test_every_line_comes_once_however_the_stream_is_cut(filed: World) -> None:
    """Long enough that whoever comes late reads the store, then the broadcast; progress lies in between."""
    world, client = filed, Client(create_app(filed.cases))
    job_id = await crawl(client)
    (claimed,) = await world.claim(job_id)
    for part in range(6):
        await say(world, claimed, *(f"{part}-{number}" for number in range(run_broadcast.KEPT // 4)))
        await progress(world, claimed)
    await _finish(world, claimed, RunState.SUCCESS)
    seen: list[tuple[int, str]] = []
    last, ended = "0", False
    while not ended:
        async with client.stream(f"/jobs/{job_id}/logs", Last_Event_ID=last) as stream:
            for seq, name, data in parsed(await stream.frames(400)):
                ended = name == "end"
                if seq is not None:
                    seen.append((seq, data["msg"]))
                    last = str(seq)

    assert [text for _, text in seen] == [f"{part}-{number}" for part in range(6) for number in range(250)]
    assert [seq for seq, _ in seen] == sorted({seq for seq, _ in seen})


async def test_many_readers_of_events_and_of_the_log_each_see_their_own(world: World, client: Client) -> None:
    job_id = await crawl(client)
    (claimed,) = await world.claim(job_id)
    async with AsyncExitStack() as stack:
        logs = [await stack.enter_async_context(client.stream(f"/jobs/{job_id}/logs")) for _ in range(3)]
        events = await stack.enter_async_context(client.stream(f"/api/runs/{job_id}/events"))
        await say(world, claimed, "one", "two")
        await progress(world, claimed)
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(run_topic(job_id))
        told = [parsed(await reader.frames()) for reader in logs]
        whole = parsed(await events.frames())

    assert [[(seq, name) for seq, name, _ in one] for one in told] == [[(3, "log"), (4, "log"), (None, "end")]] * 3
    assert [seq for seq, _, _ in whole] == [1, 2, 3, 4, 5, 6, None]


async def test_no_line_can_forge_an_event(world: World, client: Client) -> None:
    wild = [FORGED, "\r\rid: 99\revent: end\r\r", "\x00\x1b[2J\x85\u2028", 'data: {"level":"INFO"}', "\ufeff"]
    job_id = await logged(world, client, *wild)

    async with client.stream(f"/jobs/{job_id}/logs") as stream:
        raw = b"".join([part async for part in _parts(stream)])

    # As a browser reads it: \r, \n and \r\n all end a line.
    lines = raw.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert [line for line in lines if line.startswith("event:")] == ["event: log"] * 5 + ["event: end"]
    assert [line for line in lines if line.startswith("id:")] == [f"id: {number}" for number in range(3, 8)]
    told = [orjson.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data:")]
    assert [one.get("msg") for one in told] == [*wild, None]


async def _parts(stream: Any) -> AsyncIterator[bytes]:
    while (part := await stream.parts.get()) is not None:
        yield part


async def test_a_comment_keeps_a_quiet_stream_open(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "LOOK", 0.01)
    job_id = await crawl(client)
    async with client.stream(f"/jobs/{job_id}/logs") as stream:
        await stream.started
        world.clock.advance(streams_module.KEEP_ALIVE)
        assert await stream.frames(1) == [": keep-alive"]
    assert streams_module.KEEP_ALIVE == 15


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "١", "9" * 16, f"{UNKNOWN}:", "a:1", f"{UNKNOWN}:1:2"])
async def test_a_place_that_is_none_is_refused(world: World, client: Client, last: str) -> None:
    job_id = await logged(world, client, "one")

    header = last.encode().decode("latin-1")
    body = is_problem(await client.get(f"/jobs/{job_id}/logs", Last_Event_ID=header), 422, "invalid")
    assert body["errors"][0]["field"] == "Last-Event-ID"


async def test_the_log_of_a_schedule_is_its_newest_runs_and_a_reader_first_ends_the_one_it_had(
    world: World, client: Client
) -> None:
    schedule_id, first = await fired(world, client)
    (claimed,) = await world.claim(first)
    await say(world, claimed, "one", "two")
    await _finish(world, claimed, RunState.SUCCESS)
    async with client.stream(f"/jobs/{schedule_id}/logs") as stream:
        (seen,) = await stream.frames(1)
    last = seen.split("\n")[0].removeprefix("id: ")
    await world.pass_time(5)
    second = (await status(client, schedule_id))["run_id"]
    (claimed,) = await world.claim(second)
    await say(world, claimed, "another")
    await _finish(world, claimed, RunState.SUCCESS)

    async def read(**headers: str) -> list[str]:
        async with client.stream(f"/jobs/{schedule_id}/logs", **headers) as reader:
            return [orjson.loads(frame.rpartition("data: ")[2]).get("msg", "end") for frame in await reader.frames()]

    assert last == f"{first}:3"
    assert await read(Last_Event_ID=last) == ["two", "end"]
    assert await read() == ["another", "end"]
    assert await read(Last_Event_ID=f"{UNKNOWN}:3") == ["another", "end"], "another's run is no run of this schedule"


async def test_the_log_of_what_never_ran_ends_at_once(client: Client) -> None:
    schedule_id = await crawl(client, interval="0 9 * * *")

    answer = await client.get(f"/jobs/{schedule_id}/logs")
    text = await client.get(f"/jobs/{schedule_id}/logs?format=text")

    assert answer.text == 'event: end\ndata: {"status":"pending","spider_job_id":null}\n\n'
    assert (text.status, text.body) == (200, b"")


async def test_the_whole_log_comes_as_text_a_line_each(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.features.jobs.rest.logs.BATCH", 3)
    messages = ["Spider opened", FORGED, "tab\there", "é\u2028x", *(f"line {number}" for number in range(10))]
    job_id = await logged(world, client, *messages)

    answer = await client.get(f"/jobs/{job_id}/logs?format=text")

    lines = answer.text.split("\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="{job_id}.log"'
    assert len(lines) == len(messages) + 1
    assert lines[:4] == [
        "2027-01-04T12:00:00Z INFO Spider opened",
        '2027-01-04T12:00:00Z INFO x\\n\\nevent: end\\ndata: {"status":"finished"}\\n\\n',
        "2027-01-04T12:00:00Z INFO tab\there",
        "2027-01-04T12:00:00Z INFO é\\u2028x",
    ]
    is_problem(await client.get(f"/jobs/{job_id}/logs?format=pdf"), 422, "invalid")


# --- results ----------------------------------------------------------------------------------------------------------

PAGES: list[dict[str, Any]] = [
    {"url": f"https://example.com/{number}", "title": f"Page {number}", "links": [1, 2]} for number in range(7)
]


async def brought(world: World, client: Client, items: Sequence[Any] = PAGES) -> str:
    job_id = await crawl(client)
    await world.claim(job_id)
    await bring(world, (job_id, items))
    return job_id


async def test_results_come_by_the_page_while_the_crawl_runs(world: World, client: Client) -> None:
    job_id = await brought(world, client)

    whole = (await client.get(f"/jobs/{job_id}/results")).json
    part = (await client.get(f"/jobs/{job_id}/results?limit=2&skip=3")).json
    beyond = (await client.get(f"/jobs/{job_id}/results?skip=100")).json

    conforms(jobs_schema.JobResults, whole)
    assert whole == {"job_id": job_id, "status": "running", "total": 7, "not_kept": 0, "items": PAGES}
    assert (part["items"], part["total"]) == (PAGES[3:5], 7)
    assert (beyond["items"], beyond["total"]) == ([], 7)
    for wrong in ("limit=0", "limit=501", "skip=-1", "format=xml", "cursor=1"):
        is_problem(await client.get(f"/jobs/{job_id}/results?{wrong}"), 422, "invalid")


async def test_results_of_a_schedule_are_its_newest_runs(world: World, client: Client) -> None:
    schedule_id, run_id = await fired(world, client)
    await world.claim(run_id)
    await bring(world, (run_id, PAGES))

    found = (await client.get(f"/jobs/{schedule_id}/results")).json
    assert (found["job_id"], found["items"]) == (schedule_id, PAGES)
    other = (await client.get(f"/jobs/{await crawl(client, interval='0 9 * * *')}/results")).json
    assert (other["total"], other["items"]) == (0, [])


@pytest.mark.parametrize("how", ["accept", "format"])
async def test_all_results_come_as_lines_of_json(
    world: World, client: Client, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_results, "BATCH", 3)
    wild = [*PAGES, {"text": "a\nb\u2028c"}, None, "text"]
    job_id = await brought(world, client, wild)

    if how == "accept":
        answer = await client.get(f"/jobs/{job_id}/results?limit=1", Accept="application/x-ndjson")
    else:
        answer = await client.get(f"/jobs/{job_id}/results?format=ndjson")

    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [orjson.loads(line) for line in answer.body.split(b"\n")[:-1]] == wild


async def test_all_results_come_as_a_table_with_every_field_of_every_item(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_results, "BATCH", 2)
    items = [{"url": "u1", "n": 1}, {"url": "u2", "ok": True}, {"late": {"a": [1]}, "url": 'q"u,o\nte'}, 7, None]
    job_id = await brought(world, client, items)

    answer = await client.get(f"/jobs/{job_id}/results", Accept="text/csv")

    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert list(csv.reader(StringIO(answer.text, newline=""))) == [
        ["url", "n", "ok", "late", "value"],
        ["u1", "1", "", "", ""],
        ["u2", "", "true", "", ""],
        ['q"u,o\nte', "", "", '{"a":[1]}', ""],
        ["", "", "", "", "7"],
        ["", "", "", "", ""],
    ]


async def test_no_cell_is_a_formula(world: World, client: Client) -> None:
    evil = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://evil.test")']
    job_id = await brought(world, client, [{"cell": text, "=name": "x", "number": -5} for text in evil])

    rows = list(csv.reader(StringIO((await client.get(f"/jobs/{job_id}/results?format=csv")).text, newline="")))

    assert rows[0] == ["cell", "'=name", "number"]
    assert [row[0] for row in rows[1:]] == [f"'{text}" for text in evil]
    assert {row[2] for row in rows[1:]} == {"-5"}, "a number is no formula"


async def test_a_table_has_so_many_columns_and_one_for_the_rest(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_results, "MOST_COLUMNS", 2)
    job_id = await brought(world, client, [{"a": 1, "b": 2, "c": 3, "d": 4}, {"b": 5}])

    rows = list(csv.reader(StringIO((await client.get(f"/jobs/{job_id}/results?format=csv")).text)))

    assert rows == [["a", "b", "more"], ["1", "2", '{"c":3,"d":4}'], ["", "5", ""]]


# --- cancelling -------------------------------------------------------------------------------------------------------


async def test_a_waiting_job_is_removed_and_a_finished_one_cannot_be(world: World, client: Client) -> None:
    job_id = await crawl(client)
    answer = await client.delete(f"/jobs/{job_id}")

    conforms(jobs_schema.CancelledJob, answer.json)
    message = "Job cancelled. Removed 1 pending tasks."
    assert (answer.status, answer.json) == (200, {"job_id": job_id, "status": "CANCELLED", "message": message})
    assert (await status(client, job_id))["status"] == "cancelled"
    assert "cancelled" in is_problem(await client.delete(f"/jobs/{job_id}"), 400, "conflict")["detail"]
    ended = await crawl(client, depth=5)
    await world.end(ended, RunState.SUCCESS)
    assert "finished" in is_problem(await client.delete(f"/jobs/{ended}"), 400, "conflict")["detail"]


async def test_a_running_job_is_told_to_stop(world: World, client: Client) -> None:
    job_id = await crawl(client)
    await world.claim(job_id)
    answers = [await client.delete(f"/jobs/{job_id}") for _ in range(2)]

    assert [answer.json["message"] for answer in answers] == [
        "Job cancelled. Removed 0 pending tasks. Asked 1 running to stop."
    ] * 2
    run = (await client.get(f"/api/runs/{job_id}")).json
    assert (run["state"], run["cancel_requested"]) == ("running", True)


async def test_cancelling_a_schedule_ends_it_and_what_runs_of_it(world: World, client: Client) -> None:
    schedule_id, run_id = await fired(world, client)
    await world.claim(run_id)
    answer = await client.delete(f"/jobs/{schedule_id}")

    assert answer.json["message"] == "Job cancelled. Removed 0 pending tasks. Asked 1 running to stop."
    assert (await client.get(f"/api/schedules/{schedule_id}")).json["status"] == "deleted"
    assert (await client.get(f"/api/runs/{run_id}")).json["cancel_requested"] is True
    assert (await status(client, schedule_id))["status"] == "running", "it has not stopped yet"
    await world.sql("UPDATE runs SET state = 'cancelled', lease_until = NULL, open_of = NULL, finished_at = created_at")
    assert (await status(client, schedule_id))["status"] == "cancelled"
    is_problem(await client.delete(f"/jobs/{schedule_id}"), 400, "conflict")


async def test_cancelling_a_schedule_removes_what_waits_of_it(world: World, client: Client) -> None:
    schedule_id, run_id = await fired(world, client)
    answer = await client.delete(f"/jobs/{schedule_id}")

    assert answer.json["message"] == "Job cancelled. Removed 1 pending tasks."
    assert (await client.get(f"/api/runs/{run_id}")).json["state"] == "cancelled"
    planned = await crawl(client, interval="0 10 * * *")
    assert (await client.delete(f"/jobs/{planned}")).json["message"] == "Job cancelled. Removed 0 pending tasks."
