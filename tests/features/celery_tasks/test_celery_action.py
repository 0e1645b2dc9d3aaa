"""The action `celery` with a real broker, a real worker of another application, and its result backend."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.auth.keyring import Keyring
from foliot.cluster.celery import task_client
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.engine.model.views import RunView
from foliot.features.celery_tasks.action import BrokerUrls, CeleryAction
from foliot.features.celery_tasks.config import read_task
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import SecretCache
from foliot.features.secrets.usecases import Secrets
from foliot.net.allow import EgressRules
from foliot.net.guard import EgressGuard
from foliot.net.tcp import TcpEgress
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.redis_server import NoRedis, a_redis
from tests.services import absent, wait_until

VAULT = Keyring.of(("key-" * 8,))
QUEUE = "shop"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with a_redis(tmp_path_factory.mktemp("redis")) as url:
            yield url
    except NoRedis as missing:
        absent(missing)


@pytest.fixture(scope="module")
def shop(broker: str) -> Iterator[None]:
    """The worker of another application."""
    words = ("-A", "tests.features.celery_tasks.shop_app", "worker", "-P", "solo", "--loglevel", "ERROR")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", *words, *quiet], env={**os.environ, "SHOP_REDIS": broker}
    )
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(20)


@dataclass
class Sender:
    """A Foliot that sends tasks."""

    store: Database
    clock: StoppedClock
    loopback: bool = True

    @property
    def action(self) -> CeleryAction:
        rules = EgressRules.read(loopback=self.loopback, allow=(), ports=() if self.loopback else (6379,))
        urls = BrokerUrls(
            secrets=SecretCache(store=self.store, clock=self.clock, vault=VAULT),
            tcp=TcpEgress(guard=EgressGuard(rules)),
        )
        return CeleryAction(urls=urls, client=lambda: task_client)

    @property
    def cases(self) -> UseCases:
        return use_cases(self.store, self.clock, MemoryFeed(), GivenActions.of(self.action), vault=VAULT)

    async def start(self, **config: Any) -> RunView:
        action = {"kind": "celery", "broker": "celery_broker", "queue": QUEUE, **config}
        retry = {"max_retries": 0, "dead_letter": False}
        raw = {"name": "x", "type": "interval", "interval_seconds": 3600, "action": action, "retry_policy": retry}
        schedule = await self.cases[Schedules].create(LOCAL, raw)
        run = await self.cases[Schedules].run_now(LOCAL, schedule.id, {})
        return await self.look(run)

    async def look(self, run: RunView) -> RunView:
        await drain(self.store, self.clock, self.action)
        return await self.cases[Runs].get(LOCAL, run.id)

    async def ended(self, run: RunView) -> RunView:
        """Checked as often as its next check is due."""
        until = time.monotonic() + 20
        while not run.state.final and time.monotonic() < until:
            time.sleep(0.05)  # noqa: TID251 -- another application's worker
            self.clock.advance(timedelta(seconds=2))
            run = await self.look(run)
        return run


@pytest.fixture
async def sender(broker: str) -> AsyncIterator[Sender]:
    async with open_store() as store:
        sender = Sender(store, StoppedClock())
        for name in ("celery_broker", "celery_results"):
            await sender.cases[Secrets].put(LOCAL, name, {"value": broker})
        yield sender


@pytest.mark.usefixtures("shop")
async def test_a_run_waits_without_a_slot_for_the_result_of_the_task(sender: Sender) -> None:
    run = await sender.start(task="shop.add", args=[2], kwargs={"b": 3}, backend="celery_results")
    assert run.state == "running"

    run = await sender.ended(run)

    assert (run.state, run.result) == ("success", {"task_id": run.id, "result": 5})


@pytest.mark.usefixtures("shop")
async def test_a_task_that_fails_fails_the_attempt_with_its_exception(sender: Sender) -> None:
    run = await sender.ended(await sender.start(task="shop.fail", backend="celery_results"))

    assert run.state == "failed"
    assert run.error is not None
    assert (run.error["code"], run.error["message"]) == ("task_failed", "ValueError: out of stock")


@pytest.mark.usefixtures("shop")
async def test_without_a_backend_the_run_ends_when_the_task_is_queued(sender: Sender, broker: str) -> None:
    run = await sender.start(task="shop.add", args=[1])

    assert (run.state, run.result) == ("success", {"task_id": run.id})
    assert wait_until(lambda: task_client.states(broker, [run.id])[run.id].result == 1, seconds=20)


async def test_a_result_that_never_comes_ends_the_run_at_its_time_limit(sender: Sender) -> None:
    run = await sender.start(task="shop.nothing_listens", queue="nowhere", backend="celery_results")
    sender.clock.advance(timedelta(hours=1))

    run = await sender.look(run)

    assert run.error is not None
    assert (run.state, run.error["code"]) == ("failed", "no_result")


async def test_a_cancelled_run_revokes_its_task(sender: Sender) -> None:
    run = await sender.start(task="shop.nothing_listens", queue="nowhere", backend="celery_results")
    await sender.cases[Runs].cancel(LOCAL, run.id)
    sender.clock.advance(timedelta(seconds=2))

    assert (await sender.look(run)).state == "cancelled"


async def test_a_broker_inside_the_network_is_not_called(sender: Sender) -> None:
    sender.loopback = False
    run = await sender.start(task="shop.add")

    assert run.error is not None
    assert run.error["code"] in {"broker_refused", "broker_unavailable"}


async def test_a_secret_that_is_missing_or_no_broker_is_named(sender: Sender) -> None:
    await sender.cases[Secrets].put(LOCAL, "web", {"value": "https://u:password@example.com"})
    missing, other = await sender.start(task="shop.add", broker="nothing"), await sender.start(task="t", broker="web")

    assert missing.error is not None
    assert other.error is not None
    assert missing.error["message"].startswith("There is no secret nothing")
    assert "must be a URL that begins with one of amqp://" in other.error["message"]
    assert "password" not in other.error["message"]


@pytest.mark.parametrize("rest", ["0;redis://10.0.0.5:6379/0", "0?ssl_cert_reqs=none", "0#x"])
async def test_a_broker_url_names_one_host_and_no_options(sender: Sender, rest: str) -> None:
    """Alternates after a semicolon would be called without a check of their address."""
    await sender.cases[Secrets].put(LOCAL, "several", {"value": f"redis://127.0.0.1:6379/{rest}"})
    run = await sender.start(task="shop.add", broker="several")

    assert run.error is not None
    assert run.error["message"] == "The secret several must be a URL of one host, without a query."


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"task": "a"}, "broker"),
        ({"broker": "redis://u:p@host/0", "task": "a"}, "broker"),
        ({"broker": "b"}, "task"),
        ({"broker": "b", "task": "not a name"}, "task"),
        ({"broker": "b", "task": "a", "wait": True}, "wait"),
        ({"broker": "b", "task": "a", "args": "x"}, "args"),
        ({"broker": "b", "task": "a", "priority": 300}, "priority"),
        ({"broker": "b", "task": "a", "queu": "x"}, "queu"),
    ],
)
def test_a_wrong_configuration_names_its_field(config: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        read_task(config)

    assert wrong.value.field == field
    assert "u:p@" not in str(wrong.value)


def test_the_stored_form_is_accepted_again() -> None:
    stored = read_task({"broker": "b", "backend": "r", "task": "a", "args": [1], "queue": "q", "expires_seconds": 60})

    assert read_task(stored) == stored
    assert stored["wait"] is True
