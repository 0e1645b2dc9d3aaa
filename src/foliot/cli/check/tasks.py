"""Checks the modules of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_TASKS"


def check(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and runs of their tasks fail."""
    from foliot.features.tasks.loader import load

    catalogue = load(settings.tasks)
    wrong = [Finding("error", KEY, fault.removeprefix(f"{KEY}: ")) for fault in catalogue.faults()]
    if not catalogue.names():
        return wrong
    listed = ", ".join(catalogue.names())
    return [*wrong, Finding("ok", KEY, f"{count(len(catalogue.names()), 'task')} besides the built-in ones: {listed}")]
