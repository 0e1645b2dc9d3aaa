"""Requests and answers of pipelines, as OpenAPI describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.servers.http.schema import CLOSED


@declared
class PipelineFault:
    """An error in the file, and its place."""

    file: str
    line: int | None
    column: int | None
    message: str
    suggestion: str | None


@declared
class PipelineTrigger:
    """When it runs, as in the file."""

    type: str
    cron_expr: str | None
    interval_seconds: int | None
    timezone: str


_PipelineStepKey = TypedDict("_PipelineStepKey", {"class": str})


@with_config(CLOSED)
class PipelineStep(_PipelineStepKey):
    """One step of its chain."""

    name: str
    kwargs: dict[str, Any]
    """Without secrets."""
    on_error: Literal["skip", "fail"]
    line: int | None


@declared
class PipelineLastRun:
    """Its newest run."""

    id: str
    state: RunState
    finished_at: datetime | None


@declared
class PipelineSummary:
    """The current state of a pipeline."""

    name: str
    state: Literal["loaded", "broken"]
    """`broken` when its definition in the file is invalid; the last valid one stays in effect."""
    error: PipelineFault | None
    schedule: PipelineTrigger | None
    """Null: it runs once per revision."""
    schedule_id: str | None
    status: ScheduleStatus | None
    """Of its schedule."""
    summary: str | None
    """When it runs, in words."""
    next_run_at: datetime | None
    revision: str | None
    """Short hash of the definition in effect; null when none has ever been valid."""
    file: str
    on_error: Literal["skip", "fail"] | None
    steps: list[PipelineStep]
    last_run: PipelineLastRun | None
    updated_at: datetime


@declared
class PipelinePage:
    """Every pipeline of the tenant, in the order of its file."""

    items: list[PipelineSummary]
    next_cursor: str | None
    faults: list[PipelineFault]
    """Errors of the file that belong to no pipeline; mostly that it cannot be read at all."""


_PipelineStepProgressKey = TypedDict("_PipelineStepProgressKey", {"in": int})


@with_config(CLOSED)
class PipelineStepProgress(_PipelineStepProgressKey):
    """Progress of a step."""

    name: str
    state: str
    out: int
    failed: int
    seconds: float


@declared
class PipelineRun:
    """One of its runs."""

    id: str
    state: RunState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    steps: list[PipelineStepProgress]


@declared
class PipelineDetail(PipelineSummary):
    """With its YAML and its newest runs."""

    yaml: str
    """Without secrets."""
    runs: list[PipelineRun]
