"""Routes of tasks: the registered functions that a schedule can run."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, Field

from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.errors import NotFound
from foliot.engine.model.views import RunView
from foliot.features.tasks.model.view import TaskView
from foliot.features.tasks.usecases import Tasks
from foliot.servers.http import encode, models
from foliot.servers.http.bodies import Model, Priority, Queue, body
from foliot.servers.http.fast_route import Swift
from foliot.servers.http.models import UNKNOWN
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/tasks", tags=["Tasks"], route_class=Swift)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,99}")


class TaskModel(Model):
    """A registered function."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: list[str] | None
    """Who may see and run it, or `all`; null for those who do not look after the house."""
    cpu: bool
    """Whether it runs in a process of its own."""
    queue: str | None
    """Where the runs of its schedules wait, unless they say otherwise."""
    retries: int | None
    timeout_seconds: int | None
    schedule: dict[str, Any] | None
    """The schedule that its code declares."""
    parameters: dict[str, Any]
    """What it takes, as a JSON Schema."""


class TaskList(Model):
    """Every task that this server knows."""

    items: list[TaskModel]
    next_cursor: str | None
    faults: list[str] | None
    """Modules that could not be loaded; null for those who do not look after the house."""


class TaskRunRequest(Model):
    """What to run it with."""

    parameters: dict[str, Any] | None = None
    queue: Queue | None = "manual"
    priority: Priority | None = 5
    timeout_seconds: int | None = Field(None, ge=1, le=604_800)


REQUESTS: tuple[type[BaseModel], ...] = (TaskRunRequest,)


async def _name(task: Annotated[str, Path(description="A task's name.")]) -> str:
    if not _NAME.fullmatch(task):
        raise NotFound("task", task[:64])
    return task


Name = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Tasks.list)], response_model=TaskList, summary="List tasks")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """The built-in ones, those of the modules that `FOLIOT_TASKS` names, and those of installed packages: as far as
    the tenant may run them.
    """
    faults = cases[Tasks].faults(caller)
    found, following = part.of(cases[Tasks].list(caller), lambda one: one.name)
    shown = [_task(one, caller) for one in found]
    return encode.answer({"items": shown, "next_cursor": following, "faults": None if faults is None else list(faults)})


@router.get(
    "/{task}",
    dependencies=[permits(Tasks.get)],
    response_model=TaskModel,
    responses=UNKNOWN,
    summary="One task",
)
async def get(cases: Cases, caller: Who, task: Name) -> Response:
    """With what it takes, as a JSON Schema."""
    return encode.answer(_task(cases[Tasks].get(caller, task), caller))


@router.post(
    "/{task}/run",
    dependencies=[permits(Tasks.run)],
    status_code=202,
    response_model=models.Run,
    openapi_extra=body(TaskRunRequest, required=False),
    responses=UNKNOWN,
    summary="Run a task now",
)
async def run(cases: Cases, caller: Who, task: Name, asked: Body) -> Response:
    """A run outside any schedule. Its parameters are checked here and now."""
    made = await cases[Tasks].run(caller, task, asked.document, asked.once(202, _whole, encode.located))
    return encode.answer(encode.run(made), 202, encode.located(made))


def _whole(one: RunView) -> bytes:
    return encode.dumps(encode.run(one))


def _task(one: TaskView, caller: Caller) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "module": one.module,
        "built_in": one.built_in,
        "tenants": one.tenants.listed() if may(caller, Verb.READ, Thing.HOUSE) else None,
        "cpu": one.cpu,
        "queue": one.queue,
        "retries": one.retries,
        "timeout_seconds": one.timeout_seconds,
        "schedule": None if one.schedule is None else dict(one.schedule),
        "parameters": dict(one.parameters),
    }
