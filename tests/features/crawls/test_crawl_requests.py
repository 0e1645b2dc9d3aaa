"""What a request for a crawl says, what makes no difference to it, and what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.core.access import LOCAL
from foliot.core.errors import Contended, Invalid, InvalidMany, Unavailable
from foliot.features.crawls.model import fingerprint
from foliot.features.crawls.sql import crawl_requests
from foliot.features.crawls.usecases import Crawls, RequestTurns
from tests.features.crawls.test_crawls import crawl
from tests.world import World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


SAME: list[dict[str, Any]] = [
    {"start_urls": ["https://example.com/b", "https://example.com/a"]},
    {"start_urls": ["https://example.com/a", "https://example.com/b", "https://example.com/a"]},
    {"params": {"max_pages": 10, "lang": "en"}},
    {"project": "DiscoveryBot"},
    {"priority": 1},
    {"ignore_cache": False},
]


async def test_what_says_nothing_makes_no_difference(world: World) -> None:
    first = await crawl(world)

    assert [change for change in SAME if (await crawl(world, **change)).job_id != first.job_id] == []


def test_neighbours_in_a_fingerprint_are_kept_apart() -> None:
    one = {"spider": "a", "start_urls": ["b,c"]}
    other = {"spider": "a", "start_urls": ["b", "c"]}

    assert fingerprint("u", one, None) != fingerprint("u", other, None)
    assert fingerprint("u", {}, None) != fingerprint("u", {}, {})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"spider": None}, "spider"),
    ({"spider": "../../etc"}, "spider"),
    ({"start_urls": "https://example.com"}, "start_urls"),
    ({"start_urls": ["ftp://example.com"]}, "start_urls.0"),
    ({"depth": "deep"}, "depth"),
    ({"params": [1]}, "params"),
    ({"params": {"setting": "LOG_FILE=/etc/passwd"}}, "params.setting"),
    ({"priority": 11}, "priority"),
    ({"user_id": 7}, "user_id"),
    ({"user_id": "x" * 201}, "user_id"),
    ({"ignore_cache": "yes"}, "ignore_cache"),
    ({"schedule_at": "tomorrow"}, "schedule_at"),
    ({"schedule_at": "2027-06-01T09:00:00"}, "schedule_at"),
    ({"schedule_at": "2020-06-01T09:00:00Z"}, "schedule_at"),
    ({"schedule_at": "2027-06-01T09:00:00Z", "interval": "0 9 * * *"}, "interval"),
    ({"interval": "every day"}, "interval"),
    ({"interval": 0}, "interval"),
    ({"interval": {"years": 1}}, "interval.years"),
    ({"timezone": "Europe/Stockholm"}, "timezone"),
    ({"interval": "0 9 * * *", "timezone": "Mars/Olympus"}, "timezone"),
    ({"url": "https://example.com"}, "url"),
]


async def test_what_is_wrong_is_named_in_the_words_of_the_request(world: World) -> None:
    async def complaints(change: dict[str, Any]) -> list[str]:
        with pytest.raises(Invalid) as wrong:
            await crawl(world, **change)
        errors = wrong.value.errors if isinstance(wrong.value, InvalidMany) else [wrong.value]
        return [one.field for one in errors]

    assert [(change, await complaints(change)) for change, _ in WRONG] == [(change, [field]) for change, field in WRONG]
    async with world.store.read() as tx:
        assert await tx.conn.scalar(select(func.count()).select_from(crawl_requests)) == 0


@pytest.mark.parametrize(
    ("interval", "seconds"), [("4h", 14_400), ("1h30m", 5400), ("90s", 90), ("2d", 172_800), (" 15M ", 900), (300, 300)]
)
async def test_an_interval_may_be_a_duration(world: World, interval: str | int, seconds: int) -> None:
    made = await crawl(world, interval=interval)

    assert made.schedule is not None
    assert made.schedule.spec.trigger.as_dict()["interval_seconds"] == seconds


async def test_several_mistakes_are_named_at_once(world: World) -> None:
    with pytest.raises(InvalidMany) as wrong:
        await crawl(world, user_id=7, priority=0, interval=[], speed="fast")

    assert {one.field for one in wrong.value.errors} == {"user_id", "priority", "speed"}


async def test_a_request_is_an_object(world: World) -> None:
    wrong: list[object] = [None, [], "crawl", 7]
    for raw in wrong:
        with pytest.raises(Invalid):
            await world.cases[Crawls].request(LOCAL, raw)


# --- one after the other ----------------------------------------------------------------------------------------------


async def test_equal_requests_wait_for_one_another_and_others_do_not() -> None:
    turns, inside = RequestTurns(), list[str]()

    async def ask(print_: str) -> None:
        async with turns.of("acme", print_):
            inside.append(print_)
            assert inside.count(print_) == 1
            await asyncio.sleep(0)
            inside.remove(print_)

    await asyncio.gather(*(ask(print_) for print_ in "aabbcc" * 5))

    assert turns._lines == {}


@pytest.mark.parametrize(("error", "others"), [(Unavailable("gone", told="away"), 0), (Contended("undone"), 9)])
async def test_a_database_that_is_away_for_one_is_away_for_all_who_wait(error: Unavailable, others: int) -> None:
    turns, through = RequestTurns(), list[int]()

    async def ask(number: int) -> None:
        async with turns.of("acme", "same"):
            await asyncio.sleep(0)
            if number == 0:
                raise error
            through.append(number)

    told = await asyncio.gather(*(ask(number) for number in range(10)), return_exceptions=True)

    assert len(through) == others
    assert {one.told for one in told if isinstance(one, Unavailable)} == {error.told}
    assert turns._lines == {}
    await ask(1)
    assert len(through) == others + 1, "whoever comes afterwards tries again"
