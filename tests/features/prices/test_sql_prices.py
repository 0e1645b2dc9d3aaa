"""Prices and declared schedules in the store, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from foliot.cluster.page_reader import AttemptInfo
from foliot.db.database import Database
from foliot.engine.model.run import Succeeded
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.runs import SqlRuns
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.sql import SqlPrices
from foliot.features.prices.tasks.cleanup import RunCleanup
from foliot.features.schedules.model.document import DeclaredSchedule
from foliot.features.schedules.sql import SqlDeclarations
from foliot.tasks import TaskContext
from foliot.testing import StoppedClock
from tests.givens import NOON, ask, claim, finish, request

DAY = timedelta(days=1)
SEEN = PriceObservation(
    tenant_id="acme",
    competitor="amazon",
    product="kettle",
    run_id="run_1",
    at=NOON,
    price=Decimal("19.99"),
    currency="EUR",
    url="https://shop.test/kettle",
    source="json_ld",
)


async def add(store: Database, *seen: PriceObservation) -> None:
    async with store.begin("acme") as tx:
        await SqlPrices(tx).add(seen)


async def history(store: Database, tenant_id: str = "acme", **wanted: Any) -> list[PriceObservation]:
    async with store.read(tenant_id) as tx:
        return list(await SqlPrices(tx).history(tenant_id, NOON - 365 * DAY, **wanted))


async def test_an_observation_comes_back_as_it_was(store: Database) -> None:
    odd = replace(SEEN, product="Küche 'ü' 🫖", price=Decimal("0.000001"), currency="kr", run_id="run_2")
    dear = replace(SEEN, product="yacht", price=Decimal("999999999999.999999"))

    await add(store, SEEN, odd, dear)

    assert {(one.product, one.price, one.currency, one.at, one.url, one.source) for one in await history(store)} == {
        (one.product, one.price, one.currency, one.at, one.url, one.source) for one in (SEEN, odd, dear)
    }


async def test_a_second_attempt_of_a_run_adds_nothing(store: Database) -> None:
    await add(store, SEEN)
    await add(store, replace(SEEN, price=Decimal(1), at=NOON + DAY), replace(SEEN, product="mug"))
    await add(store, replace(SEEN, product="pan"), replace(SEEN, product="pan", price=Decimal(2)))

    assert [(one.product, one.price) for one in await history(store)] == [
        ("kettle", Decimal("19.99")),
        ("mug", Decimal("19.99")),
        ("pan", Decimal("19.99")),
    ]


async def test_a_history_is_in_order_of_time_and_of_the_competitors_asked_for(store: Database) -> None:
    visits = [replace(SEEN, run_id=f"run_{day}", at=NOON + day * DAY, price=Decimal(day + 1)) for day in (2, 0, 1)]
    await add(store, *visits, replace(SEEN, competitor="walmart"), replace(SEEN, competitor="target"))

    found = await history(store, competitors=["amazon", "walmart"])

    assert [(one.competitor, one.price) for one in found] == [
        ("amazon", Decimal(1)),
        ("amazon", Decimal(2)),
        ("amazon", Decimal(3)),
        ("walmart", Decimal("19.99")),
    ]
    assert [one.price for one in await history(store, competitors=["amazon"], limit=2)] == [Decimal(2), Decimal(3)]


async def test_nobody_sees_another_tenants_prices_or_prunes_them(store: Database) -> None:
    async with store.begin() as tx:
        await SqlPrices(tx).add([SEEN, replace(SEEN, tenant_id="globex")])

    async with store.begin("globex") as tx:
        assert await SqlPrices(tx).prune("globex", NOON + DAY, 10) == 1

    assert await history(store, "globex") == []
    assert len(await history(store)) == 1


async def test_old_prices_go_in_steps_and_new_ones_stay(store: Database) -> None:
    await add(store, *(replace(SEEN, run_id=f"run_{day}", at=NOON - day * DAY) for day in range(10)))
    async with store.begin("acme") as tx:
        gone = [await SqlPrices(tx).prune("acme", NOON - 2 * DAY, 3) for _ in range(4)]

    assert gone == [3, 3, 1, 0]
    assert [one.run_id for one in await history(store)] == ["run_2", "run_1", "run_0"]


DECLARED = DeclaredSchedule(
    tenant_id="acme", source="code", name="greet", schedule_id="sch_1", wanted="abc", made={"name": "Greet", "tags": []}
)


async def test_a_declaration_is_kept_until_it_is_dropped(store: Database) -> None:
    async with store.begin("acme") as tx:
        assert await SqlDeclarations(tx).take("acme", "code", "greet") is None
        await SqlDeclarations(tx).put(DECLARED)
    async with store.begin("acme") as tx:
        assert await SqlDeclarations(tx).take("acme", "code", "greet") == DECLARED
        assert list(await SqlDeclarations(tx).of("acme", "code")) == [DECLARED]
        assert list(await SqlDeclarations(tx).of("acme", "preset:x")) == []
    async with store.begin("globex") as tx:
        assert list(await SqlDeclarations(tx).of("globex", "code")) == []
    async with store.begin("acme") as tx:
        await SqlDeclarations(tx).drop("acme", "code", "greet")
        assert list(await SqlDeclarations(tx).of("acme", "code")) == []


async def test_of_two_that_declare_the_same_at_once_the_second_finds_the_firsts(store: Database) -> None:
    taken: list[DeclaredSchedule | None] = []

    async def declare(number: int) -> None:
        async with store.begin("acme") as tx:
            found = await SqlDeclarations(tx).take("acme", "code", "greet")
            taken.append(found)
            if found is None:
                await SqlDeclarations(tx).put(replace(DECLARED, schedule_id=f"sch_{number}"))

    await asyncio.gather(*(declare(number) for number in range(4)))

    assert taken.count(None) == 1
    assert len({one.schedule_id for one in taken if one is not None}) == 1


async def test_a_tenant_that_cleans_up_deletes_its_own_runs_alone(store: Database) -> None:
    ended = [request(tenant_id=tenant) for tenant in ("acme", "globex") for _ in range(5)]
    ids = await ask(store, NOON, *ended)
    for held in await claim(store, NOON, *ids):
        await finish(store, held, Succeeded(), NOON)
    await ask(store, NOON, request(tenant_id="acme"))
    clock = StoppedClock(NOON + 365 * DAY)
    heard = Heard()
    ctx = TaskContext.of(
        "cleanup",
        AttemptInfo(run_id="run_x", tenant_id="acme", schedule_id=None, attempt=1, max_attempts=1, scheduled_for=None),
        heard,
    )

    said = await RunCleanup(store=store, clock=clock, retention_days=30).run(ctx, batch=2)

    assert said["runs"] == 5
    assert heard.steps[-1] == {"runs": 5}
    async with store.read() as tx:
        assert [len(await SqlRuns(tx).find(tenant, PageRequest(50))) for tenant in ("acme", "globex")] == [1, 5]


@dataclass
class Heard:
    """What the task said."""

    steps: list[Mapping[str, Any]] = field(default_factory=list)

    def log(self, message: str, level: str) -> None:
        """Not looked at here."""

    def progress(self, data: Mapping[str, Any]) -> None:
        self.steps.append(data)
