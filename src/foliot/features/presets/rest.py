"""Routes of presets: sets of schedules that are created together."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from foliot.core.errors import NotFound
from foliot.features.presets import schema
from foliot.features.presets.model import PresetDefinition
from foliot.features.presets.usecases import PresetApplied, PresetLoadRequest, Presets, PresetUnloadRequest
from foliot.features.schedules.usecases.declared import DeclarationOutcome
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import UNKNOWN, body

router = APIRouter(prefix="/api/presets", tags=["Presets"])

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


async def _name(preset: Annotated[str, Path(description="A preset's name.")]) -> str:
    if not _NAME.fullmatch(preset):
        raise NotFound("preset", preset[:64])
    return preset


Name = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Presets.list)], response_model=schema.PresetPage, summary="List presets")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """With the schedules that each would create."""
    shown, following = part.of(cases[Presets].list(caller), lambda one: one.name)
    return encode.answer(
        schema.PresetPage(
            items=[_preset(one) for one in shown],
            next_cursor=following,
        )
    )


@router.get(
    "/{preset}",
    dependencies=[permits(Presets.get)],
    response_model=schema.PresetContents,
    responses=UNKNOWN,
    summary="One preset",
)
async def get(cases: Cases, caller: Who, preset: Name) -> Response:
    """With the schedules that it would create."""
    return encode.answer(_preset(cases[Presets].get(caller, preset)))


@router.post(
    "/{preset}/load",
    dependencies=[permits(Presets.load)],
    response_model=schema.PresetResult,
    openapi_extra=body(PresetLoadRequest, required=False),
    responses=UNKNOWN,
    summary="Load a preset",
)
async def load(cases: Cases, caller: Who, preset: Name, asked: Body) -> Response:
    """Creates its schedules, each once however often it is loaded. Edited ones stay as they are."""
    done = await cases[Presets].load(caller, preset, asked.document, asked.once(200, _loaded))
    return encode.answer(_loaded(done))


@router.post(
    "/{preset}/unload",
    dependencies=[permits(Presets.unload)],
    response_model=schema.PresetResult,
    openapi_extra=body(PresetUnloadRequest, required=False),
    responses=UNKNOWN,
    summary="Unload a preset",
)
async def unload(cases: Cases, caller: Who, preset: Name, asked: Body) -> Response:
    """Deletes the schedules that it created and that were not edited."""
    done = await cases[Presets].unload(caller, preset, asked.document, asked.once(200, _loaded))
    return encode.answer(_loaded(done))


def _preset(one: PresetDefinition) -> schema.PresetContents:
    return schema.PresetContents(
        name=one.name,
        title=one.title,
        description=one.description,
        settings=dict(one.settings),
        schedules=[
            schema.PresetSchedule(
                name=each.name,
                schedule=dict(each.document),
            )
            for each in one.schedules
        ],
    )


def _loaded(one: PresetApplied) -> schema.PresetResult:
    return schema.PresetResult(
        preset=one.preset,
        items=[
            schema.PresetScheduleResult(
                name=each.name,
                outcome=each.fate,
                schedule_id=each.schedule.id,
                schedule=each.schedule.name,
                status="deleted" if each.fate is DeclarationOutcome.DELETED else each.schedule.status,
                next_run_at=None if each.fate is DeclarationOutcome.DELETED else each.schedule.next_run_at,
            )
            for each in one.made
        ],
    )
