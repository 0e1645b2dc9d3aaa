"""Ranks the slowest and the flakiest schedules, over a day or a week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.schedules.model.ranks import ScheduleRecord, flakiest, slowest
from foliot.features.schedules.sql.health import SqlScheduleHealth

MOST_RUNS = 50_000
"""Runs that one ranking counts; of more, the newest."""


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
    """Whether all runs of the period were counted, or only the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """Ranks schedules in one pass over the newest runs, however many schedules there are."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.SCHEDULE, (Verb.READ, Thing.RUN))
    async def rank(self, ctx: QueryContext, over: RankingPeriod, most: int) -> Ranking:
        since = self.clock.now() - over.length
        async with ctx.read() as tx:
            found = await SqlScheduleHealth(tx).recent_records(ctx.tenant_id, since, MOST_RUNS)
            slow, flaky = slowest(found, most), flakiest(found, most)
            shown = sorted({one.schedule_id for one in (*slow, *flaky)})
            names = await SqlScheduleHealth(tx).names(ctx.tenant_id, shown)
        runs = sum(one.runs for one in found)
        return Ranking(over, since, slow, flaky, names, runs, runs < MOST_RUNS)
