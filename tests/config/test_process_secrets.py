"""The process's own secrets: gone from its environment once they are read, and in no line that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import structlog

from foliot import TaskContext, logs, task
from foliot.app.use_cases import use_cases
from foliot.config import process_secrets
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.core.mask import HIDDEN
from foliot.core.redact import Redactor
from foliot.engine.model.run import EventType
from foliot.features.runs.usecases.runs import Runs
from foliot.features.tasks.usecases import Tasks
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.taskbook import catalogue, run_task

CANARIES = {
    "FOLIOT_JWT_SECRET": "canary-jwt-kUbAzYk0rWvR3nNqPzT7cXlE5mJg",
    "FOLIOT_SECRET_KEY": "canary-one-Qw8LxZr2TnVbYkPd6HsMfJc4,canary-two-Ge5RtBn9UyKhVzXq3WmLpSd7",
    "FOLIOT_METRICS_TOKEN": "canary-metrics-Zx7Kp2Rw9Tn4",
    "DATABASE_URL": "postgresql://foliot:canary-database%2FpWd9@db.internal/foliot",
    "CELERY_BROKER_URL": "amqp://foliot:canary-broker-Rt5Kx@one.internal//;amqp://foliot:canary-other-Wq2Lz@two.internal//",
    "REDIS_URL": "redis://:canary-redis-Yh3Nb@cache.internal/0",
    "SCRAPYD_URL": "http://spider:canary-scrapyd-Mn8Vc@node.internal:6800",
    "CELERY_RESULT_BACKEND": "redis://:canary-results-Jk6Fd@cache.internal/1",
    "DISCORD_TOKEN": "canary-discord-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9",
    "FOLIOT_TOKEN": "canary-client-Oo0Pp9Qq8Rr7",
}
VALUES = (
    "canary-jwt-kUbAzYk0rWvR3nNqPzT7cXlE5mJg",
    "canary-one-Qw8LxZr2TnVbYkPd6HsMfJc4",
    "canary-two-Ge5RtBn9UyKhVzXq3WmLpSd7",
    "canary-metrics-Zx7Kp2Rw9Tn4",
    "canary-database/pWd9",
    "canary-broker-Rt5Kx",
    "canary-other-Wq2Lz",
    "canary-redis-Yh3Nb",
    "canary-scrapyd-Mn8Vc",
    "canary-discord-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9",
)
READ = """
import json, os, subprocess, sys
from pathlib import Path
from foliot.cli import serve
from foliot.config import process_secrets

settings = serve._settings("foliot", host="127.0.0.1")
child = [sys.executable, "-c", "import os; print(dict(os.environ))"]
print(json.dumps({
    "environ": repr(dict(os.environ)),
    "kernel": Path("/proc/self/environ").read_text(),
    "getenv": os.popen("env").read(),
    "child": subprocess.run(child, capture_output=True, text=True, check=True).stdout,
    "kept": settings.jwt_secret.reveal(),
    "anew": process_secrets.whole(os.environ),
}))
"""


def test_the_environment_holds_no_secret_once_the_settings_are_read(tmp_path: Path) -> None:
    given = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OTHER": "stays", **CANARIES}
    done = subprocess.run(
        [sys.executable, "-c", READ], env=given, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
    )

    told = json.loads(done.stdout)
    assert told["kept"] == CANARIES["FOLIOT_JWT_SECRET"]
    assert {key: told["anew"].get(key) for key in given} == given, "a server that begins anew reads them again"
    for place in ("environ", "kernel", "getenv", "child"):
        assert "canary" not in told[place], place
        assert "stays" in told[place], place


def settings() -> Settings:
    return Settings.load({key: value for key, value in CANARIES.items() if key != "FOLIOT_TOKEN"})


def test_every_key_and_password_is_known() -> None:
    assert set(VALUES) <= set(process_secrets.values_of(settings()))


def test_a_short_password_is_not_looked_for_in_ordinary_text() -> None:
    short = Settings.load({"DATABASE_URL": "postgresql://me:price@db.internal/shop"})

    assert process_secrets.values_of(short) == ()


def test_a_url_without_a_password_stays() -> None:
    environ = {"DATABASE_URL": "sqlite:////tmp/x.db", "REDIS_HOST": "cache"}

    process_secrets.scrub(environ, Settings.load(environ))

    assert environ == {"DATABASE_URL": "sqlite:////tmp/x.db", "REDIS_HOST": "cache"}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    monkeypatch.setattr(logs, "_hidden", set())
    monkeypatch.setattr(logs, "_secrets", Redactor())
    out = StringIO()
    logs.configure(level="info", form="json", stream=out)
    yield out
    structlog.reset_defaults()


def test_no_line_of_the_log_holds_one_in_any_form(written: StringIO) -> None:
    logs.hide(process_secrets.values_of(settings()))
    log = structlog.get_logger("foliot.test")

    for value in VALUES:
        log.info("it is %s", value, said=value.encode().hex(), inside={"deep": [value]})
    log.error("raised", exc_info=ValueError(VALUES[0]))

    said = written.getvalue()
    assert said.count("\n") == len(VALUES) + 1
    assert "canary" not in said
    assert not [value for value in VALUES if value.encode().hex() in said]


@task("teller")
def teller(ctx: TaskContext, how: str) -> Any:
    """Says every secret, in every way that a task has."""
    ctx.logger.info("it is %s", VALUES[0])
    ctx.progress(said=VALUES[1])
    if how == "raise":
        raise ValueError(f"it was {VALUES[2]}")
    if how == "give_up":
        ctx.give_up(VALUES[3])
    return {"values": list(VALUES), "innocent": "stays"}


@pytest.mark.parametrize("how", ["return", "raise", "give_up"])
async def test_no_result_error_or_line_of_a_run_holds_one(how: str) -> None:
    async with open_store() as store:
        clock = StoppedClock()
        known = catalogue(store, clock, teller)
        action = run_task(known)
        cases = use_cases(store, clock, MemoryFeed(), GivenActions.of(action), tasks=known)
        made = await cases[Tasks].run(LOCAL, "teller", {"parameters": {"how": how}})
        await drain(store, clock, action, secrets=Redactor.of(process_secrets.values_of(settings())))

        run = await cases[Runs].get(LOCAL, made.id)
        _, events = await cases[Runs].events(LOCAL, made.id, 0, 500)

    kept = repr((run.result, run.error, run.attempts, events))
    assert "canary" not in kept
    assert HIDDEN in kept
    assert [event for event in events if event.type is EventType.LOG]
    if how == "return":
        assert run.result == {"values": [HIDDEN] * len(VALUES), "innocent": "stays"}
