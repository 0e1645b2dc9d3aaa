"""The pipelines of the scraping platform: YAML, cron and interval, and commands in a chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foliot.config.settings import Settings
from foliot.features.discord.connection import commands
from tests.acceptance.house import SECONDS, House
from tests.seeds.conftest import Start
from tests.services import wait_until

pytestmark = pytest.mark.timeout(240)

PIPELINES = """
pipelines:
  my_pipeline:
    schedule:
      cron: "0 */6 * * *"  # Every 6 hours
    chain:
      - class: my_plugin.MyFetcher
      # ... rest of pipeline
  often:
    schedule:
      interval:
        seconds: 30    # Optional
        minutes: 15    # Optional
        hours: 2       # Optional
    chain:
      - class: my_plugin.MyFetcher
      - class: my_plugin.MyParser
  at_once:
    chain:
      - class: my_plugin.MyFetcher
      - class: my_plugin.MyParser
  to_discord:
    schedule:
      cron: "0 9 * * 1-5"
    chain:
      - class: my_plugin.MyFetcher
      - class: my_plugin.MyParser
      - class: core.infra.discord_sink.DiscordSink
        kwargs:
          channel_id: 123456789012345678
"""
PLUGIN = '''
from collections.abc import AsyncIterator

from foliot.pipelines import Item, StepContext, Transform


class MyFetcher(Transform):
    """Brings two items."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        yield {"title": "one"}
        yield {"title": "two"}


class MyParser(Transform):
    """Numbers them."""

    async def handle(self, item: Item, ctx: StepContext) -> Item | None:
        return {**item, "parsed": True}
'''
CRONS = ["0 9 * * 1-5", "*/30 * * * *", "0 2 * * 0", "0 */6 * * *"]
ENVIRONMENT = {
    "SCHEDULER_MODE": "scheduler",
    "SCHEDULER_DB_URL": "postgresql://user:pass@host/scheduler_db",
    "SCHEDULER_TIMEZONE": "America/New_York",
    "PIPELINES_CONFIG": "pipelines.yml",
}


@pytest.fixture(scope="module")
def up(start: Start, tmp_path_factory: pytest.TempPathFactory) -> House:
    place = tmp_path_factory.mktemp("pipelines")
    (place / "pipelines.yml").write_text(PIPELINES, encoding="utf-8")
    (place / "my_plugin.py").write_text(PLUGIN, encoding="utf-8")
    return start(
        PIPELINES_CONFIG=str(place / "pipelines.yml"),
        FOLIOT_TRANSFORMS="my_plugin",
        PYTHONPATH=str(place),
        SCHEDULER_MODE="scheduler",
        SCHEDULER_TIMEZONE="Europe/Stockholm",
    )


def test_the_file_makes_schedules_and_what_has_none_runs_once(up: House) -> None:
    assert wait_until(lambda: len(up.foliot("pipeline", "list")["items"]) == 4, seconds=SECONDS)
    found = {one["action"]["pipeline"]: one for one in up.foliot("schedule", "list")["items"]}

    assert (found["my_pipeline"]["cron_expr"], found["my_pipeline"]["timezone"]) == ("0 */6 * * *", "Europe/Stockholm")
    assert found["often"]["interval_seconds"] == 2 * 3600 + 15 * 60 + 30
    assert found["to_discord"]["cron_expr"] == "0 9 * * 1-5"
    assert "at_once" not in found

    def ran() -> bool:
        runs = up.foliot("run", "list")["items"]
        return [run["state"] for run in runs if run["schedule_id"] is None] == ["success"]

    assert wait_until(ran, seconds=SECONDS)


def test_a_pipeline_runs_alone_from_its_file(up: House) -> None:
    done = up.run("pipeline", "run", up.environ["PIPELINES_CONFIG"], "my_pipeline")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cron", CRONS)
def test_the_examples_of_cron_are_understood(up: House, cron: str) -> None:
    assert len(up.foliot("schedule", "preview", "--cron", cron)["next"]) >= 1


def test_a_wrong_cron_is_refused_at_the_start(up: House, tmp_path: Path) -> None:
    broken = tmp_path / "pipelines.yml"
    broken.write_text(PIPELINES.replace("0 */6 * * *", "every day"), encoding="utf-8")
    done = up.run("pipeline", "check", str(broken))

    assert done.returncode != 0
    assert "cron" in done.stdout + done.stderr


def test_the_commands_of_the_chat_are_there() -> None:
    nobody: Any = None

    assert {"run", "schedule", "jobs", "remove", "pipelines"} <= {one.name for one in commands(nobody, nobody)}


def test_the_table_of_variables_is_understood() -> None:
    settings = Settings.load(ENVIRONMENT)

    assert settings.timezone == "America/New_York"
    assert "scheduler_db" in settings.database_url
