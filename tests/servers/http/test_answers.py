"""Answers about runs on every database: whole, repeated word for word, and by a handful of statements."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.core.access import LOCAL
from foliot.core.errors import Conflict, NotFound
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.run import AttemptError, Failed, Origin, RunState, Succeeded
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.health.usecases import HealthChecks
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.preview import Previews
from foliot.features.schedules.usecases.schedules import Schedules
from tests.givens import HOUR, NOON, ask, claim, request, sql, statements
from tests.world import HOURLY, World

MINE = LOCAL.tenant_id
ABOUT = re.compile(r"\b(runs|attempts|requests)\b")


def asked(seen: list[str]) -> list[str]:
    """The statements about runs and keys; who asks, and what they may, costs its own few whatever is asked."""
    return [one for one in seen if ABOUT.search(one)]


async def letters(world: World, count: int, **changes: Any) -> list[str]:
    """Dead letters, all at once."""
    made = [request(tenant_id=MINE, timeout_seconds=7, **changes) for _ in range(count)]
    await ask(world.store, NOON, *made)
    held = await claim(world.store, NOON, *(one.id for one in made))
    async with world.store.begin() as tx:
        given_up = Failed(AttemptError("http_500", "no"), permanent=True)
        await SqlClaims(tx).finish([conclude(one, given_up, NOON) for one in held], NOON)
    return [one.id for one in made]


async def tried_twice(world: World) -> str:
    """A run that failed once, was late for it, and succeeded later."""
    (run_id,) = await ask(world.store, world.clock.now(), request(tenant_id=MINE))
    world.clock.advance(0.25)
    (held,) = await world.claim(run_id)
    async with world.store.begin() as tx:
        ending = conclude(held, Failed(AttemptError("http_500", "no")), world.clock.now())
        await SqlClaims(tx).finish([ending], world.clock.now())
    world.clock.advance(timedelta(hours=1))
    await world.end(run_id, RunState.SUCCESS)
    return run_id


async def test_a_list_carries_the_attempts_of_each_run_in_order(world: World) -> None:
    twice = await tried_twice(world)
    (waiting,) = await ask(world.store, world.clock.now(), request(tenant_id=MINE))

    runs = {run.id: run for run in await world.cases[Runs].list(LOCAL, PageRequest())}

    assert [(one.number, one.outcome) for one in runs[twice].attempts] == [(1, "failed"), (2, "success")]
    assert runs[waiting].attempts == ()
    assert runs[twice] == await world.cases[Runs].get(LOCAL, twice)


async def test_a_list_leaves_out_large_responses_which_the_run_itself_has(world: World) -> None:
    small, large = await ask(world.store, NOON, request(tenant_id=MINE), request(tenant_id=MINE))
    kept = {small: {"status": 200, "body": "short"}, large: {"status": 200, "body": "é" * 3000}}
    held = {one.fence.run_id: one for one in await world.claim(small, large)}
    ended = [replace(conclude(held[run_id], Succeeded(), NOON), response=response) for run_id, response in kept.items()]
    async with world.store.begin() as tx:
        await SqlClaims(tx).finish(ended, NOON)

    listed = {run.id: run.attempts[0].response for run in await world.cases[Runs].list(LOCAL, PageRequest())}

    assert listed == {small: kept[small], large: None}
    assert (await world.cases[Runs].get(LOCAL, large)).attempts[0].response == kept[large]


async def test_a_page_of_runs_with_attempts_asks_twice_however_long_it_is(world: World) -> None:
    await letters(world, 60)
    await world.cases[Runs].list(LOCAL, PageRequest())

    with statements(world.store) as seen:
        runs = await world.cases[Runs].list(LOCAL, PageRequest(50))

    assert len(runs) == 50
    assert all(run.attempts for run in runs)
    assert len(asked(seen)) == 2, "\n".join(seen)


async def test_lateness_counts_to_the_first_start_whatever_the_retries(world: World) -> None:
    run_id = await tried_twice(world)

    run = await world.cases[Runs].get(LOCAL, run_id)

    assert run.due_at is not None
    assert run.started_at is not None
    assert run.started_at - run.due_at == timedelta(seconds=0.25)


# --- lists by queue and kind ------------------------------------------------------------------------------------------


async def test_runs_are_found_by_queue_and_kind_whether_they_have_ended_or_not(world: World) -> None:
    ended = await letters(world, 3, queue="analysis")
    await letters(world, 1, queue="other")
    waiting = await ask(world.store, NOON, *(request(tenant_id=MINE, queue="analysis") for _ in range(3)))
    (foreign,) = await ask(world.store, NOON, request(queue="analysis", tenant_id="other"))
    all_ = sorted([*ended, *waiting], reverse=True)

    async def found(page: PageRequest, **filters: str) -> list[str]:
        return [run.id for run in await world.cases[Runs].list(LOCAL, page, **filters)]

    assert await found(PageRequest(), queue="analysis") == all_
    assert await found(PageRequest(), queue="analysis", kind="probe") == all_
    assert await found(PageRequest(4), queue="analysis") == all_[:4]
    assert await found(PageRequest(4, all_[3]), queue="analysis") == all_[4:]
    assert await found(PageRequest(), queue="analysis", state="dead_letter") == sorted(ended, reverse=True)
    assert await found(PageRequest(), queue="analysis", state="queued,dead_letter") == all_
    assert await found(PageRequest(), queue="analysis", state="running,success") == []
    assert await found(PageRequest(), kind="nothing") == []
    assert foreign not in await found(PageRequest(), kind="probe")


# --- replay -----------------------------------------------------------------------------------------------------------


async def test_five_hundred_letters_are_replayed_by_a_handful_of_statements(world: World) -> None:
    ids = await letters(world, 500)
    once = IdempotentRequest("k", "body", 202, lambda replayed: str(len(replayed.runs)))

    with statements(world.store) as seen:
        replayed = await world.cases[DeadLetters].replay(LOCAL, {"ids": ids}, once)

    assert [run.parent_id for run in replayed.runs] == ids
    assert {(run.origin, run.timeout_seconds, run.state) for run in replayed.runs} == {
        (Origin.REPLAY, 7, RunState.QUEUED)
    }
    assert len(asked(seen)) <= 7, "\n".join(seen)


async def test_five_hundred_letters_are_found_by_filter_as_cheaply(world: World) -> None:
    await letters(world, 501)

    with statements(world.store) as seen:
        replayed = await world.cases[DeadLetters].replay(LOCAL, {"filter": {"code": "http_500"}})

    assert (len(replayed.runs), replayed.more) == (500, True)
    assert len(asked(seen)) <= 5, "\n".join(seen)


async def test_one_letter_that_cannot_be_replayed_stops_them_all(world: World) -> None:
    ids = await letters(world, 3)
    (waiting,) = await ask(world.store, NOON, request(tenant_id=MINE))
    (foreign,) = await letters(world, 1)
    await sql(world.store, "UPDATE runs SET tenant_id = 'other' WHERE id = :id", id=foreign)

    with pytest.raises(Conflict, match=f"{waiting} is not a dead letter"):
        await world.cases[DeadLetters].replay(LOCAL, {"ids": [*ids, waiting]})
    with pytest.raises(NotFound, match=foreign):
        await world.cases[DeadLetters].replay(LOCAL, {"ids": [*ids, foreign]})

    assert await world.cases[Runs].list(LOCAL, PageRequest(), state="queued") == [await _run(world, waiting)]


async def _run(world: World, run_id: str) -> RunView:
    return await world.cases[Runs].get(LOCAL, run_id)


# --- groups of letters ------------------------------------------------------------------------------------------------

ODD = ['{ "code": "spaced" ,"message":"by hand"}', "[1, 2]", '"text"', "{broken", "null", '{"code": 7}']


async def test_letters_are_grouped_whatever_somebody_made_of_their_errors(world: World) -> None:
    ids = await letters(world, len(ODD) + 2)
    for run_id, odd in zip(ids, ODD, strict=False):
        await sql(world.store, "UPDATE runs SET error = :odd WHERE id = :id", odd=odd, id=run_id)

    groups = await world.cases[DeadLetters].groups(LOCAL, PageRequest())

    assert sorted(run_id for group in groups for run_id in group.ids) == sorted(ids)
    assert [group.count for group in groups] == [2, *([1] * len(ODD))]
    assert {group.code for group in groups} == {"http_500", "spaced", "", "7"}


async def test_many_groups_are_two_questions_and_each_names_its_newest_hundred(world: World) -> None:
    for at in range(12):
        made = await letters(world, 3)
        error = f'{{"code":"c{at}","message":"m"}}'
        await sql(world.store, f"UPDATE runs SET error = '{error}' WHERE id >= :first", first=made[0])
    newest = await letters(world, 120)

    with statements(world.store) as seen:
        groups = await world.cases[DeadLetters].groups(LOCAL, PageRequest(50))

    assert [group.count for group in groups] == [120, *([3] * 12)]
    assert list(groups[0].ids) == sorted(newest, reverse=True)[:100]
    assert len(asked(seen)) == 2, "\n".join(seen)


# --- idempotency ------------------------------------------------------------------------------------------------------


async def test_a_repeated_answer_keeps_its_headers(world: World) -> None:
    once = IdempotentRequest(
        "k", "body", 201, lambda one: one.id, lambda one: {"ETag": f'"{one.version}"', "Location": one.id}
    )
    made = await world.cases[Schedules].create(LOCAL, HOURLY, once)

    with pytest.raises(AnsweredBefore) as again:
        await world.cases[Schedules].create(LOCAL, HOURLY, once)

    assert (again.value.status, again.value.body) == (201, made.id)
    assert again.value.headers == {"ETag": '"1"', "Location": made.id}


async def test_an_answer_with_a_secret_is_kept_nowhere_and_given_once(world: World) -> None:
    once = IdempotentRequest("k", "body", 201, lambda _: "hush", lambda _: {"X-Key": "hush"}, secret=True)
    await world.cases[Schedules].create(LOCAL, HOURLY, once)

    with pytest.raises(Conflict, match="with a secret that is shown only once"):
        await world.cases[Schedules].create(LOCAL, HOURLY, once)

    assert len(await world.cases[Schedules].list(LOCAL, PageRequest())) == 1
    async with world.store.read() as tx:
        (row,) = await tx.conn.exec_driver_sql("SELECT status, body, headers FROM requests")
    assert tuple(row) == (201, None, None)


async def test_a_preview_with_a_key_is_the_same_a_while_later(world: World) -> None:
    raw = {"type": "interval", "interval_seconds": 60}
    once = IdempotentRequest("k", "body", 200, lambda seen: seen.fires[0].local)
    first = await world.cases[Previews].preview(LOCAL, raw, once)
    world.clock.advance(HOUR)

    with pytest.raises(AnsweredBefore) as again:
        await world.cases[Previews].preview(LOCAL, raw, once)

    assert again.value.body == first.fires[0].local


async def test_a_preview_without_a_key_asks_the_database_nothing(world: World) -> None:
    with statements(world.store) as seen:
        await world.cases[Previews].preview(LOCAL, {"type": "interval", "interval_seconds": 60})

    assert seen == []


# --- what is counted --------------------------------------------------------------------------------------------------


async def numbers(world: World) -> dict[str, int]:
    found = await world.cases[HealthChecks].numbers(LOCAL)
    return {state: count for state, count in found.runs.items() if count}


async def test_runs_are_counted_by_state_without_reading_what_has_ended(world: World) -> None:
    await letters(world, 2)
    run_ids = await ask(world.store, NOON, *(request(tenant_id=MINE) for _ in range(4)))
    await world.claim(run_ids[0])
    await world.end(run_ids[1], RunState.SUCCESS)
    await world.cases[Runs].cancel(LOCAL, run_ids[2])
    expected = {"dead_letter": 2, "running": 1, "success": 1, "cancelled": 1, "queued": 1}

    assert await numbers(world) == expected
    # Behind its back: whoever counted the table would see it.
    await sql(world.store, "UPDATE runs SET state = 'failed' WHERE state = 'success'")
    assert await numbers(world) == expected


async def test_a_pruned_run_is_counted_no_more(world: World) -> None:
    await letters(world, 1)
    (run_id,) = await ask(world.store, NOON, request(tenant_id=MINE))
    await world.end(run_id, RunState.SUCCESS)

    async with world.store.begin() as tx:
        assert (await SqlRetention(tx).prune(NOON + timedelta(days=365), 10))[0] == 1

    assert await numbers(world) == {"dead_letter": 1}
