"""Checks the file of pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding
from foliot.terminal.output import Failure, count

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_PIPELINES"


def check(settings: Settings) -> list[Finding]:
    """Whether each pipeline is valid. Foliot starts without invalid ones and keeps their previous version: a warning,
    because this command also serves as a readiness check.
    """
    if settings.pipelines is None:
        return []
    from foliot.cli.pipeline_run import read_file

    try:
        sheet = read_file(settings, settings.pipelines)
    except Failure as failed:
        return [Finding("warning", KEY, str(failed))]
    faults = [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]
    good = [one.name for one in sheet.pipelines if one.definition is not None]
    result = [Finding("warning", KEY, str(fault)) for fault in faults]
    if good:
        result.append(Finding("ok", KEY, f"{count(len(good), 'pipeline')} of {settings.pipelines}: {', '.join(good)}"))
    return result
