"""Routes of pipelines: chains of steps that a file defines."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, Field

from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Status
from foliot.engine.model.views import RunView
from foliot.features.pipelines.model.file import NAME, Kept
from foliot.features.pipelines.usecases.pipelines import Passed, Pipelines, Standing
from foliot.servers.http import encode, models
from foliot.servers.http.bodies import Model, body
from foliot.servers.http.models import UNKNOWN
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/pipelines", tags=["Pipelines"])


class FaultModel(Model):
    """What is wrong with the file, and where."""

    file: str
    line: int | None
    column: int | None
    message: str
    suggestion: str | None


class WhenModel(Model):
    """When it runs, as its file says."""

    type: str
    cron_expr: str | None
    interval_seconds: int | None
    timezone: str


class StepModel(Model):
    """One step of its chain."""

    class_: str = Field(alias="class")
    name: str
    kwargs: dict[str, Any]
    """Without secrets."""
    on_error: Literal["skip", "fail"]
    line: int | None


class LastRun(Model):
    """Its newest run."""

    id: str
    state: RunState
    finished_at: datetime | None


class PipelineModel(Model):
    """A pipeline as it stands."""

    name: str
    state: Literal["loaded", "broken"]
    """`broken` when its file cannot be followed; what ran before runs on."""
    error: FaultModel | None
    schedule: WhenModel | None
    """Null: it runs once for each of its revisions."""
    schedule_id: str | None
    status: Status | None
    """Of its schedule."""
    summary: str | None
    """When it runs, in words."""
    next_run_at: datetime | None
    revision: str | None
    """Short digest of what runs; null when none of its revisions has ever been in order."""
    file: str
    on_error: Literal["skip", "fail"] | None
    steps: list[StepModel]
    last_run: LastRun | None
    updated_at: datetime


class PipelineList(Model):
    """Every pipeline of the tenant, in the order of its file."""

    items: list[PipelineModel]
    next_cursor: str | None
    faults: list[FaultModel]
    """What is wrong with the file and stands beside no pipeline: mostly that it cannot be read at all."""


class StepProgress(Model):
    """How far a step has come, or came."""

    name: str
    state: str
    in_: int = Field(alias="in")
    out: int
    failed: int
    seconds: float


class PassedModel(Model):
    """One of its runs."""

    id: str
    state: RunState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    steps: list[StepProgress]


class PipelineDetail(PipelineModel):
    """With its own part of the file, and its newest runs."""

    yaml: str
    """Without secrets."""
    runs: list[PassedModel]


class PipelineRunRequest(Model):
    """Nothing: a pipeline runs as its file says."""


REQUESTS: tuple[type[BaseModel], ...] = (PipelineRunRequest,)


async def _name(pipeline: Annotated[str, Path(description="A pipeline's name.")]) -> str:
    if not NAME.fullmatch(pipeline):
        raise NotFound("pipeline", pipeline[:64])
    return pipeline


Name = Annotated[str, Depends(_name)]


@router.get(
    "", dependencies=[permits(Pipelines.list, Pipelines.faults)], response_model=PipelineList, summary="List pipelines"
)
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """All that the file of pipelines defines, those that are broken too."""
    found, following = part.of(await cases[Pipelines].list(caller), lambda one: one.kept.name)
    items = [_standing(one) for one in found]
    faults = [fault.to_dict() for fault in await cases[Pipelines].faults(caller)]
    return encode.answer({"items": items, "next_cursor": following, "faults": faults})


@router.get(
    "/{pipeline}",
    dependencies=[permits(Pipelines.get)],
    response_model=PipelineDetail,
    responses=UNKNOWN,
    summary="One pipeline",
)
async def get(cases: Cases, caller: Who, pipeline: Name) -> Response:
    """With its own part of the file, without secrets, and its 20 newest runs, step by step."""
    standing, runs = await cases[Pipelines].get(caller, pipeline)
    return encode.answer({**_standing(standing), "yaml": standing.kept.yaml, "runs": [_passed(one) for one in runs]})


@router.post(
    "/{pipeline}/run",
    dependencies=[permits(Pipelines.run)],
    status_code=202,
    response_model=models.Run,
    openapi_extra=body(PipelineRunRequest, required=False),
    responses=UNKNOWN,
    summary="Run a pipeline now",
)
async def run(cases: Cases, caller: Who, pipeline: Name, asked: Body) -> Response:
    """Outside its schedule, in the queue `manual`."""
    made = await cases[Pipelines].run(caller, pipeline, asked.document, asked.once(202, _whole, encode.located))
    return encode.answer(encode.run(made), 202, encode.located(made))


def _whole(one: RunView) -> bytes:
    return encode.dumps(encode.run(one))


def _standing(one: Standing) -> dict[str, Any]:
    kept, schedule, definition = one.kept, one.schedule, one.kept.definition
    return {
        "name": kept.name,
        "state": "loaded" if kept.fault is None else "broken",
        "error": None if kept.fault is None else kept.fault.to_dict(),
        "schedule": _when(one),
        "schedule_id": kept.schedule_id,
        "status": None if schedule is None else schedule.status.value,
        "summary": None if schedule is None else schedule.spec.trigger.summary,
        "next_run_at": None if schedule is None else rfc3339(schedule.next_run_at),
        "revision": None if definition is None else definition.revision,
        "file": kept.file,
        "on_error": None if definition is None else definition.on_error,
        "steps": _steps(kept),
        "last_run": _last(one.last),
        "updated_at": rfc3339(kept.updated_at),
    }


def _when(one: Standing) -> dict[str, Any] | None:
    if one.schedule is None:
        return None
    trigger = one.schedule.spec.trigger.as_dict()
    return {
        "type": one.schedule.spec.type.value,
        "cron_expr": trigger.get("cron_expr"),
        "interval_seconds": trigger.get("interval_seconds"),
        "timezone": one.schedule.spec.trigger.rule.zone,
    }


def _steps(kept: Kept) -> list[dict[str, Any]]:
    return [{name: step.get(name) for name in ("class", "name", "kwargs", "on_error", "line")} for step in kept.steps]


def _last(run: RunView | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {"id": run.id, "state": run.state.value, "finished_at": rfc3339(run.finished_at)}


def _passed(one: Passed) -> dict[str, Any]:
    shown = encode.run(one.run)
    kept = ("id", "state", "created_at", "started_at", "finished_at", "duration_ms")
    return {**{name: shown[name] for name in kept}, "steps": [dict(step) for step in one.steps]}
