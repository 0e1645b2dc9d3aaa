"""Claim-ahead: runs of quick targets are claimed in large rounds and wait in memory for their slot."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from foliot.db.database import Database
from foliot.engine.admission import Admission
from foliot.engine.attempts.attempt import StopReason
from foliot.engine.claimed_ahead import LATE, MOST, SOON, Pace
from foliot.engine.model.run import Outcome, RunState, Succeeded
from foliot.engine.ports import ActionContext
from foliot.engine.slots import Slots
from foliot.engine.sql.runs import SqlRuns
from tests.engine.engine_bench import Bench, Probe, recording
from tests.engine.test_slots import Bench as SlotsBench
from tests.givens import NOON, ask, request, run_of

NAME = "probe without a target"
SLOTS = 10


class Gate:
    """An action that counts how many of it are under way, and ends when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = self.most = 0
        self.seen: list[str] = []

    async def __call__(self, ctx: ActionContext) -> Outcome:
        self.seen.append(ctx.run_id)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self.open.wait()
        self.inside -= 1
        return Succeeded()


async def claimed(bench: Bench, count: int, **changes: object) -> list[str]:
    """So many runs of a quick action, all claimed by one round."""
    quick(bench.engine.slots)
    ids = await ask(
        bench.store,
        bench.clock.now(),
        *(request(**{"kind": "probe", "max_attempts": 4} | changes) for _ in range(count)),
    )
    await bench.do("dispatcher")
    return ids


def quick(slots: Slots, name: str = NAME) -> None:
    slots.paces[name] = Pace(slots.clock(), rate=4000.0)
    slots._last = name


async def states(bench: Bench, ids: Sequence[str]) -> set[tuple[RunState, int]]:
    views = [await run_of(bench.store, one) for one in ids]
    return {(one.state, one.attempt) for one in views}


async def test_one_round_claims_more_than_there_are_slots_and_performs_no_more_at_once(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))

    ids = await claimed(bench, 60)
    await asyncio.sleep(0.05)

    assert (len(bench.engine.executor.flights), gate.inside) == (60, SLOTS)
    gate.open.set()
    async with recording(bench), asyncio.timeout(20):
        while bench.engine.executor.flights:
            await asyncio.sleep(0.01)
    assert gate.most == SLOTS
    assert sorted(gate.seen) == sorted(ids)
    assert await states(bench, ids) == {(RunState.SUCCESS, 1)}


async def test_what_has_not_started_is_handed_back_when_the_process_stops(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))
    ids = await claimed(bench, 30)
    await asyncio.sleep(0.05)
    gate.open.set()

    async with recording(bench):
        await bench.engine.executor.drain(10)

    begun = set(gate.seen)
    assert len(begun) == SLOTS
    assert await states(bench, sorted(begun)) == {(RunState.SUCCESS, 1)}
    assert await states(bench, sorted(set(ids) - begun)) == {(RunState.QUEUED, 0)}


async def test_what_gets_no_slot_in_time_is_handed_back_and_costs_no_attempt(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))
    ids = await claimed(bench, 30)

    async with recording(bench), asyncio.timeout(LATE + 20):
        while len(bench.engine.executor.flights) > SLOTS:
            await asyncio.sleep(0.01)
    waited = sorted(set(ids) - set(gate.seen))

    assert (len(waited), bench.engine.executor.ahead.count) == (20, 0)
    assert await states(bench, waited) == {(RunState.QUEUED, 0)}
    # While nothing ends, nothing more is claimed ahead.
    assert bench.engine.slots.quickest() == 0
    gate.open.set()
    async with recording(bench):
        await bench.engine.executor.drain(10)


async def test_a_waiting_run_that_is_cancelled_never_starts(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))
    ids = await claimed(bench, 12)
    await asyncio.sleep(0.05)
    (first, second) = sorted(set(ids) - set(gate.seen))
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([first], bench.clock.now(), "asked for")

    await bench.do("keeper")
    gate.open.set()
    async with recording(bench), asyncio.timeout(20):
        while bench.engine.executor.flights:
            await asyncio.sleep(0.01)

    assert first not in gate.seen
    assert await states(bench, [first]) == {(RunState.CANCELLED, 1)}
    assert await states(bench, [second]) == {(RunState.SUCCESS, 1)}


async def test_a_waiting_run_whose_lease_was_lost_never_starts(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))
    ids = await claimed(bench, 11)
    await asyncio.sleep(0.05)
    (last,) = set(ids) - set(gate.seen)

    bench.engine.executor.flights[last].halt(StopReason.LEASE)
    gate.open.set()
    async with recording(bench), asyncio.timeout(20):
        while bench.engine.executor.flights:
            await asyncio.sleep(0.01)

    assert last not in gate.seen
    # Its row is as it was: the janitor that finds the expired lease decides.
    assert await states(bench, [last]) == {(RunState.RUNNING, 1)}


async def test_the_last_attempt_of_a_run_is_not_claimed_ahead(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))

    await claimed(bench, 30, max_attempts=1)

    assert len(bench.engine.executor.flights) == SLOTS
    gate.open.set()
    async with recording(bench):
        await bench.engine.executor.drain(10)


def asked(bench: SlotsBench, count: int, tenant: str, crowd: Sequence[str] = (), **admission: object) -> Admission:
    made = Admission(bench.slots, 0, bench.at, frozenset(crowd), ahead_room=MOST, **admission)  # type: ignore[arg-type]
    for _ in range(count):
        made.ask(replace(bench.claimed(tenant), kind="probe"), None)
    return made


def test_nothing_is_claimed_ahead_of_an_unknown_or_slow_pace() -> None:
    bench = SlotsBench()
    assert not asked(bench, 5, "acme").later

    bench.slots.paces[NAME] = Pace(bench.now, rate=3.5 / SOON)
    assert len(asked(bench, 5, "acme").later) == 3


def test_no_tenant_fills_what_is_claimed_ahead_while_there_are_others() -> None:
    bench = SlotsBench()
    bench.slots.paces[NAME] = Pace(bench.now, rate=1e6)

    assert len(asked(bench, MOST + 1, "acme").later) == MOST
    assert len(asked(bench, MOST + 1, "acme", ["acme", "other"]).later) == MOST // 2
    bench.slots.hold("earlier", "other", None)
    assert len(asked(bench, MOST + 1, "acme").later) == MOST // 2


def test_a_worker_behind_a_broker_claims_nothing_ahead() -> None:
    bench = SlotsBench()
    bench.slots.brought = True
    bench.slots.paces[NAME] = Pace(bench.now, rate=1e6)

    assert not asked(bench, 5, "acme").later


def test_a_pace_is_learned_while_attempts_are_under_way_and_forgotten_in_silence() -> None:
    pace = Pace(0.0)
    for second in range(1000):
        pace.begin(second * 0.001)
        pace.end(second * 0.001 + 0.0005)

    assert pace.ahead(1.0) == pytest.approx(1000 * SOON, rel=0.1)
    pace.begin(100.0)
    assert pace.ahead(100.0) == pytest.approx(1000 * SOON, rel=0.1)
    assert pace.ahead(100.0 + SOON * 2) == 0


async def test_tenants_take_turns_among_what_waits(store: Database) -> None:
    gate = Gate()
    bench = Bench(store, Probe(gate))
    quick(bench.engine.slots)
    ids = await ask(
        bench.store, NOON, *(request(kind="probe", max_attempts=4, tenant_id=name) for name in ["b"] * 40 + ["a"] * 4)
    )
    await bench.do("dispatcher")
    await asyncio.sleep(0.05)
    gate.open.set()
    async with recording(bench), asyncio.timeout(20):
        while bench.engine.executor.flights:
            await asyncio.sleep(0.01)

    few = set(ids[40:])
    assert max(at for at, run_id in enumerate(gate.seen) if run_id in few) < 2 * SLOTS
