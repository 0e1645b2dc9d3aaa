"""Checks the file of pipelines, and the modules of tasks and transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check import Finding
from foliot.terminal.output import Failure, count

if TYPE_CHECKING:
    from foliot.config.settings import Settings


PIPELINES_KEY = "FOLIOT_PIPELINES"


def check_pipelines(settings: Settings) -> list[Finding]:
    """Whether each pipeline is valid. Foliot starts without invalid ones and keeps their previous version: a warning,
    because this command also serves as a readiness check.
    """
    if settings.pipelines is None:
        return []
    from foliot.cli.pipeline_run import read_file

    try:
        sheet = read_file(settings, settings.pipelines)
    except Failure as failed:
        return [Finding("warning", PIPELINES_KEY, str(failed))]
    faults = [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]
    good = [one.name for one in sheet.pipelines if one.definition is not None]
    result = [Finding("warning", PIPELINES_KEY, str(fault)) for fault in faults]
    if good:
        result.append(
            Finding("ok", PIPELINES_KEY, f"{count(len(good), 'pipeline')} of {settings.pipelines}: {', '.join(good)}")
        )
    return result


TASKS_KEY = "FOLIOT_TASKS"


def check_tasks(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and runs of their tasks fail."""
    from foliot.features.tasks.wiring import load

    catalogue = load(settings.tasks)
    wrong = [Finding("error", TASKS_KEY, fault.removeprefix(f"{TASKS_KEY}: ")) for fault in catalogue.faults()]
    if not catalogue.names():
        return wrong
    listed = ", ".join(catalogue.names())
    return [
        *wrong,
        Finding("ok", TASKS_KEY, f"{count(len(catalogue.names()), 'task')} besides the built-in ones: {listed}"),
    ]


TRANSFORMS_KEY = "FOLIOT_TRANSFORMS"


def check_transforms(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and pipelines that need them are refused."""
    from foliot.features.pipelines.wiring import load

    catalogue = load(settings.transforms)
    wrong = [
        Finding("error", TRANSFORMS_KEY, fault.removeprefix(f"{TRANSFORMS_KEY}: ")) for fault in catalogue.faults()
    ]
    own = [view.name for view in catalogue.views() if not view.built_in]
    if not own:
        return wrong
    listed = f"{count(len(own), 'transform')} besides the built-in ones: {', '.join(own)}"
    return [*wrong, Finding("ok", TRANSFORMS_KEY, listed)]
