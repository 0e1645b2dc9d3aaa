"""Reads the health of schedules, many at a time, and ranks the slowest and the flakiest over a day or a week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.schedules.model.health import SHOWN, ScheduleOutcomes, ScheduleRecord, flakiest, slowest
from foliot.features.schedules.sql import SqlScheduleHealth

MOST = 100
"""Schedules that one request may name."""
CANDIDATES = 15
"""Schedules of each kind whose runs a ranking reads at least; they are chosen by scores that are kept as runs end."""
MOST_RUNS = 100
"""Runs of one schedule that a ranking counts; of more, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleHealthReader:
    """Reads the last outcomes of schedules."""

    store: Database

    @query(Verb.READ, Thing.SCHEDULE, (Verb.READ, Thing.RUN))
    async def of(self, ctx: QueryContext, schedule_ids: Sequence[str]) -> Sequence[ScheduleOutcomes]:
        """In the order asked for; schedules that do not exist, or belong to another tenant, are left out."""
        wanted = list(dict.fromkeys(schedule_ids))
        if not 1 <= len(wanted) <= MOST:
            raise Invalid("ids", f"must name 1 to {MOST} schedules, separated by commas", got=len(wanted))
        async with ctx.read() as tx:
            known = await SqlScheduleHealth(tx).names(ctx.tenant_id, wanted)
            outcomes = await SqlScheduleHealth(tx).outcomes(ctx.tenant_id, list(known), SHOWN)
        return [ScheduleOutcomes(one, outcomes.get(one, ())) for one in wanted if one in known]


class RankingPeriod(StrEnum):
    """How far back the ranking looks."""

    DAY = "24h"
    WEEK = "7d"

    @property
    def length(self) -> timedelta:
        return {RankingPeriod.DAY: timedelta(hours=24), RankingPeriod.WEEK: timedelta(days=7)}[self]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The slowest and the flakiest schedules, worst first."""

    over: RankingPeriod
    since: datetime
    slowest: Sequence[ScheduleRecord]
    flakiest: Sequence[ScheduleRecord]
    names: Mapping[str, str]
    runs: int
    whole: bool
    """Whether all runs of these schedules were counted, or only the newest of some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """Ranks the schedules with the highest scores by their newest runs, however many schedules there are."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.SCHEDULE, (Verb.READ, Thing.RUN))
    async def rank(self, ctx: QueryContext, over: RankingPeriod, most: int) -> Ranking:
        since = self.clock.now() - over.length
        async with ctx.read() as tx:
            health = SqlScheduleHealth(tx)
            ids = await health.candidates(ctx.tenant_id, since, max(CANDIDATES, 2 * most))
            records = await health.recent_records(ctx.tenant_id, ids, since, MOST_RUNS)
            slow, flaky = slowest(records, most), flakiest(records, most)
            shown = sorted({one.schedule_id for one in (*slow, *flaky)})
            names = await SqlScheduleHealth(tx).names(ctx.tenant_id, shown)
        runs = sum(record.runs for record in records)
        whole = all(record.runs < MOST_RUNS for record in records)
        return Ranking(over, since, slow, flaky, names, runs, whole)
