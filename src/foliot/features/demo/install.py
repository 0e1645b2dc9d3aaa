"""Installs the demo: its schedules, a week of generated history, and first real runs. Idempotent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import orjson

from foliot.commands.envelope import CommandContext, unchecked_command
from foliot.core.access import KEEPER, Caller, Interface, Role
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.articles.model import KIND as ARTICLES
from foliot.features.demo.model import pipeline
from foliot.features.demo.model.schedules import ECHO, SITE, TAG, demo_schedules
from foliot.features.demo.model.site import PRODUCTS, SHOP, price
from foliot.features.demo.model.week import WEEK, Outage, PastAccount, run_histories, settled_week
from foliot.features.demo.past_alerts import add_alerts, demo_rule
from foliot.features.demo.past_pings import add_monitors
from foliot.features.demo.sql import SqlPast
from foliot.features.demo.usecases import SOURCE
from foliot.features.monitors.usecases import Monitors
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.sql import SqlPrices
from foliot.features.runs.usecases.runs import cancel_run
from foliot.features.schedules.model.document import DeclaredSchedule, edited
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.change import turn
from foliot.features.schedules.usecases.declared import DeclarationOutcome, DeclarationResult, Declarations
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import Feed

DEMO = Caller(KEEPER, SOURCE, Role.SYSTEM, Interface.CODE)
PAUSED = "partner-sync"
PAUSED_FOR = timedelta(hours=3)
WHY_PAUSED = "the partner's system is down; wait until they report it is back"
SCRAPED = "shop-prices"
OWN = re.compile(rf"(https?://[^/\"]+)(?:{SITE}|{ECHO})\b")
"""URLs of this server itself in a document."""
AT_ONCE = ("stock-sync", "news-articles", "shop-prices", "own-jobs", pipeline.SCHEDULE)
"""Schedules that are run when the demo is installed, so that there are real runs too."""


@dataclass(frozen=True, slots=True)
class PastClock:
    """A clock that stands at a moment of the past."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoInstaller:
    """Creates the demo's schedules at this server's own address, for the kinds of action that it has."""

    store: Database
    clock: Clock
    schedules: Schedules
    monitors: Monitors
    base: str
    grpc: bool
    pipelines: bool = False
    """Whether the demo may define its pipeline: not when a file defines the tenant's pipelines."""

    @property
    def feed(self) -> Feed:
        return self.schedules.feed

    async def install(self) -> int:
        """Create what is missing; returns how many schedules are new."""
        made, left = await self._make(DEMO)
        new = {one.name: one.schedule for one in made if one.fate is DeclarationOutcome.CREATED}
        begun = {**{name: schedule.id for name, schedule in new.items() if name in AT_ONCE}, **left}
        for schedule_id in begun.values():
            await self.schedules.run_now(DEMO, schedule_id)
        return len(new)

    @unchecked_command
    async def _make(self, ctx: CommandContext) -> tuple[Sequence[DeclarationResult], Mapping[str, str]]:
        """The result for each schedule, and the schedules whose articles are to be requested again."""
        histories = run_histories(urlsplit(self.base).hostname or "localhost")
        tx = await ctx.begin(self.schedules.limiter)
        # Schedules are created in the past; the audit log has the time at which that was done.
        now = ctx.audit_time = ctx.now
        declared = await SqlDeclarations(tx).of(KEEPER, SOURCE)
        known = {one.name for one in declared}
        made = []
        for name in self._wanted(now):
            # Schedules with a history were created a week ago; existing ones are compared by today's clock.
            since = _since(name, now) if name in histories and name not in known else now
            declaring = Declarations(schedules=replace(self.schedules, clock=PastClock(since)))

            def wanted(schedule: Schedule | None, name: str = name) -> Mapping[str, Any]:
                # An existing schedule's articles were requested when it was created.
                return self._wanted(now if schedule is None else schedule.created_at)[name]

            made.append(await declaring.make(ctx, (SOURCE, name), wanted))
        for one in made:
            if one.name == pipeline.SCHEDULE and one.fate is not DeclarationOutcome.DELETED:
                schedule = one.schedule
                site = f"{self.base}{SITE}"
                await SqlPipelines(tx).put(pipeline.kept(self.base, site, KEEPER, schedule.id, schedule.created_at))
        await self._live(ctx, [one for one in made if one.fate is DeclarationOutcome.CREATED], now)
        return made, await self._move(ctx, declared)

    async def _move(self, ctx: CommandContext, declared: Sequence[DeclaredSchedule]) -> Mapping[str, str]:
        """On another port than before, every URL of this server is rewritten: in schedules, versions and runs.

        Articles are keyed by URL, and are deleted; returns the schedules that requested some.
        """
        places = {place for one in declared for place in OWN.findall(orjson.dumps(one.made).decode())}
        ids = [one.schedule_id for one in declared if one.schedule_id is not None]
        for place in sorted(places - {self.base}):
            await SqlPast(ctx.tx).readdress(KEEPER, ids, f"{place}/api/", f"{self.base}/api/")
        return {} if places <= {self.base} else await _forsake(ctx, ids)

    def _wanted(self, now: datetime) -> Mapping[str, Mapping[str, Any]]:
        kinds: Collection[str] = self.schedules.actions.kinds()
        return demo_schedules(self.base, kinds, now, grpc=self.grpc, pipelines=self.pipelines)

    async def _live(self, ctx: CommandContext, new: Sequence[DeclarationResult], now: datetime) -> None:
        histories = run_histories(urlsplit(self.base).hostname or "localhost")
        # Two nights ago there is an outage of half an hour.
        night = Outage(now - timedelta(hours=50), now - timedelta(hours=50) + timedelta(minutes=33))
        accounts = {
            one.name: account
            for one in new
            if one.name in histories
            and (account := settled_week(one.schedule, histories[one.name], _until(one.name, now), night)) is not None
        }
        await SqlPast(ctx.tx).write(list(accounts.values()))
        if accounts:
            rule = demo_rule(KEEPER, DEMO.user_id, TAG, now - WEEK)
            await add_alerts(ctx.tx, rule, accounts, (PAUSED, DEMO.user_id), _until(PAUSED, now))
            await add_monitors(ctx.tx, self.monitors, now)
        if SCRAPED in accounts:
            await SqlPrices(ctx.tx).add(self._observed(accounts[SCRAPED]))
        for one in new:
            if one.name == PAUSED:
                await _pause(ctx, one.schedule.id, _until(PAUSED, now))

    def _observed(self, account: PastAccount) -> list[PriceObservation]:
        """The prices that its runs observed."""
        return [
            PriceObservation(
                tenant_id=KEEPER,
                competitor=SHOP,
                product=sku,
                run_id=run.id,
                at=run.created_at,
                price=Decimal(str(price(sku, run.created_at))),
                currency="EUR",
                url=f"{self.base}{SITE}/shop/{sku}",
                source="json_ld",
            )
            for run in account.runs
            for sku in PRODUCTS
        ]


async def _forsake(ctx: CommandContext, schedule_ids: Sequence[str]) -> Mapping[str, str]:
    left = {}
    for schedule_id in schedule_ids:
        schedule = await SqlSchedules(ctx.tx).get(KEEPER, schedule_id)
        if schedule is not None and schedule.spec.kind == ARTICLES:
            for run_id in await SqlRuns(ctx.tx).open_ids(schedule_id, waiting_only=False):
                await cancel_run(ctx, run_id)
                left[schedule.name] = schedule_id
    return left


def _since(name: str, now: datetime) -> datetime:
    """A week ago, each at another minute, so that they do not all fire at once."""
    return (now - WEEK - timedelta(minutes=sum(map(ord, name)) % 20)).replace(second=0, microsecond=0)


def _until(name: str, now: datetime) -> datetime:
    """The end of its history. It was paused between two full hours, in any zone: its last run had given up by then."""
    return (now - PAUSED_FOR).replace(minute=45, second=0, microsecond=0) if name == PAUSED else now


async def _pause(ctx: CommandContext, schedule_id: str, at: datetime) -> None:
    schedule = await SqlSchedules(ctx.tx).get(KEEPER, schedule_id, lock=True)
    if schedule is not None and schedule.status is ScheduleStatus.ACTIVE:
        asleep = replace(
            schedule, status=ScheduleStatus.PAUSED, paused_reason=WHY_PAUSED, paused_at=at, paused_by=DEMO.user_id
        )
        paused = await turn(ctx.tx, asleep, at)
        ctx.audit(edited("pause", schedule, paused), at=at)
