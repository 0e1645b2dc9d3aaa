"""Answers that no real Scrapyd gives on demand: error pages, silence, lies, floods. Each ends in clear words."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from foliot.engine.model.run import Cancelled, Failed, Parked, Succeeded
from foliot.engine.ports import StaleAttempt
from foliot.testing import StoppedClock
from tests.features.crawls.faulty_scrapyd import Answer, Faulty, code, hangs, lost
from tests.following import PACE, Crawling, crawling

HEAD = b"2027-01-04 12:00:00 [scrapy.core.engine] INFO: "

OPENED = HEAD + b"Spider opened\n"

CLOSED = (
    b"2027-01-04 12:00:00 [scrapy.statscollectors] INFO: Dumping Scrapy stats:\n"
    b"{'finish_reason': 'finished',\n 'item_scraped_count': 1,\n 'response_received_count': 1}\n"
    + HEAD
    + b"Spider closed (finished)\n"
)


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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (html, "HTML instead of JSON"),
        (nonsense, "JSON that does not come from a Scrapyd"),
        (wrong, "OSError: disk \ufffd[31mfull"),
        (teapot, "status 418"),
        (closed, "the user and password"),
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
    assert sum("did not answer about the crawl" in text for text in run.text) == 1, "it is said once, not at every look"


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
    with pytest.raises(StaleAttempt):
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
