"""Lists of runs, jobs, dead letters, alerts and endpoints in an order: page by page what sorting everything in Python
gives, on every database."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from operator import itemgetter
from typing import Any

import pytest
from sqlalchemy import insert, update

from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.core.ids import new_id
from foliot.db.database import Transaction
from foliot.engine.model.dead_letter_sort import DEAD_LETTER_SORTS
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.run_sort import RUN_SORTS, read_run_sort
from foliot.engine.sql.tables import runs
from foliot.features.alerts.model.alert_sort import ALERT_SORTS
from foliot.features.alerts.tables import alerts
from foliot.features.endpoints.model import ENDPOINT_SORTS
from tests.asgi import Client
from tests.givens import HOUR, MINUTE, SECOND, ask, request
from tests.world import World

Row = dict[str, Any]


async def crowd(world: World, client: Client, kind: str = "webhook") -> None:
    """Runs in every state, several with equal values, and some without."""
    dice = random.Random(11)
    now = world.clock.now()
    wanted = [request(tenant_id=LOCAL.tenant_id, kind=kind) for _ in range(60)]
    await ask(world.store, now, *wanted, request(tenant_id="other", kind=kind))
    async with world.store.begin() as tx:
        for run in wanted:
            await _settle(tx, run.id, now, dice)


async def _settle(tx: Transaction, run_id: str, now: datetime, dice: random.Random) -> None:
    state = dice.choice([*RunState, RunState.SUCCESS])
    started = dice.choice([None, now + MINUTE, now + 2 * MINUTE])
    values: Row = {"state": state.value, "started_at": started}
    values["scheduled_for"] = dice.choice([None, now - HOUR, now - MINUTE])
    if state not in OPEN:
        ended = (started or now) + dice.choice([SECOND, SECOND, MINUTE])
        values |= {"finished_at": ended, "lane": None, "open_of": None}
        values["took_us"] = None if started is None else (ended - started).seconds * 10**6
    elif state is RunState.RUNNING:
        values["lane"] = None
    await tx.conn.execute(update(runs).where(runs.c.id == run_id).values(**values))


async def listed(client: Client, path: str, sort: str, size: int = 7, items: str = "items") -> list[Row]:
    """All pages."""
    found: list[Row] = []
    cursor = ""
    while True:
        mark = "&" if "?" in path else "?"
        page = await client.get(f"{path}{mark}limit={size}&sort={sort}{cursor}")
        assert page.status == 200, page.json
        found += page.json[items]
        if page.json["next_cursor"] is None:
            return found
        cursor = f"&cursor={page.json['next_cursor']}"


def by_value(rows: list[Row], value: Callable[[Row], Any], *, down: bool, newest: bool = False) -> list[str]:
    """By a value and then by id; those without one at the end, newest first."""
    there = sorted((one for one in rows if value(one) is not None), key=lambda one: str(one["id"]), reverse=newest)
    there.sort(key=value, reverse=down)
    nothing = sorted((one["id"] for one in rows if value(one) is None), reverse=True)
    return [*(one["id"] for one in there), *nothing]


VALUES: dict[str, Callable[[Row], Any]] = {
    "created_at": lambda one: one["id"],
    "scheduled_for": lambda one: one["scheduled_for"],
    "started_at": lambda one: one["started_at"],
    "duration": lambda one: one["duration_ms"],
    "state": lambda one: one["state"],
}


@pytest.mark.parametrize("q", ["", "state:success,queued,running", "-state:success kind:webhook"])
async def test_every_order_of_runs_is_that_of_all(world: World, client: Client, q: str) -> None:
    await crowd(world, client)
    every = (await client.get(f"/api/runs?limit=500&q={q.replace(' ', '%20')}")).json["items"]
    wrong = []
    for sort in RUN_SORTS:
        order = read_run_sort(sort)
        wanted = by_value(every, VALUES[order.key], down=order.down, newest=order.key == "state")
        got = [one["id"] for one in await listed(client, f"/api/runs?q={q.replace(' ', '%20')}", sort)]
        if got != wanted:
            wrong.append(sort)

    assert (wrong, len(every) > 10) == ([], True)


async def test_every_order_of_jobs_is_that_of_all(world: World, client: Client) -> None:
    await crowd(world, client, kind="crawl")
    every = {one["id"]: one for one in (await client.get("/api/runs?limit=500")).json["items"]}
    wrong = []
    got: list[str] = []
    for sort in RUN_SORTS:
        order = read_run_sort(sort)
        wanted = by_value(list(every.values()), VALUES[order.key], down=order.down, newest=order.key != "created_at")
        got = []
        for skip in range(0, 60, 9):
            page = (await client.get(f"/jobs/?kind=crawl&sort={sort}&limit=9&skip={skip}")).json
            got += [one["job_id"] for one in page["jobs"]]
        if got != wanted:
            wrong.append(sort)

    assert (wrong, len(got)) == ([], 60)


async def test_every_order_of_dead_letters_is_that_of_all_groups(world: World, client: Client) -> None:
    now = world.clock.now()
    made = [request(tenant_id=LOCAL.tenant_id) for _ in range(30)]
    await ask(world.store, now, *made)
    dice = random.Random(3)
    async with world.store.begin() as tx:
        for run in made:
            which = dice.randrange(9)
            values: Row = {"state": "dead_letter", "lane": None, "finished_at": now + which % 4 * MINUTE}
            values |= {"error": {"code": f"c{which}", "message": f"m{which}"}, "fingerprint": f"{which:012}"}
            await tx.conn.execute(update(runs).where(runs.c.id == run.id).values(**values))
    newest_of: dict[str, Callable[[Row], str]] = {
        "/api/dead-letters": lambda one: str(one["ids"][0]),
        "/api/dead-letters/groups": lambda one: str(one["sample"]["id"]),
    }
    for path, newest in newest_of.items():
        every = [{**one, "id": newest(one)} for one in (await client.get(f"{path}?limit=500")).json["items"]]
        for sort in DEAD_LETTER_SORTS:
            key = sort.removeprefix("-")
            wanted = by_value(every, itemgetter(key), down=sort.startswith("-"), newest=True)
            assert [newest(one) for one in await listed(client, path, sort, 2)] == wanted, (path, sort)


async def test_every_order_of_alerts_is_that_of_all(world: World, client: Client) -> None:
    now, dice = world.clock.now(), random.Random(5)
    async with world.store.begin() as tx:
        for place in range(30):
            state = dice.choice(["open", "acknowledged", "resolved"])
            over = state == "resolved"
            row: Row = {"id": new_id("alr"), "tenant_id": LOCAL.tenant_id, "rule_id": "rul_1", "event": "failed"}
            row |= {"severity": dice.choice(["warning", "critical"]), "state": state, "subject_kind": "schedule"}
            row |= {"subject_id": f"sch_{place}", "subject_name": dice.choice(["Zebra", "apple", "Äpfel"])}
            row |= {"summary": "", "reason": "", "open_of": None if over else f"k{place}"}
            moments = {"opened_at": now + place % 3 * MINUTE, "last_at": now + place % 5 * MINUTE}
            over_at = {"resolved_at": now if over else None}
            await tx.conn.execute(insert(alerts).values(**row, **moments, **over_at, occurrences=place % 4 + 1))
    every = (await client.get("/api/alerts?limit=500")).json["items"]
    ranks = {"warning": 1, "critical": 2, "open": 1, "acknowledged": 2, "resolved": 3}
    values: dict[str, Callable[[Row], Any]] = {
        "severity": lambda one: ranks[one["severity"]],
        "state": lambda one: ranks[one["state"]],
        "name": lambda one: one["subject"]["name"].lower(),
    }
    for sort in ALERT_SORTS:
        key = sort.removeprefix("-")
        value = values.get(key, itemgetter(key))
        wanted = by_value(every, value, down=sort.startswith("-"), newest=True)
        assert [one["id"] for one in await listed(client, "/api/alerts", sort)] == wanted, sort


LISTS = ("schedules", "runs", "dead-letters", "dead-letters/groups", "alerts", "endpoints")


@pytest.mark.parametrize("path", [*(f"/api/{name}" for name in LISTS), "/jobs/"])
async def test_an_unknown_order_is_refused_with_those_there_are(world: World, client: Client, path: str) -> None:
    refused = await client.get(f"{path}?sort=-craeted_at")

    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "sort")
    assert "must be one of" in refused.json["errors"][0]["message"]


async def test_a_cursor_belongs_to_its_order(world: World, client: Client) -> None:
    await crowd(world, client)
    cursor = (await client.get("/api/runs?limit=5&sort=-duration")).json["next_cursor"]

    for other in ("sort=duration&", "sort=state&", ""):
        refused = await client.get(f"/api/runs?{other}cursor={cursor}")
        assert (refused.status, refused.json["errors"][0]["field"]) == (422, "cursor")


async def test_endpoints_have_their_orders(world: World, client: Client) -> None:
    for sort in ENDPOINT_SORTS:
        assert (await client.get(f"/api/endpoints?sort={sort}")).status == 200
    with pytest.raises(Invalid):
        read_run_sort("--state")
