"""The demo: believable, accounted for, made once, and gone without a trace of anybody else's."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.app import build
from foliot.config.settings import Settings
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict
from foliot.core.failure_fingerprint import fingerprint
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.follows import SqlFollowUps
from foliot.features.alerts.model.alert import AlertState
from foliot.features.alerts.usecases.alerts import Alerts
from foliot.features.alerts.usecases.rules import AlertRules
from foliot.features.audit_log.chain import ChainVerifier
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.bulk.usecases import Bulks
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.demo import schema as demo_schema
from foliot.features.demo.install import PastClock
from foliot.features.demo.model.schedules import SITE, demo_schedules
from foliot.features.demo.model.site import ARTICLES, PRODUCTS, page, price
from foliot.features.demo.model.week import FAILED_NIGHTS, LETTERS, run_histories
from foliot.features.demo.usecases import BACKUP, ROTATION
from foliot.features.demo.usecases import Demo as DemoCases
from foliot.features.demo.wiring import with_own_service
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.monitors.model import MonitorStatus, PingKind, Signal
from foliot.features.monitors.usecases import Monitors, Pings
from foliot.features.pipelines.usecases.pipelines import Pipelines
from foliot.features.prices.tasks.watch import price_watch
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.sessions import schema as sessions_schema
from foliot.features.watches.usecases.fed import FedVisit
from foliot.features.watches.usecases.watches import Watches
from foliot.pages.price import find_price
from foliot.wakeups.feed import MemoryFeed
from tests.asgi import Client
from tests.declared import conforms
from tests.matrix import rows_of
from tests.services import wait_for

BASE = "http://127.0.0.1:8000"
NOW = datetime(2026, 11, 16, 6, 21, 7, tzinfo=UTC)
Start = Callable[..., Any]


def at_home(home: Path) -> Settings:
    return with_own_service(Settings.load({"FOLIOT_HOME": str(home)}), 50054)


@asynccontextmanager
async def built(settings: Settings, base: str = BASE) -> AsyncIterator[build.App]:
    """A Foliot with a demo, as `foliot up --demo` builds it, without engine and without a port."""
    app = build.build(settings, http=True, engine=False, demo=base)
    try:
        assert app.demo is not None
        await app.demo.install()
        yield app
    finally:
        await app.store.close()


@pytest.fixture(scope="module")
def furnished(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; each test has a copy."""
    home = tmp_path_factory.mktemp("demo")
    shutil.copy(migrated_sqlite, home / "foliot.db")

    async def make() -> None:
        async with built(at_home(home)):
            pass

    wait_for(make())
    return home / "foliot.db"


@pytest.fixture
def start(furnished: Path, tmp_path: Path) -> Start:
    shutil.copy(furnished, tmp_path / "foliot.db")
    return lambda base=BASE: built(at_home(tmp_path), base)


async def schedules(app: build.App) -> dict[str, Any]:
    return {one.name: one for one in await app.usecases[Schedules].list(LOCAL, PageRequest(100))}


async def test_there_are_a_dozen_schedules_of_every_kind_and_a_week_that_is_accounted_for(start: Start) -> None:
    async with start() as app:
        made = await schedules(app)
        runs = await every_run(app)
        proof = await app.usecases[LedgerVerifier].prove(LOCAL)
        now = app.clock.now()
        trail = await app.usecases[AuditLog].list(LOCAL, PageRequest(100))

    states, oldest = Counter(one.state for one in runs), min(one.created_at for one in runs)
    assert len(made) == 15
    assert {one.spec.kind for one in made.values()} == {"webhook", "task", "articles", "grpc", "pipeline"}
    assert {one.spec.type.value for one in made.values()} == {"cron", "interval", "oneoff", "after"}
    assert (proof.schedules, proof.holes) == (15, [])
    assert proof.instants > 2500
    assert states[RunState.DEAD_LETTER] == LETTERS
    assert states[RunState.FAILED] == FAILED_NIGHTS
    assert states[RunState.SUCCESS] > 2000
    assert {RunState.PARTIAL, RunState.QUEUED} <= set(states)
    assert timedelta(days=6, hours=23) < now - oldest < timedelta(days=7, hours=1)
    assert all(now - entry.at < timedelta(hours=1) for entry in trail), "the audit log is not part of the play"


async def every_run(app: build.App) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while batch := await app.usecases[Runs].list(LOCAL, PageRequest(500, cursor)):
        found += batch
        cursor = batch[-1].id
    return found


async def test_one_fails_and_one_was_paused_after_the_letters_piled_up(start: Start) -> None:
    async with start() as app:
        made = await schedules(app)
        nights = await app.usecases[Runs].list(LOCAL, PageRequest(20), schedule_id=made["nightly-prices"].id)
        letters = await app.usecases[DeadLetters].groups(LOCAL, PageRequest(100))
        events = await app.usecases[Runs].events(LOCAL, nights[0].id, 0, 100)

    assert [run.state for run in nights[: FAILED_NIGHTS + 1]] == [RunState.FAILED] * FAILED_NIGHTS + [RunState.SUCCESS]
    assert nights[0].error == {"code": "http_429", "message": "The target answered 429 Too Many Requests."}
    assert nights[0].fingerprint == fingerprint("webhook", nights[0].error, "127.0.0.1")
    assert (nights[0].attempt, nights[0].max_attempts) == (3, 3)
    assert [event.seq for event in events[1]] == list(range(1, nights[0].event_seq + 1))
    assert "attempt 3 of 3" in " ".join(event.message for event in events[1])
    assert [(group.count, group.code) for group in letters] == [(LETTERS, "http_503")]
    assert made["partner-sync"].status is ScheduleStatus.PAUSED
    assert "down" in made["partner-sync"].paused_reason


async def test_its_pipeline_says_when_it_runs_in_the_list_as_on_its_page(start: Start) -> None:
    async with start() as app:
        (listed,) = await app.usecases[Pipelines].list(LOCAL)
        one, _ = await app.usecases[Pipelines].get(LOCAL, listed.kept.name)
    assert listed.schedule is not None
    assert listed.schedule == one.schedule


async def test_there_are_as_many_letters_whenever_it_is_started(migrated_sqlite: Path, tmp_path: Path) -> None:
    shutil.copy(migrated_sqlite, tmp_path / "foliot.db")
    app = build.build(at_home(tmp_path), http=False, engine=False, demo=BASE)
    try:
        assert app.demo is not None
        # Right after a full hour: the run of that hour three hours ago had not given up yet.
        await replace(app.demo, clock=PastClock(NOW.replace(minute=0, second=20))).install()
        letters = await app.usecases[DeadLetters].groups(LOCAL, PageRequest(100))
    finally:
        await app.store.close()

    assert [group.count for group in letters] == [LETTERS]


async def test_whoever_starts_again_adds_nothing(start: Start) -> None:
    async with start() as app:
        before = await rows_of(app.store, LOCAL.tenant_id)
        assert app.demo is not None

        assert await replace(app.demo, clock=Later(app.clock.now())).install() == 0

        assert await rows_of(app.store, LOCAL.tenant_id) == before


class Later:
    """Days afterwards."""

    def __init__(self, now: datetime) -> None:
        self.moment = now + timedelta(days=2)

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0


async def test_at_another_port_it_moves_along_and_keeps_what_somebody_edited(start: Start) -> None:
    async with start() as app:
        made = await schedules(app)
        await app.usecases[Schedules].patch(LOCAL, made["quick-check"].id, {"description": "mine now"})
    async with start("http://127.0.0.1:8001") as app:
        moved = await schedules(app)
        proof = await app.usecases[LedgerVerifier].prove(LOCAL)

    assert len(moved) == 15
    assert moved["nightly-prices"].action["url"] == f"http://127.0.0.1:8001{SITE}/shop/prices"
    assert moved["partner-sync"].status is ScheduleStatus.PAUSED
    assert moved["quick-check"].description == "mine now"
    assert moved["quick-check"].action["url"] == f"http://127.0.0.1:8001{SITE}/shop", "what was edited still calls us"
    assert proof.holes == []


async def test_at_another_port_what_was_under_way_and_what_is_repeated_calls_the_new_one(start: Start) -> None:
    """Neither a run that waits, nor one of last week, nor a page that an article waits for is where it was."""
    async with start() as app:
        waiting = {
            one.schedule_name: one for one in await app.usecases[Runs].list(LOCAL, PageRequest(100), state="queued")
        }
        (failed, *_) = await app.usecases[Runs].list(LOCAL, PageRequest(1), state="failed")
        as_asked = await app.usecases[Runs].retry(LOCAL, failed.id)
    async with start("http://127.0.0.1:8001") as app:
        runs = {one.id: one for one in await app.usecases[Runs].list(LOCAL, PageRequest(100))}
        async with app.store.begin() as tx:
            claimed = await SqlClaims(tx).claim(list(runs), "worker", timedelta(seconds=30), app.clock.now())
        again = await app.usecases[Runs].list(LOCAL, PageRequest(100), state="running,queued")

    assert {"shop-prices", "news-articles"} <= set(waiting)
    assert runs[waiting["news-articles"].id].state is RunState.CANCELLED
    assert [one.schedule_name for one in again].count("news-articles") == 1, "asked for anew, where it is now"
    assert as_asked.id in {one.fence.run_id for one in claimed}
    assert not [one for one in claimed if ":8000/" in str(one.config)]


async def test_it_goes_with_everything_it_made_and_nothing_else(start: Start) -> None:
    async with start() as app:
        own = await app.usecases[Schedules].create(
            LOCAL,
            {"name": "My own", "type": "cron", "cron_expr": "0 * * * *", "payload": {"url": f"{BASE}/api/echo/x"}},
        )
        await app.usecases[Schedules].run_now(LOCAL, own.id)
        await app.usecases[Schedules].run_now(LOCAL, (await schedules(app))["stock-sync"].id)
        theirs = Caller("other", "zoe", Role.ADMIN)
        client = Client(app.asgi)
        foreign = await app.usecases[DemoCases].remove(theirs)
        about = conforms(demo_schema.DemoSummary, (await client.get("/api/demo")).json)

        removed = conforms(demo_schema.DemoRemoved, (await client.delete("/api/demo")).json)
        again = await client.delete("/api/demo")

        rows = await rows_of(app.store, LOCAL.tenant_id)
        left = {name: len(found) for name, found in rows.items() if found}
        async with app.store.read() as tx:
            counted = (await quarter_counts.kept(tx.conn), await quarter_counts.recounted(tx.conn))
        proof = await app.usecases[LedgerVerifier].prove(LOCAL)
        who = conforms(sessions_schema.SessionInfo, (await client.get("/api/session")).json)
        verdict = await app.usecases[ChainVerifier].verify(LOCAL)

    assert (foreign.schedules, foreign.runs) == (0, 0)
    assert (about.on, about.schedules, removed.schedules) == (True, 15, 15)
    assert removed.runs == about.runs
    assert again.json == {"schedules": 0, "runs": 0}
    assert counted[0] == counted[1]
    assert {name: count for name, count in left.items() if name not in {"trail", "quarter_counts", "turns"}} == {
        "schedules": 1,
        "versions": 1,
        "spans": 1,
        "runs": 1,
        "stored": 1,
    }
    assert (proof.schedules, proof.holes) == (1, [])
    assert who["demo"] is not None
    assert not who["demo"].on
    assert verdict.breaks == []


async def test_bulk_actions_go_with_what_they_acted_on(start: Start) -> None:
    async with start() as app:
        cases = app.usecases
        letters = [run.id for run in await cases[Runs].list(LOCAL, PageRequest(2), state="dead_letter")]
        hook = {"kind": "webhook", "url": "https://example.com/"}
        own = await cases[Schedules].create(
            LOCAL, {"name": "own", "type": "cron", "cron_expr": "@daily", "action": hook}
        )
        run = await cases[Schedules].run_now(LOCAL, own.id)
        (theirs, *_) = [one.id for one in (await schedules(app)).values() if one.id != own.id]
        for action, ids in (
            ("discard", letters),
            ("pause", [theirs]),
            ("cancel", [run.id]),
            ("cancel", [run.id, letters[0]]),
        ):
            await cases[Bulks].create(LOCAL, {"action": action, "ids": ids})

        await cases[DemoCases].remove(LOCAL)

        left = [(view.bulk.act.value, view.bulk.total) for view in await cases[Bulks].list(LOCAL, PageRequest())]
        async with app.store.read() as tx:
            (items,) = (await tx.conn.exec_driver_sql("SELECT count(*) FROM bulk_items")).one()
    assert left == [("cancel", 2), ("cancel", 1)]
    assert items == 3


@pytest.mark.services
async def test_it_is_the_same_on_every_database(database_url: str, tmp_path: Path) -> None:
    settings = Settings.load({"FOLIOT_HOME": str(tmp_path), "DATABASE_URL": database_url.replace("+asyncpg", "")})
    await build.migrate(settings)
    app = build.build(settings, http=False, engine=False, demo=BASE)
    try:
        assert app.demo is not None
        assert await app.demo.install() == 14
        assert await replace(app.demo, base="http://127.0.0.1:8001").install() == 0
        for one in await app.usecases[Monitors].list(LOCAL):
            await app.usecases[Pings].receive(one.key or "", Signal(PingKind.SUCCESS, "GET"))
        pinged = [one.monitor.pings for one in await app.usecases[Monitors].list(LOCAL)]
        (failed, *_) = await app.usecases[Runs].list(LOCAL, PageRequest(1), state="failed")
        again = await app.usecases[Runs].retry(LOCAL, failed.id)
        async with app.store.begin() as tx:
            (claimed,) = await SqlClaims(tx).claim([again.id], "worker", timedelta(seconds=30), app.clock.now())
        proof = await app.usecases[LedgerVerifier].prove(LOCAL)
        gone = await app.usecases[DemoCases].remove(LOCAL)
    finally:
        await app.store.close()

    assert claimed.config["url"] == f"http://127.0.0.1:8001{SITE}/shop/prices", "a run of the past calls where we are"
    assert proof.holes == []
    assert gone.schedules == 14
    assert (len(pinged), min(pinged) > 12) == (2, True)


def test_it_is_for_local_mode_alone() -> None:
    secured = Settings.load({"FOLIOT_JWT_SECRET": "x7Kq9vR2mP4wT8yB1nL6cF3hJ5sD0gAz"})

    with pytest.raises(Conflict, match="local mode"):
        with_own_service(secured, 50054)


# --- its site ---------------------------------------------------------------------------------------------------------


def test_every_page_that_the_cast_calls_is_there_but_one() -> None:
    called = [
        url
        for document in demo_schedules(BASE, {"webhook", "articles", "task"}, NOW, grpc=False).values()
        for url in _urls(document["action"])
        if SITE in url
    ]
    missing = [url for url in called if page(url.partition(SITE)[2], NOW).status != 200]

    assert len(called) == len(ARTICLES) + len(PRODUCTS) + 1 + 4
    assert [url.rpartition("/")[2] for url in missing] == ["lost-page"]
    assert all(url.startswith("http://127.0.0.1:") for url in called), "nothing leaves the machine"


def _urls(action: Any) -> list[str]:
    if isinstance(action, dict):
        return [url for value in action.values() for url in _urls(value)]
    if isinstance(action, list):
        return [url for value in action for url in _urls(value)]
    return [action] if isinstance(action, str) and action.startswith("http") else []


@pytest.mark.parametrize("sku", PRODUCTS)
def test_a_product_says_its_price_to_machines(sku: str) -> None:
    found = find_price(page(f"shop/{sku}", NOW).body)

    assert found is not None
    assert (float(found.price), found.currency) == (price(sku, NOW), "EUR")


@pytest.mark.parametrize("path", ["", "nothing", "news/", "shop/../x", "partner/orders/1", "\x00"])
def test_no_path_is_too_strange(path: str) -> None:
    assert page(path, NOW).status in {200, 404}


def test_every_life_belongs_to_somebody_of_the_cast() -> None:
    assert set(run_histories("localhost")) <= set(
        demo_schedules(BASE, {"webhook", "articles", "task", "grpc"}, NOW, grpc=True)
    )


async def test_the_site_is_only_where_the_demo_is(start: Start, tmp_path: Path) -> None:
    async with start() as app:
        with_demo = await Client(app.asgi).get(f"{SITE}/shop/hourglass")
    plain = build.build(Settings.load({"FOLIOT_HOME": str(tmp_path)}), http=True, engine=False)
    assert plain.asgi is not None
    try:
        without = await Client(plain.asgi).get(f"{SITE}/shop/hourglass")
    finally:
        await plain.store.close()

    assert (with_demo.status, without.status) == (200, 404)
    assert "script" not in with_demo.headers["content-security-policy"]


async def test_it_shows_an_open_an_acknowledged_and_a_recovered_alert_and_they_go_with_it(start: Start) -> None:
    async with start() as app:
        alerts = [one.alert for one in await app.usecases[Alerts].list(LOCAL, (), PageRequest(100))]
        (rule,) = await app.usecases[AlertRules].list(LOCAL)
        await app.usecases[DemoCases].remove(LOCAL)
        left = await app.usecases[Alerts].list(LOCAL, (), PageRequest(100))
        rules = await app.usecases[AlertRules].list(LOCAL)

    found = {(alert.subject.name, alert.event.value): alert for alert in alerts}
    assert found["nightly-prices", "failed"].state is AlertState.OPEN
    assert found["partner-sync", "failed"].state is AlertState.ACKNOWLEDGED
    assert AlertState.RESOLVED in {alert.state for alert in alerts}
    assert all(alert.run_id is not None for alert in alerts if alert.event.value == "failed")
    assert rule.settings.to == ()
    assert (left, rules) == ([], [])


async def test_it_shows_monitors_that_are_up_one_of_which_was_late_and_they_go_with_it(start: Start) -> None:
    async with start() as app:
        found = {one.monitor.settings.name: one for one in await app.usecases[Monitors].list(LOCAL)}
        instants = {
            name: await app.usecases[Monitors].instants(LOCAL, one.monitor.id, 100) for name, one in found.items()
        }
        await app.usecases[DemoCases].remove(LOCAL)
        left = await app.usecases[Monitors].list(LOCAL)

    outcomes = {name: Counter(one.outcome for one in shown) for name, shown in instants.items()}
    assert {name: one.monitor.status for name, one in found.items()} == dict.fromkeys(
        (BACKUP, ROTATION), MonitorStatus.UP
    )
    assert (outcomes[BACKUP]["late"], outcomes[ROTATION]["late"]) == (1, 0)
    assert outcomes[BACKUP]["answered"] in {5, 6}
    assert outcomes[ROTATION]["answered"] in {26, 27, 28}
    assert not any(counted["missed"] or counted["failed"] for counted in outcomes.values())
    assert left == []


async def test_the_watch_that_its_prices_feed_goes_with_it(start: Start) -> None:
    async with start() as app:
        shop = (await schedules(app))["shop-prices"]
        (run, *_) = await app.usecases[Runs].list(LOCAL, PageRequest(1), schedule_id=shop.id)
        visit = FedVisit(f"{BASE}{SITE}/shop/sundial", {"price": {"amount": "61.25", "currency": "EUR"}})
        await price_watch(app.store, MemoryFeed()).record(LOCAL.tenant_id, shop.id, run.id, [visit], app.clock.now())
        fed = await app.usecases[Watches].list(LOCAL, PageRequest(10))
        await app.usecases[DemoCases].remove(LOCAL)
        left = await app.usecases[Watches].list(LOCAL, PageRequest(10))

    assert len(fed) == 1
    assert left == []


async def test_it_has_a_chain_whose_links_go_with_it(start: Start) -> None:
    async with start() as app:
        made = await schedules(app)
        async with app.store.read(LOCAL.tenant_id) as tx:
            chain = await SqlFollowUps(tx).links_around(LOCAL.tenant_id, made["stock-index"].id)
        await app.usecases[DemoCases].remove(LOCAL)
        async with app.store.read(LOCAL.tenant_id) as tx:
            left = await SqlFollowUps(tx).links_around(LOCAL.tenant_id, made["stock-index"].id)
    assert {(link.parent_id, link.child_id) for link in chain} == {
        (made["stock-sync"].id, made["stock-index"].id),
        (made["stock-index"].id, made["stock-news"].id),
    }
    assert left == []
