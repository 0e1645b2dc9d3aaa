"""Races between real processes, which are killed and frozen, on both servers: nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from foliot.app.use_cases import use_cases
from foliot.core.access import LOCAL
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import open_store
from foliot.wakeups.feed import MemoryFeed
from tests.engine import racer
from tests.engine.racer import FastClock, Marks

START = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
LEASE = 0.8
LONG_LEASE = 10.0
"""So long that a machine with other things to do holds it too."""
RACE = 3.5
"""Seconds that a race lasts at least."""
PATIENCE = 40.0
"""Seconds after which a race that has not settled has failed."""

pytestmark = pytest.mark.timeout(180)

Role = Callable[..., None]


# --- the track --------------------------------------------------------------------------------------------------------


@dataclass
class Track:
    """The processes of a race: started, killed, frozen and thawed, each by its own id."""

    notes: Path
    running: dict[str, ForkServerProcess] = field(default_factory=dict)
    roles: dict[str, tuple[Role, tuple[Any, ...]]] = field(default_factory=dict)
    kills: int = 0
    freezes: int = 0

    def enter(self, name: str, role: Role, *arguments: Any) -> None:
        self.roles[name] = role, arguments
        process = CONTEXT.Process(target=role, args=arguments, name=name, daemon=True)
        process.start()
        self.running[name] = process

    def kill(self, name: str) -> None:
        """End it as the power would, and let another take its place."""
        process = self.running[name]
        process.kill()
        process.join(5)
        self.kills += 1
        role, arguments = self.roles[name]
        self.enter(name, role, *arguments)

    def replace(self, name: str, *arguments: Any) -> None:
        """End it, and let the same role go on with other arguments."""
        self.roles[name] = self.roles[name][0], arguments
        self.kill(name)

    async def freeze(self, name: str, seconds: float) -> None:
        pid = self.running[name].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        self.freezes += 1
        await asyncio.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.join(5)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.notes.read_text().splitlines()] if self.notes.exists() else []

    def crashed(self) -> list[str]:
        """Those that ended without being killed."""
        gone = [name for name, process in self.running.items() if process.exitcode is not None]
        return gone + [" ".join(line) for line in self.lines() if line[0] == "error"]


# Forked from a server that has imported everything: a process is back a few milliseconds after its death.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["__main__", "tests.engine.racer"])


@pytest.fixture
def track(tmp_path: Path) -> Iterator[Track]:
    made = Track(tmp_path / "notes")
    try:
        yield made
    finally:
        made.close()


@dataclass(frozen=True, slots=True)
class Course:
    """A schedule and the instants that anybody can name with a pencil: START + k * every, before the end."""

    schedule: Schedule
    every: int
    end: datetime

    def instants(self, until: datetime | None = None) -> list[datetime]:
        last = min(self.end - timedelta(microseconds=1), until or self.end)
        count = (last - START) // timedelta(seconds=self.every) + 1
        return [START + timedelta(seconds=self.every) * place for place in range(count)]


async def lay(store: Database, count: int, span: timedelta, **changes: Any) -> list[Course]:
    """Schedules of different temper, all with their first instant at START."""
    clock = FastClock(START - timedelta(seconds=1), time.monotonic(), 0)
    cases = use_cases(store, clock, MemoryFeed(), Marks())
    courses = []
    for number in range(count):
        every, end = 1 + number % 3, START + span
        raw = {
            "name": f"Course {number}",
            "type": "interval",
            "interval_seconds": every,
            "start_at": START.isoformat(),
            "end_at": end.isoformat(),
            "action": {"kind": racer.KIND},
            "retry_policy": {"strategy": "fixed", "max_retries": 100, "delay_seconds": 0, "jitter": 0},
            **TEMPERS[number % len(TEMPERS)],
            **changes,
        }
        courses.append(Course(await cases[Schedules].create(LOCAL, raw), every, end))
    return courses


TEMPERS: list[dict[str, Any]] = [
    {"overlap": "allow_all", "catchup": {"mode": "all", "max_runs": 1000}},
    {"overlap": "allow_all", "catchup": {"mode": "all", "max_runs": 1000, "grace_seconds": 1}},
    {"overlap": "skip", "catchup": {"mode": "all", "max_runs": 1000}},
    {"overlap": "allow_all", "catchup": {"mode": "none", "grace_seconds": 1}},
    {"overlap": "buffer_one", "catchup": {"mode": "latest", "grace_seconds": 1}},
]


async def rows(store: Database, query: str, **values: Any) -> list[Any]:
    async with store.read() as tx:
        return list((await tx.conn.execute(text(query), values)).all())


def moment(value: Any) -> datetime:
    """As drivers give them: PostgreSQL with a zone, MariaDB without."""
    assert isinstance(value, datetime)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


async def accounts(store: Database) -> dict[str, tuple[Counter[datetime], list[tuple[datetime, datetime, int]]]]:
    """By schedule: how many runs each instant has, and the ledger's ranges. From raw rows."""
    found: dict[str, tuple[Counter[datetime], list[tuple[datetime, datetime, int]]]] = defaultdict(
        lambda: (Counter(), [])
    )
    for schedule_id, at in await rows(store, "SELECT schedule_id, scheduled_for FROM runs"):
        found[schedule_id][0][moment(at)] += 1
    for schedule_id, first, last, count in await rows(
        store, "SELECT schedule_id, first_at, last_at, count AS counted FROM ledger"
    ):
        found[schedule_id][1].append((moment(first), moment(last), int(count)))
    return found


def faults(
    runs: Mapping[datetime, int], ledger: list[tuple[datetime, datetime, int]], expected: list[datetime]
) -> list[str]:
    """What is wrong with a schedule's account, instant by instant; nothing, when it is sound."""
    wrong = [f"{at} has {count} runs" for at, count in runs.items() if count > 1]
    wrong += [f"{at} is no instant" for at in runs if at not in expected]
    covered = Counter(runs.keys())
    for first, last, count in ledger:
        within = [at for at in expected if first <= at <= last]
        if len(within) != count:
            wrong.append(f"{first} to {last} counts {count}, but holds {len(within)} instants")
        covered.update(within)
    wrong += [f"{at} is accounted for {covered[at]} times" for at in expected if covered[at] != 1]
    return wrong


async def until(settled: Callable[[], Any], track: Track, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not await settled():
        assert not track.crashed(), track.crashed()
        assert time.monotonic() < deadline, "the race did not settle"
        await asyncio.sleep(0.1)


# --- the races --------------------------------------------------------------------------------------------------------


async def test_tickers_that_are_killed_settle_every_instant_once(server_database_url: str, track: Track) -> None:
    span, speed, chance = timedelta(seconds=120), 20.0, random.Random(1)
    async with open_store(server_database_url) as store:
        courses = await lay(store, 40, span)
        began = time.monotonic() + 0.5
        clocks = [FastClock(START, began, speed, skew=number * 0.2) for number in range(4)]
        for number, clock in enumerate(clocks):
            track.enter(f"ticker-{number}", racer.tick, server_database_url, clock, str(track.notes))
        cursors: dict[str, datetime] = {}
        moves = 0

        async def watch() -> bool:
            """The cursor only moves forward; true when every schedule has come to its end."""
            nonlocal moves
            found = await rows(store, "SELECT id, next_at FROM schedules WHERE next_at IS NOT NULL")
            for schedule_id, next_at in found:
                at = moment(next_at)
                assert cursors.get(schedule_id, at) <= at, "a cursor moved back"
                moves += cursors.get(schedule_id) != at
                cursors[schedule_id] = at
            return not found

        while time.monotonic() - began < span.total_seconds() / speed:
            await asyncio.sleep(chance.uniform(0.1, 0.3))
            await watch()
            assert not track.crashed(), track.crashed()
            track.kill(chance.choice(sorted(track.running)))
        await until(watch, track)
        track.close()

        found = await accounts(store)
        wrong = {one.schedule.id: faults(*found[one.schedule.id], one.instants()) for one in courses}
        assert not any(wrong.values()), wrong
        assert {status for (status,) in await rows(store, "SELECT status FROM schedules")} == {"completed"}
        proof = await use_cases(store, clocks[0], MemoryFeed(), Marks())[LedgerVerifier].prove(LOCAL)
        assert not proof.holes
        assert proof.instants == sum(len(one.instants()) for one in courses)
    assert track.kills >= 10
    assert moves >= 100


async def all_ended(store: Database) -> bool:
    return not await rows(store, "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1")


async def raced(store: Database, track: Track, began: float) -> bool:
    """Somebody was too late and was refused, and somebody's run was taken back; or there is nothing left."""
    assert time.monotonic() - began < PATIENCE, "too little happened"
    lost = await rows(store, "SELECT run_id FROM attempts WHERE outcome = 'lost' LIMIT 1")
    refused = any(line[0] == "refused" for line in track.lines())
    enough = bool(lost) and refused and track.kills >= 5 and track.freezes >= 2
    return time.monotonic() - began > RACE and (enough or await all_ended(store))


async def test_claimers_that_die_and_freeze_never_share_a_run(server_database_url: str, track: Track) -> None:
    chance = random.Random(2)
    async with open_store(server_database_url) as store:
        courses = await lay(store, 10, timedelta(seconds=30), overlap="allow_all", catchup={"grace_seconds": 3600})
        clock = FastClock(START + timedelta(minutes=2), time.monotonic(), 1)
        await _fire(store, clock.now())
        for number in range(4):
            track.enter(f"claimer-{number}", racer.claim, server_database_url, clock, str(track.notes), LEASE, True)
        for number in range(2):
            track.enter(f"janitor-{number}", racer.sweep, server_database_url, clock, str(track.notes))
        thawing: list[asyncio.Task[None]] = []
        began = time.monotonic()
        while not await raced(store, track, began):
            await asyncio.sleep(chance.uniform(0.1, 0.25))
            assert not track.crashed(), track.crashed()
            if chance.random() < 0.4 and len(thawing) < 8:
                thawing.append(asyncio.create_task(track.freeze(f"claimer-{len(thawing) % 2}", LEASE + 0.5)))
            else:
                track.kill(chance.choice(["claimer-2", "claimer-3", "janitor-0"]))
        await asyncio.gather(*thawing)
        # With a lease that nobody oversteps the rest ends, however slow the machine is.
        for number in range(4):
            track.replace(f"claimer-{number}", server_database_url, clock, str(track.notes), LONG_LEASE, False)
        await until(partial(all_ended, store), track)
        track.close()

        history = History.read(track.lines())
        states = dict(await rows(store, "SELECT id, state FROM runs"))
        tokens = {run: token.strip('"') for run, token in await rows(store, "SELECT id, result FROM runs")}
        assert set(states.values()) == {"success"}
        assert len(states) == sum(len(one.instants()) for one in courses)
        assert history.overlaps() == []
        assert history.stale_but_accepted() == []
        # Each run was ended by exactly one attempt, and its row says which. A process that was killed after its commit
        # and before its line has said nothing, so a run may lack a line; it may not have two.
        assert history.accepted_twice() == []
        assert all(tokens[run] in history.accepted.get(run, [tokens[run]]) for run in states)
        assert set(history.starts) >= set(states)
        lost = await rows(store, "SELECT count(*) FROM attempts WHERE outcome = 'lost'")
        assert lost[0][0] > 0
    assert history.refused > 0
    assert track.kills >= 5 + 4
    assert track.freezes >= 2


async def test_no_run_appears_after_a_pause_or_a_deletion(server_database_url: str, track: Track) -> None:
    speed, chance = 30.0, random.Random(3)
    async with open_store(server_database_url) as store:
        courses = await lay(store, 24, timedelta(hours=1))
        began = time.monotonic()
        clock = FastClock(START, began, speed)
        for number in range(3):
            skewed = FastClock(START, began, speed, skew=number * 0.3)
            track.enter(f"ticker-{number}", racer.tick, server_database_url, skewed, str(track.notes))
        cases = use_cases(store, clock, MemoryFeed(), Marks())
        stopped: dict[str, tuple[datetime, set[datetime]]] = {}
        for one in chance.sample(courses, len(courses)):
            await asyncio.sleep(chance.uniform(0.02, 0.16))
            schedule_id = one.schedule.id
            if chance.random() < 0.5:
                await cases[Schedules].pause(LOCAL, schedule_id)
            else:
                await cases[Schedules].delete(LOCAL, schedule_id)
            ((at,),) = await rows(
                store, "SELECT updated_at FROM schedules WHERE id = :id AND next_at IS NULL", id=schedule_id
            )
            stopped[schedule_id] = moment(at), set((await accounts(store))[schedule_id][0])
        await asyncio.sleep(0.5)
        assert not track.crashed(), track.crashed()
        track.close()

        found = await accounts(store)
        for one in courses:
            at, seen = stopped[one.schedule.id]
            runs, ledger = found[one.schedule.id]
            assert set(runs) == seen, "a run appeared after the answer"
            assert faults(runs, ledger, one.instants(until=at)) == []
        assert (await cases[LedgerVerifier].prove(LOCAL)).holes == []
        assert any(seen for _, seen in stopped.values())


async def _fire(store: Database, now: datetime) -> None:
    from foliot.engine.model.settle import settle

    async with store.begin() as tx:
        due, _ = await SqlFiring(tx).lock_due(now, 1000)
        await SqlFiring(tx).record([settle(one, now) for one in due], now)


# --- what the claimers wrote down -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """One attempt's effect: keyed by its token, for two racing claims could share a number."""

    token: str
    epoch: int
    start: float
    end: float
    """When its effect or its lease ended, whichever came first."""


@dataclass
class History:
    """The effects, as the claimers wrote them down outside the database."""

    starts: dict[str, list[Held]] = field(default_factory=lambda: defaultdict(list))
    accepted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    finishes: list[tuple[str, int, float]] = field(default_factory=list)
    refused: int = 0

    @classmethod
    def read(cls, lines: list[list[str]]) -> History:
        history = cls()
        ends = {(line[1], line[3]): float(line[5]) for line in lines if line[0] == "end"}
        for word, run, epoch, token, lease_end, *at in lines:
            if word == "start":
                over = min(ends.get((run, token), float("inf")), float(lease_end))
                history.starts[run].append(Held(token, int(epoch), float(at[0]), over))
            elif word == "accepted":
                history.accepted[run].append(token)
                history.finishes.append((run, int(epoch), float(at[0])))
            elif word == "refused":
                history.refused += 1
        return history

    def overlaps(self) -> list[tuple[str, Held, Held]]:
        """Two attempts of a run at work while both had a lease."""
        found = []
        for run, held in self.starts.items():
            working = sorted((one for one in held if one.start < one.end), key=lambda one: one.start)
            found += [(run, one, other) for one, other in pairwise(working) if other.start < one.end]
        return found

    def accepted_twice(self) -> list[str]:
        return [run for run, tokens in self.accepted.items() if len(tokens) > 1]

    def stale_but_accepted(self) -> list[tuple[str, int]]:
        """A finish that counted although a later attempt had begun."""
        return [
            (run, epoch)
            for run, epoch, at in self.finishes
            if any(other.epoch > epoch and other.start < at for other in self.starts[run])
        ]


def test_the_history_sees_two_attempts_at_once_and_a_stale_finish() -> None:
    lines = [
        "start run_1 1 tok_a 10.8 10.1",
        "start run_1 2 tok_b 11.1 10.4",
        "end run_1 1 tok_a 10.8 10.5",
        "accepted run_1 2 tok_b 11.1 10.6",
        "accepted run_1 1 tok_a 10.8 10.7",
    ]

    history = History.read([line.split() for line in lines])

    assert [run for run, _, _ in history.overlaps()] == ["run_1"]
    assert history.accepted_twice() == ["run_1"]
    assert history.stale_but_accepted() == [("run_1", 1)]


def test_the_account_sees_what_is_double_missing_and_foreign() -> None:
    instants = [START + timedelta(seconds=place) for place in range(4)]
    sound: Counter[datetime] = Counter(instants[:2])

    assert faults(sound, [(instants[2], instants[3], 2)], instants) == []
    assert faults(sound + Counter(instants[:1]), [(instants[2], instants[3], 2)], instants)
    assert faults(sound, [(instants[2], instants[2], 1)], instants)
    assert faults(sound, [(instants[1], instants[3], 3)], instants)
    assert faults(sound, [(instants[2], instants[3], 3)], instants)
    assert faults(sound + Counter([START + timedelta(seconds=0.5)]), [(instants[2], instants[3], 2)], instants)
