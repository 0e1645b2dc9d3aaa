"""Batches of schedules on every database: set-based statements, limits, one effect per key."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.app.http import create_app
from foliot.commands.audit_sql import SqlAuditLog, trail
from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.commands.tenants_sql import SqlTenants
from foliot.core.access import LOCAL
from foliot.core.errors import InvalidMany, TooMany
from foliot.core.limits import TenantLimits
from foliot.db.database import Database
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql import tenant_limits
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import schedules, spans, versions
from foliot.features.audit_log.chain import ChainVerifier
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules import batch_schema, schema
from foliot.features.schedules.usecases import batch
from foliot.features.schedules.usecases.batch import BatchOutcome, ScheduleBatches
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import SCHEDULES_TOPIC
from tests.asgi import Client
from tests.declared import conforms
from tests.givens import statements
from tests.world import EVERY_MINUTE, HOURLY, World

CREATED, REFUSED = BatchOutcome.CREATED, BatchOutcome.REFUSED


@pytest.fixture
def world(store: Database) -> World:
    return World.on(store)


def many(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**HOURLY, "name": f"Hourly {number}", **changes} for number in range(count)]


async def create(world: World, wanted: list[Any], once: IdempotentRequest | None = None, **more: Any) -> Any:
    given = () if once is None else (once,)
    return await world.cases[ScheduleBatches].create(LOCAL, {"schedules": wanted, **more}, *given)


async def rows(world: World, table: Any) -> int:
    async with world.store.read() as tx:
        return int((await tx.conn.execute(select(func.count()).select_from(table))).scalar_one())


async def test_a_batch_is_stored_as_single_requests_would_store_it(world: World) -> None:
    wanted = [HOURLY, {**EVERY_MINUTE, "tags": ["a", "b"]}, {**HOURLY, "paused": True, "paused_reason": "later"}]
    singles = [await world.cases[Schedules].create(LOCAL, raw) for raw in wanted]

    answers = await create(world, wanted)

    for single, answer in zip(singles, answers, strict=True):
        made = await world.cases[Schedules].get(LOCAL, answer.id)
        alike: dict[str, Any] = {"id": single.id, "created_at": single.created_at, "updated_at": single.updated_at}
        assert replace(made, **alike, spec=single.spec) == replace(single, paused_at=made.paused_at)
        assert made.spec.dump() == single.spec.dump()
        async with world.store.read() as tx:
            mine, theirs = await SqlSchedules(tx).spans(made.id), await SqlSchedules(tx).spans(single.id)
            assert [replace(one, start=theirs[0].start) for one in mine] == theirs
            assert set(await SqlSchedules(tx).specs(made.id)) == {1}
    async with world.store.begin() as tx:
        kept = await SqlTenants(tx).stored_bytes(LOCAL.tenant_id)
        assert await tenant_limits.recount(tx.conn, tx.dialect, LOCAL.tenant_id) == kept
    await world.pass_time(3)
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []
    assert singles[2].status is ScheduleStatus.PAUSED


async def test_a_thousand_take_a_handful_of_statements(world: World) -> None:
    await create(world, many(1))

    with statements(world.store) as seen:
        answers = await create(world, many(1000))

    assert len(seen) <= {"postgresql": 3, "sqlite": 1, "mysql": 6}[world.store.dialect.name], seen
    assert [answer.outcome for answer in answers] == [CREATED] * 1000
    assert await rows(world, schedules) == await rows(world, versions) == await rows(world, spans) == 1001
    assert await rows(world, trail) == 1001


async def test_each_schedule_has_an_entry_in_the_audit_log(world: World) -> None:
    answers = await create(world, many(3))

    async with world.store.begin() as tx:
        await SqlAuditLog(tx).chain(100)
    async with world.store.read() as tx:
        for answer in answers:
            (entry,) = await SqlAuditLog(tx).find(LOCAL.tenant_id, PageRequest(), thing_id=answer.id)
            assert (entry.verb, (entry.became or {})["name"]) == ("create", answer.name)
    assert list((await world.cases[ChainVerifier].verify(LOCAL)).breaks) == []


async def test_one_fault_refuses_all_and_each_is_named_by_its_place(world: World) -> None:
    wanted = many(4)
    wanted[1] |= {"cron_expr": "never"}
    wanted[3] |= {"queue": "not a queue", "priority": 99}

    with pytest.raises(InvalidMany) as refused:
        await create(world, [*wanted, 7])

    assert [one.field for one in refused.value.errors] == [
        "schedules[1].cron_expr",
        "schedules[3].queue",
        "schedules[3].priority",
        "schedules[4].body",
    ]
    assert await rows(world, schedules) == await rows(world, trail) == 0


async def test_without_atomic_each_has_its_own_answer(world: World) -> None:
    wanted = many(4)
    wanted[2] |= {"cron_expr": "never"}

    answers = await create(world, wanted, atomic=False)

    assert [answer.outcome for answer in answers] == [CREATED, CREATED, REFUSED, CREATED]
    assert (answers[2].id, answers[2].error.field) == (None, "cron_expr")
    assert await rows(world, schedules) == 3


async def test_a_tenant_gets_no_more_schedules_than_its_limit(world: World) -> None:
    world.cases[Limiter].default = TenantLimits(schedules=5)
    await create(world, many(2))

    with pytest.raises(TooMany):
        await create(world, many(4))
    assert await rows(world, schedules) == 2
    answers = await create(world, many(4), atomic=False)

    assert [answer.outcome for answer in answers] == [CREATED] * 3 + [REFUSED]
    assert "limit of 5 active" in answers[3].error.message
    assert await rows(world, schedules) == 5


async def test_a_tenant_stores_no_more_bytes_than_its_limit(world: World) -> None:
    world.cases[Limiter].default = TenantLimits(stored_bytes=5000)

    with pytest.raises(TooMany):
        await create(world, many(50))
    answers = await create(world, many(50), atomic=False)

    assert {answer.outcome for answer in answers} == {REFUSED}
    assert "may store 5,000 bytes" in answers[0].error.message
    assert await rows(world, schedules) == 0
    assert {answer.outcome for answer in await create(world, many(2))} == {CREATED}


@pytest.mark.parametrize("atomic", [True, False])
async def test_one_key_has_one_effect(world: World, *, atomic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "CHUNK", 2)
    once = IdempotentRequest("k", "body", 200, lambda answers: ",".join(one.id for one in answers))

    answers = await asyncio.gather(
        *(create(world, many(5), once, atomic=atomic) for _ in range(4)), return_exceptions=True
    )

    assert await rows(world, schedules) == 5
    assert sum(isinstance(answer, AnsweredBefore) for answer in answers) == 3


async def test_parts_of_a_batch_are_transactions_of_their_own_unless_it_is_atomic(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "CHUNK", 2)
    add, calls = SqlSchedules.add_sealed, list[int]()

    async def fail(self: SqlSchedules, added: Any, *beside: Any) -> int:
        calls.append(len(added))
        if len(calls) % 3 == 0:
            raise RuntimeError("the third part cannot be stored")
        return await add(self, added, *beside)

    monkeypatch.setattr(SqlSchedules, "add_sealed", fail)

    for atomic, stored in ((True, 0), (False, 4)):
        with pytest.raises(RuntimeError):
            await create(world, many(6), atomic=atomic)
        assert await rows(world, schedules) == await rows(world, trail) == stored


async def test_schedulers_are_woken_once_it_is_committed(world: World) -> None:
    async with world.feed.listen(SCHEDULES_TOPIC) as waiter:
        with pytest.raises(InvalidMany):
            await create(world, [{}])
        assert not await waiter.wait(0)
        await create(world, many(3))
        assert await waiter.wait(5)


async def test_a_copy_keeps_the_credentials_of_its_source(world: World) -> None:
    url = "https://example.com/hook"
    given = {"action": {"kind": "webhook", "url": url, "headers": {"Authorization": "Bearer secret-of-mine"}}}
    source = await world.schedule({**{k: v for k, v in HOURLY.items() if k != "payload"}, **given})
    shown = schema.Schedule.of(source)
    copy = {**HOURLY, "id": source.id, "name": "Copy", "action": dict(shown.action)}
    del copy["payload"]

    (answer,) = await create(world, [copy])

    made = await world.cases[Schedules].get(LOCAL, answer.id)
    assert made.action["headers"] == (await world.cases[Schedules].get(LOCAL, source.id)).action["headers"]
    with pytest.raises(InvalidMany, match=r"schedules\[0\].action.headers"):
        await create(world, [{**copy, "id": "sch_" + "0" * 32}])


async def test_the_route_answers_as_it_is_declared(world: World) -> None:
    client = Client(create_app(world.cases))

    good = await client.post("/api/schedules/batch", {"schedules": many(2)})
    mixed = await client.post("/api/schedules/batch", {"schedules": [HOURLY, {"name": "x"}], "atomic": False})
    bad = await client.post("/api/schedules/batch", {"schedules": [HOURLY, {"name": "x"}]})

    for answer in (good, mixed):
        assert answer.status == 200, answer.text
        conforms(batch_schema.ScheduleBatchResult, answer.json)
    assert [one["outcome"] for one in mixed.json["items"]] == ["created", "refused"]
    assert {one["field"] for one in mixed.json["items"][1]["errors"]} >= {"type", "action"}
    assert bad.status == 422
    assert {one["field"] for one in bad.json["errors"]} >= {"schedules[1].type", "schedules[1].action"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "schedules"),
        ({"schedules": []}, "schedules"),
        ({"schedules": {}}, "schedules"),
        ({"schedules": [{}] * 10_001}, "schedules"),
        ({"schedules": [HOURLY], "atomic": "yes"}, "atomic"),
        ({"schedules": [HOURLY], "atmoic": True}, "atmoic"),
        ([], ""),
    ],
)
async def test_a_request_that_is_no_batch_is_refused(world: World, body: Any, field: str) -> None:
    answer = await Client(create_app(world.cases)).post("/api/schedules/batch", body)

    assert answer.status == 422, answer.text
    assert answer.json["errors"][0]["field"] == field
