"""Bounds of a crawl: its log, its items, its lists, what its node forgot, and where it may go."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web

from foliot.engine.model.run import Failed, Parked, Succeeded
from foliot.features.crawls.action import scrapyd_client
from foliot.features.crawls.action.action import CrawlPace
from foliot.net.client import HttpEgress
from foliot.testing import StoppedClock
from tests.features.crawls.faulty_scrapyd import Faulty, code, hangs, lost
from tests.following import PACE, Crawling, Followed, crawling

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
    async with crawling([faulty.url], clock=clock, pace=CrawlPace(poll=PACE.poll, most_log=1_000_000)) as here:
        run = here.run("any")
        await run.start()
        faulty.jobs[run.run_id] = "finished"
        outcome = await run.end()

    assert isinstance(outcome, Succeeded)
    assert faulty.sent < 8_000_000
    assert any("too large to be kept in full" in text for text in run.text)
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
