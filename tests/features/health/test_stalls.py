"""Stalls that other processes report: the operator reads all of them, a tenant nothing of another's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.failure_fingerprint import host_in
from foliot.db.database import Database
from foliot.engine.model.stall import SlotHolder, Standstill, StandstillReason
from foliot.engine.ports import AttemptTarget
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.watchdog import LOOK
from foliot.features.health import schema as health_schema
from foliot.features.insights.model.attention import AttentionKind
from foliot.features.insights.usecases.attention import Attention
from tests.asgi import Client
from tests.declared import conforms
from tests.engine.engine_bench import Bench, Probe, hangs, recording
from tests.givens import NOON, ask, request
from tests.world import EVERY_MINUTE, World

OTHER = Caller("acme", "ada", Role.VIEWER)
TENANT = Caller(LOCAL.tenant_id, "bob", Role.VIEWER)
HELD = Standstill(
    why=StandstillReason.HOST,
    told="most slots are held by runs to one host, and other runs are waiting",
    seconds=31.0,
    holders=[SlotHolder("slow.test", "acme", 60), SlotHolder("mine.test", LOCAL.tenant_id, 4)],
)


async def report(world: World, *found: Standstill, node: str = "host-1:7:abc") -> None:
    async with world.store.begin() as tx:
        now = world.clock.now()
        told: dict[str, Any] = {"slots": 64, "free": 0, "standstills": [one.as_dict() for one in found]}
        await SqlRetention(tx).report(node, "up", now, now, told)


async def reasons(world: World, caller: Caller) -> list[str]:
    return [
        one.reason for one in (await world.cases[Attention].check(caller)).items if one.kind is AttentionKind.STANDSTILL
    ]


async def test_whoever_keeps_the_house_reads_which_host_holds_the_slots(world: World) -> None:
    await report(world, HELD)
    client = Client(create_app(world.cases))

    (told,) = await reasons(world, LOCAL)
    health = (await client.get("/health/detailed")).json
    metrics = (await client.get("/metrics")).text

    assert "slow.test (60), mine.test (4)" in told
    conforms(health_schema.HealthReport, health)
    assert health["status"] == "degraded"
    assert "slow.test (60)" in health["problems"][0]
    assert [(one["reason"], one["node"]) for one in health["standstills"]] == [("host", "host-1:7:abc")]
    assert 'foliot_standstill_seconds{reason="host"} 31.0' in metrics
    assert 'foliot_standstill_seconds{reason="store"} 0.0' in metrics
    await report(world)
    assert await reasons(world, LOCAL) == []


async def test_a_tenant_reads_why_its_own_work_waits_and_no_host_of_another(world: World) -> None:
    await report(world, HELD)

    # Nothing of theirs waits: whether others' work does is not theirs to know.
    assert await reasons(world, TENANT) == []
    assert await reasons(world, OTHER) == []
    await world.schedule(EVERY_MINUTE)
    world.clock.advance(60)
    await world.tick()
    world.clock.advance(30)
    await report(world, HELD)

    (told,) = await reasons(world, TENANT)
    assert "slow.test" not in told
    assert "yours: mine.test" in told
    assert "60" not in told
    assert await reasons(world, OTHER) == []


async def test_what_concerns_everybody_everybody_reads(world: World) -> None:
    clock = Standstill(
        why=StandstillReason.CLOCK, told="the clock has jumped 86400 s ahead", seconds=12.0, detail="of db.internal"
    )
    await report(world, clock)

    (told,) = await reasons(world, OTHER)

    assert "86400 s ahead" in told
    assert "db.internal" not in told
    assert "db.internal" in (await reasons(world, LOCAL))[0]


async def test_a_process_that_is_silent_tells_nothing_any_more(world: World) -> None:
    await report(world, HELD)
    world.clock.advance(timedelta(minutes=2))

    assert await reasons(world, LOCAL) == []


async def test_a_schedule_that_is_ahead_is_named_and_blames_nobody(world: World) -> None:
    made = await world.schedule({**EVERY_MINUTE, "catchup": {"mode": "none"}})
    await world.pass_time(2)
    right = world.clock.now()
    world.clock.set(right + timedelta(days=1))
    await world.tick()
    world.clock.set(right)
    client = Client(create_app(world.cases))

    found = (await client.get("/api/attention")).json["items"]
    health = (await client.get("/health/detailed")).json

    by_kind = {one["kind"]: one for one in found}
    assert "missed" not in by_kind
    assert by_kind["ahead"]["schedule_id"] == made.id
    (mend,) = by_kind["ahead"]["actions"]
    assert made.id in health["problems"][0]
    assert health["ahead"] == [{"tenant_id": LOCAL.tenant_id, "schedule_id": made.id}]
    assert (await client.send(mend["method"], mend["path"], mend["body"])).status == 200
    assert "ahead" not in {one["kind"] for one in (await client.get("/api/attention")).json["items"]}
    assert (await client.get("/health/detailed")).json["ahead"] == []


# --- a running engine -------------------------------------------------------------------------------------------------


async def watch(bench: Bench, seconds: float) -> list[Standstill]:
    """Let time pass, the lookout and the watchdog looking as they do."""
    for _ in range(int(seconds / LOOK)):
        bench.clock.advance(LOOK)
        await bench.do("lookout", "watchdog")
    return bench.engine.watchdog.standstills()


class Aimed(Probe):
    """An action that says for which host it waits, and keeps its slot meanwhile."""

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        return AttemptTarget(host_in(config["url"]) or "")


async def test_a_host_that_hangs_and_holds_every_slot_is_named_within_half_a_minute(store: Database) -> None:
    bench = Bench(store, Aimed(hangs().does))
    bench.engine.slots.share = 1.0
    slow = {"kind": "probe", "url": "https://slow.test/hook"}
    good = {"kind": "probe", "url": "https://good.test/hook"}
    await ask(store, NOON, *(request(action=slow) for _ in range(10)))
    await bench.do("dispatcher")
    await ask(store, NOON, request(action=good))

    assert await watch(bench, 10) == []
    (told,) = await watch(bench, 20)

    assert told.why is StandstillReason.HOST
    assert told.seconds <= 35
    assert [(one.host, one.slots) for one in told.holders] == [("slow.test", 10)]
    # The report of this process carries it to every other.
    await bench.do("herald")
    world = World.on(store)
    world.clock.set(bench.clock.now())
    assert "slow.test (10)" in (await reasons(world, LOCAL))[0]
    # A slot comes free, the good one begins, and all is well.
    async with recording(bench):
        await bench.engine.executor.drain(0)
    bench.action.does = hangs().does
    async with store.begin() as tx:
        waiting = await SqlClaims(tx).ready(bench.clock.now(), None, 20)
        await SqlRuns(tx).cancel(list(waiting), bench.clock.now(), "enough")
    assert await watch(bench, 4) == []


async def test_slots_that_are_all_busy_are_no_trouble_while_nothing_waits(store: Database) -> None:
    bench = Bench(store, hangs())
    await ask(store, NOON, *(request() for _ in range(10)))
    await bench.do("dispatcher")

    assert await watch(bench, 60) == []
    async with recording(bench):
        await bench.engine.executor.drain(0)
