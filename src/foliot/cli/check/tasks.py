"""What `foliot check` says about the modules of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.access import Finding
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_TASKS"


def tasking(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and runs of their tasks fail."""
    from foliot.features.tasks.loader import load

    found = load(settings.tasks)
    wrong = [Finding("error", KEY, fault.removeprefix(f"{KEY}: ")) for fault in found.faults()]
    if not found.names():
        return wrong
    listed = ", ".join(found.names())
    return [*wrong, Finding("ok", KEY, f"{count(len(found.names()), 'task')} besides the built-in ones: {listed}")]
