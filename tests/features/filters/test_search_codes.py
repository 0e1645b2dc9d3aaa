"""`code:` finds the same runs on every database, whatever order its collation puts letters in."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from foliot.core.access import LOCAL
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.filters.model import of_runs
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.runs.usecases.runs import Runs
from tests.world import EVERY_MINUTE, World

CODES = ("http_418", "HTTP_418", "http_4180", "http-418", "http418", "timeout", "Timeout", 'odd"one', "été")


_BY_PEOPLES_ORDER = (
    # In the place of the table until the transaction ends. Most servers compare so: bytes do not decide.
    "CREATE TEMPORARY TABLE runs ON COMMIT DROP AS SELECT * FROM runs",
    'ALTER TABLE pg_temp.runs ALTER COLUMN error TYPE text COLLATE "en-x-icu"',
)


@pytest.mark.parametrize(
    ("q", "codes"),
    [
        ("code:http_418", {"http_418", "http_4180"}),
        ("code:HTTP", {"HTTP_418"}),
        ("code:http", {"http_418", "http_4180", "http-418", "http418"}),
        ("code:t", {"timeout"}),
        ("code:timeout,Timeout", {"timeout", "Timeout"}),
        ("-code:http", {"HTTP_418", "timeout", "Timeout", 'odd"one', "été"}),
        ("code:é", {"été"}),
        ("code:e", set()),
        ("code:timeoutx", set()),
    ],
)
async def test_a_code_is_compared_as_it_is_written(store: Database, q: str, codes: set[str]) -> None:
    world = World.on(store)
    await world.schedule(EVERY_MINUTE)
    await world.pass_time(len(CODES))
    ids = sorted(run.id for run in await world.cases[Runs].list(LOCAL, PageRequest(100)))
    for run_id, code in zip(ids, CODES, strict=True):
        await world.end(run_id, RunState.FAILED, {"code": code, "message": "so it was"})
    named: dict[str, Any] = dict(zip(ids, CODES, strict=True))

    async with store.begin() as tx:
        if store.dialect.name == "postgresql":
            for statement in _BY_PEOPLES_ORDER:
                await tx.conn.execute(text(statement))
        query = of_runs({"webhook"}).read(q, world.clock.now())
        found = await SqlSearch(tx).runs(LOCAL.tenant_id, query, PageRequest(100), world.clock.now())

    assert {named[run.id] for run in found} == codes
