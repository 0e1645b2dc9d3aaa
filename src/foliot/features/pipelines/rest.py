"""Routes of pipelines."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.errors import NotFound
from foliot.engine.model.views import RunView
from foliot.features.pipelines import schema
from foliot.features.pipelines.model import NAME, StoredPipeline
from foliot.features.pipelines.usecases.pipelines import PipelineRunRequest, PipelineRunView, Pipelines, PipelineStatus
from foliot.features.runs import schema as runs_schema
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import UNKNOWN, body, fields_of

router = APIRouter(prefix="/api/pipelines", tags=["Pipelines"])


async def _name(pipeline: Annotated[str, Path(description="A pipeline's name.")]) -> str:
    if not NAME.fullmatch(pipeline):
        raise NotFound("pipeline", pipeline[:64])
    return pipeline


Name = Annotated[str, Depends(_name)]


@router.get(
    "",
    dependencies=[permits(Pipelines.list, Pipelines.faults)],
    response_model=schema.PipelinePage,
    summary="List pipelines",
)
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """All pipelines of the file, including broken ones."""
    found, following = part.of(await cases[Pipelines].list(caller), lambda one: one.kept.name)
    items = [_standing(one) for one in found]
    faults = [schema.PipelineFault(**fault.to_dict()) for fault in await cases[Pipelines].faults(caller)]
    return encode.answer(
        schema.PipelinePage(
            items=items,
            next_cursor=following,
            faults=faults,
        )
    )


@router.get(
    "/{pipeline}",
    dependencies=[permits(Pipelines.get)],
    response_model=schema.PipelineDetail,
    responses=UNKNOWN,
    summary="One pipeline",
)
async def get(cases: Cases, caller: Who, pipeline: Name) -> Response:
    """With its YAML, without secrets, and its 20 newest runs with the progress of each step."""
    standing, runs = await cases[Pipelines].get(caller, pipeline)
    return encode.answer(
        schema.PipelineDetail(
            **fields_of(_standing(standing)), yaml=standing.kept.yaml, runs=[_passed(one) for one in runs]
        )
    )


@router.post(
    "/{pipeline}/run",
    dependencies=[permits(Pipelines.run)],
    status_code=202,
    response_model=runs_schema.Run,
    openapi_extra=body(PipelineRunRequest, required=False),
    responses=UNKNOWN,
    summary="Run a pipeline now",
)
async def run(cases: Cases, caller: Who, pipeline: Name, asked: Body) -> Response:
    """Outside its schedule, in the queue `manual`."""
    made = await cases[Pipelines].run(
        caller, pipeline, asked.document, asked.once(202, runs_schema.Run.of, runs_schema.located)
    )
    return encode.answer(runs_schema.Run.of(made), 202, runs_schema.located(made))


def _standing(one: PipelineStatus) -> schema.PipelineSummary:
    kept, schedule, definition = one.kept, one.schedule, one.kept.definition
    return schema.PipelineSummary(
        name=kept.name,
        state="loaded" if kept.fault is None else "broken",
        error=None if kept.fault is None else schema.PipelineFault(**kept.fault.to_dict()),
        schedule=_when(one),
        schedule_id=kept.schedule_id,
        status=None if schedule is None else schedule.status,
        summary=None if schedule is None else schedule.spec.trigger.summary,
        next_run_at=None if schedule is None else schedule.next_run_at,
        revision=None if definition is None else definition.revision,
        file=kept.file,
        on_error=None if definition is None else definition.on_error,
        steps=_steps(kept),
        last_run=_last(one.last),
        updated_at=kept.updated_at,
    )


def _when(one: PipelineStatus) -> schema.PipelineTrigger | None:
    if one.schedule is None:
        return None
    trigger = one.schedule.spec.trigger.as_dict()
    return schema.PipelineTrigger(
        type=one.schedule.spec.type,
        cron_expr=trigger.get("cron_expr"),
        interval_seconds=trigger.get("interval_seconds"),
        timezone=one.schedule.spec.trigger.rule.zone,
    )


def _steps(kept: StoredPipeline) -> list[schema.PipelineStep]:
    names = ("class", "name", "kwargs", "on_error", "line")
    return [cast("schema.PipelineStep", {name: step.get(name) for name in names}) for step in kept.steps]


def _last(run: RunView | None) -> schema.PipelineLastRun | None:
    if run is None:
        return None
    return schema.PipelineLastRun(
        id=run.id,
        state=run.state,
        finished_at=run.finished_at,
    )


def _passed(one: PipelineRunView) -> schema.PipelineRun:
    run = runs_schema.Run.of(one.run)
    return schema.PipelineRun(
        id=run.id,
        state=run.state,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration_ms=run.duration_ms,
        steps=[cast("schema.PipelineStepProgress", dict(step)) for step in one.steps],
    )
