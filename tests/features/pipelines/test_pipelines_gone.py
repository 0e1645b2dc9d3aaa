"""What becomes of the runs of pipelines that are gone or grow old, and of faults that stand beside no pipeline."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.node_reporter import NodeReporter
from foliot.engine.sql.retention import SqlRetention
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.pipelines import schema as pipelines_schema
from foliot.features.pipelines.model import FileContents, FileFault
from foliot.features.pipelines.tables import pipeline_runs
from foliot.features.pipelines.usecases.pipelines import Pipelines
from foliot.features.runs.usecases.runs import Runs
from foliot.testing import drain
from tests.asgi import Client
from tests.callers import Names
from tests.declared import conforms
from tests.features.pipelines.test_pipelines import BY_HAND, HOURLY, House

OTHER = BY_HAND.replace("by_hand", "other")


@pytest.fixture
def house(store: Database) -> House:
    return House(store)


async def by_id(house: House) -> dict[str, RunView]:
    return {run.id: run for run in await house.runs()}


async def noted(house: House) -> set[str]:
    async with house.store.read() as tx:
        return set((await tx.conn.execute(select(pipeline_runs.c.run_id))).scalars())


async def test_what_waits_for_a_pipeline_that_is_gone_is_cancelled_and_says_why(house: House) -> None:
    await house.write(HOURLY, BY_HAND, OTHER)
    first = {(run.action or {})["pipeline"]: run for run in await house.runs()}
    by_hand = await house.cases[Pipelines].run(LOCAL, "by_hand")
    hourly = await house.cases[Pipelines].run(LOCAL, "hourly")
    await drain(house.store, house.clock, house.action)
    ended = await by_id(house)
    again = await house.cases[Runs].retry(LOCAL, by_hand.id)
    waiting = [await house.cases[Pipelines].run(LOCAL, name) for name in ("by_hand", "hourly", "other")]

    await house.write(OTHER)

    found = await by_id(house)
    for run in (again, *waiting[:2]):
        assert found[run.id].state is RunState.CANCELLED
        assert (found[run.id].error or {})["message"] == "its file no longer has the pipeline"
    assert found[waiting[2].id].state is RunState.QUEUED
    for run in (*first.values(), by_hand, hourly):
        assert found[run.id].state is ended[run.id].state is RunState.SUCCESS
    entries = await house.cases[AuditLog].list(LOCAL, PageRequest(100), verb="cancel")
    assert {entry.thing_id for entry in entries} == {again.id, waiting[0].id, waiting[1].id}


async def test_a_revision_whose_first_run_was_cancelled_has_not_had_it(house: House) -> None:
    await house.write(BY_HAND)
    (first,) = await house.runs()

    await house.write()
    assert [run.state for run in await house.runs()] == [RunState.CANCELLED]
    await house.write(BY_HAND)

    assert [run.state for run in await house.runs() if run.id != first.id] == [RunState.QUEUED]


async def test_old_runs_are_forgotten_with_their_pipeline_staying(house: House) -> None:
    await house.write(BY_HAND)
    (first,) = await house.runs()
    old = await house.cases[Pipelines].run(LOCAL, "by_hand")
    await drain(house.store, house.clock, house.action)
    waits = await house.cases[Pipelines].run(LOCAL, "by_hand")
    assert await noted(house) == {first.id, old.id, waits.id}

    async with house.store.begin() as tx:
        await SqlRetention(tx).prune(house.clock.now() + timedelta(days=365), 100, "")

    assert set(await by_id(house)) == {waits.id}
    assert await noted(house) == {first.id, waits.id}  # whose first it was decides whether there will be another
    await house.write("  # again\n", BY_HAND)
    assert set(await by_id(house)) == {waits.id}


async def test_a_file_that_cannot_be_read_is_shown_where_nothing_is_loaded(house: House) -> None:
    fault = FileFault(file="pipelines.yml", line=7, column=3, message="is no mapping", suggestion="did you mean this?")
    herald = NodeReporter(
        clock=house.clock,
        store=house.store,
        node_id="n",
        role="scheduler",
        started_at=house.clock.now(),
        report=house.reconciler.report,
        period=5,
    )
    callers = {"ada": Caller(LOCAL.tenant_id, "ada", Role.VIEWER), "eve": Caller("other", "eve", Role.ADMIN)}
    client = Client(create_app(house.cases, identity=Names(callers)))

    async def faults(name: str) -> list[dict[str, Any]]:
        await herald.run_once()
        told = await client.get("/api/pipelines", Authorization=f"Bearer {name}")
        conforms(pipelines_schema.PipelinePage, told.json)
        found: list[dict[str, Any]] = told.json["faults"]
        return found

    assert await faults("ada") == []
    house.book.sheet = FileContents(file="pipelines.yml", fault=fault)
    async with house.cases[Pipelines].feed.listen(*herald.topics) as heard:
        await house.reconciler.run_once()
        assert await heard.wait(0)  # the herald does not wait for its time

    assert await faults("ada") == [fault.to_dict()]
    assert await faults("eve") == []
    await house.write(BY_HAND, "  'no name': {}\n")  # of which there is no row either
    (nameless,) = await faults("ada")
    assert (nameless["line"], "no name" in nameless["message"]) == (3, True)
    await house.write(BY_HAND)
    assert await faults("ada") == []
