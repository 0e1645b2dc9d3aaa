"""Schedules that call a gRPC service in another process: created over gRPC, fired by a real engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from foliot.app import build
from foliot.app.build import App
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.db.migrate import migrate
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import run_topic
from tests.asgi import Client
from tests.scraper_service import started
from tests.services import free_port, wait_for

ACTION = {
    "kind": "grpc",
    "target_service": "ScraperService",
    "target_method": "ScrapeCompetitorPrices",
    "parameters": {"competitor_ids": ["amazon"]},
}
OFTEN: dict[str, Any] = {
    "name": "Prices",
    "type": "interval",
    "interval_seconds": 1,
    "action": ACTION,
    "timeout_seconds": 20,
    "overlap": "skip",
    "retry_policy": {"strategy": "fixed", "max_retries": 100, "delay_seconds": 1, "jitter": 0},
}
LATER: dict[str, Any] = {"name": "Later", "type": "oneoff", "run_at": "2999-01-01T00:00:00Z", "action": ACTION}
LONG = 50.0


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once; a copy costs a hundredth of a migration."""
    path = tmp_path_factory.mktemp("sqlite") / "foliot.db"
    wait_for(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
def home(tmp_path: Path, migrated: Path) -> Path:
    shutil.copy(migrated, tmp_path / "foliot.db")
    return tmp_path


@asynccontextmanager
async def foliot(home: Path, place: str, *, engine: bool = True) -> AsyncIterator[App]:
    settings = Settings.load({"FOLIOT_HOME": str(home), "SCRAPER_SERVICE_URL": place})
    app = build.build(settings, http=not engine, engine=engine)
    await app.start()
    try:
        yield app
    finally:
        await app.stop(grace=1)


async def ended(app: App, run_id: str, *states: RunState) -> RunView:
    """The run, as soon as it is in one of these states."""
    async with app.feed.listen(run_topic(run_id)) as waiter:
        for _ in range(100):
            run = await app.usecases[Runs].get(LOCAL, run_id)
            if run.state in states:
                return run
            await waiter.wait(LONG / 100)
    run = await app.usecases[Runs].get(LOCAL, run_id)
    raise AssertionError(f"the run is {run.state}, not {states}: {run.error}")


async def first_run(app: App, schedule_id: str) -> RunView:
    async with app.feed.listen("runs") as waiter:
        for _ in range(100):
            found = await app.usecases[Runs].list(LOCAL, PageRequest(limit=1), schedule_id=schedule_id)
            if found:
                return found[0]
            await waiter.wait(LONG / 100)
    raise AssertionError("nothing fired")


async def test_killing_the_service_makes_runs_retry_and_its_return_makes_them_succeed(home: Path) -> None:
    calls = home / "calls"
    service = started("--calls", str(calls))
    try:
        async with foliot(home, service.place) as app:
            schedule = await app.usecases[Schedules].create(LOCAL, OFTEN)
            run = await ended(app, (await first_run(app, schedule.id)).id, RunState.SUCCESS)
            assert run.result["got"]["competitor_ids"] == ["amazon"]
            assert run.result["metadata"]["foliot-run-id"] == run.id
            assert run.result["metadata"]["foliot-schedule-id"] == schedule.id
            # Nine tenths of the limit: what is left is for stopping. Two clocks may differ by a little.
            assert 5 < run.result["seconds_left"] < 18.5

            service.stop()
            waiting = await app.usecases[Schedules].run_now(LOCAL, schedule.id)
            retrying = await ended(app, waiting.id, RunState.RETRYING)
            assert retrying.error is not None
            assert retrying.error["code"] == "grpc_unavailable"

            service = started("--calls", str(calls), port=service.port)
            recovered = await ended(app, waiting.id, RunState.SUCCESS)
            assert recovered.attempt > 1
            assert recovered.result["metadata"]["foliot-attempt"] == str(recovered.attempt)
    finally:
        service.stop()
    arrived = [json.loads(line)["metadata"]["idempotency-key"] for line in calls.read_text().splitlines()]
    assert arrived.count(waiting.id) == 1


async def test_the_door_refuses_what_the_service_does_not_know_and_accepts_what_it_cannot_ask(home: Path) -> None:
    service = started()
    try:
        async with foliot(home, service.place, engine=False) as app:
            assert app.asgi is not None
            client = Client(app.asgi)
            wrong = {**ACTION, "parameters": {"competitors": 1, "product_limit": "x"}}
            refused = await client.post("/api/schedules", {**LATER, "action": wrong})
            assert refused.status == 422
            assert {each["field"] for each in refused.json["errors"]} == {
                "action.parameters.competitors",
                "action.parameters.product_limit",
            }
            made = await client.post("/api/schedules", LATER)
            assert made.status == 201
            assert made.json["action"]["target_service"] == "scraper-service"
            place = f"/api/schedules/{made.json['id']}"
            unknown = {"action": {"target_method": "Scrape"}}
            for answer in (
                await client.patch(place, unknown),
                await client.put(place, {**LATER, "action": {**ACTION, "target_method": "Scrape"}}),
            ):
                assert answer.status == 422
                assert [each["field"] for each in answer.json["errors"]] == ["action.target_method"]
            assert (await client.patch(place, {"name": "Other"})).status == 200
            kept = (await client.get(place)).json
            assert (kept["version"], kept["action"]["target_method"]) == (2, "ScrapeCompetitorPrices")

            service.stop()
            assert (await client.post("/api/schedules", {**LATER, "action": wrong})).status == 201
            assert (
                await client.post("/api/schedules", {**LATER, "action": {**ACTION, "target_service": "x"}})
            ).status == 422
    finally:
        service.stop()


async def test_a_request_that_comes_again_gets_its_answer_whatever_the_service_says_by_then(home: Path) -> None:
    service = started()
    try:
        async with foliot(home, service.place, engine=False) as app:
            assert app.asgi is not None
            client = Client(app.asgi)
            draft = {**LATER, "action": {**ACTION, "parameters": {"product_limit": 1}}}
            made = await client.post("/api/schedules", draft, Idempotency_Key="one")
            service.stop()
            service = started("--changed", port=service.port)

            again = await client.post("/api/schedules", draft, Idempotency_Key="one")
            anew = await client.post("/api/schedules", draft)

            assert (again.status, again.json["id"]) == (201, made.json["id"])
            assert anew.status == 422
    finally:
        service.stop()


async def test_a_foliot_without_services_takes_the_schedule_and_each_run_says_what_is_missing(home: Path) -> None:
    async with foliot(home, "") as app:
        schedule = await app.usecases[Schedules].create(LOCAL, LATER)
        run = await app.usecases[Schedules].run_now(LOCAL, schedule.id)
        failed = await ended(app, run.id, RunState.DEAD_LETTER)

    assert failed.error is not None
    assert failed.error["code"] == "address_refused"
    assert "SCRAPER_SERVICE_URL" in failed.error["message"]


async def test_a_service_that_stays_away_ends_the_run_with_a_reason(home: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    async with foliot(home, place) as app:
        schedule = await app.usecases[Schedules].create(
            LOCAL, {**LATER, "retry_policy": {"max_retries": 1, "delay_seconds": 1}}
        )
        run = await app.usecases[Schedules].run_now(LOCAL, schedule.id)
        failed = await ended(app, run.id, RunState.DEAD_LETTER)

    assert failed.error is not None
    assert failed.error["code"] == "grpc_unavailable"
    assert "could not be reached" in failed.error["message"]
