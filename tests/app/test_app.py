"""The composition root: every part of a process is closed, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from foliot.app.build import App, build
from foliot.config.settings import Settings
from foliot.db.database import Database
from foliot.engine.engine import Engine
from foliot.engine.loop import Loop
from foliot.features.pipelines.wiring import PipelineParts
from foliot.features.tasks.wiring import TaskParts
from foliot.net.client import HttpEgress

PARTS = [Loop, Engine, TaskParts, PipelineParts, HttpEgress, Database]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which parts were closed, and with what."""
    seen: list[str] = []

    def watch(kind: type, name: str, broken: bool) -> Callable[..., Awaitable[None]]:
        real = getattr(kind, name)

        async def close(part: object, *given: object) -> None:
            seen.append(f"{kind.__name__} {given[0]}" if kind is Engine else kind.__name__)
            await real(part, *given)
            if broken:
                raise OSError(f"{kind.__name__} is broken")

        return close

    for kind in PARTS:
        name = "stop" if kind in (Loop, Engine) else "close"
        monkeypatch.setattr(kind, name, watch(kind, name, kind is TaskParts))
    return seen


def an_app(home: Path) -> App:
    return build(Settings.load({"FOLIOT_HOME": str(home)}), http=False, engine=True)


async def test_a_part_that_fails_to_close_keeps_no_other_open(tmp_path: Path, closed: list[str]) -> None:
    app = an_app(tmp_path)

    with pytest.raises(OSError, match="TaskParts is broken"):
        await app.stop(grace=0.5)

    order = list(dict.fromkeys(closed))
    assert order == ["Loop", "Engine 0.5", "TaskParts", "HttpEgress", "PipelineParts", "Database"]


async def test_stopping_twice_closes_once(tmp_path: Path, closed: list[str]) -> None:
    app = an_app(tmp_path)
    with pytest.raises(OSError, match="broken"):
        await app.stop()
    before = list(closed)

    await app.stop()

    assert closed == before
    assert f"Engine {app.settings.shutdown_seconds}" in closed


def test_whether_discord_is_there_and_why_not_are_two_things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.load({"FOLIOT_HOME": str(tmp_path)})
    assert build(settings, http=False, engine=False, discord=True).discord is not None

    monkeypatch.setattr("foliot.features.discord.wiring.is_installed", lambda: False)
    without = build(settings, http=False, engine=False, discord=True)

    assert without.discord is None
    assert "pip install 'foliot[discord]'" in (without.discord_missing or "")
    assert build(settings, http=False, engine=False).discord_missing is None
