"""How runs end: fenced, once, and setting free what waited, on every database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from foliot.core.ids import RUN, new_id
from foliot.core.time.trigger import FixedInterval
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.run import (
    AttemptError,
    Cancelled,
    Ended,
    Failed,
    HandedBack,
    Lost,
    Origin,
    RunState,
    Succeeded,
)
from foliot.engine.model.schedule import Overlap
from foliot.engine.model.views import ClaimedRun, PageRequest
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import attempts
from foliot.features.filters.model import EXACT_CODE, FilterTerm
from tests.givens import (
    HOUR,
    MINUTE,
    NO_SPREAD,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    events_of,
    finish,
    keep,
    ready,
    replayable,
    request,
    row_of,
    run_of,
    runs_of,
    schedule,
    spec,
    states,
    tick,
)

FAILED = Failed(AttemptError("http_500", "no"), response={"status": 500})
DEAD = Failed(AttemptError("http_410", "gone"), permanent=True)


async def started(store: Database, **changes: object) -> ClaimedRun:
    """A running run whose retries have no spread."""
    (run_id,) = await ask(store, NOON, request(**changes))
    (claimed,) = await claim(store, NOON, run_id)
    return replace(claimed, spec=spec(retry=NO_SPREAD))


async def attempt_count(store: Database) -> int:
    async with store.read() as tx:
        return int(await tx.conn.scalar(select(func.count()).select_from(attempts)) or 0)


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Succeeded({"n": [1, "zwölf", None]}), RunState.SUCCESS),
        (Succeeded(partial=True), RunState.PARTIAL),
        (DEAD, RunState.DEAD_LETTER),
        (Cancelled("asked"), RunState.CANCELLED),
    ],
)
async def test_a_final_ending_is_written_whole(store: Database, outcome: Ended, state: RunState) -> None:
    held = await started(store)

    finished = await finish(store, held, outcome, NOON + SECOND)

    assert finished.accepted == {held.fence.run_id}
    row = await row_of(store, held.fence.run_id)
    assert (row["state"], row["finished_at"], row["lane"], row["open_of"], row["lease_until"]) == (
        state,
        NOON + SECOND,
        None,
        None,
        None,
    )
    assert (row["event_seq"], row["final_seq"]) == (3, 3)
    assert row["result"] == getattr(outcome, "result", None)
    async with store.read() as tx:
        (attempt,) = (await SqlRuns(tx).attempts([held.fence.run_id], whole=True))[held.fence.run_id]
    assert (attempt.epoch, attempt.number, attempt.worker) == (1, 1, "w1")
    assert (attempt.started_at, attempt.ended_at, attempt.retry_at) == (NOON, NOON + SECOND, None)


async def test_a_failure_waits_for_its_next_attempt(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id

    await finish(store, held, FAILED, NOON + SECOND)

    run = await run_of(store, run_id)
    assert (run.state, run.ready_at, run.attempt, run.finished_at) == (RunState.RETRYING, NOON + 11 * SECOND, 1, None)
    assert run.error == {"code": "http_500", "message": "no"}
    assert await ready(store, NOON + 10 * SECOND) == []
    assert await ready(store, NOON + 11 * SECOND) == [run_id]
    async with store.read() as tx:
        (attempt,) = (await SqlRuns(tx).attempts([run_id], whole=True))[run_id]
    assert (attempt.outcome, attempt.retry_at, attempt.response) == ("failed", NOON + 11 * SECOND, {"status": 500})


async def test_a_success_after_failures_leaves_no_error_behind(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    await finish(store, held, FAILED, NOON)
    (again,) = await claim(store, NOON + HOUR, run_id)

    await finish(store, again, Succeeded("fine"), NOON + HOUR)

    run = await run_of(store, run_id)
    assert (run.state, run.attempt, run.error, run.result) == (RunState.SUCCESS, 2, None, "fine")
    assert (run.started_at, run.finished_at) == (NOON, NOON + HOUR)
    assert await attempt_count(store) == 2


async def test_a_run_handed_back_keeps_its_attempt_and_its_next_holder_gets_a_new_fence(store: Database) -> None:
    held = await started(store, max_attempts=1)
    run_id = held.fence.run_id

    await finish(store, held, HandedBack(), NOON + SECOND)

    row = await row_of(store, run_id)
    assert (row["state"], row["attempt"], row["epoch"], row["lane"]) == ("queued", 0, 1, "default")
    (again,) = await claim(store, NOON + SECOND, run_id, worker="w2")
    assert (again.attempt, again.fence.epoch) == (1, 2)
    assert again.fence.token != held.fence.token
    assert (await finish(store, held, Succeeded(), NOON + SECOND)).stale == {run_id}
    assert (await finish(store, again, Succeeded(), NOON + SECOND)).accepted == {run_id}


async def test_many_endings_of_all_kinds_are_written_together(store: Database) -> None:
    outcomes: list[Ended] = [Succeeded(), FAILED, DEAD, HandedBack(), Cancelled(), Lost()]
    helds = [await started(store) for _ in outcomes]
    stale = replace(await started(store), fence=replace((await started(store)).fence, token="tok_wrong"))
    endings = [conclude(held, outcome, NOON) for held, outcome in zip(helds, outcomes, strict=True)]

    async with store.begin() as tx:
        finished = await SqlClaims(tx).finish([*endings, conclude(stale, Succeeded(), NOON)], NOON)

    ids = [held.fence.run_id for held in helds]
    assert finished.accepted == set(ids)
    assert finished.stale == {stale.fence.run_id}
    assert await states(store, *ids) == [
        RunState.SUCCESS,
        RunState.RETRYING,
        RunState.DEAD_LETTER,
        RunState.QUEUED,
        RunState.CANCELLED,
        RunState.RETRYING,
    ]


# --- fences -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"epoch": 0}, {"epoch": 2}, {"token": "tok_of_another"}])
async def test_an_ending_with_another_fence_changes_nothing_and_says_so(
    store: Database, change: dict[str, object]
) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    before = await row_of(store, run_id)

    finished = await finish(
        store,
        replace(held, fence=replace(held.fence, **change)),  # type: ignore[arg-type]
        Succeeded(),
        NOON,
    )

    assert not finished.accepted
    assert finished.stale == {run_id}
    assert await row_of(store, run_id) == before
    assert await attempt_count(store) == 0


async def test_an_ending_of_a_run_that_is_gone_is_stale(store: Database) -> None:
    held = await started(store)

    finished = await finish(store, replace(held, fence=replace(held.fence, run_id="run_gone")), Succeeded(), NOON)

    assert finished.stale == {"run_gone"}


@pytest.mark.parametrize("outcome", [Succeeded("once"), FAILED, HandedBack()])
async def test_an_ending_whose_acknowledgement_was_lost_is_accepted_again_and_written_once(
    store: Database, outcome: Ended
) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    await finish(store, held, outcome, NOON)
    before = await row_of(store, run_id)

    again = await finish(store, held, outcome, NOON)

    assert again.accepted == {run_id}
    assert not again.stale
    assert await row_of(store, run_id) == before
    assert await attempt_count(store) == 1


async def test_what_ended_stays_ended(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    await finish(store, held, Succeeded("first"), NOON)

    await finish(store, held, DEAD, NOON + SECOND)
    async with store.begin() as tx:
        assert await SqlRuns(tx).cancel([run_id], NOON + SECOND, "too late") == 0

    run = await run_of(store, run_id)
    assert (run.state, run.result, run.finished_at, run.cancel_requested) == (RunState.SUCCESS, "first", NOON, False)


# --- cancel -----------------------------------------------------------------------------------------------------------


async def cancel(store: Database, *run_ids: str) -> int:
    async with store.begin() as tx:
        return await SqlRuns(tx).cancel(run_ids, NOON + SECOND, "asked")


async def test_cancelling_a_queued_run_is_immediate_and_final(store: Database) -> None:
    (run_id,) = await ask(store, NOON)

    assert await cancel(store, run_id) == 1

    run = await run_of(store, run_id)
    assert (run.state, run.finished_at) == (RunState.CANCELLED, NOON + SECOND)
    assert run.error == {"code": "cancelled", "message": "asked"}
    assert await claim(store, NOON + HOUR, run_id) == []
    assert await cancel(store, run_id) == 0


async def test_cancelling_a_run_between_two_attempts_is_immediate(store: Database) -> None:
    held = await started(store)
    await finish(store, held, FAILED, NOON)

    await cancel(store, held.fence.run_id)

    assert await states(store, held.fence.run_id) == [RunState.CANCELLED]
    assert await claim(store, NOON + HOUR, held.fence.run_id) == []


async def test_a_running_run_is_asked_to_stop(store: Database) -> None:
    held = await started(store)
    run_id = held.fence.run_id

    assert await cancel(store, run_id) == 1

    async with store.read() as tx:
        assert await SqlClaims(tx).cancels([run_id, "run_unheard_of"]) == {run_id}
    assert await states(store, run_id) == [RunState.RUNNING]
    await finish(store, held, Cancelled(), NOON + 2 * SECOND)
    assert await states(store, run_id) == [RunState.CANCELLED]


async def test_success_recorded_after_the_cancel_was_asked_for_wins(store: Database) -> None:
    held = await started(store)
    await cancel(store, held.fence.run_id)

    await finish(store, held, Succeeded(), NOON)

    assert await states(store, held.fence.run_id) == [RunState.SUCCESS]


@pytest.mark.parametrize("outcome", [FAILED, HandedBack(), Lost()])
async def test_a_run_asked_to_stop_while_its_attempt_was_failing_is_not_tried_again(
    store: Database, outcome: Ended
) -> None:
    held = await started(store)
    run_id = held.fence.run_id
    ending = conclude(held, outcome, NOON)
    await cancel(store, run_id)

    async with store.begin() as tx:
        await SqlClaims(tx).finish([ending], NOON)

    assert await states(store, run_id) == [RunState.CANCELLED]
    assert await claim(store, NOON + HOUR, run_id) == []
    assert [event.seq for event in await events_of(store, run_id)] == [1, 2, 3]


async def test_a_terminated_attempt_is_cut_off(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.TERMINATE_OTHER))
    await keep(store, one)
    await tick(store, NOON)
    (held,) = await claim(store, NOON, *await ready(store, NOON))
    await tick(store, NOON + MINUTE)

    finished = await finish(store, held, Succeeded(), NOON + MINUTE)

    assert finished.stale == {held.fence.run_id}
    assert await states(store, held.fence.run_id) == [RunState.CANCELLED]


# --- what an end sets free --------------------------------------------------------------------------------------------


async def buffered(store: Database, overlap: Overlap = Overlap.BUFFER_ALL) -> tuple[str, ClaimedRun]:
    """A schedule with one running run and two that wait for it."""
    one = schedule(spec(overlap=overlap))
    await keep(store, one)
    await tick(store, NOON)
    (held,) = await claim(store, NOON, *await ready(store, NOON))
    await tick(store, NOON + MINUTE)
    await tick(store, NOON + 2 * MINUTE)
    return one.id, held


async def test_the_end_of_a_run_lets_the_oldest_that_waits_go(store: Database) -> None:
    schedule_id, held = await buffered(store)
    assert await ready(store, NOON + HOUR) == []

    finished = await finish(store, held, Succeeded(), NOON + 3 * MINUTE)

    first, second, third = await runs_of(store, schedule_id)
    assert finished.released == 1
    assert (second["lane"], second["buffered_of"], second["ready_at"]) == ("default", None, NOON + 3 * MINUTE)
    assert third["buffered_of"] == schedule_id
    assert first["state"] == "success"
    assert await ready(store, NOON + HOUR) == [second["id"]]


async def test_a_run_that_will_be_retried_lets_nobody_go(store: Database) -> None:
    _, held = await buffered(store)

    finished = await finish(store, held, FAILED, NOON + 3 * MINUTE)

    assert finished.released == 0
    assert await ready(store, NOON + HOUR) == [held.fence.run_id]


async def test_the_sweep_releases_what_nobody_released(store: Database) -> None:
    schedule_id, held = await buffered(store)
    await cancel(store, held.fence.run_id)
    await finish(store, held, Cancelled(), NOON + 3 * MINUTE)
    first = (await runs_of(store, schedule_id))[1]
    await cancel(store, first["id"])
    assert await ready(store, NOON + HOUR) == []

    async with store.begin() as tx:
        assert await SqlClaims(tx).release(NOON + 4 * MINUTE) == 1
        assert await SqlClaims(tx).release(NOON + 4 * MINUTE) == 0

    assert await ready(store, NOON + HOUR) == [(await runs_of(store, schedule_id))[2]["id"]]


async def test_the_sweep_sees_past_those_who_still_wait(store: Database) -> None:
    await buffered(store)
    free = schedule(spec(FixedInterval(60, NOON + HOUR), overlap=Overlap.BUFFER_ONE), next_at=NOON + HOUR)
    await keep(store, free)
    await tick(store, NOON + HOUR)
    await tick(store, NOON + HOUR + MINUTE)
    first, second = await runs_of(store, free.id)
    await cancel(store, first["id"])
    assert (await row_of(store, second["id"]))["buffered_of"] == free.id

    async with store.begin() as tx:
        assert await SqlClaims(tx).release(NOON + 2 * HOUR, limit=1) == 1

    assert (await row_of(store, second["id"]))["lane"] == "default"


# --- dead letters -----------------------------------------------------------------------------------------------------


async def dead(store: Database, count: int, problem: AttemptError, **changes: object) -> list[str]:
    made = []
    for _ in range(count):
        held = await started(store, **changes)
        await finish(store, held, Failed(problem, permanent=True), NOON)
        made.append(held.fence.run_id)
    return made


async def test_letters_that_failed_alike_stand_together_newest_first(store: Database) -> None:
    gone = await dead(store, 3, AttemptError("http_410", 'gone "for good"'))
    refused = await dead(store, 2, AttemptError("refused", "verweigert — 拒否"), kind="other")
    await dead(store, 1, AttemptError("http_410", "elsewhere"), tenant_id="other")

    async with store.read() as tx:
        groups = await SqlRuns(tx).dead_groups(TENANT, PageRequest())
        first = await SqlRuns(tx).dead_groups(TENANT, PageRequest(limit=1))
        second = await SqlRuns(tx).dead_groups(TENANT, PageRequest(limit=1, cursor=first[0].ids[0]))

    assert [(group.code, group.message, group.kind, group.count) for group in groups] == [
        ("refused", "verweigert — 拒否", "other", 2),
        ("http_410", 'gone "for good"', "probe", 3),
    ]
    assert [list(group.ids) for group in groups] == [refused[::-1], gone[::-1]]
    assert [*first, *second] == groups


async def test_letters_are_found_by_what_they_have_in_common(store: Database) -> None:
    gone = await dead(store, 2, AttemptError("http_410", "gone"))
    refused = await dead(store, 1, AttemptError("refused", "no"), kind="other")

    async with store.read() as tx:
        assert await replayable(tx, TENANT, 10) == [*gone, *refused]
        assert await replayable(tx, TENANT, 1) == gone[:1]
        assert await replayable(tx, TENANT, 10, FilterTerm(EXACT_CODE, ("http_410",))) == gone
        assert await replayable(tx, TENANT, 10, FilterTerm(EXACT_CODE, ("http_4",))) == []
        assert await replayable(tx, TENANT, 10, FilterTerm("kind", ("other",))) == refused
        assert await replayable(tx, "nobody", 10) == []


@pytest.mark.parametrize(
    ("outcome", "origin", "resolved"),
    [
        (Succeeded(), Origin.REPLAY, True),
        (Succeeded(partial=True), Origin.REPLAY, True),
        (DEAD, Origin.REPLAY, False),
        (Succeeded(), Origin.RETRY, False),
    ],
)
async def test_a_replay_that_succeeds_settles_its_dead_letter(
    store: Database, outcome: Ended, origin: Origin, resolved: bool
) -> None:
    (letter,) = await dead(store, 1, AttemptError("http_410", "gone"))
    replay = await started(store, id=new_id(RUN), origin=origin, parent_id=letter)

    await finish(store, replay, outcome, NOON)

    run = await run_of(store, letter)
    assert run.resolved_by == (replay.fence.run_id if resolved else None)
    assert run.state is RunState.DEAD_LETTER
    async with store.read() as tx:
        assert (letter in await replayable(tx, TENANT, 10)) is not resolved
