"""Foliot inside a program: the same engine, asked from Python."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot import Scheduler, task
from foliot.config.parse import SettingsError
from foliot.core.access import LOCAL
from foliot.core.errors import Conflict, Invalid, NotFound
from foliot.embed import BlockingScheduler
from foliot.engine.model.run import RunState
from foliot.features.schedules.usecases.schedules import Schedules

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "embedded.py"
PAGE = ROOT / "docs" / "how-to" / "embed.md"
NEW_YEAR = datetime(2040, 1, 1, 9, tzinfo=UTC)

PIPELINES = """
pipelines:
  news:
    schedule: {interval: {hours: 6}}
    chain:
      - class: JsonlSink
        kwargs: {path: news.jsonl}
"""

Program = Callable[..., Scheduler]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A scheduler on a file of its own, whatever the environment says."""
    for name in [name for name in os.environ if name.startswith("FOLIOT_") and "TEST" not in name]:
        monkeypatch.delenv(name)

    def make(**given: Any) -> Scheduler:
        return Scheduler(**{"db_url": f"sqlite:///{tmp_path / 'jobs.db'}", "home": str(tmp_path / "home"), **given})

    return make


class Said:
    """A task that says what it was given, and somebody who waits to hear it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.event = threading.Event()

        @task("say")
        def say(word: str = "nothing") -> dict[str, str]:
            self.heard.append(word)
            self.event.set()
            return {"said": word}

        self.say = say

    async def wait(self) -> None:
        assert await asyncio.to_thread(self.event.wait, 20)
        self.event.clear()


async def test_a_function_added_in_code_is_fired_by_the_engine_in_its_zone(database_url: str, program: Program) -> None:
    said = Said()
    plain = database_url.replace("+asyncpg", "").replace("+asyncmy", "").replace("+aiosqlite", "")

    async with program(db_url=plain, timezone="Europe/Stockholm") as scheduler:
        every = await scheduler.add(said.say, "every 1s", parameters={"word": "tick"})
        nine = await scheduler.add(said.say, "0 9 * * 1-5", name="nine")
        await said.wait()
        listed = await scheduler.list()

    assert set(said.heard) == {"tick"}
    assert [one.id for one in listed] == [nine.id, every.id]
    assert nine.spec.trigger.rule.zone == "Europe/Stockholm"


async def test_added_again_it_is_the_same_schedule_brought_up_to_date(program: Program) -> None:
    said = Said()
    async with program(tasks=[said.say]) as scheduler:
        first = await scheduler.add(said.say, timedelta(hours=1))
        assert (await scheduler.add(said.say, timedelta(hours=1))).version == first.version

    async with program(tasks=[said.say]) as scheduler:
        again = await scheduler.add(said.say, timedelta(hours=2))

        assert (again.id, again.spec.trigger.summary) == (first.id, "Every 2 hours")
        assert len(await scheduler.list()) == 1


async def test_what_somebody_edited_elsewhere_stays(program: Program) -> None:
    said = Said()
    async with program() as scheduler:
        made = await scheduler.add(said.say, timedelta(hours=1))
        assert scheduler._app is not None
        await scheduler._app.usecases[Schedules].patch(LOCAL, made.id, {"interval_seconds": 60})

        assert (await scheduler.add(said.say, timedelta(hours=3))).spec.trigger.summary == "Every minute"


async def test_removed_it_is_gone_until_the_program_adds_it_again(program: Program) -> None:
    said = Said()
    async with program() as scheduler:
        made = await scheduler.add(said.say, NEW_YEAR, name="party")
        await scheduler.remove("party")
        assert await scheduler.list() == []
        with pytest.raises(NotFound, match="no schedule 'parties'"):
            await scheduler.remove("parties")

        assert (await scheduler.add(said.say, NEW_YEAR, name="party")).id != made.id


async def test_a_schedule_of_an_earlier_start_finds_its_function(program: Program) -> None:
    said = Said()
    async with program() as scheduler:
        await scheduler.add(said.say, "every 1s", parameters={"word": "still here"})
    said.event.clear()

    async with program(tasks=[said.say]):
        await said.wait()

    assert set(said.heard) == {"still here"}


async def test_a_run_of_its_own_answers_with_its_result(program: Program) -> None:
    said = Said()
    async with program() as scheduler:
        await scheduler.add(said.say, NEW_YEAR, parameters={"word": "now"})
        run = await scheduler.run_now("say")
        await said.wait()
        for _ in range(200):
            if (await scheduler.get_run(run.id)).state.final:
                break
            await asyncio.sleep(0.02)
        ended = await scheduler.get_run(run.id)

    assert (ended.state, ended.result) == (RunState.SUCCESS, {"said": "now"})


def test_programs_without_a_loop_ask_and_wait(program: Program) -> None:
    said = Said()
    with program().in_thread() as scheduler:
        made = scheduler.add(said.say, "every 1s")
        assert said.event.wait(20)
        assert [one.id for one in scheduler.list()] == [made.id]
        scheduler.remove(made)
        assert scheduler.list() == []

    with pytest.raises(Conflict, match="has not been started"):
        scheduler.list()


async def test_two_programs_on_one_file_are_told(program: Program) -> None:
    async with program():
        with pytest.raises(Conflict, match=r"another Foliot is already running on .*jobs\.db"):
            await program().start()
        with pytest.raises(Conflict, match="another Foliot"):
            await asyncio.to_thread(program().in_thread().start)


async def test_what_is_wrong_is_said_by_its_name(program: Program) -> None:
    with pytest.raises(SettingsError, match="timezone: ") as zone:
        program(timezone="Europe/Stokholm")
    assert "--" not in str(zone.value)
    with pytest.raises(SettingsError, match="db_url: must be a database URL"):
        program(db_url="oracle://x/y")
    with pytest.raises(Invalid, match="db_url: must name a file"):
        program(db_url="sqlite://")
    with pytest.raises(Invalid, match=r"marked with @task.*'print'"):
        program(tasks=[print])

    said, scheduler = Said(), program()
    with pytest.raises(Conflict, match="has not been started"):
        await scheduler.list()
    async with scheduler:
        with pytest.raises(Conflict, match="is already running"):
            await scheduler.start()
        with pytest.raises(Invalid, match="when: must have a time zone"):
            await scheduler.add(said.say, datetime(2040, 1, 1))
        with pytest.raises(Invalid, match="cron_expr: "):
            await scheduler.add(said.say, "61 * * * *")
        with pytest.raises(Invalid, match=r"parameters\.wrod"):
            await scheduler.add(said.say, "every 1h", parameters={"wrod": "x"})


async def test_a_pipeline_is_added_by_its_name(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "pipelines.yml"
    file.write_text(PIPELINES)
    async with program(pipelines=file) as scheduler:
        for _ in range(500):
            if await scheduler.list():
                break
            await asyncio.sleep(0.02)
        made = await scheduler.add("news", "0 9 * * *", name="news-at-nine")
        with pytest.raises(Invalid, match="nwes"):
            await scheduler.add("nwes", "0 9 * * *")
        with pytest.raises(Invalid, match="a pipeline takes none"):
            await scheduler.add("news", "0 9 * * *", parameters={"a": 1})

        assert made.action == {"pipeline": "news"}
        assert {one.name for one in await scheduler.list()} == {"news", "news-at-nine"}
        run = await scheduler.run_now("news-at-nine")
        for _ in range(500):
            if (await scheduler.get_run(run.id)).state.final:
                break
            await asyncio.sleep(0.02)
        assert (await scheduler.get_run(run.id)).state is RunState.SUCCESS
    assert (tmp_path / "home" / "out" / "news.jsonl").exists()


def test_the_page_shows_code_that_can_be_read_and_methods_that_there_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        compile(block, PAGE.name, "exec")
    named = {
        name for row in re.findall(r"^\| (`\w+\(.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)\(", row)
    }
    assert named == {"add", "remove", "list", "run_now", "get_run", "start", "stop"}
    assert all(hasattr(kind, name) for kind in (Scheduler, BlockingScheduler) for name in named)


def test_the_example_runs_until_it_is_asked_to_stop(tmp_path: Path) -> None:
    environ = {name: text for name, text in os.environ.items() if not name.startswith("FOLIOT_")}
    with subprocess.Popen(
        [sys.executable, str(EXAMPLE), f"sqlite:///{tmp_path / 'jobs.db'}"],
        stdout=subprocess.PIPE,
        text=True,
        env={**environ, "FOLIOT_HOME": str(tmp_path)},
    ) as started:
        assert started.stdout is not None
        lines = [started.stdout.readline().strip() for _ in range(3)]
        started.send_signal(signal.SIGTERM)

        assert started.wait(20) == 0
    assert lines == [
        "every-morning: At 09:00 on Monday through Friday (Europe/Stockholm)",
        "say_hello: Every second",
        "hello reader",
    ]
