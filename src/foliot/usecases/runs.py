"""Everything that may be asked of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.domain.access import Caller, Thing, Verb, demand
from foliot.domain.errors import Conflict
from foliot.domain.event import Event
from foliot.domain.ids import RUN
from foliot.domain.run import Origin, RunState
from foliot.domain.schedule import Spec
from foliot.ports import RUNS_TOPIC, AttemptView, Clock, Feed, Page, RunRequest, RunView, Store, Transaction, run_topic
from foliot.usecases.again import again
from foliot.usecases.once import EACH_TIME, Once
from foliot.usecases.schedules import find_run, find_schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """List, look, cancel, repeat, follow."""

    store: Store
    clock: Clock
    feed: Feed
    new_id: Callable[[str], str]

    async def list(self, caller: Caller, page: Page, **filters: str | None) -> Sequence[RunView]:
        """`filters`: status, schedule_id, kind, queue."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read() as tx:
            return await tx.runs.find(caller.tenant_id, page, **filters)

    async def of_schedule(self, caller: Caller, schedule_id: str, page: Page, status: str | None) -> Sequence[RunView]:
        """The runs of one schedule, newest first."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read() as tx:
            await find_schedule(tx, caller, schedule_id)
            return await tx.runs.find(caller.tenant_id, page, schedule_id=schedule_id, status=status)

    async def get(self, caller: Caller, run_id: str) -> tuple[RunView, Sequence[AttemptView]]:
        """A run with its ended attempts."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read() as tx:
            run = await find_run(tx, caller, run_id)
            return run, await tx.runs.attempts(run_id)

    @again
    async def cancel(self, caller: Caller, run_id: str, once: Once = EACH_TIME) -> RunView:
        """A waiting run ends now, a running one is asked to stop. If it ended first, that stands."""
        demand(caller, Verb.WRITE, Thing.RUN)
        async with self.store.begin() as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            run = await find_run(tx, caller, run_id, lock=True)
            if run.state.final and run.state is not RunState.CANCELLED:
                raise Conflict(f"run {run_id} has ended: {run.state.value}")
            if not run.state.final:
                await tx.runs.cancel([run_id], now, f"cancelled by {caller.user_id}")
                if run.schedule_id is not None:
                    await tx.claims.release(now, [run.schedule_id])
                run = await find_run(tx, caller, run_id)
            await once.keep(tx, caller, run)
        self.feed.wake(RUNS_TOPIC, run_topic(run_id))
        return run

    @again
    async def retry(self, caller: Caller, run_id: str, once: Once = EACH_TIME) -> RunView:
        """A new run that does the same again and names the old one as its parent."""
        demand(caller, Verb.RUN, Thing.RUN)
        async with self.store.begin() as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            old = await find_run(tx, caller, run_id)
            if not old.state.final:
                raise Conflict(f"run {run_id} has not ended: {old.state.value}")
            run = (await repeat(tx, caller, [old], Origin.RETRY, self.new_id, now))[0]
            await once.keep(tx, caller, run)
        self.feed.wake(RUNS_TOPIC)
        return run

    async def events(self, caller: Caller, run_id: str, after: int, limit: int) -> tuple[RunView, Sequence[Event]]:
        """The run as it stands and its events after that number, read at one moment."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read() as tx:
            run = await find_run(tx, caller, run_id)
            return run, await tx.runs.events(run_id, after, limit)


async def repeat(
    tx: Transaction,
    caller: Caller,
    olds: Sequence[RunView],
    origin: Origin,
    new_id: Callable[[str], str],
    now: datetime,
) -> list[RunView]:
    """New runs that do what these did, by the version these followed."""
    requests = [
        RunRequest(
            id=new_id(RUN),
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=old.kind,
            origin=origin,
            queue=old.queue,
            priority=old.priority,
            max_attempts=old.max_attempts,
            timeout_seconds=await _timeout(tx, old),
            schedule_id=old.schedule_id,
            version=old.version,
            action=old.action,
            parent_id=old.id,
        )
        for old in olds
    ]
    await tx.runs.add(requests, now)
    return [await find_run(tx, caller, request.id) for request in requests]


async def _timeout(tx: Transaction, run: RunView) -> int | None:
    if run.schedule_id is None or run.version is None:
        return None
    spec = (await tx.schedules.specs(run.schedule_id)).get(run.version)
    return spec.timeout_seconds if isinstance(spec, Spec) else None
