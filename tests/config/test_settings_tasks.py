"""The settings of tasks."""

from __future__ import annotations

import pytest

from foliot.config.parse import SettingsError, unused
from foliot.config.settings import Settings


def test_modules_are_named_once_each_in_order() -> None:
    environ = {"FOLIOT_TASKS": " shop.tasks, tasks ,shop.tasks,"}

    assert Settings.load(environ).tasks == ("shop.tasks", "tasks")
    assert Settings.load({}).tasks == ()
    assert unused(environ) == []


@pytest.mark.parametrize("text", ["tasks.py", "./tasks", "shop/tasks", "a b", "1x", ".tasks", "shop..tasks"])
def test_what_is_no_module_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"FOLIOT_TASKS: must be a comma-separated list of Python modules"):
        Settings.load({"FOLIOT_TASKS": text})


def test_there_are_as_many_processes_as_processors_unless_said_otherwise() -> None:
    assert Settings.load({}).process_count >= 1
    settings = Settings.load({"FOLIOT_PROCESSES": "3", "FOLIOT_PROCESS_CALLS": "7"})
    assert (settings.process_count, settings.process_calls) == (3, 7)
    with pytest.raises(SettingsError, match="FOLIOT_PROCESSES"):
        Settings.load({"FOLIOT_PROCESSES": "0"})
