"""Routes of tasks: the registered functions that a schedule can run."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.errors import NotFound
from foliot.features.runs import schema as runs_schema
from foliot.features.tasks import schema
from foliot.features.tasks.model.task import TaskView
from foliot.features.tasks.usecases import TaskRunRequest, Tasks
from foliot.servers.http import encode
from foliot.servers.http.fast_route import FastRoute
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import UNKNOWN, body

router = APIRouter(prefix="/api/tasks", tags=["Tasks"], route_class=FastRoute)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")


async def _name(task: Annotated[str, Path(description="A task's name.")]) -> str:
    if not _NAME.fullmatch(task):
        raise NotFound("task", task[:64])
    return task


Name = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Tasks.list)], response_model=schema.TaskPage, summary="List tasks")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """The built-in ones, those of the modules that `FOLIOT_TASKS` names, and those of installed packages, as far as
    the tenant may run them.
    """
    faults = cases[Tasks].faults(caller)
    found, following = part.of(cases[Tasks].list(caller), lambda one: one.name)
    shown = [_task(one, caller) for one in found]
    return encode.answer(
        schema.TaskPage(
            items=shown,
            next_cursor=following,
            faults=None if faults is None else list(faults),
        )
    )


@router.get(
    "/{task}",
    dependencies=[permits(Tasks.get)],
    response_model=schema.RegisteredTask,
    responses=UNKNOWN,
    summary="One task",
)
async def get(cases: Cases, caller: Who, task: Name) -> Response:
    """With its parameters, as JSON Schema."""
    return encode.answer(_task(cases[Tasks].get(caller, task), caller))


@router.post(
    "/{task}/run",
    dependencies=[permits(Tasks.run)],
    status_code=202,
    response_model=runs_schema.Run,
    openapi_extra=body(TaskRunRequest, required=False),
    responses=UNKNOWN,
    summary="Run a task now",
)
async def run(cases: Cases, caller: Who, task: Name, asked: Body) -> Response:
    """A run outside any schedule. Its parameters are validated before the answer."""
    view = await cases[Tasks].run(
        caller, task, asked.document, asked.once(202, runs_schema.Run.of, runs_schema.located)
    )
    return encode.answer(runs_schema.Run.of(view), 202, runs_schema.located(view))


def _task(one: TaskView, caller: Caller) -> schema.RegisteredTask:
    return schema.RegisteredTask(
        name=one.name,
        description=one.description,
        module=one.module,
        built_in=one.built_in,
        tenants=one.tenants.listed() if may(caller, Verb.READ, Thing.INSTALLATION) else None,
        cpu=one.cpu,
        queue=one.queue,
        retries=one.retries,
        timeout_seconds=one.timeout_seconds,
        schedule=None if one.schedule is None else dict(one.schedule),
        parameters=dict(one.parameters),
    )
