"""Furnishes the demo: its schedules, their week, and the first that really run. A second time changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from typing import cast as as_type
from urllib.parse import urlsplit

from foliot.demo import chain
from foliot.demo.cast import SITE, cast
from foliot.demo.lives import lives
from foliot.demo.site import PRODUCTS, SHOP, price
from foliot.demo.week import WEEK, Night, lived
from foliot.domain.access import KEEPER, Caller, Door, Role
from foliot.domain.schedule import Schedule, Status
from foliot.domain.trail import TrailEntry
from foliot.ports import SCHEDULES_TOPIC, Clock, Store, Trail, Transaction
from foliot.ports.past import Account
from foliot.ports.prices import Observation
from foliot.usecases.again import again
from foliot.usecases.changes import turn
from foliot.usecases.declaring import Declaring, Fate, Made
from foliot.usecases.demo import SOURCE
from foliot.usecases.schedules import Schedules
from foliot.usecases.trail import edited, record

DEMO = Caller(KEEPER, SOURCE, Role.SYSTEM, Door.CODE)
PAUSED = "partner-sync"
PAUSED_FOR = timedelta(hours=3)
WHY_PAUSED = "the partner's system is away; wait until they say that it is back"
SCRAPED = "shop-prices"
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
        made = await self._make()
        new = {one.name: one.schedule for one in made if one.fate is Fate.CREATED}
        for name in AT_ONCE:
            if name in new:
                await self.schedules.run_now(DEMO, new[name].id)
        self.schedules.feed.wake(SCHEDULES_TOPIC)
        return len(new)

    @again
    async def _make(self) -> Sequence[Made]:
        now = self.clock.now()
        limits = await self.schedules.limiter.of(KEEPER)
        told = lives(urlsplit(self.base).hostname or "localhost")
        async with self.store.begin(KEEPER) as writing:
            tx = as_type("Transaction", Staged(writing, now))
            known = {one.name for one in await tx.declarations.of(KEEPER, SOURCE)}
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
        return made

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
