"""Schedules that follow others: each end of a parent's run is accounted for once, on every database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from foliot.core.access import LOCAL
from foliot.core.errors import Invalid, Unavailable
from foliot.db.database import Database
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.tables import runs
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.batch import BatchOutcome, ScheduleBatches
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.givens import SECOND, row_of, runs_of, statements
from tests.world import URL, World


def after(*parents: str, name: str = "Child", **changes: Any) -> dict[str, Any]:
    follow = {key: changes.pop(key) for key in ("outcome", "all") if key in changes}
    return {
        "name": name,
        "type": "after",
        "after": {"schedule": list(parents), **follow},
        "action": {"kind": "webhook", "url": URL},
        "overlap": "allow_all",
        **changes,
    }


@pytest.fixture
async def parent(world: World) -> Schedule:
    made = await world.schedule(name="Parent")
    world.clock.advance(1)
    return made


async def child_of(world: World, *parents: str, **changes: Any) -> Schedule:
    made = await world.schedule(after(*parents, **changes))
    world.clock.advance(1)
    return made


async def ran(world: World, schedule: Schedule, state: RunState = RunState.SUCCESS, **problem: Any) -> str:
    """Run it now, to this end."""
    run = await world.cases[Schedules].run_now(LOCAL, schedule.id)
    world.clock.advance(1)
    await world.end(run.id, state, problem or None)
    return run.id


async def ended(world: World, claimed: ClaimedRun) -> None:
    """As the recorder does: again, when the database undid it for the sake of another transaction."""
    for _ in range(20):
        try:
            return await world.finish(claimed)
        except Unavailable:
            await asyncio.sleep(0.05)
    raise AssertionError("the database undid it 20 times")


async def prove(world: World) -> None:
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert [(hole.name, hole.what) for hole in proof.holes] == []


async def test_a_run_follows_each_success_of_its_parent(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent")

    parents = [await ran(world, parent) for _ in range(3)]
    await ran(world, parent, RunState.DEAD_LETTER, code="http_500", message="no")

    made = await runs_of(world.store, child.id)
    assert [run["parent_id"] for run in made] == parents
    assert {run["origin"] for run in made} == {Origin.AFTER}
    assert {run["lane"] for run in made} == {"default"}
    assert (child.status, child.next_at, child.spec.trigger.summary) == (
        ScheduleStatus.ACTIVE,
        None,
        "After Parent succeeds",
    )
    await prove(world)


@pytest.mark.parametrize(
    ("outcome", "followed"),
    [
        ("success", [RunState.SUCCESS]),
        ("failed", [RunState.FAILED, RunState.DEAD_LETTER]),
        ("partial", [RunState.PARTIAL]),
        ("any", [RunState.SUCCESS, RunState.PARTIAL, RunState.FAILED, RunState.DEAD_LETTER]),
    ],
)
async def test_the_outcome_decides(world: World, parent: Schedule, outcome: str, followed: list[RunState]) -> None:
    child = await child_of(world, parent.id, outcome=outcome)
    ended = {}
    for state in (RunState.SUCCESS, RunState.PARTIAL, RunState.FAILED, RunState.DEAD_LETTER):
        ended[await ran(world, parent, state)] = state

    made = await runs_of(world.store, child.id)

    assert [ended[str(run["parent_id"])] for run in made] == followed
    await prove(world)


async def test_a_cancelled_run_is_followed_by_any(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent", outcome="any")
    strict = await child_of(world, "Parent", name="Strict")
    run = await world.cases[Schedules].run_now(LOCAL, parent.id)
    world.clock.advance(1)

    await world.cases[Runs].cancel(LOCAL, run.id)

    assert [made["parent_id"] for made in await runs_of(world.store, child.id)] == [run.id]
    assert await runs_of(world.store, strict.id) == []
    await prove(world)


async def test_all_waits_for_one_run_of_each(world: World) -> None:
    first, second = await world.schedule(name="B"), await world.schedule(name="C")
    world.clock.advance(1)
    child = await child_of(world, "B", "C", all=True)

    await ran(world, first)
    await ran(world, first)
    assert await runs_of(world.store, child.id) == []
    last = await ran(world, second)
    await ran(world, second)

    assert [run["parent_id"] for run in await runs_of(world.store, child.id)] == [last]
    done = await ran(world, first)
    made = await runs_of(world.store, child.id)
    assert [run["parent_id"] for run in made] == [last, done]
    async with world.store.read() as tx:
        parents = await SqlFollowUps(tx).parents(LOCAL.tenant_id, str(made[0]["id"]))
        assert len(parents) == 3
        seen = {one.id: one for one in await SqlFollowUps(tx).parents(LOCAL.tenant_id, str(made[1]["id"]))}
    assert seen[done].schedule_name == "B"
    await prove(world)


async def test_a_retried_and_a_replayed_parent_count_once(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent")
    failing = await child_of(world, "Parent", name="On failure", outcome="failed")
    run_id = await ran(world, parent, RunState.DEAD_LETTER, code="http_500", message="no")
    assert len(await runs_of(world.store, failing.id)) == 1

    again = await world.cases[Runs].retry(LOCAL, run_id)
    world.clock.advance(1)
    await world.end(again.id, RunState.DEAD_LETTER)
    (replay,) = (await world.cases[DeadLetters].replay(LOCAL, {"ids": [again.id]})).runs
    world.clock.advance(1)
    await world.end(replay.id, RunState.SUCCESS)
    twice = await world.cases[Runs].retry(LOCAL, replay.id)
    world.clock.advance(1)
    await world.end(twice.id, RunState.SUCCESS)

    assert [run["parent_id"] for run in await runs_of(world.store, child.id)] == [replay.id]
    assert [run["parent_id"] for run in await runs_of(world.store, failing.id)] == [run_id]
    await prove(world)


async def test_overlap_holds_and_the_ledger_says_so(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent", overlap="skip")
    for _ in range(3):
        await ran(world, parent)

    made = await runs_of(world.store, child.id)

    assert len(made) == 1
    async with world.store.read() as tx:
        records = await SqlFollowUps(tx).records(child.id, parent.created_at, world.clock.now() + SECOND, 10)
        assert await SqlFollowUps(tx).counts(child.id) == (3, 2, 2)
    assert [(one.made is not None, one.reason) for one in records] == [
        (True, None),
        (False, "overlap"),
        (False, "overlap"),
    ]
    await prove(world)


async def test_a_buffered_follower_starts_when_the_one_before_has_ended(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent", overlap="buffer_all")
    await ran(world, parent)
    await ran(world, parent)
    first, second = (str(run["id"]) for run in await runs_of(world.store, child.id))

    assert (await row_of(world.store, second))["lane"] is None
    await world.end(first, RunState.SUCCESS)

    assert (await row_of(world.store, second))["lane"] == "default"


async def test_terminate_other_ends_the_follower_and_what_follows_it_runs(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent", overlap="terminate_other")
    last = await child_of(world, "Child", name="Last", outcome="any")
    await ran(world, parent)
    (first,) = await runs_of(world.store, child.id)

    await ran(world, parent)

    assert (await row_of(world.store, str(first["id"])))["state"] == RunState.CANCELLED
    assert [run["parent_id"] for run in await runs_of(world.store, last.id)] == [first["id"]]
    await prove(world)


async def test_a_paused_follower_catches_nothing_up(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent")
    await world.cases[Schedules].pause(LOCAL, child.id)
    world.clock.advance(1)
    await ran(world, parent)
    world.clock.advance(1)
    await world.cases[Schedules].resume(LOCAL, child.id)
    world.clock.advance(1)
    assert await runs_of(world.store, child.id) == []

    last = await ran(world, parent)

    assert [run["parent_id"] for run in await runs_of(world.store, child.id)] == [last]
    await prove(world)


async def test_max_runs_completes_it(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent", max_runs=2)
    for _ in range(4):
        await ran(world, parent)

    assert len(await runs_of(world.store, child.id)) == 2
    assert (await world.cases[Schedules].get(LOCAL, child.id)).status is ScheduleStatus.COMPLETED
    await prove(world)


async def test_an_end_that_was_held_back_is_judged_by_catch_up(world: World, parent: Schedule) -> None:
    missed = await child_of(world, "Parent", catchup={"mode": "none"})
    made = await child_of(world, "Parent", name="Latest", catchup={"mode": "latest"})
    begun = [(await world.cases[Schedules].run_now(LOCAL, parent.id)).id for _ in range(2)]
    claimed = await world.claim(*begun)
    world.clock.advance(1)
    ended = world.clock.now()
    world.clock.advance(600)

    endings = [AttemptEnding(fence=one.fence, state=RunState.SUCCESS, outcome="success", at=ended) for one in claimed]
    async with world.store.begin() as tx:
        await SqlClaims(tx).finish(endings, world.clock.now())

    assert await runs_of(world.store, missed.id) == []
    assert len(await runs_of(world.store, made.id)) == 1
    async with world.store.read() as tx:
        assert await SqlFollowUps(tx).counts(missed.id) == (2, 2, 2)
    await prove(world)


async def test_a_ring_is_refused_and_named(world: World) -> None:
    await world.schedule(name="A")
    b = await child_of(world, "A", name="B")
    await child_of(world, "B", name="C")

    with pytest.raises(Invalid) as refused:
        await world.cases[Schedules].patch(LOCAL, b.id, {"after": {"schedule": ["A", "C"]}})
    with pytest.raises(Invalid, match="'B' after 'B'"):
        await world.cases[Schedules].patch(LOCAL, b.id, {"after": {"schedule": "B"}})

    assert refused.value.field == "after.schedule"
    assert "would create a cycle: 'B' after 'C' after 'B'" in refused.value.message
    assert (await world.cases[Schedules].get(LOCAL, b.id)).version == b.version


async def test_an_unknown_parent_is_refused_with_a_suggestion(world: World, parent: Schedule) -> None:
    with pytest.raises(Invalid, match="did you mean 'Parent'") as refused:
        await world.schedule(after("Parnt"))
    assert refused.value.field == "after.schedule[0]"
    await world.schedule(name="Parent")
    with pytest.raises(Invalid, match="is the name of 2 schedules: give the id"):
        await world.schedule(after("Parent"))
    assert (await world.schedule(after(parent.id))).spec.trigger.follows is not None


@pytest.mark.parametrize(
    ("raw", "field", "words"),
    [
        ({"schedule": []}, "after.schedule", "must be the id or the name"),
        ({"schedule": ["Parent"], "outcome": "sucess"}, "after.outcome", "success"),
        ({"schedule": ["Parent"], "when": 1}, "after.when", "is not known"),
        ({"schedule": [1]}, "after.schedule[0]", "must be the id or the name"),
        ({"schedule": ["x"] * 21}, "after.schedule", "at most 20"),
        ("Parent", "after", "must be an object"),
        (None, "after", "is required"),
    ],
)
async def test_bad_requests_are_named(world: World, parent: Schedule, raw: object, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        await world.schedule({**after("Parent"), "after": raw})
    assert refused.value.field == field
    assert words in refused.value.message


async def test_a_batch_may_name_its_own_schedules_in_any_order(world: World) -> None:
    documents = [
        after("B", "C", name="D", all=True),
        after("A", name="B"),
        after("A", name="C"),
        {"name": "A", "type": "interval", "interval_seconds": 60, "payload": {"url": URL}},
    ]

    answers = await world.cases[ScheduleBatches].create(LOCAL, {"schedules": documents})

    ids = {one.name: one.id for one in answers}
    last = await world.cases[Schedules].get(LOCAL, str(ids["D"]))
    assert last.spec.trigger.follows is not None
    assert set(last.spec.trigger.follows.parents) == {ids["B"], ids["C"]}
    assert last.spec.trigger.summary == "After B and C succeed"


async def test_a_batch_with_a_ring_or_a_refused_parent_says_so(world: World) -> None:
    ring = [after("Y", name="X"), after("X", name="Y")]
    with pytest.raises(Invalid) as refused:
        await world.cases[ScheduleBatches].create(LOCAL, {"schedules": ring})
    assert "would create a cycle" in str(refused.value)

    bad = [after("Broken", name="Child"), {"name": "Broken", "type": "cron", "cron_expr": "x", "payload": {"url": URL}}]
    answers = await world.cases[ScheduleBatches].create(LOCAL, {"schedules": bad, "atomic": False})
    assert [one.outcome for one in answers] == [BatchOutcome.REFUSED, BatchOutcome.REFUSED]
    assert "was refused" in str(answers[0].error)


async def test_an_end_costs_no_statement_more_without_followers(world: World, parent: Schedule) -> None:
    begun = [(await world.cases[Schedules].run_now(LOCAL, parent.id)).id for _ in range(60)]
    claimed = await world.claim(*begun)
    now = world.clock.now()
    endings = [AttemptEnding(fence=one.fence, state=RunState.SUCCESS, outcome="success", at=now) for one in claimed]

    with statements(world.store) as plain:
        async with world.store.begin() as tx:
            await SqlClaims(tx).finish(endings[:30], now)
    assert not [text for text in plain if "follow_ups" in text]

    await child_of(world, "Parent")
    world.clock.advance(1)
    later = [
        AttemptEnding(fence=one.fence, state=RunState.SUCCESS, outcome="success", at=world.clock.now())
        for one in claimed
    ]
    with statements(world.store) as followed:
        async with world.store.begin() as tx:
            await SqlClaims(tx).finish(later[30:], world.clock.now())

    assert len(followed) - len(plain) <= 7
    async with world.store.read() as tx:
        assert len((await tx.conn.execute(select(runs.c.id).where(runs.c.origin == Origin.AFTER))).all()) == 30


async def test_what_ended_while_it_began_to_follow_is_swept_up(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent")
    await world.sql("DELETE FROM follows")  # what a transaction sees that began before the follower was written
    run_id = await ran(world, parent)
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert run_id in proof.holes[0].what
    await world.sql(
        "INSERT INTO follows (parent_id, child_id, tenant_id, stands, active_from)"
        " SELECT :parent, id, tenant_id, true, created_at FROM schedules WHERE id = :child",
        parent=parent.id,
        child=child.id,
    )

    now = world.clock.now()
    async with world.store.begin() as tx:
        assert await SqlFollowUps(tx).sweep(now - 60 * SECOND, now, 10) == 1
        assert await SqlFollowUps(tx).sweep(now - 60 * SECOND, now, 10) == 0

    assert [run["parent_id"] for run in await runs_of(world.store, child.id)] == [run_id]
    await prove(world)


async def test_many_that_end_at_once_are_each_followed_once(store: Database) -> None:
    world = World.on(store)
    a = await world.schedule(name="A")
    world.clock.advance(1)
    b, c = await child_of(world, "A", name="B"), await child_of(world, "A", name="C")
    d = await child_of(world, "B", "C", name="D", all=True)
    claimed = await world.claim(*[(await world.cases[Schedules].run_now(LOCAL, a.id)).id for _ in range(12)])
    world.clock.advance(1)

    await asyncio.gather(*(ended(world, one) for one in claimed))
    begun = [str(run["id"]) for one in (b, c) for run in await runs_of(store, one.id)]
    held = await world.claim(*begun)
    world.clock.advance(1)
    await asyncio.gather(*(ended(world, one) for one in held))

    assert len(begun) == 24
    assert 1 <= len(await runs_of(store, d.id)) <= 12
    await prove(world)


async def test_the_proof_finds_a_second_follower_and_a_lost_one(world: World, parent: Schedule) -> None:
    child = await child_of(world, "Parent")
    await ran(world, parent)
    other = await ran(world, parent)
    await world.sql("DELETE FROM follow_ups WHERE run_id = :id", id=other)
    holes = (await world.cases[LedgerVerifier].prove(LOCAL)).holes
    assert [(hole.name, other in hole.what) for hole in holes] == [(child.name, True)]


async def test_the_timeline_links_runs_to_those_that_follow(world: World, client: Client, parent: Schedule) -> None:
    child = await child_of(world, "Parent")
    followed = await ran(world, parent)
    (made,) = await runs_of(world.store, child.id)
    timeline = (await client.get("/api/timeline")).json
    (link,) = timeline["links"]
    assert (link["parent"], link["child"]) == (followed, made["id"])
    assert (link["parent_key"], link["child_key"]) == (parent.id, child.id)
    assert (await client.get("/api/timeline?group_by=queue")).json["links"] == []
