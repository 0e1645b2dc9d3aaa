"""Batches on every database: parked without an executor, ended by the transaction that ends their last item."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from foliot.commands.envelope import again
from foliot.db.database import Database
from foliot.engine.model.run import BATCH_CHECK, BATCH_KINDS, Fence, HandedBack, RunState
from foliot.engine.model.schedule import Overlap, Schedule
from foliot.engine.model.views import AttemptEnding
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import attempts, queues, runs
from foliot.features.articles.actor.batches import BatchOpener, OpenedBatches
from foliot.features.articles.model import KIND, ArticleCounts, ClaimedArticle, EndingsEffect
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.features.articles.test_sql_articles import bad, counts, good, know, settle, submit, take, wish
from tests.givens import (
    MINUTE,
    NOON,
    SECOND,
    ask,
    claim,
    events_of,
    finish,
    keep,
    ready,
    request,
    row_of,
    runs_of,
    schedule,
    spec,
    sql,
    statements,
    tick,
)

PAGES = {"articles": [{"url": f"https://news.test/{at}"} for at in range(3)]}


def scheduled(**changes: Any) -> Schedule:
    return schedule(spec(kind=KIND, **changes), action={"kind": KIND, **PAGES})


async def open_batches(store: Database, now: datetime, **changes: Any) -> OpenedBatches:
    """What the actor does in one round."""
    opener = BatchOpener(
        clock=StoppedClock(now), store=store, feed=MemoryFeed(), meter=EngineCounters(), longest_rest=1.0, **changes
    )
    return await opener.run_once()


async def states(store: Database, schedule_id: str) -> list[str]:
    return [run["state"] for run in await runs_of(store, schedule_id)]


async def attempts_of(store: Database, run_id: str) -> Sequence[Mapping[str, Any]]:
    async with store.read() as tx:
        found = await tx.conn.execute(select(attempts).where(attempts.c.run_id == run_id))
        return [dict(row._mapping) for row in found]


def test_the_engine_knows_the_kind_by_its_name() -> None:
    assert {KIND} == BATCH_KINDS


async def test_the_transaction_that_ends_the_last_article_ends_the_batch(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1), wish(2)])
    born = await row_of(store, run_id)
    await know(store)
    one, other = await take(store)
    await settle(store, [good(one)], now=NOON + SECOND)
    between = await row_of(store, run_id)
    told = await settle(store, [bad(other)], now=NOON + 2 * SECOND)

    row = await row_of(store, run_id)
    assert (born["state"], born["lane"], born["lease_until"], born["handle"]) == (RunState.RUNNING, None, None, {})
    assert between["state"] == RunState.RUNNING
    assert (row["state"], row["finished_at"], row["poll_at"]) == (RunState.PARTIAL, NOON + 2 * SECOND, None)
    assert row["result"] == {"total": 2, "completed": 1, "cached": 0, "failed": 1}
    assert [(claimed.fence.run_id, stored) for claimed, _, stored in told.ended.runs] == [(run_id, RunState.PARTIAL)]
    (attempt,) = await attempts_of(store, run_id)
    assert (attempt["number"], attempt["outcome"], attempt["worker"]) == (1, "partial", None)
    events = await events_of(store, run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.state for event in events if event.state] == ["queued", "running", "partial"]


async def test_a_batch_of_which_nothing_could_be_read_is_a_dead_letter(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)
    await settle(store, [bad(one)])

    row = await row_of(store, run_id)
    assert (row["state"], row["error"]["code"]) == (RunState.DEAD_LETTER, "no_article_read")


async def test_an_ending_that_lost_its_lease_ends_no_batch(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)
    stale = replace(good(one), fence=Fence(one.fence.run_id, one.fence.epoch - 1, one.fence.token))
    told = await settle(store, [stale, replace(stale, fence=Fence(one.fence.run_id, one.fence.epoch, "tok_other"))])

    assert (told.accepted, told.jobs, told.ended.runs) == (frozenset(), (), ())
    assert (await row_of(store, run_id))["state"] == RunState.RUNNING
    assert await counts(store, run_id) == ArticleCounts(total=1)


async def test_an_ending_that_is_written_twice_ends_its_batch_once(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    await know(store)
    (one,) = await take(store)
    await settle(store, [good(one)])
    before = await row_of(store, run_id)
    await settle(store, [good(one)], now=NOON + SECOND)

    assert await row_of(store, run_id) == before
    assert len(await attempts_of(store, run_id)) == 1


async def test_an_executor_never_sees_a_batch(store: Database) -> None:
    made = scheduled()
    await keep(store, made)
    await tick(store, NOON)
    asked = await ask(store, NOON, request(kind=KIND, action={"kind": KIND, **PAGES}))
    (fired,) = await runs_of(store, made.id)

    assert await ready(store, NOON + MINUTE) == []
    assert await claim(store, NOON + MINUTE, fired["id"], *asked) == []
    async with store.read() as tx:
        assert (await SqlRetention(tx).queues())["default"] == {"depth": 2, "oldest": NOON}
        assert (await SqlRetention(tx).counts())["runs"] == {"queued": 2}


async def test_a_scheduled_batch_is_parked_by_the_transaction_that_creates_its_items(store: Database) -> None:
    made = scheduled()
    await keep(store, made)
    await tick(store, NOON)
    (fired,) = await runs_of(store, made.id)
    did = await open_batches(store, NOON + SECOND)
    again = await open_batches(store, NOON + SECOND)

    row = await row_of(store, fired["id"])
    assert (did.opened, again.opened) == (1, 0)
    assert (row["state"], row["attempt"], row["epoch"], row["lease_until"]) == (RunState.RUNNING, 1, 1, None)
    assert (row["started_at"], row["poll_at"]) == (NOON + SECOND, NOON + SECOND + BATCH_CHECK)
    assert await counts(store, fired["id"]) == ArticleCounts(total=3)
    await know(store, now=NOON + SECOND)
    await settle(store, [good(one) for one in await take(store, now=NOON + SECOND)], now=NOON + 2 * SECOND)
    assert await states(store, made.id) == [RunState.SUCCESS]


async def test_a_crash_while_items_are_created_leaves_the_batch_as_it_was(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scheduled()
    await keep(store, made)
    await tick(store, NOON)
    (fired,) = await runs_of(store, made.id)

    async def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SqlBatchRuns, "begin", killed)
        with pytest.raises(KeyboardInterrupt):
            await open_batches(store, NOON)
    between = await row_of(store, fired["id"])
    async with store.read() as tx:
        noted = await SqlArticles(tx).counts([fired["id"]])
    await open_batches(store, NOON)

    assert (between["state"], between["attempt"], dict(noted)) == (RunState.QUEUED, 0, {})
    assert await counts(store, fired["id"]) == ArticleCounts(total=3)


async def test_a_batch_that_cannot_be_opened_is_given_up_and_holds_up_no_other(store: Database) -> None:
    broken, empty, whole = await ask(
        store,
        NOON,
        request(kind=KIND, action={"kind": KIND, "articles": [{"no": "url"}]}),
        request(kind=KIND, action={"kind": KIND}),
        request(kind=KIND, action={"kind": KIND, **PAGES}),
    )
    did = await open_batches(store, NOON)

    rows = [await row_of(store, run_id) for run_id in (broken, empty, whole)]
    assert did.opened == 3
    assert [row["state"] for row in rows] == [RunState.DEAD_LETTER, RunState.DEAD_LETTER, RunState.RUNNING]
    assert [row["error"]["code"] for row in rows[:2]] == ["unrecordable", "no_articles"]


async def test_a_batch_whose_pages_are_all_fresh_ends_where_it_begins(store: Database) -> None:
    await submit(store, [wish(at) for at in range(3)])
    await know(store)
    await settle(store, [good(one) for one in await take(store)])
    (run_id,) = await ask(store, NOON, request(kind=KIND, action={"kind": KIND, **PAGES, "max_age_seconds": 3600}))
    await open_batches(store, NOON + SECOND)

    row = await row_of(store, run_id)
    assert (row["state"], row["result"]["cached"]) == (RunState.SUCCESS, 3)
    assert [event.state for event in await events_of(store, run_id) if event.state] == ["queued", "running", "success"]


async def test_a_batch_in_a_paused_queue_is_not_opened_and_hides_no_other(store: Database) -> None:
    held, free = await ask(
        store,
        NOON,
        request(kind=KIND, action={"kind": KIND, **PAGES}, queue="slow"),
        request(kind=KIND, action={"kind": KIND, **PAGES}),
    )
    async with store.begin() as tx:
        await tx.conn.execute(queues.insert().values(name="slow", paused_at=NOON))
    paused = await open_batches(store, NOON)
    await sql(store, "DELETE FROM queues WHERE name = 'slow'")
    resumed = await open_batches(store, NOON)

    assert (paused.opened, resumed.opened) == (1, 1)
    assert [(await row_of(store, one))["started_at"] for one in (held, free)] == [NOON, NOON]


async def test_a_batch_is_opened_by_a_worker_of_its_queue(store: Database) -> None:
    await ask(store, NOON, request(kind=KIND, action={"kind": KIND, **PAGES}, queue="slow"))

    assert (await open_batches(store, NOON, queues={"default"})).opened == 0
    assert (await open_batches(store, NOON, queues={"slow"})).opened == 1


async def test_a_waiting_batch_is_cancelled_at_once_and_never_opened(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(kind=KIND, action={"kind": KIND, **PAGES}))
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON, "cancelled by ada")

    row = await row_of(store, run_id)
    assert (row["state"], row["poll_at"]) == (RunState.CANCELLED, None)
    assert (await open_batches(store, NOON)).opened == 0


@pytest.mark.parametrize("overlap", [Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER])
async def test_a_batch_that_is_replaced_stops_and_its_counts_add_up(store: Database, overlap: Overlap) -> None:
    made = scheduled(overlap=overlap)
    await keep(store, made)
    await tick(store, NOON)
    await open_batches(store, NOON)
    await tick(store, NOON + MINUTE)
    old = (await runs_of(store, made.id))[0]["id"]
    await open_batches(store, NOON + MINUTE)
    await open_batches(store, NOON + MINUTE)

    row = await row_of(store, old)
    assert await states(store, made.id) == [RunState.CANCELLED, RunState.RUNNING]
    assert (row["poll_at"], row["lease_until"]) == (None, None)
    assert await counts(store, old) == ArticleCounts(total=3, cancelled=3)
    assert [(one["outcome"], one["number"]) for one in await attempts_of(store, old)] == [("cancelled", 1)]


async def test_a_buffered_batch_is_opened_after_its_predecessor(store: Database) -> None:
    made = scheduled(overlap=Overlap.BUFFER_ONE)
    await keep(store, made)
    await tick(store, NOON)
    await open_batches(store, NOON)
    await tick(store, NOON + MINUTE)
    waiting = await open_batches(store, NOON + MINUTE)
    await know(store, now=NOON + MINUTE)
    told = await settle(store, [good(one) for one in await take(store, now=NOON + MINUTE)], now=NOON + MINUTE)
    opened = await open_batches(store, NOON + MINUTE)

    assert (waiting.opened, told.ended.released, opened.opened) == (0, 1, 1)
    assert await ready(store, NOON + MINUTE) == []
    assert await states(store, made.id) == [RunState.SUCCESS, RunState.RUNNING]


async def test_an_ending_of_a_worker_does_not_end_a_parked_batch(store: Database) -> None:
    run_id, _ = await submit(store, [wish(1)])
    row = await row_of(store, run_id)
    ending = AttemptEnding(
        fence=Fence(run_id, row["epoch"], row["token"]), state=RunState.SUCCESS, outcome="success", at=NOON
    )
    async with store.begin() as tx:
        assert (await SqlClaims(tx).finish([ending], NOON)).stale == {run_id}


async def test_a_batch_that_an_earlier_version_made_claimable_is_handed_back_and_opened(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(kind=KIND, action={"kind": KIND, **PAGES}))
    await sql(store, "UPDATE runs SET lane = 'default', poll_at = NULL, handle = NULL")
    (claimed,) = await claim(store, NOON, run_id)
    await finish(store, claimed, HandedBack(), NOON)
    between = await row_of(store, run_id)
    await open_batches(store, NOON)

    assert (between["state"], between["lane"], between["attempt"]) == (RunState.QUEUED, None, 0)
    assert (await row_of(store, run_id))["state"] == RunState.RUNNING


async def test_a_batch_that_an_earlier_version_parked_is_checked_and_ended(store: Database) -> None:
    done, _ = await submit(store, [wish(1)])
    going, _ = await submit(store, [wish(2)])
    await sql(store, "UPDATE article_jobs SET done = 1 WHERE run_id = :id", id=done)
    async with store.begin() as tx:
        await tx.conn.execute(runs.update().values(poll_at=NOON))
    did = await open_batches(store, NOON)

    assert did.checked == 2
    assert [(await row_of(store, one))["state"] for one in (done, going)] == [RunState.SUCCESS, RunState.RUNNING]
    assert (await row_of(store, going))["poll_at"] == NOON + BATCH_CHECK


async def test_opening_a_batch_is_a_few_statements(store: Database) -> None:
    made = scheduled()
    await keep(store, made)
    await tick(store, NOON)
    with statements(store) as sent:
        await open_batches(store, NOON)

    assert len(sent) <= 14


async def test_racers_open_a_batch_once(store: Database) -> None:
    made = scheduled()
    await keep(store, made)
    await tick(store, NOON)
    (fired,) = await runs_of(store, made.id)
    did = await asyncio.gather(*(open_batches(store, NOON + SECOND) for _ in range(4)))

    assert sum(one.opened for one in did) == 1
    assert await counts(store, fired["id"]) == ArticleCounts(total=3)
    assert (await row_of(store, fired["id"]))["attempt"] == 1


async def test_articles_that_end_at_the_same_time_end_their_batches_once(store: Database) -> None:
    wishes = [wish(at) for at in range(8)]
    jobs = [(await submit(store, part))[0] for part in (wishes, wishes[:5], wishes[3:])]
    await know(store)
    taken = await take(store)

    @again
    async def end(one: ClaimedArticle) -> EndingsEffect:
        return await settle(store, [good(one)], now=NOON + SECOND)

    told = await asyncio.gather(*(end(one) for one in taken))

    ended = Counter(claimed.fence.run_id for one in told for claimed, _, _ in one.ended.runs)
    assert ended == dict.fromkeys(jobs, 1)
    for run_id, total in zip(jobs, (8, 5, 5), strict=True):
        assert await counts(store, run_id) == ArticleCounts(total=total, done=total)
        assert (await row_of(store, run_id))["state"] == RunState.SUCCESS
        assert len(await attempts_of(store, run_id)) == 1


async def test_a_cancel_beside_the_last_article_leaves_one_end_and_counts_that_add_up(store: Database) -> None:
    run_id, _ = await submit(store, [wish(at) for at in range(4)])
    await know(store)
    taken = await take(store)

    @again
    async def end(one: ClaimedArticle) -> None:
        await settle(store, [good(one)], now=NOON + SECOND)

    @again
    async def cancel() -> None:
        async with store.begin() as tx:
            await SqlArticles(tx).release([run_id], NOON + SECOND)
            await SqlRuns(tx).cancel([run_id], NOON + SECOND, "cancelled by ada", at_once=True)

    await asyncio.gather(end(taken[0]), end(taken[1]), cancel(), end(taken[2]), end(taken[3]))

    row, counted = await row_of(store, run_id), await counts(store, run_id)
    assert counted.pending == 0
    assert row["state"] == (RunState.CANCELLED if counted.cancelled else RunState.SUCCESS)
    assert len(await attempts_of(store, run_id)) == 1
    events = await events_of(store, run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_a_clock_that_was_ahead_keeps_no_article_for_ever(store: Database) -> None:
    await submit(store, [wish(1)])
    await know(store)
    await take(store, now=NOON + timedelta(days=400))
    async with store.begin() as tx:
        kept = await SqlArticles(tx).lock_expired(NOON, 10)
        freed = await SqlArticles(tx).lock_expired(NOON, 10, timedelta(hours=1))

    assert (len(kept), len(freed)) == (0, 1)
