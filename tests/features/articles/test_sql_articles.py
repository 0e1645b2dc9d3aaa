"""Articles, the jobs that want them and the hosts they come from, on every database."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select, text, update

from foliot.commands.envelope import again
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError
from foliot.engine.sql.tables import runs
from foliot.features.articles.model import (
    KIND,
    ArticleCounts,
    ClaimedArticle,
    EndingsEffect,
    ExtractedPage,
    FetchEnding,
    ItemState,
    WantedArticle,
)
from foliot.features.articles.sql import batches
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.tables import articles
from foliot.features.fetching.model import NO_WORD, NO_WORD_KEPT, HostUpdate
from foliot.features.fetching.politeness import Politeness
from tests.givens import NOON, SECOND, ask, events_of, request, sql, statements

DAY = timedelta(days=1)
LEASE = 30 * SECOND
FREE = Politeness(together=100)
GONE = AttemptError("http_404", "The page is gone.")


def wish(number: int, *, host: str = "news.test", priority: int = 5, source: str = "") -> WantedArticle:
    url = f"https://{host}/{number}"
    return WantedArticle(
        url=url, url_hash=hashlib.sha256(url.encode()).hexdigest(), host=host, priority=priority, source=source
    )


async def submit(
    store: Database,
    wishes: Sequence[WantedArticle],
    *,
    now: datetime = NOON,
    max_age: timedelta = DAY,
    tenant_id: str = "acme",
) -> tuple[str, ArticleCounts]:
    (run_id,) = await ask(store, now, request(kind=KIND, tenant_id=tenant_id, parked=True))

    @again
    async def note() -> ArticleCounts:
        async with store.begin() as tx:
            return await SqlArticles(tx).submit(tenant_id, run_id, wishes, now, max_age)

    return run_id, await note()


async def take(
    store: Database, limit: int = 100, *, now: datetime = NOON, manners: Politeness = FREE, token: str = "tok_1"
) -> list[ClaimedArticle]:
    async with store.begin() as tx:
        return list(await SqlArticles(tx).take(now, limit, "worker", LEASE, token, manners))


async def settle(
    store: Database, endings: Sequence[FetchEnding], *, now: datetime = NOON, manners: Politeness = FREE
) -> EndingsEffect:
    async with store.begin() as tx:
        return await SqlArticles(tx).finish(endings, now, manners)


async def know(store: Database, *, now: datetime = NOON) -> None:
    """Everybody's robots.txt is known."""
    for one in await take(store, now=now, token="tok_robots"):
        assert one.robots_due
        await settle(store, [back(one, robots="")], now=now)


def good(one: ClaimedArticle, *, at: datetime = NOON, title: str = "Title") -> FetchEnding:
    page = ExtractedPage(title=title, content=f"Text of {one.url}", author="Ada", language="en", etag='"1"')
    return FetchEnding(
        fence=one.fence, host=one.host, tenant_id=one.tenant_id, at=at, page=page, news=HostUpdate(well=one.slowed)
    )


def bad(one: ClaimedArticle, *, retry_at: datetime | None = None, pause: timedelta | None = None) -> FetchEnding:
    return FetchEnding(
        fence=one.fence,
        host=one.host,
        tenant_id=one.tenant_id,
        at=NOON,
        problem=GONE,
        retry_at=retry_at,
        news=HostUpdate(pause=pause),
    )


def back(one: ClaimedArticle, *, robots: str | None = None, delay: timedelta | None = None) -> FetchEnding:
    return FetchEnding(
        fence=one.fence, host=one.host, at=NOON, handed_back=True, news=HostUpdate(robots=robots, crawl_delay=delay)
    )


async def look(store: Database, query: str) -> list[Any]:
    async with store.read() as tx:
        return list(await tx.conn.execute(text(query)))


async def counts(store: Database, run_id: str) -> ArticleCounts:
    async with store.read() as tx:
        return (await SqlArticles(tx).counts([run_id]))[run_id]


async def test_a_host_is_asked_what_it_allows_before_anything_else(store: Database) -> None:
    await submit(store, [wish(at) for at in range(5)])

    asking = await take(store)
    meanwhile = await take(store)
    await settle(store, [back(asking[0], robots="User-agent: *\nDisallow: /9")])
    fetching = await take(store)

    assert [one.robots_due for one in asking] == [True]
    assert meanwhile == []
    assert len(fetching) == 5
    assert {(one.robots_due, one.robots, one.attempt) for one in fetching} == {
        (False, "User-agent: *\nDisallow: /9", 1)
    }


async def test_a_page_is_fetched_once_for_all_who_want_it(store: Database) -> None:
    wishes = [wish(at) for at in range(20)]
    (one, _), (other, _) = await asyncio.gather(submit(store, wishes), submit(store, list(reversed(wishes))))
    await know(store)

    taken = await take(store)
    told = await settle(store, [good(each) for each in taken])

    assert len(taken) == 20
    assert set(told.jobs) == set(told.finished) == {one, other}
    for run_id in (one, other):
        assert await counts(store, run_id) == ArticleCounts(total=20, done=20)
    assert await take(store) == []
    references = await look(store, "SELECT DISTINCT reference_count FROM articles")
    assert [tuple(row) for row in references] == [(2,)]


async def test_what_is_fresh_is_there_at_once_and_what_is_old_is_fetched_again(store: Database) -> None:
    wishes = [wish(1), wish(2)]
    await submit(store, wishes)
    await know(store)
    await settle(store, [good(one) for one in await take(store)])
    later = NOON + timedelta(hours=1)

    _, fresh = await submit(store, [*wishes, wish(3)], now=later)
    third = await take(store, now=later)
    _, stale = await submit(store, wishes, now=later, max_age=timedelta(minutes=30))
    again = await take(store, now=later)

    assert (fresh.cached, fresh.pending) == (2, 1)
    assert [one.url for one in third] == ["https://news.test/3"]
    assert (stale.cached, stale.pending) == (0, 2)
    assert {(one.url, one.etag, one.attempt) for one in again} == {(each.url, '"1"', 1) for each in wishes}


async def test_a_job_that_was_noted_is_noted_once(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1), wish(2)])

    async with store.begin() as tx:
        again = await SqlArticles(tx).submit("acme", run_id, [wish(1), wish(2), wish(3)], NOON, DAY)

    assert again == ArticleCounts(total=2)
    assert len(await look(store, "SELECT 1 FROM items")) == 2


async def test_the_most_urgent_come_first_and_a_more_urgent_waiter_moves_its_article(store: Database) -> None:
    await submit(store, [wish(at, priority=9) for at in range(4)] + [wish(9, priority=2)])
    await submit(store, [wish(3, priority=1)])
    await know(store)

    order = [one.url.rpartition("/")[2] for one in await take(store)]

    assert order[:2] == ["3", "9"]


async def test_whoever_has_waited_long_enough_comes_before_a_stream_of_urgent_ones(store: Database) -> None:
    await submit(store, [wish(0, priority=10)])
    await know(store)
    later = NOON + timedelta(minutes=5)
    await submit(store, [wish(at, priority=1) for at in range(1, 20)], now=later)

    assert (await take(store, 1, now=later))[0].url == "https://news.test/0"


async def test_a_host_is_never_asked_faster_than_it_likes(store: Database) -> None:
    polite = Politeness(interval=SECOND / 2, together=4)
    await submit(store, [wish(at) for at in range(10)] + [wish(at, host="quick.test") for at in range(3)])
    await know(store)
    starts: Counter[str] = Counter()
    moments = []
    for step in range(8):
        now = NOON + step * SECOND / 4
        for one in await take(store, now=now, manners=polite, token=f"tok_{step}"):
            starts[one.host] += 1
            if one.host == "news.test":
                moments.append(one.start_at)
            await settle(store, [good(one)], now=now, manners=polite)

    assert all(later - earlier >= SECOND / 2 for earlier, later in pairwise(moments))
    assert starts["news.test"] == 4
    assert starts["quick.test"] == 3


async def test_one_who_asks_for_patience_silences_whoever_was_asked_at_that_host_alone(store: Database) -> None:
    await submit(store, [wish(at) for at in range(5)] + [wish(at, host="quick.test") for at in range(5)])
    await know(store)
    first = next(one for one in await take(store, 1) if one.host)
    host, other = first.host, {"news.test", "quick.test"} - {first.host}

    await settle(store, [bad(first, retry_at=NOON + 5 * SECOND, pause=5 * SECOND)])

    others = await take(store, now=NOON + 4 * SECOND)
    assert ({one.host for one in others}, any(one.slowed for one in others)) == (other, False)
    later = {one.host: one.slowed for one in await take(store, now=NOON + 6 * SECOND)}
    assert later[host], "a good word is worth something to this host"


async def test_a_page_that_is_elsewhere_has_its_turn_there(store: Database) -> None:
    """With the rules and the patience of that host; a new try begins where the page was asked for."""
    await submit(store, [wish(1)])
    await know(store)
    (asked,) = await take(store)
    there = "https://other.test/moved?a=1"
    await settle(store, [FetchEnding(fence=asked.fence, host=asked.host, at=NOON, handed_back=True, moved_to=there)])

    (rules,) = await take(store, token="tok_2")
    assert (rules.host, rules.robots_due, rules.url) == ("other.test", True, there)
    await settle(store, [back(rules, robots="User-agent: *\nDisallow: /no")])
    (moved,) = await take(store, token="tok_3")
    assert (moved.url, moved.host, moved.moves, moved.attempt) == (there, "other.test", 1, 1)
    assert moved.robots == "User-agent: *\nDisallow: /no"
    await settle(store, [bad(moved, retry_at=NOON + SECOND)])

    (anew,) = await take(store, now=NOON + SECOND, token="tok_4")
    assert (anew.url, anew.host, anew.moves, anew.attempt) == (asked.url, asked.host, 0, 2)
    await settle(store, [good(anew)])
    assert await look(store, "SELECT host, moved_to, moves FROM articles") == [(asked.host, None, 0)]


async def test_a_crawl_delay_is_kept(store: Database) -> None:
    await submit(store, [wish(at) for at in range(5)])
    (asking,) = await take(store)
    await settle(store, [back(asking, robots="x", delay=10 * SECOND)])

    moments = (9, 10, 19, 20, 20.25)
    taken = [len(await take(store, now=NOON + at * SECOND)) for at in moments]

    assert taken == [0, 1, 0, 0, 1], "counted from the request for robots.txt on, with room for a late start"


async def test_a_flood_at_a_silent_host_hides_nobody(store: Database) -> None:
    polite = Politeness(interval=60 * SECOND, together=1)
    await submit(store, [wish(at, priority=1) for at in range(300)])
    await submit(store, [wish(at, host=f"h{at}.test", priority=9) for at in range(20)])
    await know(store)
    await take(store, manners=polite)

    others = await take(store, 10, manners=polite, now=NOON + SECOND, token="tok_2")

    assert len(others) == 10
    assert all(one.host != "news.test" for one in others)


async def test_a_host_that_bears_nothing_now_hides_nobody(store: Database) -> None:
    await submit(store, [wish(at, priority=1) for at in range(300)])
    await submit(store, [wish(at, host=f"h{at}.test", priority=9) for at in range(20)])
    await know(store)
    shy = Politeness(together=3)
    await take(store, 3, manners=shy)

    others = await take(store, 10, manners=shy, token="tok_2")

    assert len(others) == 10
    assert all(one.host != "news.test" for one in others)


async def test_a_host_without_a_word_is_asked_again_soon(store: Database) -> None:
    await submit(store, [wish(at) for at in range(3)])
    (asking,) = await take(store)
    await settle(store, [back(asking, robots=NO_WORD)])

    meanwhile = await take(store, now=NOON + SECOND, token="tok_2")
    await settle(store, [back(one) for one in meanwhile], now=NOON + SECOND)
    later = await take(store, now=NOON + NO_WORD_KEPT + 2 * SECOND, token="tok_3")

    assert {one.robots for one in meanwhile} == {NO_WORD}
    assert [one.robots_due for one in later] == [True]


async def test_the_rest_of_a_job_can_be_wanted_again(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1), wish(2, source="s", priority=2)])
    await know(store)
    taken = await take(store)
    await settle(store, [good(one) if one.url.endswith("/1") else bad(one) for one in taken])

    async with store.read() as tx:
        rest = await SqlArticles(tx).wishes(run_id)

    assert list(rest) == [wish(2, source="s", priority=2)]


async def test_a_job_that_ended_elsewhere_is_found_and_waits_for_nothing(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    async with store.begin() as tx:
        ended = {"state": "cancelled", "lane": None, "poll_at": None, "finished_at": NOON, "final_seq": 2}
        await tx.conn.execute(update(runs).where(runs.c.id == run_id).values(**ended))
        found = await SqlArticles(tx).orphans(10)
        await SqlArticles(tx).release(found, NOON)

    assert list(found) == [run_id]
    assert await take(store) == []


async def test_long_texts_are_packed_the_fast_way_where_the_server_knows_one(store: Database) -> None:
    ways = "SELECT 1 FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"
    if store.dialect.name != "postgresql" or not await look(store, ways):
        pytest.skip("there is one way")
    await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)
    page = ExtractedPage(title="Long", content="Sentence after sentence, it goes on and on. " * 2000)
    await settle(store, [FetchEnding(fence=one.fence, host=one.host, at=NOON, page=page)])

    [row] = await look(store, "SELECT content, pg_column_compression(content) AS way FROM articles")
    assert (row.way, row.content) == ("lz4", page.content)


async def test_long_articles_come_in_small_pages(store: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_TEXT", 70)
    run_id, _ = await submit(store, [wish(at) for at in range(6)])
    await know(store)
    await settle(store, [good(one) for one in await take(store)])

    async with store.read() as tx:
        first = await SqlArticles(tx).items(run_id, limit=10)
        second = await SqlArticles(tx).items(run_id, skip=len(first), limit=10)

    assert [one.position for one in [*first, *second]] == [1, 2, 3, 4]


async def test_each_tenant_has_its_share(store: Database) -> None:
    await submit(store, [wish(at, host="big.test") for at in range(200)], tenant_id="big")
    await submit(store, [wish(at, host="small.test") for at in range(5)], tenant_id="small", now=NOON + SECOND)
    await know(store, now=NOON + SECOND)

    taken = await take(store, 10, now=NOON + SECOND)

    assert Counter(one.tenant_id for one in taken) == {"big": 5, "small": 5}


async def test_a_failure_is_tried_again_and_counted_when_it_is_final(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1), wish(2)])
    await know(store)
    one, two = await take(store)

    await settle(store, [bad(one, retry_at=NOON + 10 * SECOND), good(two)])
    early, late = await take(store), await take(store, now=NOON + 10 * SECOND)
    told = await settle(store, [bad(late[0])], now=NOON + 11 * SECOND)

    assert early == []
    assert late[0].attempt == 2
    assert told.finished == [run_id]
    assert await counts(store, run_id) == ArticleCounts(total=2, done=1, failed=1)
    async with store.read() as tx:
        items = await SqlArticles(tx).items(run_id, after=0, limit=10)
        failed = await SqlArticles(tx).items(run_id, after=0, limit=10, failed=True)
    assert {item.url: (item.state, item.error and item.error["code"]) for item in items} == {
        one.url: (ItemState.FAILED, "http_404"),
        two.url: (ItemState.DONE, None),
    }
    assert [item.url for item in failed] == [one.url]
    assert next(item.page for item in items if item.url == two.url).content == f"Text of {two.url}"


async def test_an_article_that_is_tried_again_goes_to_the_front_of_its_queue(store: Database) -> None:
    await submit(store, [wish(at, priority=9 if at == 0 else 5) for at in range(42)])
    await know(store)
    failing, *_ = [one for one in await take(store) if one.url.endswith("/0")]
    await settle(store, [bad(failing, retry_at=NOON + 10 * SECOND)])
    await submit(store, [wish(at, priority=4) for at in range(100, 141)], now=NOON + SECOND)

    assert failing.url not in {one.url for one in await take(store, 5, now=NOON + 9 * SECOND)}
    first, *_ = await take(store, 5, now=NOON + 11 * SECOND)
    assert first.url == failing.url


async def test_a_stale_ending_changes_nothing_and_a_repeated_one_counts_once(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    await know(store)
    (first,) = await take(store, token="tok_a")
    async with store.begin() as tx:
        ((fence, host, attempt),) = await SqlArticles(tx).lock_expired(NOON + 31 * SECOND, 10)
        lost = FetchEnding(fence=fence, host=host, at=NOON, problem=GONE, retry_at=NOON + 31 * SECOND, lost=True)
        await SqlArticles(tx).finish([lost], NOON + 31 * SECOND, FREE)
    (second,) = await take(store, now=NOON + 32 * SECOND, token="tok_b")

    stale = await settle(store, [good(first, title="stale")])
    written = await settle(store, [good(second)])
    repeated = await settle(store, [good(second)])

    assert attempt == 1
    assert (stale.accepted, list(stale.jobs)) == (frozenset(), [])
    assert written.accepted == repeated.accepted == {second.fence.run_id}
    assert not repeated.jobs
    assert await counts(store, run_id) == ArticleCounts(total=1, done=1)
    assert [row.title for row in await look(store, "SELECT title FROM articles")] == ["Title"]


async def test_a_lease_that_is_renewed_does_not_end(store: Database) -> None:
    await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)

    async with store.begin() as tx:
        assert await SqlArticles(tx).extend([one.fence], LEASE, NOON + 20 * SECOND) == {one.fence.run_id}
        assert await SqlArticles(tx).lock_expired(NOON + 40 * SECOND, 10) == []
        assert await SqlArticles(tx).held("tok_1", [one.fence.run_id]) == [one.fence.run_id]


async def test_what_nobody_wants_any_more_leaves_the_queue(store: Database) -> None:
    first, _ = await submit(store, [wish(1, priority=1), wish(2)])
    second, _ = await submit(store, [wish(1, priority=8)])
    await know(store)

    async with store.begin() as tx:
        dropped = await SqlArticles(tx).release([first], NOON)
    taken = await take(store)

    assert dropped == {first: 2}
    assert [one.url for one in taken] == ["https://news.test/1"]
    assert await counts(store, first) == ArticleCounts(total=2, cancelled=2)
    await settle(store, [good(taken[0])])
    assert await counts(store, second) == ArticleCounts(total=1, done=1)
    assert await counts(store, first) == ArticleCounts(total=2, cancelled=2)


async def test_a_try_that_nobody_waits_for_is_not_repeated(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)
    async with store.begin() as tx:
        await SqlArticles(tx).release([run_id], NOON)

    await settle(store, [bad(one, retry_at=NOON)])

    assert await take(store, now=NOON + 60 * SECOND) == []


async def test_each_finished_article_is_an_event_of_its_job_numbered_without_gaps(store: Database) -> None:
    run_id, _ = await submit(store, [wish(at) for at in range(5)])
    await know(store)
    taken = await take(store)
    await settle(store, [good(one) for one in taken[:3]])
    await settle(store, [bad(taken[3]), good(taken[4])])

    events = await events_of(store, run_id)

    news = [event.data for event in events if event.data is not None]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sorted(one["completed"] + one["failed"] for one in news) == [1, 2, 3, 4, 5]
    assert {one["total"] for one in news} == {5}
    assert Counter(one["status"] for one in news) == {"scraped": 4, "failed": 1}


async def test_racers_take_each_article_once(store: Database) -> None:
    await submit(store, [wish(at, host=f"h{at % 7}.test") for at in range(60)])
    await know(store)

    async def race(number: int) -> list[str]:
        mine: list[str] = []
        for _ in range(40):
            taken = await take(store, 5, token=f"tok_{number}", manners=Politeness(together=3))
            mine += [one.fence.run_id for one in taken]
            await settle(store, [good(one) for one in taken])
        return mine

    found = [one for mine in await asyncio.gather(*(race(at) for at in range(4))) for one in mine]

    assert len(found) == len(set(found)) == 60


async def test_articles_that_no_job_knows_are_forgotten(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1), wish(2)])
    await know(store)
    await settle(store, [good(one) for one in await take(store)])
    async with store.begin() as tx:
        kept = await SqlArticles(tx).prune(NOON + DAY, 10)
    await sql(store, "DELETE FROM items WHERE run_id = :id", id=run_id)
    async with store.begin() as tx:
        gone = await SqlArticles(tx).prune(NOON + DAY, 10)

    assert (kept, gone) == (0, 2)


async def test_ten_thousand_are_a_few_statements(store: Database) -> None:
    wishes = [wish(at, host=f"h{at % 50}.test") for at in range(10_000)]
    with statements(store) as sent:
        _, made = await submit(store, wishes)

    assert made == ArticleCounts(total=10_000)
    assert len(sent) <= (7 if store.dialect.name != "mysql" else 30)


async def reread(store: Database, at: datetime, **said: Any) -> tuple[list[Any], int]:
    """Fetched anew at this moment: how its row stands then, and by how many statements. No words: it is as it was."""
    await submit(store, [wish(1)], now=at, max_age=timedelta())
    (one,) = await take(store, now=at)
    page = ExtractedPage(**said) if said else None
    ending = FetchEnding(fence=one.fence, host=one.host, at=at, page=page, unchanged=page is None)
    with statements(store) as sent:
        await settle(store, [ending], now=at)
    [row] = await look(store, "SELECT title, content, previous_title, previous_content FROM articles")
    return list(row), len(sent)


async def previous_at(store: Database) -> datetime | None:
    async with store.read() as tx:
        at: datetime | None = (await tx.conn.execute(select(articles.c.previous_scraped_at))).scalar_one()
    return at


async def test_what_a_page_said_before_it_changed_is_kept_once(store: Database) -> None:
    await submit(store, [wish(1)])
    await know(store)
    hours = [NOON + timedelta(hours=at) for at in range(1, 8)]

    row, few = await reread(store, hours[0], title="A", content="one")
    assert row == ["A", "one", None, None]
    assert await reread(store, hours[1]) == (row, few)
    assert await previous_at(store) is None
    assert await reread(store, hours[2], title="A", content="two") == (["A", "two", "A", "one"], few)
    assert await previous_at(store) == hours[1], "until then it was known to say so"
    assert await reread(store, hours[3], title="A", content="two") == (["A", "two", "A", "one"], few)
    assert await previous_at(store) == hours[1]
    assert await reread(store, hours[4], title="B", content="two") == (["B", "two", "A", "two"], few)
    assert await reread(store, hours[5], title="B", content="TWO") == (["B", "TWO", "B", "two"], few), "letters count"
    assert await reread(store, hours[6], title=None, content="TWO") == ([None, "TWO", "B", "TWO"], few)
    assert await previous_at(store) == hours[5]


async def test_each_of_a_batch_keeps_its_own(store: Database) -> None:
    wishes = [wish(at) for at in range(12)]
    await submit(store, wishes)
    await know(store)
    await settle(store, [good(one) for one in await take(store)])
    later = NOON + timedelta(hours=1)
    await submit(store, wishes, now=later, max_age=timedelta())
    endings = [good(one, title="Title" if one.url.endswith("/3") else "Other") for one in await take(store, now=later)]
    await settle(store, endings, now=later)

    rows = await look(store, "SELECT url, title, previous_title, previous_content FROM articles")
    kept = {row.url: (row.previous_title, row.previous_content) for row in rows}
    assert kept == {one.url: ("Title", f"Text of {one.url}") for one in wishes} | {wishes[3].url: (None, None)}
