"""Answers that no real Scrapyd gives on demand: error pages, silence, lies, floods. Each ends in clear words."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from foliot.engine.model.run import Cancelled, Failed, Outcome, Parked, Succeeded
from foliot.engine.ports import Stale
from foliot.features.crawls.action import scrapyd_client
from foliot.features.crawls.action.action import Pace
from foliot.net.client import HttpEgress
from foliot.testing import StoppedClock
from tests.following import PACE, Crawling, Followed, crawling

HEAD = b"2027-01-04 12:00:00 [scrapy.core.engine] INFO: "
OPENED = HEAD + b"Spider opened\n"
CLOSED = (
    b"2027-01-04 12:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n"
    b"{'finish_reason': 'finished',\n 'item_scraped_count': 1,\n 'response_received_count': 1}\n"
    + HEAD
    + b"Spider closed (finished)\n"
)

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Faulty:
    """Answers as Scrapyd does, except where it was told otherwise."""

    jobs: dict[str, str] = field(default_factory=dict)
    files: dict[str, Callable[[int, int], bytes] | bytes] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Of files that are made up as they are read."""
    instead: dict[str, Answer] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    items_url: str | None = "/items/x.jl"
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        what = request.path.strip("/").partition("/")[0]
        self.asked[what] += 1
        if what in self.instead:
            return await self.instead[what](request)
        if what in ("logs", "items"):
            return self.part(request)
        return web.json_response({"status": "ok", **getattr(self, what.removesuffix(".json"))(await request.post())})

    def daemonstatus(self, _: Any) -> dict[str, Any]:
        return {"pending": 0, "running": len(self.jobs), "finished": 0}

    def listjobs(self, _: Any) -> dict[str, Any]:
        return {
            state: [{"id": job, "items_url": self.items_url} for job, its in self.jobs.items() if its == state]
            for state in ("pending", "running", "finished")
        }

    def schedule(self, form: Any) -> dict[str, Any]:
        self.jobs[form["jobid"]] = "running"
        return {"jobid": form["jobid"]}

    def cancel(self, form: Any) -> dict[str, Any]:
        return {"prevstate": self.jobs.get(form["job"])}

    def part(self, request: web.Request) -> web.StreamResponse:
        kind = request.path.strip("/").partition("/")[0]
        content = self.files.get(kind)
        if content is None:
            return web.Response(status=404)
        total = self.sizes[kind] if callable(content) else len(content)
        start, _, end = request.headers["Range"].removeprefix("bytes=").partition("-")
        first, last = (int(start), int(end)) if start else (max(total - int(end), 0), total)
        if first >= total:
            return web.Response(status=416, headers={"Content-Range": f"bytes */{total}"})
        last = min(last, total - 1)
        body = content(first, last + 1) if callable(content) else content[first : last + 1]
        self.sent += len(body)
        return web.Response(status=206, body=body, headers={"Content-Range": f"bytes {first}-{last}/{total}"})


@pytest.fixture
async def faulty() -> AsyncIterator[Faulty]:
    made = Faulty(files={"logs": OPENED + CLOSED, "items": b'{"a":1}\n'})
    app = web.Application(client_max_size=10**8)
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
async def here(faulty: Faulty, clock: StoppedClock) -> AsyncIterator[Crawling]:
    async with crawling([faulty.url], clock=clock) as made:
        yield made


def code(outcome: Outcome | None) -> str:
    assert isinstance(outcome, Failed), outcome
    return outcome.problem.code


async def lost(run: Followed, clock: StoppedClock) -> Outcome:
    """Looks until it is too late; the crawl is not given up before."""
    assert isinstance(await run.look(), Parked)
    clock.advance(PACE.lost_after / 2)
    assert isinstance(await run.look(), Parked)
    clock.advance(PACE.lost_after)
    return await run.look()


async def html(_: web.Request) -> web.Response:
    return web.Response(text="<html>502 Bad Gateway</html>", content_type="text/html")


async def nonsense(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok", "running": "many"})


async def wrong(_: web.Request) -> web.Response:
    return web.json_response({"status": "error", "message": "Traceback…\n  File x\nOSError: disk \x1b[31mfull"})


async def teapot(_: web.Request) -> web.Response:
    return web.Response(status=418)


async def closed(_: web.Request) -> web.Response:
    return web.Response(status=401)


async def hangs(_: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    raise AssertionError


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (html, "HTML instead of JSON"),
        (nonsense, "JSON that no Scrapyd answers"),
        (wrong, "OSError: disk \ufffd[31mfull"),
        (teapot, "status 418"),
        (closed, "our user and password"),
    ],
    ids=lambda given: given.__name__ if callable(given) else None,
)
async def test_a_node_that_answers_nonsense_gets_no_crawl_and_says_what_it_answered(
    answer: Answer, words: str, here: Crawling, faulty: Faulty
) -> None:
    faulty.instead["daemonstatus.json"] = answer
    run = here.run("any")

    assert code(await run.start()) == "no_node"
    [seen] = await here.nodes.seen()
    assert words in str(seen.error)
    assert faulty.asked["schedule.json"] == 0


@pytest.mark.parametrize("answer", [html, wrong, teapot, hangs], ids=lambda given: given.__name__)
async def test_a_node_that_stops_making_sense_loses_its_crawl_after_a_while_and_not_before(
    answer: Answer, here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    run.time = timedelta(seconds=1)
    faulty.instead["listjobs.json"] = answer

    assert code(await lost(run, clock)) == "node_lost"
    assert sum("cannot be asked" in text for text in run.text) == 1, "it is said once, not at every look"


async def test_a_node_that_comes_back_in_time_has_lost_nothing(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.instead["listjobs.json"] = html
    await run.look()
    clock.advance(PACE.lost_after * 0.9)
    faulty.instead.clear()
    await run.look()
    faulty.instead["listjobs.json"] = html
    clock.advance(PACE.lost_after * 0.9)
    assert isinstance(await run.look(), Parked)
    faulty.instead.clear()
    faulty.jobs[run.run_id] = "finished"

    assert isinstance(await run.end(), Succeeded)
    assert run.items == [{"a": 1}]


async def test_where_a_crawl_will_be_is_written_down_before_anybody_is_asked_to_start_it(
    here: Crawling, faulty: Faulty
) -> None:
    known: list[dict[str, Any]] = []

    async def starts(request: web.Request) -> web.Response:
        known.extend(run.notes)
        return web.json_response({"status": "ok", **faulty.schedule(await request.post())})

    faulty.instead["schedule.json"] = starts
    run = here.run("any")
    await run.start()

    assert [(note["node"], note["jobid"]) for note in known] == [(faulty.url, run.run_id)]


async def test_pages_that_a_tenants_spiders_keep_are_for_no_other_tenant(here: Crawling, faulty: Faulty) -> None:
    settings: list[Any] = []

    async def starts(request: web.Request) -> web.Response:
        form = await request.post()
        settings.extend(form.getall("setting"))
        return web.json_response({"status": "ok", **faulty.schedule(form)})

    faulty.instead["schedule.json"] = starts
    await here.run("any").start()

    assert "FOLIOT_CACHE_SCOPE=acme" in settings


async def test_a_run_that_is_in_other_hands_starts_nothing(here: Crawling, faulty: Faulty) -> None:
    run = here.run("any")
    run.stale = True
    with pytest.raises(Stale):
        await run.start()

    assert faulty.asked["schedule.json"] == 0


@pytest.mark.parametrize("started", [True, False])
async def test_a_start_without_an_answer_is_looked_for_and_done_once(
    started: bool, here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    async def drops(request: web.Request) -> web.Response:
        del faulty.instead["schedule.json"]
        if started:
            faulty.schedule(await request.post())
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    faulty.instead["schedule.json"] = drops
    files, faulty.files = faulty.files, {}
    run = here.run("any")
    assert isinstance(await run.start(), Parked)
    for _ in range(3):
        assert isinstance(await run.look(), Parked)
    assert faulty.asked["schedule.json"] == 1
    clock.advance(PACE.certain + timedelta(seconds=1))
    for _ in range(3):
        assert isinstance(await run.look(), Parked)

    assert faulty.asked["schedule.json"] == (1 if started else 2)
    faulty.files, faulty.jobs[run.run_id] = files, "finished"
    assert isinstance(await run.end(), Succeeded)


async def test_a_node_that_never_starts_what_it_was_asked_to_is_given_up(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    async def forgets(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "jobid": "x"})

    faulty.instead["schedule.json"], faulty.files = forgets, {}
    run = here.run("any")
    await run.start()
    while isinstance(await run.look(), Parked):
        clock.advance(PACE.certain + timedelta(seconds=1))

    assert code(run.outcome) == "not_started"
    assert faulty.asked["schedule.json"] == 3


async def test_a_crawl_cancelled_before_anybody_knows_whether_it_started(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.jobs, faulty.files, run.cancel = {}, {}, True
    assert isinstance(await run.look(), Parked)
    clock.advance(PACE.certain + timedelta(seconds=1))

    assert isinstance(await run.look(), Cancelled)
    assert faulty.asked["schedule.json"] == 1


async def test_a_cancelled_crawl_on_a_dead_node_does_not_stay_running(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.instead["listjobs.json"], run.cancel = html, True

    outcome = await lost(run, clock)
    assert isinstance(outcome, Cancelled)
    assert "may still run" in outcome.reason


async def test_whoever_has_lost_the_run_asks_nobody_to_start_it_again(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.jobs, faulty.files, run.stale = {}, {}, True
    clock.advance(PACE.certain + timedelta(seconds=1))

    assert await here.crawl.look([run.asked()]) == {}
    assert faulty.asked["schedule.json"] == 1


async def test_that_a_crawl_is_asked_for_again_is_written_down_before(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.jobs, faulty.files = {}, {}
    clock.advance(PACE.certain + timedelta(seconds=1))
    known: list[dict[str, Any]] = []

    async def starts(_: web.Request) -> web.Response:
        known.extend(run.notes)
        return web.json_response({"status": "ok", "jobid": run.run_id})

    faulty.instead["schedule.json"] = starts
    await run.look()

    assert [note["starts"] for note in known] == [1, 2]


async def test_a_run_cut_off_while_its_crawl_is_being_started_is_let_go_when_that_is_certain(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    jobs, faulty.jobs, run.ended = faulty.jobs, {}, True
    assert isinstance(await run.look(), Parked), "Scrapyd may be about to start it"
    faulty.jobs = jobs
    assert isinstance(await run.look(), Parked)
    assert faulty.asked["cancel.json"] == 1
    faulty.jobs = {}

    assert isinstance(await run.look(), Cancelled)


async def test_a_run_cut_off_whose_crawl_was_never_started_is_let_go_in_the_end(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.jobs, run.ended = {}, True
    clock.advance(PACE.certain + timedelta(seconds=1))

    assert isinstance(await run.look(), Cancelled)


@pytest.mark.parametrize("silent", [True, False])
async def test_a_refusal_is_final_only_when_every_node_has_refused(
    silent: bool, faulty: Faulty, clock: StoppedClock
) -> None:
    faulty.instead["schedule.json"] = wrong
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        down = [f"http://127.0.0.1:{nobody.getsockname()[1]}"] if silent else []
        async with crawling([faulty.url, *down], clock=clock) as here:
            outcome = await here.run("any").start()

    assert isinstance(outcome, Failed)
    assert (outcome.problem.code, outcome.permanent) == (("no_node", False) if silent else ("crawl_refused", True))
    assert "OSError: disk" in outcome.problem.message
    assert ("1 of 2 did not answer" in outcome.problem.message) is silent


@pytest.mark.parametrize(("cancel", "ended"), [(False, False), (True, False), (False, True)])
async def test_a_damaged_handle_ends_its_own_run_and_no_other(
    cancel: bool, ended: bool, here: Crawling, faulty: Faulty
) -> None:
    damaged, whole = (here.run("any", run_id=f"run_{number}") for number in (1, 2))
    for run in (damaged, whole):
        await run.start()
    damaged.handle, damaged.cancel, damaged.ended = {"jobid": "run_1"}, cancel, ended

    outcomes = await here.crawl.look([damaged.asked(), whole.asked()])

    assert isinstance(outcomes["run_2"], Parked)
    outcome = outcomes["run_1"]
    if cancel or ended:
        assert isinstance(outcome, Cancelled)
    else:
        assert (code(outcome), isinstance(outcome, Failed) and outcome.permanent) == ("handle_unreadable", True)
        assert "under the name run_1, stop it there" in damaged.text[-1]


async def test_what_an_earlier_attempt_has_copied_is_not_copied_again(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    said = b"".join(HEAD + b"Crawled (200) <GET http://x/%d>\n" % number for number in range(10_000))
    half = len(HEAD) - 5
    faulty.files["logs"] = OPENED + said + HEAD[:half]
    run = here.run("any")
    await run.start()
    await run.look()
    again = here.run("any")
    again.attempt = 2
    assert isinstance(await again.start(), Parked)
    for _ in range(10):
        assert isinstance(await again.look(), Parked)
    assert again.waits, "there is no more for now"
    assert not any("Crawled" in text for text in again.text)
    assert again.steps[-1]["pages"] == 10_000
    faulty.files["logs"] = OPENED + said + HEAD + b"Crawled (200) <GET http://y/>\n" + CLOSED
    faulty.jobs[run.run_id] = "finished"

    assert isinstance(await again.end(), Succeeded)
    assert [text for text in again.text if "Crawled" in text] == ["[scrapy.core.engine] Crawled (200) <GET http://y/>"]
    assert sum(f"The first {len(OPENED + said) + half} bytes" in text for text in again.text) == 1
    assert again.items == [{"a": 1}], "items belong to an attempt"
    assert faulty.asked["schedule.json"] == 1


@pytest.mark.parametrize("state", ["pending", "running"])
async def test_of_an_earlier_crawl_without_a_log_nothing_is_left_out(
    state: str, here: Crawling, faulty: Faulty
) -> None:
    files, faulty.files = faulty.files, {}
    faulty.jobs["run_1"] = state
    run = here.run("any")
    run.attempt = 2
    await run.start()
    await run.look()
    faulty.files, faulty.jobs["run_1"] = files, "finished"

    assert isinstance(await run.end(), Succeeded)
    assert "[scrapy.core.engine] Spider opened" in run.text
    assert not any("not copied again" in text for text in run.text)


async def test_of_a_log_of_a_gigabyte_the_beginning_and_the_end_are_kept(faulty: Faulty, clock: StoppedClock) -> None:
    line = b"x" * 99 + b"\n"
    size = 10**9 + len(CLOSED)

    def content(first: int, last: int) -> bytes:
        """Lines of 100 bytes, and the closing words at the very end."""
        body = (line * ((last - first) // 100 + 2))[first % 100 :][: last - first]
        at = size - len(CLOSED)
        return (
            body if last <= at else body[: max(at - first, 0)] + CLOSED[max(first - at, 0) :][: last - max(at, first)]
        )

    faulty.files["logs"], faulty.sizes["logs"] = content, size
    async with crawling([faulty.url], clock=clock, pace=Pace(poll=PACE.poll, most_log=1_000_000)) as here:
        run = here.run("any")
        await run.start()
        faulty.jobs[run.run_id] = "finished"
        outcome = await run.end()

    assert isinstance(outcome, Succeeded)
    assert faulty.sent < 8_000_000
    assert any("too large to be kept whole" in text for text in run.text)
    assert 10_000 <= sum(text == "x" * 99 for text in run.text) < 40_000


async def test_one_endless_line_is_cut_and_the_next_is_whole(here: Crawling, faulty: Faulty) -> None:
    faulty.files["logs"] = OPENED + b"y" * 3_000_000 + b"\n" + CLOSED
    run = here.run("any")
    await run.start()
    faulty.jobs[run.run_id] = "finished"

    assert isinstance(await run.end(), Succeeded)
    assert [text for text in run.text if text.startswith("yyy")] == ["y" * 16384 + "… (cut)"]


async def test_a_node_without_range_requests_is_named_as_that(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    async def whole(_: web.Request) -> web.Response:
        return web.Response(body=OPENED * 100)

    faulty.instead["logs"] = whole
    run = here.run("any")
    await run.start()
    await run.look()
    clock.advance(PACE.lost_after * 5)
    assert isinstance(await run.look(), Parked), "it runs, and is not lost because its log cannot be read"
    faulty.jobs[run.run_id] = "finished"

    outcome = await lost(run, clock)
    assert code(outcome) == "log_unreadable"
    assert "does not answer range requests" in run.text[-1]
    assert sum("Spider opened" in text for text in run.text) == 100, "what it answered is kept once"


async def test_a_part_that_is_another_than_asked_for_is_not_believed(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    async def lies(_: web.Request) -> web.Response:
        return web.Response(status=206, body=OPENED, headers={"Content-Range": "bytes 5-999/1000"})

    faulty.instead["logs"] = lies
    run = here.run("any")
    await run.start()
    faulty.jobs[run.run_id] = "finished"

    assert code(await lost(run, clock)) == "log_unreadable"
    assert not any("Spider opened" in text for text in run.text)


async def test_what_a_node_forgot_is_lost_when_its_log_stands_still(
    here: Crawling, faulty: Faulty, clock: StoppedClock
) -> None:
    run = here.run("any")
    await run.start()
    faulty.files = {"logs": OPENED}
    await run.look()
    faulty.jobs = {}
    faulty.files = {"logs": OPENED * 2}
    await run.look()
    clock.advance(PACE.lost_after * 0.9)
    await run.look()
    faulty.files = {"logs": OPENED * 3}
    clock.advance(PACE.lost_after * 0.9)
    assert isinstance(await run.look(), Parked), "it still talks"

    outcome = await lost(run, clock)
    assert (code(outcome), isinstance(outcome, Failed) and outcome.permanent) == ("crawl_lost", False)


async def test_a_log_that_was_deleted_under_way_is_said(here: Crawling, faulty: Faulty) -> None:
    faulty.files = {"logs": OPENED}
    run = here.run("any")
    await run.start()
    await run.look()
    faulty.files, faulty.jobs[run.run_id] = {}, "finished"

    assert code(await run.end()) == "log_missing"
    assert "jobs_to_keep" in run.text[-1]


async def test_a_list_that_is_too_long_is_replaced_by_single_questions(
    here: Crawling, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrapyd_client, "MOST_ANSWER", 2000)
    faulty.jobs |= {f"other{number}": "finished" for number in range(100)}

    async def one(request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "currstate": faulty.jobs.get(request.query["job"])})

    faulty.instead["status.json"] = one
    run = here.run("any")
    await run.start()
    faulty.jobs[run.run_id] = "finished"

    assert isinstance(await run.end(), Succeeded)


async def test_items_that_cannot_be_kept_are_counted_and_the_others_kept(here: Crawling, faulty: Faulty) -> None:
    big = json.dumps({"text": "z" * 200_000}).encode()
    too_big = json.dumps({"text": "z" * 300_000}).encode()
    lines = [
        b'{"a": 1}', b"{broken", b'{"b": NaN}', b'{"c": "nul \\u0000"}', b'{"d": "\\ud800"}', big, too_big,
        b"[" * 100 + b"]" * 100, b"", b'{"e": 123456789012345678901234567890}', b"3",
    ]  # fmt: skip
    faulty.files["items"] = b"\n".join(lines) + b'\n{"unfinished": '
    run = here.run("any")
    await run.start()
    faulty.jobs[run.run_id] = "finished"

    assert isinstance(await run.end(), Succeeded)
    assert [next(iter(item)) if isinstance(item, dict) else item for item in run.items] == [*"abcd", "text", "e", 3]
    assert run.items[1:3] == [{"b": None}, {"c": "nul \ufffd"}]
    assert "3 items could not be kept: too large, or not JSON" in run.text


async def test_a_node_whose_files_hang_holds_up_nobody_for_long(
    faulty: Faulty, here: Crawling, clock: StoppedClock
) -> None:
    runs = [here.run("any", run_id=f"run_{number}") for number in range(100)]
    for run in runs:
        await run.start()
        run.time = timedelta(seconds=4)
    faulty.instead["logs"] = hangs
    loop = asyncio.get_running_loop()
    began = loop.time()

    outcomes = await here.crawl.look([run.asked() for run in runs])

    assert loop.time() - began < 4, "longer than the lease, and all of it were in vain"
    assert all(isinstance(outcome, Parked) for outcome in outcomes.values())
    assert len(outcomes) == 100


async def test_one_round_takes_in_a_bounded_amount_and_the_rest_in_the_next(here: Crawling, faulty: Faulty) -> None:
    faulty.files, faulty.items_url = {"logs": OPENED * 10_000}, None
    runs = [here.run("any", run_id=f"run_{number}") for number in range(40)]
    for run in runs:
        await run.start()

    outcomes = await here.crawl.look([run.asked() for run in runs])

    assert 0 < sum(len(run.lines) for run in runs) <= 50_000 + 2 * len(runs)
    assert faulty.sent <= 16 * 2**20
    assert all(isinstance(outcome, Parked) and not outcome.after for outcome in outcomes.values())


async def test_a_thousand_crawls_are_watched_with_few_questions_and_flat_memory(here: Crawling, faulty: Faulty) -> None:
    """Nothing about a crawl is remembered between two looks."""
    some = b"".join(HEAD + b"Crawled (200) <GET http://x/%d>\n" % number for number in range(20))
    faulty.items_url = None
    runs = [here.run("any", run_id=f"run_{number}") for number in range(1000)]
    await runs[0].start()
    for run in runs:
        run.handle = {**runs[0].notes[0], "jobid": run.run_id}
        faulty.jobs[run.run_id] = "running"
    held = []
    for times in range(1, 4):
        faulty.files = {"logs": some * times}
        faulty.asked.clear()
        for group in (runs[:500], runs[500:]):
            await _watch(here, group)
        assert faulty.asked == {"listjobs.json": 2, "logs": 1000}
        gc.collect()
        held.append(sys.getallocatedblocks())

    assert held[-1] < held[0] * 1.05


async def _watch(here: Crawling, group: list[Followed]) -> None:
    """Once, as the engine does: what was said is written down elsewhere."""
    outcomes = await here.crawl.look([run.asked() for run in group])
    for run in group:
        outcome = outcomes[run.run_id]
        assert isinstance(outcome, Parked)
        assert len([text for text in run.text if "Crawled" in text]) == 20
        run.handle, run.lines, run.steps = dict(outcome.handle), [], []


async def test_a_tenants_own_list_counts_for_crawls_too(faulty: Faulty, clock: StoppedClock) -> None:
    """A spider's requests leave from elsewhere, but where it begins is asked for here."""

    async def only(tenant_id: str) -> list[str]:
        return ["shop.test"] if tenant_id == "acme" else []

    async def public(host: str) -> list[str]:
        return ["93.184.216.34"]

    async with crawling([faulty.url], clock=clock, targets=HttpEgress(limits=only, resolver=public)) as here:
        allowed = here.run("any", run_id="run_1", start_urls=["http://shop.test/"])
        refused = here.run("any", run_id="run_2", start_urls=["http://shop.test/", "http://other.test/"])

        assert isinstance(await allowed.start(), Parked)
        assert code(await refused.start()) == "address_refused"
    assert list(faulty.jobs) == ["run_1"]


@pytest.mark.parametrize("answer", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], []])
async def test_one_bad_answer_among_good_ones_spoils_a_name(answer: list[str], faulty: Faulty) -> None:
    async def resolver(host: str) -> list[str]:
        return answer

    async with crawling([faulty.url], targets=HttpEgress(resolver=resolver)) as here:
        run = here.run("any", start_urls=["http://shop.test/"])

        assert code(await run.start()) == "target_unreachable"
    assert faulty.jobs == {}
