"""Furnishes the demo: its schedules, their week, and the first that really run. A second time changes nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from typing import cast as as_type
from urllib.parse import urlsplit

import orjson

from foliot.demo import chain
from foliot.demo.cast import ECHO, SITE, cast
from foliot.demo.lives import lives
from foliot.demo.site import PRODUCTS, SHOP, price
from foliot.demo.week import WEEK, Night, lived
from foliot.domain.access import KEEPER, Caller, Door, Role
from foliot.domain.article import KIND as ARTICLES
from foliot.domain.schedule import Schedule, Status
from foliot.domain.trail import TrailEntry
from foliot.ports import SCHEDULES_TOPIC, Clock, Store, Trail, Transaction
from foliot.ports.past import Account
from foliot.ports.prices import Observation
from foliot.ports.tasks import Declared
from foliot.usecases.again import again
from foliot.usecases.changes import turn
from foliot.usecases.declaring import Declaring, Fate, Made
from foliot.usecases.demo import SOURCE
from foliot.usecases.runs import cancel_run
from foliot.usecases.schedules import Schedules
from foliot.usecases.trail import edited, record

DEMO = Caller(KEEPER, SOURCE, Role.SYSTEM, Door.CODE)
PAUSED = "partner-sync"
PAUSED_FOR = timedelta(hours=3)
WHY_PAUSED = "the partner's system is away; wait until they say that it is back"
SCRAPED = "shop-prices"
OWN = re.compile(rf"(https?://[^/\"]+)(?:{SITE}|{ECHO})\b")
"""Where a document calls this Foliot itself."""
AT_ONCE = ("news-articles", "shop-prices", "own-jobs", chain.SCHEDULE)
"""What is run when the demo is new, so that there is something that really happened."""


@dataclass(frozen=True, slots=True)
class Then:
    """A clock that stands at a moment of the past."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Honest:
    """The trail is no stage: what is written into it happens now, whenever the demo says that it did."""

    trail: Trail
    now: datetime

    async def add(self, entries: Sequence[TrailEntry]) -> None:
        await self.trail.add([replace(entry, at=self.now) for entry in entries])


class Staged:
    """A transaction whose trail stays honest."""

    def __init__(self, tx: Transaction, now: datetime) -> None:
        self._tx = tx
        self.trail = Honest(tx.trail, now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Furnisher:
    """Knows where this Foliot answers, and which kinds of action it has."""

    store: Store
    clock: Clock
    schedules: Schedules
    base: str
    grpc: bool
    pipelines: bool = False
    """Whether pipelines are nobody else's: a file that defines some says which there are."""

    async def furnish(self) -> int:
        """Make what is missing; answers how many schedules are new."""
        made, left = await self._make()
        new = {one.name: one.schedule for one in made if one.fate is Fate.CREATED}
        begun = {**{name: schedule.id for name, schedule in new.items() if name in AT_ONCE}, **left}
        for schedule_id in begun.values():
            await self.schedules.run_now(DEMO, schedule_id)
        self.schedules.feed.wake(SCHEDULES_TOPIC)
        return len(new)

    @again
    async def _make(self) -> tuple[Sequence[Made], Mapping[str, str]]:
        """What became of each schedule, and whose articles are to be asked for again."""
        now = self.clock.now()
        limits = await self.schedules.limiter.of(KEEPER)
        told = lives(urlsplit(self.base).hostname or "localhost")
        async with self.store.begin(KEEPER) as writing:
            tx = as_type("Transaction", Staged(writing, now))
            declared = await tx.declarations.of(KEEPER, SOURCE)
            known = {one.name for one in declared}
            made = []
            for name in self._wanted(now):
                # What has a past was made a week ago; what stands is looked at by today's clock.
                since = _since(name, now) if name in told and name not in known else now
                declaring = Declaring(schedules=replace(self.schedules, clock=Then(since)))

                def wanted(schedule: Schedule | None, name: str = name) -> Mapping[str, Any]:
                    # Whoever is there was asked for when it came to be.
                    return self._wanted(now if schedule is None else schedule.created_at)[name]

                made.append(await declaring.make(tx, DEMO, (SOURCE, name), wanted, limits))
            for one in made:
                if one.name == chain.SCHEDULE and one.fate is not Fate.DELETED:
                    schedule = one.schedule
                    site = f"{self.base}{SITE}"
                    await tx.pipelines.put(chain.kept(self.base, site, KEEPER, schedule.id, schedule.created_at))
            await self._live(tx, [one for one in made if one.fate is Fate.CREATED], now)
            left = await self._move(tx, declared, now)
        return made, left

    async def _move(self, tx: Transaction, declared: Sequence[Declared], now: datetime) -> Mapping[str, str]:
        """At another port than before, everything that calls us follows: what runs, what is repeated, what was edited.

        Articles wait for pages by their address, and are given up; answers the schedules that asked for some.
        """
        places = {place for one in declared for place in OWN.findall(orjson.dumps(one.made).decode())}
        ids = [one.schedule_id for one in declared if one.schedule_id is not None]
        for place in sorted(places - {self.base}):
            await tx.past.readdress(KEEPER, ids, f"{place}/api/", f"{self.base}/api/")
        return {} if places <= {self.base} else await _forsake(tx, ids, now)

    def _wanted(self, now: datetime) -> Mapping[str, Mapping[str, Any]]:
        kinds: Collection[str] = self.schedules.actions.kinds()
        return cast(self.base, kinds, now, grpc=self.grpc, pipelines=self.pipelines)

    async def _live(self, tx: Transaction, new: Sequence[Made], now: datetime) -> None:
        told = lives(urlsplit(self.base).hostname or "localhost")
        # Two nights ago nobody was there for half an hour.
        night = Night(now - timedelta(hours=50), now - timedelta(hours=50) + timedelta(minutes=33))
        accounts = {
            one.name: account
            for one in new
            if one.name in told
            and (account := lived(one.schedule, told[one.name], _until(one.name, now), night)) is not None
        }
        await tx.past.write(list(accounts.values()))
        if SCRAPED in accounts:
            await tx.prices.add(self._observed(accounts[SCRAPED]))
        for one in new:
            if one.name == PAUSED:
                await _pause(tx, one.schedule.id, _until(PAUSED, now))

    def _observed(self, account: Account) -> list[Observation]:
        """What its runs brought home."""
        return [
            Observation(
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


async def _forsake(tx: Transaction, schedule_ids: Sequence[str], now: datetime) -> Mapping[str, str]:
    left = {}
    for schedule_id in schedule_ids:
        schedule = await tx.schedules.get(KEEPER, schedule_id)
        if schedule is not None and schedule.spec.kind == ARTICLES:
            for run_id in await tx.runs.open_ids(schedule_id, waiting_only=False):
                await cancel_run(tx, DEMO, run_id, now)
                left[schedule.name] = schedule_id
    return left


def _since(name: str, now: datetime) -> datetime:
    """A week ago, each at another minute, so that they do not all fire at once."""
    return (now - WEEK - timedelta(minutes=sum(map(ord, name)) % 20)).replace(second=0, microsecond=0)


def _until(name: str, now: datetime) -> datetime:
    """Up to when it lived. It was paused between two full hours, in any zone: its last run had given up by then."""
    return (now - PAUSED_FOR).replace(minute=45, second=0, microsecond=0) if name == PAUSED else now


async def _pause(tx: Transaction, schedule_id: str, at: datetime) -> None:
    schedule = await tx.schedules.get(KEEPER, schedule_id, lock=True)
    if schedule is not None and schedule.status is Status.ACTIVE:
        asleep = replace(schedule, status=Status.PAUSED, paused_reason=WHY_PAUSED, paused_at=at, paused_by=DEMO.user_id)
        paused = await turn(tx, asleep, at)
        await record(tx, DEMO, at, edited("pause", schedule, paused))
