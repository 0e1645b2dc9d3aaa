"""What the tests of the core begin with: schedules, runs, and the few steps of a run's life."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import event, insert, select, text

from foliot.core.ids import RUN, SCHEDULE, new_id
from foliot.core.time.trigger import FixedInterval, Rule, Trigger
from foliot.db.database import Database, Transaction
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import Ended, Event, EventLine, Origin, RunState
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap, Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import DueSchedule, SchedulePlan, settle
from foliot.engine.model.views import ClaimedRun, EndingsResult, RunRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedule_rows import ScheduleTurn, columns_of
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import runs, schedules, spans, versions
from foliot.features.filters.model import REPLAYABLE, FilterQuery, FilterTerm
from foliot.features.filters.sql.runs import RunConditions
from foliot.testing import StoppedClock

NOON = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
LEASE = timedelta(seconds=30)
TENANT = "acme"

NO_SPREAD = RetryPolicy(delay_seconds=10, jitter=0)


def spec(rule: Rule | None = None, **changes: Any) -> ScheduleSpec:
    """Every minute from noon, and nobody skipped, unless said otherwise."""
    window = {name: changes.pop(name, None) for name in ("start_at", "end_at")}
    trigger = Trigger(rule or FixedInterval(60, NOON), **window)
    standing: dict[str, Any] = {"kind": "probe", "overlap": Overlap.ALLOW_ALL, "retry": NO_SPREAD}
    return ScheduleSpec(trigger=trigger, **{**standing, **changes})


def catch_up(mode: CatchupMode = CatchupMode.ALL, **changes: Any) -> Catchup:
    return Catchup(mode, **{"window_seconds": 86_400, "max_runs": 1000, **changes})


def due(one: ScheduleSpec | None = None, next_at: datetime = NOON, **changes: Any) -> DueSchedule:
    """A schedule as the ticker locks it."""
    one = one or spec()
    standing: dict[str, Any] = {"tenant_id": TENANT, "user_id": "ada", "version": 1}
    return DueSchedule("sch_1", spec=one.dump(), anchor=one.anchor, next_at=next_at, **{**standing, **changes})


def schedule(one: ScheduleSpec | None = None, *, next_at: datetime | None = NOON, **changes: Any) -> Schedule:
    """A new schedule that came into being a second before its first instant."""
    born = (next_at or NOON) - SECOND
    standing: dict[str, Any] = {
        "id": new_id(SCHEDULE),
        "tenant_id": TENANT,
        "user_id": "ada",
        "name": "Probe",
        "description": "",
        "tags": (),
        "action": {"kind": "probe", "what": "nothing"},
        "status": ScheduleStatus.ACTIVE,
        "version": 1,
        "last_run_at": None,
        "fired": 0,
        "paused_reason": "",
        "fault": None,
        "created_at": born,
        "updated_at": born,
    }
    return Schedule(spec=one or spec(), next_at=next_at, **{**standing, **changes})


async def new_version(tx: Transaction, changed: Schedule) -> None:
    """Write an edit of a schedule."""
    stored = await SqlSchedules(tx).stored(changed.tenant_id, [changed.id])
    await SqlSchedules(tx).turn([ScheduleTurn(stored[changed.id], changed)])


async def keep(store: Database, *made: Schedule) -> None:
    """Write schedules with their version and open span, however many there are."""
    rows = [{"id": one.id, "created_at": one.created_at, **columns_of(one)} for one in made]
    kept = ("tenant_id", "version", "spec", "action", "anchor", "created_at")
    async with store.begin() as tx:
        await tx.conn.execute(insert(schedules), rows)
        await tx.conn.execute(
            insert(versions), [{"schedule_id": row["id"], **{name: row[name] for name in kept}} for row in rows]
        )
        await tx.conn.execute(
            insert(spans),
            [
                {
                    "id": new_id("spa"),
                    "schedule_id": one.id,
                    "open_of": one.id,
                    "tenant_id": one.tenant_id,
                    "start_at": one.created_at,
                    "version": one.version,
                    "active": True,
                }
                for one in made
            ],
        )


def request(**changes: Any) -> RunRequest:
    """A run that somebody asked for."""
    standing: dict[str, Any] = {
        "id": new_id(RUN),
        "tenant_id": TENANT,
        "user_id": "ada",
        "kind": "probe",
        "origin": Origin.MANUAL,
        "queue": "default",
        "priority": 5,
        "max_attempts": 3,
        "timeout_seconds": None,
        "action": {"kind": "probe"},
    }
    return RunRequest(**{**standing, **changes})


async def ask(store: Database, now: datetime, *requests: RunRequest) -> list[str]:
    """Add runs, and say their ids."""
    made = requests or (request(),)
    async with store.begin() as tx:
        await SqlRuns(tx).add(made, now)
    return [one.id for one in made]


async def tick(store: Database, now: datetime) -> list[SchedulePlan]:
    """What the ticker does in one round."""
    async with store.begin() as tx:
        found, _ = await SqlFiring(tx).lock_due(now, 1000)
        open_runs = await SqlFiring(tx).open_runs([one.id for one in found])
        plans = [settle(one, now, open_runs.get(one.id, ())) for one in found]
        await SqlFiring(tx).record(plans, now)
    return plans


async def ready(store: Database, now: datetime, limit: int = 100, queues: set[str] | None = None) -> list[str]:
    async with store.read() as tx:
        return await SqlClaims(tx).ready(now, queues, limit)


async def claim(store: Database, now: datetime, *run_ids: str, worker: str = "w1") -> list[ClaimedRun]:
    async with store.begin() as tx:
        return await SqlClaims(tx).claim(run_ids, worker, LEASE, now)


async def finish(
    store: Database, claimed: ClaimedRun, outcome: Ended, now: datetime, lines: Sequence[EventLine] = ()
) -> EndingsResult:
    """End an attempt as the executor would."""
    ending = conclude(claimed, outcome, now)
    if lines:
        from dataclasses import replace

        ending = replace(ending, lines=lines)
    async with store.begin() as tx:
        return await SqlClaims(tx).finish([ending], now)


async def run_of(store: Database, run_id: str, tenant: str = TENANT) -> RunView:
    async with store.read() as tx:
        found = await SqlRuns(tx).get(tenant, run_id)
    assert found is not None, f"no run {run_id}"
    return found


async def row_of(store: Database, run_id: str) -> Mapping[str, Any]:
    """Everything the row says, also what people do not see."""
    async with store.read() as tx:
        return dict((await tx.conn.execute(select(runs).where(runs.c.id == run_id))).one()._mapping)


async def schedule_row(store: Database, schedule_id: str) -> Mapping[str, Any]:
    async with store.read() as tx:
        return dict((await tx.conn.execute(select(schedules).where(schedules.c.id == schedule_id))).one()._mapping)


async def runs_of(store: Database, schedule_id: str) -> list[Mapping[str, Any]]:
    """The schedule's runs, oldest instant first."""
    async with store.read() as tx:
        query = select(runs).where(runs.c.schedule_id == schedule_id).order_by(runs.c.scheduled_for, runs.c.id)
        return [dict(row._mapping) for row in await tx.conn.execute(query)]


async def ledger_of(store: Database, schedule_id: str) -> list[LedgerEntry]:
    far = datetime(2999, 1, 1, tzinfo=UTC)
    async with store.read() as tx:
        return [entry for _, entry in await SqlSchedules(tx).ledger(schedule_id, datetime(1970, 1, 1, tzinfo=UTC), far)]


async def events_of(store: Database, run_id: str, after: int = 0, limit: int = 100_000) -> list[Event]:
    async with store.read() as tx:
        return await SqlRuns(tx).events(run_id, after, limit)


async def sql(store: Database, statement: str, **values: Any) -> int:
    """Change the database behind Foliot's back."""
    async with store.begin() as tx:
        return (await tx.conn.execute(text(statement), values)).rowcount


async def states(store: Database, *run_ids: str) -> list[RunState]:
    return [(await run_of(store, run_id)).state for run_id in run_ids]


@contextmanager
def statements(store: Database) -> Iterator[list[str]]:
    """Every statement sent meanwhile, without the frame of the transaction."""
    seen: list[str] = []
    engines = {store.engines.write.sync_engine, store.engines.read.sync_engine}

    def note(_conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        frame = statement.upper().startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT"))
        # A compound statement of MariaDB begins no transaction.
        if not frame or statement.startswith("BEGIN NOT ATOMIC"):
            seen.append(" ".join(statement.split()))

    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


def stopped(now: datetime = NOON) -> StoppedClock:
    return StoppedClock(now)


async def replayable(tx: Transaction, tenant_id: str, limit: int, *terms: FilterTerm) -> list[str]:
    """The dead letters that a replay of all that match would take, oldest first."""
    query = FilterQuery(terms).also(*REPLAYABLE)
    return await (await RunConditions.of(tx.conn, tx.dialect, tenant_id, query, NOON)).oldest(limit)
