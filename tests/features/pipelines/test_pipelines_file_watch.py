"""A file of pipelines beside a running engine: what is saved takes effect by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from foliot.app import build
from foliot.app.build import App
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.health.usecases import HealthChecks
from foliot.features.pipelines.usecases.pipelines import Pipelines
from foliot.features.runs.usecases.runs import Runs

CHAIN = "chain: [{class: JsonParser}]"
NIGHTLY = f'  nightly: {{schedule: {{cron: "30 2 * * *"}}, {CHAIN}}}\n'
WEEKLY = NIGHTLY.replace("* * *", "* * 1")
BY_HAND = f"  by_hand: {{{CHAIN}}}\n"
PATIENCE = 10.0
"""Seconds after which nobody waits any more; that two looks are a second is `reconciling.PERIOD`."""


@asynccontextmanager
async def running(home: Path, file: Path) -> AsyncIterator[App]:
    settings = Settings.load({"FOLIOT_HOME": str(home), "SCHEDULER_TIMEZONE": "Europe/Stockholm"}, pipelines=str(file))
    await build.migrate(settings)
    app = build.build(settings, http=False, engine=True)
    try:
        await app.start()
        yield app
    finally:
        await app.stop(0)


async def seen(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await look():
            await asyncio.sleep(0.02)


async def crons(app: App) -> dict[str, str]:
    found = await app.usecases[Pipelines].list(LOCAL)
    return {one.kept.name: (one.schedule.spec.trigger.as_dict()["cron_expr"] if one.schedule else "") for one in found}


async def test_edits_take_effect_while_it_runs_and_a_restart_repeats_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pipelines.yml"
    file.write_text(f"pipelines:\n{NIGHTLY}")

    async with running(tmp_path, file) as app:

        async def are(expected: dict[str, str]) -> bool:
            return await crons(app) == expected

        async def ended() -> bool:
            found = await app.usecases[Runs].list(LOCAL, PageRequest(10))
            return [run.state for run in found] == [RunState.SUCCESS]

        async def broken() -> bool:
            found = await app.usecases[Pipelines].list(LOCAL)
            return [one.kept.name for one in found if one.kept.fault is not None] == ["nightly"]

        await seen(lambda: are({"nightly": "30 2 * * *"}))
        file.write_text(f"pipelines:\n{NIGHTLY}{BY_HAND}")
        await seen(lambda: are({"nightly": "30 2 * * *", "by_hand": ""}))
        await seen(ended)
        file.write_text(f"pipelines:\n{WEEKLY}{BY_HAND}")
        await seen(lambda: are({"nightly": "30 2 * * 1", "by_hand": ""}))
        file.write_text(f"pipelines:\n{WEEKLY.replace('30 2', '61 2')}{BY_HAND}")
        await seen(broken)
        assert await crons(app) == {"nightly": "30 2 * * 1", "by_hand": ""}
        assert [f"{file}:2:" in remark for remark in app.usecases[HealthChecks].remarks()] == [True]  # type: ignore[misc]
        file.write_text(f"pipelines:\n{BY_HAND}")
        await seen(lambda: are({"by_hand": ""}))

    async with running(tmp_path, file) as app:

        async def looked() -> bool:
            return app.loop.progress["pipelines"].rounds > 2

        await seen(looked)
        assert len(await app.usecases[Runs].list(LOCAL, PageRequest(10))) == 1


@pytest.mark.parametrize("name", ["missing.yml", "."])
async def test_a_file_that_cannot_be_read_stops_nothing(tmp_path: Path, name: str) -> None:
    async with running(tmp_path, tmp_path / name) as app:

        async def told() -> bool:
            remarks = app.usecases[HealthChecks].remarks
            return remarks is not None and any("cannot be read" in remark for remark in remarks())

        await seen(told)
        assert await app.usecases[Pipelines].list(LOCAL) == []
