"""Facts about the data of earlier runs, withheld items, and what was decided about them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, func, or_, select

from foliot.db.database import Database, Statements
from foliot.engine.model.run import RunState
from foliot.engine.sql import run_items
from foliot.engine.sql.tables import crawl_items, runs
from foliot.features.expectations.model.facts import (
    BASELINE_RUNS,
    QUALITY,
    QUARANTINE,
    VERDICT,
    DataFacts,
    Quarantine,
    QuarantineState,
)
from foliot.features.expectations.tables import quarantine_decisions

GOOD = (RunState.SUCCESS, RunState.PARTIAL)
PAGE = 1000
"""Items that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuality:
    """The facts about the data of one run, and its verdict."""

    run_id: str
    state: RunState
    at: datetime
    facts: DataFacts | None
    verdict: Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True, slots=True)
class SqlExpectations(Statements):
    """Reads facts and decides about withheld data."""

    async def baseline(self, tenant_id: str, schedule_id: str | None) -> list[DataFacts]:
        """The facts of the newest good runs of a schedule, newest first."""
        if schedule_id is None:
            return []
        passed = await self.series(tenant_id, schedule_id, BASELINE_RUNS, good=True)
        return [run.facts for run in passed if run.facts is not None]

    async def series(self, tenant_id: str, schedule_id: str, limit: int, *, good: bool = False) -> list[RunQuality]:
        """The newest ended runs of a schedule, newest first."""
        # As in `SqlRuns.find`: the schedule's index leads straight to them, the tenant's would not.
        mine = (runs.c.schedule_id == schedule_id, func.coalesce(runs.c.tenant_id, "") == tenant_id)
        states = GOOD if good else (*GOOD, RunState.DEGRADED)
        query = select(runs.c.id, runs.c.state, runs.c.finished_at, runs.c.result).where(
            *mine, runs.c.state.in_([state.value for state in states])
        )
        rows = await self.conn.execute(query.order_by(runs.c.id.desc()).limit(limit))
        return [_quality(row) for row in rows]

    async def withheld(self, tenant_id: str, run_id: str) -> Quarantine | None:
        """What became of the data of a degraded run; None when the run is not degraded."""
        query = (
            select(runs.c.id, runs.c.result, quarantine_decisions)
            .select_from(runs.outerjoin(quarantine_decisions, quarantine_decisions.c.run_id == runs.c.id))
            .where(runs.c.id == run_id, runs.c.tenant_id == tenant_id, runs.c.state == RunState.DEGRADED.value)
        )
        row = (await self.conn.execute(query)).first()
        if row is None:
            return None
        result = row.result if isinstance(row.result, Mapping) else {}
        items = (result.get(QUARANTINE) or result.get(QUALITY) or {}).get("items", 0)
        return Quarantine(
            run_id=row.id,
            state=QuarantineState.HELD if row.state is None else QuarantineState(row.state),
            items=int(items),
            decided_at=row.decided_at,
            decided_by=row.decided_by,
            release_id=row.release_id,
        )

    async def decide(self, tenant_id: str, decision: Quarantine) -> None:
        columns = {
            "run_id": [decision.run_id],
            "tenant_id": [tenant_id],
            "state": [decision.state.value],
            "decided_at": [decision.decided_at],
            "decided_by": [decision.decided_by],
            "release_id": [decision.release_id],
        }
        await self.dialect.insert(self.conn, quarantine_decisions, columns)

    async def released(self, after: tuple[datetime, str], limit: int) -> list[tuple[datetime, str]]:
        """Runs of all tenants whose data were released after this decision, in the order of the decisions."""
        at, run_id = quarantine_decisions.c.decided_at, quarantine_decisions.c.run_id
        later = or_(at > after[0], and_(at == after[0], run_id > after[1]))
        query = select(at, run_id).where(quarantine_decisions.c.state == QuarantineState.RELEASED.value, later)
        rows = await self.conn.execute(query.order_by(at, run_id).limit(limit))
        return [(row.decided_at, row.run_id) for row in rows]

    async def lock_run(self, tenant_id: str, run_id: str) -> bool:
        """Serialises decisions about one run; answers whether it is stored."""
        query = select(runs.c.id).where(runs.c.id == run_id, runs.c.tenant_id == tenant_id)
        return (await self.conn.execute(self.dialect.lock(query))).first() is not None

    async def keep(self, tenant_id: str, run_id: str, items: Sequence[Any]) -> None:
        """Append withheld items to the items of the run's current attempt."""
        if await self.lock_run(tenant_id, run_id):
            await run_items.write_items(self.conn, self.dialect, [(tenant_id, run_id, items)])

    async def attempt_of(self, tenant_id: str, run_id: str) -> int | None:
        """The number of the attempt whose items were kept."""
        query = select(func.max(crawl_items.c.attempt)).where(
            crawl_items.c.run_id == run_id, crawl_items.c.tenant_id == tenant_id
        )
        number: int | None = await self.conn.scalar(query)
        return number

    async def read(self, tenant_id: str, run_id: str, attempt: int, skip: int) -> Sequence[Any]:
        place = (tenant_id, run_id, attempt)
        return (await run_items.read_items(self.conn, place, skip, PAGE)).items

    async def drop_items(self, tenant_id: str, run_id: str) -> None:
        mine = (crawl_items.c.run_id == run_id, crawl_items.c.tenant_id == tenant_id)
        await self.conn.execute(delete(crawl_items).where(*mine))


async def stored_items(store: Database, tenant_id: str, run_id: str) -> AsyncIterator[Any]:
    """The items of a run's newest attempt that has any, a page at a time."""
    async with store.read(tenant_id) as tx:
        attempt = await SqlExpectations(tx).attempt_of(tenant_id, run_id)
    skip = 0
    while attempt is not None:
        async with store.read(tenant_id) as tx:
            page = await SqlExpectations(tx).read(tenant_id, run_id, attempt, skip)
        if not page:
            return
        for item in page:
            yield item
        skip += len(page)


def _quality(row: Any) -> RunQuality:
    result = row.result if isinstance(row.result, Mapping) else {}
    return RunQuality(
        run_id=row.id,
        state=RunState(row.state),
        at=row.finished_at,
        facts=DataFacts.of_result(result),
        verdict=result.get(VERDICT),
    )
