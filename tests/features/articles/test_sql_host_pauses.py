"""A host that asks one tenant for patience has asked that tenant; two who are asked speak for all."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from foliot.db.database import Database
from foliot.features.articles.model import ClaimedArticle
from foliot.features.articles.sql.articles import SqlArticles
from tests.features.articles.test_sql_articles import FREE, LEASE, bad, good, know, settle, submit, take, wish
from tests.givens import NOON, SECOND

HOUR = timedelta(hours=1)


async def of(store: Database, tenant: str, now: datetime) -> list[ClaimedArticle]:
    """What this tenant is given at this moment; what others are given goes back."""
    return [one for one in await take(store, now=now, token=f"tok_{tenant}_{now}") if one.tenant_id == tenant]


@pytest.fixture
async def crowd(store: Database) -> Database:
    """Three tenants who want pages of one host."""
    for at, tenant in enumerate(("bad", "good", "other")):
        await submit(store, [wish(10 * at + number) for number in range(5)], tenant_id=tenant)
    await know(store)
    return store


async def asked(store: Database, *tenants: str, pause: timedelta = HOUR, now: datetime = NOON) -> None:
    """The host has asked each of these for patience; whatever else was taken is back."""
    taken = await take(store, now=now)
    told = {tenant: next(one for one in taken if one.tenant_id == tenant) for tenant in tenants}
    rest = [one for one in taken if one not in told.values()]
    await settle(store, [bad(one, retry_at=now, pause=pause) for one in told.values()], now=now)
    await settle(store, [bad(one, retry_at=now) for one in rest], now=now)


async def test_one_tenant_that_is_asked_to_wait_for_an_hour_stops_nobody_else(crowd: Database) -> None:
    await asked(crowd, "bad")

    meanwhile = await take(crowd, now=NOON + SECOND, token="tok_2")

    assert {one.tenant_id for one in meanwhile} == {"good", "other"}
    assert not any(one.slowed for one in meanwhile)


async def test_one_answer_asks_for_a_minute_at_most_and_comes_back_slowly(crowd: Database) -> None:
    await asked(crowd, "bad")

    assert {one.tenant_id for one in await take(crowd, now=NOON + 59 * SECOND, token="tok_2")} == {"good", "other"}
    again = await take(crowd, now=NOON + 61 * SECOND, token="tok_3")
    soon = await take(crowd, now=NOON + 61.1 * SECOND, token="tok_4")

    assert [(one.tenant_id, one.slowed) for one in again] == [("bad", True)]
    assert soon == [], "one at a time, half a second apart"
    assert len(await take(crowd, now=NOON + 62 * SECOND, token="tok_5")) == 1


async def test_two_tenants_that_are_asked_speak_for_everybody_and_for_a_minute_at_most(crowd: Database) -> None:
    await asked(crowd, "bad", "other")

    assert await take(crowd, now=NOON + 59 * SECOND, token="tok_2") == []
    assert await take(crowd, now=NOON + 61 * SECOND, token="tok_3") != []


async def test_the_word_of_a_tenant_does_not_count_for_ever(crowd: Database) -> None:
    await asked(crowd, "bad", pause=SECOND)
    later = NOON + 10 * 60 * SECOND
    await asked(crowd, "other", now=later)

    assert "good" in {one.tenant_id for one in await take(crowd, now=later + SECOND, token="tok_2")}


async def test_a_tenant_whose_requests_are_answered_again_is_as_quick_as_before(crowd: Database) -> None:
    await submit(crowd, [wish(number) for number in range(100, 160)], tenant_id="bad")
    await asked(crowd, "bad", pause=SECOND)
    now = NOON + 2 * SECOND
    while mine := [one for one in await take(crowd, 1000, now=now, token=f"tok_{now}") if one.tenant_id == "bad"]:
        if not mine[0].slowed:
            break
        await settle(crowd, [good(one, at=now) for one in mine], now=now)
        now += SECOND

    assert len(mine) > 1
    assert not any(one.slowed for one in mine)


async def test_who_fetches_wakes_when_the_first_pause_is_over(crowd: Database) -> None:
    await asked(crowd, "bad", pause=7 * SECOND)
    await take(crowd, token="tok_2")
    async with crowd.read() as tx:
        assert await SqlArticles(tx).freed_at(NOON) == NOON + 7 * SECOND


async def test_tenants_that_go_without_are_given_nothing(crowd: Database) -> None:
    async with crowd.begin() as tx:
        taken = await SqlArticles(tx).take(NOON, 100, "worker", LEASE, "tok_2", FREE, without={"bad", "other"})

    assert {one.tenant_id for one in taken} == {"good"}


async def test_pauses_that_are_long_over_are_forgotten(crowd: Database) -> None:
    await asked(crowd, "bad")
    async with crowd.begin() as tx:
        await SqlArticles(tx).prune(NOON + HOUR, 1000)
    async with crowd.read() as tx:
        assert await SqlArticles(tx).freed_at(NOON) is None
