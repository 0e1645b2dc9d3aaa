"""Executes runs: claim, perform, judge, record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot.core.errors import Unavailable
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.admission import Admission
from foliot.engine.attempts.attempt import SOFT, RunningAttempt, StopReason
from foliot.engine.attempts.attempt_log import AttemptLog, HandleWriter
from foliot.engine.attempts.conclusion import announce, conclude, task_view
from foliot.engine.attempts.parent import ParentReader, with_parent
from foliot.engine.attempts.unanswered import crashed, hopeless, stopped, timed_out, told_to_stop, unanswered
from foliot.engine.broker.publisher import Monitor
from foliot.engine.claimed_ahead import LATE, MOST, ClaimedAhead
from foliot.engine.model.outcome import given_up
from foliot.engine.model.run import AttemptError, Ended, Failed, Outcome, Parked, ParkedUpdate
from foliot.engine.model.views import ClaimedRun, PostponedRun
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ports import Action, Actions, AttemptTarget, StaleAttempt, is_watched, target_of
from foliot.engine.recorder import Recorder
from foliot.engine.slots import Slots
from foliot.engine.sql.claims import SqlClaims
from foliot.net.deadlines import Deadlines
from foliot.wakeups.feed import LINES_TOPIC, SLOTS_TOPIC, Feed

MARGIN = 0.1
"""The fraction of its lease that a worker leaves unused, so that its effect ends before the lease does."""

log = structlog.get_logger("foliot.engine")


@dataclass(slots=True, kw_only=True)
class Executor:
    """Claims ready runs and sees each attempt through to its recorded end."""

    clock: Clock
    store: Database
    feed: Feed
    actions: Actions
    recorder: Recorder
    meter: EngineCounters
    worker: str
    lease: timedelta
    secrets: Redactor = field(default_factory=Redactor, repr=False)
    """The secrets of the process itself, which are redacted in everything that is written."""
    monitor: Monitor | None = None
    flights: dict[str, RunningAttempt] = field(default_factory=dict)
    slots: Slots = field(default_factory=Slots)
    wanted: bool = False
    """Whether a dispatcher looked for a free slot and found none."""
    passed_over: int = 0
    """How many runs of the last claim were not admitted."""
    ahead: ClaimedAhead = field(default_factory=ClaimedAhead)
    deadlines: Deadlines = field(default_factory=Deadlines)
    _later: Mapping[str, str] = field(default_factory=dict)
    """Runs of the claim under way that are claimed ahead of a slot."""
    _targets: Mapping[str, AttemptTarget | None] = field(default_factory=dict)
    """The targets of the claim under way, by run."""
    _lease_timer: asyncio.TimerHandle | None = None
    """Set to when the first lease ends: one timer for all, because nearly all attempts end long before."""
    _filling: bool = False
    """Whether free slots are about to be given to those that wait."""
    _returning: bool = False

    async def take(self, run_ids: Sequence[str], room: int | None = None, ahead: int = 0) -> int:
        """Claim these runs, as far as no other worker has and there are slots for them, and start them.

        Up to `ahead` more are claimed that will have a slot in a moment.
        """
        loop = asyncio.get_running_loop()
        # Our own clock starts before the database's does, so our lease ends before the database's.
        asked_at, now = loop.time(), self.clock.now()
        claimed = await self._claim(run_ids, now, self.slots.free if room is None else room, ahead)
        for one in claimed:
            flight = self._lease(one, asked_at)
            pace = self._later.get(flight.run_id)
            if pace is None:
                self._start(flight, now)
            else:
                flight.waiting, flight.performing = True, False
                self.ahead.put(flight, pace)
        self._later = {}
        if self.ahead.count:
            self._fill_soon()
            self._return_soon()
        return len(claimed)

    async def _claim(self, run_ids: Sequence[str], now: datetime, room: int, ahead: int) -> Sequence[ClaimedRun]:
        token = new_id("tok")

        def admit(asked: Sequence[ClaimedRun]) -> Mapping[str, PostponedRun | None]:
            return self._admit(asked, room, ahead)

        self.passed_over = 0
        try:
            async with self.store.begin() as tx:
                return await SqlClaims(tx).claim(run_ids, self.worker, self.lease, now, token, admit)
        except Unavailable:
            # The claim may have been committed although the answer was lost: runs with our token are ours to perform.
            async with self.store.begin() as tx:
                claimed = await SqlClaims(tx).held(run_ids, token)
            if not claimed:
                raise
            return claimed

    def _admit(self, asked: Sequence[ClaimedRun], room: int, ahead: int) -> Mapping[str, PostponedRun | None]:
        tenants = frozenset(one.tenant_id for one in asked) if len(asked) >= room else frozenset()
        admission = Admission(self.slots, room, self.clock.now(), tenants, ahead_room=ahead, waiting=self.ahead)
        self._targets = {one.fence.run_id: self._target(one) for one in asked}
        for one in asked:
            admission.ask(one, self._targets[one.fence.run_id])
        self.passed_over = sum(wait is None for wait in admission.turned.values())
        self.wanted = self.wanted or self.passed_over > 0
        self._later = admission.later
        return admission.turned

    def _target(self, claimed: ClaimedRun) -> AttemptTarget | None:
        return None if claimed.fault is not None else target_of(self.actions.get(claimed.kind), claimed.config)

    def _lease(self, claimed: ClaimedRun, asked_at: float) -> RunningAttempt:
        limit = _limit(claimed, self.actions.get(claimed.kind))
        flight = RunningAttempt(
            claimed=claimed, clock=self.clock, base=self.secrets, claimed_at=asked_at, leased_at=asked_at, limit=limit
        )
        flight.crowded = self._crowded
        run_id = claimed.fence.run_id
        flight.target = self._targets[run_id] if run_id in self._targets else self._target(claimed)
        if (before := self.flights.get(run_id)) is not None:
            # It was claimed again, so the attempt before has lost its lease, whatever its clock says.
            before.halt(StopReason.LEASE)
        self.flights[run_id] = flight
        self.renew(flight, asked_at)
        return flight

    def _start(self, flight: RunningAttempt, now: datetime) -> None:
        claimed = flight.claimed
        flight.waiting, flight.performing = False, True
        flight.hard_at = asyncio.get_running_loop().time() + flight.limit
        self.slots.hold(flight.run_id, claimed.tenant_id, flight.target, claimed.kind)
        self.meter.start_lateness.observe((now - claimed.ready_at).total_seconds())
        if self.monitor is not None:
            self.monitor.began(task_view(claimed))
        self._spawn(flight)

    def _spawn(self, flight: RunningAttempt) -> None:
        flight.task = asyncio.create_task(self._run_attempt(flight, self.actions.get(flight.claimed.kind)))
        # Also for a task that is stopped before its first step.
        flight.task.add_done_callback(lambda _: self._land(flight))

    def _fill_soon(self) -> None:
        """Once for all slots that become free in this turn of the loop."""
        if not self._filling:
            self._filling = True
            asyncio.get_running_loop().call_soon(self._fill)

    def _fill(self) -> None:
        """Give free slots to those that were claimed ahead."""
        self._filling = False
        now = self.clock.now()
        admission = Admission(self.slots, self.slots.free, now, starts=True)
        for flight in self.ahead.begin(lambda one: self._may_start(one, admission)):
            if flight.stop is None:
                self._start(flight, now)
            else:
                self._give_up(flight, flight.stop)
        self._freed()

    def _may_start(self, flight: RunningAttempt, admission: Admission) -> bool:
        """A slot for it; and one that is not to start at all goes too."""
        claimed, target = flight.claimed, flight.target
        if target is not None and self.slots.shut(claimed.tenant_id, target.name):
            flight.halt(StopReason.UNSTARTED)
        return flight.stop is not None or admission.admits(claimed, target)

    def _return_soon(self) -> None:
        if not self._returning:
            self._returning = True
            asyncio.get_running_loop().call_later(LATE / 2, self._return_late)

    def _return_late(self) -> None:
        """What had no slot in time is handed back: another process may have one."""
        self._returning = False
        for flight in self.ahead.before(asyncio.get_running_loop().time() - LATE):
            self._give_up(flight, StopReason.UNSTARTED)
        if self.ahead.count:
            self._return_soon()

    def _give_up(self, flight: RunningAttempt, reason: StopReason) -> None:
        """End one that has not started, without a slot."""
        flight.halt(reason)
        flight.waiting = False
        self._spawn(flight)

    def hand_back(self) -> None:
        """Hand back what was claimed ahead and has not started."""
        for flight in self.ahead.before(float("inf")):
            self._give_up(flight, StopReason.SHUTDOWN)

    def renew(self, flight: RunningAttempt, asked_at: float) -> None:
        """The lease holds from `asked_at`; before it ends, the effect is stopped."""
        flight.leased_at = asked_at
        self._watch_leases(asked_at)

    def _watch_leases(self, first: float) -> None:
        """Look at the leases when one from this moment ends, or sooner."""
        until, timer = first + self.lease.total_seconds() * (1 - MARGIN), self._lease_timer
        if timer is not None and timer.when() <= until:
            return
        if timer is not None:
            timer.cancel()
        self._lease_timer = asyncio.get_running_loop().call_at(until, self._end_leases)

    def _end_leases(self) -> None:
        """Stop every attempt whose lease is over; look again when the next one ends."""
        self._lease_timer = None
        before = asyncio.get_running_loop().time() - self.lease.total_seconds() * (1 - MARGIN)
        held = [flight for flight in self.flights.values() if flight.stop is not StopReason.LEASE]
        for flight in held:
            if flight.leased_at <= before:
                flight.halt(StopReason.LEASE)
        first = min((flight.leased_at for flight in held if flight.leased_at > before), default=None)
        if first is not None:
            self._watch_leases(first)

    async def _run_attempt(self, flight: RunningAttempt, action: Action | None) -> None:
        try:
            outcome = await self._perform(flight, action) if flight.performing else told_to_stop(flight)
            self._performed(flight, outcome)
            if flight.stop is StopReason.LEASE or outcome is None:
                log.warning("lost its lease and stopped", action="lease_lost", run_id=flight.run_id)
                self.meter.stale_writes += 1
            else:
                await self._record(flight, flight.redacted(outcome))
        finally:
            self._land(flight)

    async def _perform(self, flight: RunningAttempt, action: Action | None) -> Outcome | None:
        if flight.claimed.fault is not None or flight.claimed.locked or action is None:
            return hopeless(flight.claimed)
        limit = flight.limit * SOFT
        parent = ParentReader(self.store, flight.claimed.tenant_id, flight.run_id)
        context = flight.context(timedelta(seconds=limit), HandleWriter(self.store, flight), parent)
        deadline = self.deadlines.begin(limit, flight.expire)
        ended: Ended | None
        try:
            ready = await with_parent(context)
            return ready if isinstance(ready, Failed) else _fitting(action, await action.perform(ready))
        except StaleAttempt:
            return None
        except TimeoutError as error:
            ended = timed_out(flight) if flight.stop is StopReason.TIMEOUT else crashed(flight, error)
        except asyncio.CancelledError as error:
            ended = stopped(flight, error)
        except Exception as error:  # noqa: BLE001 -- the one place where an action's surprise becomes a value
            ended = crashed(flight, error)
        finally:
            self.deadlines.end(deadline)
        return unanswered(flight, ended)

    async def _record(self, flight: RunningAttempt, outcome: Outcome) -> None:
        # In slices, as while it ran: endings are written in groups, and a group waits for its longest member.
        flight.landing = flight.full
        await flight.room()
        flight.landing = False
        while flight.writing is not None:
            await flight.writing
        await self._put(flight, outcome, cancelled=flight.stop is StopReason.CANCEL)

    async def _put(self, flight: RunningAttempt, outcome: Outcome, *, cancelled: bool = False) -> None:
        """Have it recorded, and count it."""
        now, claimed = self.clock.now(), flight.claimed
        if isinstance(outcome, Parked):
            if await self.recorder.put(park(claimed, outcome, now, lines=flight)) is None:
                self.meter.stale_writes += 1
            return
        ending = conclude(claimed, outcome, now, lines=flight.take_lines(), cancelled=cancelled)
        stored = await self.recorder.put(ending)
        if stored is None:
            self.meter.stale_writes += 1
        else:
            announce(self.meter, self.monitor, claimed, ending, stored)

    def _performed(self, flight: RunningAttempt, outcome: Outcome | None = None) -> None:
        if flight.performing:
            flight.performing = False
            self.slots.leave(flight.run_id, outcome, self.clock.now())
            if self.ahead.count:
                self._fill_soon()
            else:
                self._freed()

    def _freed(self) -> None:
        """A slot became free: wakes the dispatcher, if it found none before, unless enough wait for slots."""
        if self.wanted and self.ahead.count <= MOST // 2:
            self.wanted = False
            self.feed.wake(SLOTS_TOPIC)

    def _crowded(self) -> None:
        self.feed.wake(LINES_TOPIC)

    def _land(self, flight: RunningAttempt) -> None:
        self._performed(flight)
        if self.flights.get(flight.run_id) is flight:
            del self.flights[flight.run_id]
            if self.monitor is not None:
                self.monitor.left(flight.claimed.fence.run_id)
        self._freed()

    async def abandon(self, flight: RunningAttempt) -> None:
        """Give up on an attempt that ignored the cancellation: its time limit is over, whatever it still does."""
        flight.halt(StopReason.LEASE)
        problem = AttemptError(
            "timeout", f"did not stop when its time limit of {flight.limit:g} s had passed; abandoned"
        )
        outcome = unanswered(flight, Failed(problem))
        self._performed(flight, outcome)
        self._land(flight)
        if outcome is not None:
            await self._put(flight, outcome)

    async def finish(self) -> None:
        """Wait until every attempt has ended, however long it takes."""
        self.hand_back()
        while tasks := [flight.task for flight in self.flights.values() if flight.task is not None]:
            await asyncio.wait(tasks)

    async def drain(self, grace: float) -> int:
        """Let running attempts finish; hand back those that do not. Returns how many were handed back."""
        self.hand_back()
        tasks = [flight.task for flight in self.flights.values() if flight.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        late = [flight for flight in self.flights.values() if flight.task is not None]
        for flight in late:
            flight.halt(StopReason.SHUTDOWN)
        if late:
            await asyncio.wait([flight.task for flight in late if flight.task is not None], timeout=5)
        return len(late)


def park(claimed: ClaimedRun, outcome: Parked, now: datetime, *, lines: AttemptLog) -> ParkedUpdate:
    """A parked attempt, ready to be written."""
    return ParkedUpdate(
        fence=claimed.fence,
        handle=outcome.handle,
        poll_at=now + max(outcome.after, timedelta()),
        at=now,
        lines=lines.take_lines(),
        items=outcome.items,
        cancelling=claimed.cancel_requested,
        given_up=given_up(replay=claimed.replay),
    )


def _limit(claimed: ClaimedRun, action: Action | None) -> float:
    """The time limit of an attempt; for an action whose effect continues elsewhere, that of its start."""
    own = action.timeout.total_seconds() if action is not None else 60.0
    return own if is_watched(action) else float(claimed.timeout_seconds or own)


def _fitting(action: Action, outcome: Outcome) -> Outcome:
    if isinstance(outcome, Parked) and not is_watched(action):
        message = f"the action {action.kind!r} returned Parked, but has no look() to be checked by"
        return Failed(AttemptError("action_crashed", message), permanent=True)
    return outcome
