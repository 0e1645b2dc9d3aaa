"""Requests and answers of pipelines."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.servers.http.schema import CLOSED, declared


@declared
class PipelineFault:
    """What is wrong with the file, and where."""

    file: str
    line: int | None
    column: int | None
    message: str
    suggestion: str | None


@declared
class PipelineTrigger:
    """When it runs, as its file says."""

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
    """A pipeline as it stands."""

    name: str
    state: Literal["loaded", "broken"]
    """`broken` when its file cannot be followed; what ran before runs on."""
    error: PipelineFault | None
    schedule: PipelineTrigger | None
    """Null: it runs once for each of its revisions."""
    schedule_id: str | None
    status: ScheduleStatus | None
    """Of its schedule."""
    summary: str | None
    """When it runs, in words."""
    next_run_at: datetime | None
    revision: str | None
    """Short digest of what runs; null when none of its revisions has ever been in order."""
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
    """What is wrong with the file and stands beside no pipeline: mostly that it cannot be read at all."""


_PipelineStepProgressKey = TypedDict("_PipelineStepProgressKey", {"in": int})


@with_config(CLOSED)
class PipelineStepProgress(_PipelineStepProgressKey):
    """How far a step has come, or came."""

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
    """With its own part of the file, and its newest runs."""

    yaml: str
    """Without secrets."""
    runs: list[PipelineRun]


@declared
class PipelineRunRequest:
    """Nothing: a pipeline runs as its file says."""
