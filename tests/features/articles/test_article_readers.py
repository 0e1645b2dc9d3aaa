"""Pages are read together when several wait, and none pays for its company."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.cluster.page_reader import CallResult, PoolCall, ProcessDied, ProgressSink
from foliot.core.ports import BackPressure, no_back_pressure
from foliot.features.articles.fetch.extractor_pool import (
    HEAVY,
    TOGETHER,
    ExtractorPool,
    FetchedPage,
    TookTooLong,
    UnreadablePage,
)


@dataclass
class Desk:
    """A pool whose processes read when they are let, and what becomes of a page stands in it."""

    calls: list[list[str]] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: int = 0
    most: int = 0
    weights: list[int] = field(default_factory=list)

    async def call(
        self, call: PoolCall, tell: ProgressSink, patience: timedelta, room: BackPressure = no_back_pressure
    ) -> CallResult:
        pages = call.parameters["parameters"]["pages"]
        urls = [page["url"] for page in pages]
        self.calls.append(urls)
        self.weights.append(call.weight)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.open.wait()
        finally:
            self.at_once -= 1
        begin, told = 0, []
        for page in pages:
            said = call.body[begin : begin + page["size"]].decode()
            begin += page["size"]
            if said == "hangs":
                raise TimeoutError
            if said == "kills":
                raise ProcessDied("the process that ran the task was ended by signal 9")
            told.append({"unreadable": "ValueError: no"} if said == "bad" else {"content": said, "url": page["url"]})
        return CallResult(result=told)


@asynccontextmanager
async def reading(desk: Desk, many: int = 2) -> AsyncIterator[ExtractorPool]:
    readers = ExtractorPool(pool=desk, many=many, patience=timedelta(seconds=3))
    yield readers
    await readers.close()


def page(number: int, says: str = "words") -> FetchedPage:
    return FetchedPage(f"https://news.test/{number}", "text/html", says.encode())


async def begun(readers: ExtractorPool, *pages: FetchedPage) -> list[asyncio.Task[dict[str, Any]]]:
    """One after the other, so that the first has a reader before the others wait."""
    tasks = []
    for one in pages:
        tasks.append(asyncio.create_task(readers.read(one)))
        await asyncio.sleep(0.001)
    return tasks


async def test_a_page_that_finds_a_reader_does_not_wait_for_others() -> None:
    desk = Desk()
    async with reading(desk) as readers:
        first = await begun(readers, page(0))
        assert desk.calls == [["https://news.test/0"]]
        desk.open.set()
        assert (await first[0])["content"] == "words"


async def test_those_that_wait_are_read_together_and_each_is_told_its_own() -> None:
    desk = Desk()
    async with reading(desk) as readers:
        tasks = await begun(readers, page(0), page(1))
        tasks += await begun(readers, *(page(at, f"says {at}") for at in range(2, 22)))
        assert [len(urls) for urls in desk.calls] == [1, 1]
        desk.open.set()
        answers = await asyncio.gather(*tasks)

        assert [answer["url"] for answer in answers] == [f"https://news.test/{at}" for at in range(22)]
        assert [answer["content"] for answer in answers[2:]] == [f"says {at}" for at in range(2, 22)]
        assert max(len(urls) for urls in desk.calls) == TOGETHER
        assert sorted(url for urls in desk.calls for url in urls) == sorted(answer["url"] for answer in answers)
        assert desk.most == 2


async def test_the_last_of_a_job_are_shared_among_readers() -> None:
    desk = Desk()
    async with reading(desk) as readers:
        tasks = await begun(readers, page(0), page(1))
        tasks += await begun(readers, page(2), page(3), page(4), page(5))
        desk.open.set()
        await asyncio.gather(*tasks)

        assert [len(urls) for urls in desk.calls][2:4] == [2, 1]


async def test_heavy_pages_are_read_by_themselves() -> None:
    desk = Desk()
    heavy = "x" * (HEAVY // 2 + 1)
    async with reading(desk, many=1) as readers:
        tasks = await begun(readers, page(0), page(1, heavy), page(2, heavy), page(3, heavy * 3), page(4))
        desk.open.set()
        await asyncio.gather(*tasks)

        assert [len(urls) for urls in desk.calls] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("spoils", "error"), [("hangs", UnreadablePage), ("kills", ProcessDied), ("bad", UnreadablePage)]
)
async def test_one_that_cannot_be_read_costs_its_company_nothing(spoils: str, error: type[Exception]) -> None:
    desk = Desk()
    async with reading(desk, many=1) as readers:
        tasks = await begun(readers, page(0), page(1), page(2, spoils), page(3), page(4))
        desk.open.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)

        assert isinstance(answers.pop(2), error)
        assert all(isinstance(answer, dict) and answer["content"] == "words" for answer in answers)
        assert len(desk.calls[1]) == 4, "those that waited were tried together"


async def test_whoever_does_not_want_it_any_more_is_not_read_and_nobody_suffers() -> None:
    desk = Desk()
    async with reading(desk, many=1) as readers:
        tasks = await begun(readers, page(0), page(1), page(2), page(3))
        tasks[1].cancel()
        # Nobody else wants what its reader reads, which is stopped.
        tasks[0].cancel()
        await asyncio.sleep(0.01)
        tasks[2].cancel()
        await asyncio.sleep(0.01)
        desk.open.set()

        assert (await tasks[3])["content"] == "words"
        assert desk.calls == [["https://news.test/0"], ["https://news.test/2", "https://news.test/3"]]
        assert desk.weights == [1, 2]


async def test_those_of_a_spoilt_group_that_nobody_wants_are_not_tried_again() -> None:
    desk = Desk()
    async with reading(desk, many=1) as readers:
        tasks = await begun(readers, page(0), page(1, "hangs"), page(2), page(3))
        desk.open.set()
        await tasks[0]
        desk.open.clear()
        await asyncio.sleep(0.01)
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        desk.open.set()
        answers = await asyncio.gather(*tasks[2:])

        assert [answer["content"] for answer in answers] == ["words", "words"]
        assert [len(urls) for urls in desk.calls] == [1, 3, 1, 1]


async def test_others_share_what_a_group_left() -> None:
    desk = Desk()
    async with reading(desk, many=3) as readers:
        tasks = await begun(readers, page(0))
        readers.many = 1
        tasks += await begun(readers, page(1, "kills"), page(2), page(3))
        readers.many = 3
        desk.open.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)

        assert isinstance(answers[1], ProcessDied)
        assert all(isinstance(answers[at], dict) for at in (0, 2, 3))


async def test_more_than_enough_of_them_are_a_crowd() -> None:
    desk = Desk()
    async with reading(desk, many=2) as readers:
        await begun(readers, *(page(at) for at in range(6)))
        assert not readers.crowded, "two are read, and four wait"
        await begun(readers, page(9))
        assert readers.crowded
        desk.open.set()


async def test_after_the_end_nothing_is_read() -> None:
    readers = ExtractorPool(pool=Desk(), many=1)
    await readers.close()
    with pytest.raises(ProcessDied):
        await readers.read(page(0))


async def test_at_the_end_nobody_is_left_waiting() -> None:
    desk = Desk()
    readers = ExtractorPool(pool=desk, many=1)
    tasks = await begun(readers, *(page(at) for at in range(6)))
    await readers.close()

    assert all(isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True))
    assert desk.at_once == 0


# --- tenants ----------------------------------------------------------------------------------------------------------


def of(tenant: str, number: int, says: str = "words") -> FetchedPage:
    return FetchedPage(f"https://{tenant}.test/{number}", "text/html", says.encode(), tenant)


async def test_tenants_take_turns_and_no_group_has_two_of_them() -> None:
    desk = Desk()
    async with reading(desk, many=1) as readers:
        tasks = await begun(readers, *(of("much", at) for at in range(40)))
        tasks += await begun(readers, of("little", 0))
        desk.open.set()
        await asyncio.gather(*tasks)

        hosts = [{url.partition("://")[2].partition("/")[0] for url in urls} for urls in desk.calls]
        assert all(len(each) == 1 for each in hosts)
        assert hosts.index({"little.test"}) <= 2, "after what was being read, and one more turn of the other at most"


async def test_a_page_of_one_tenant_is_read_while_another_tenants_pages_hang() -> None:
    """Two readers: once a page of the bad one took all its time, one of them is the others'."""
    desk = Desk()
    async with reading(desk, many=2) as readers:
        bad = await begun(readers, *(of("bad", at, "hangs") for at in range(12)))
        desk.open.set()
        await asyncio.wait(bad, return_when=asyncio.FIRST_COMPLETED)
        desk.open.clear()
        await asyncio.sleep(0.01)
        assert readers.held_back() == ["bad"]
        assert desk.at_once == 1, "one reader at a time, and one page at a time"

        good = await begun(readers, of("good", 0))
        await asyncio.sleep(0.01)
        assert desk.calls[-1] == ["https://good.test/0"]
        assert desk.at_once == 2
        desk.open.set()
        assert (await good[0])["content"] == "words"
        answers = await asyncio.gather(*bad, return_exceptions=True)

        assert all(isinstance(answer, TookTooLong) for answer in answers)
        assert all(len(urls) == 1 for urls in desk.calls[2:])


async def test_probation_ends() -> None:
    desk = Desk()
    async with reading(desk, many=1) as readers:
        readers.probation.lasts = 0.05
        bad = await begun(readers, of("bad", 0, "hangs"))
        desk.open.set()
        await asyncio.wait(bad)
        assert readers.probation.holds("bad")
        await asyncio.sleep(0.06)
        assert not readers.probation.holds("bad")
        assert isinstance(bad[0].exception(), TookTooLong)
