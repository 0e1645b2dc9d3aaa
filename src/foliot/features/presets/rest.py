"""Routes of presets: schedules that belong together."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel

from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.features.presets.model import Preset
from foliot.features.presets.usecases import Loaded, Presets
from foliot.features.schedules.usecases.declared import Fate
from foliot.servers.http import encode
from foliot.servers.http.bodies import Model, body
from foliot.servers.http.models import UNKNOWN
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases

router = APIRouter(prefix="/api/presets", tags=["Presets"])

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class PlannedModel(Model):
    """A schedule that a preset makes."""

    name: str
    schedule: dict[str, Any]
    """The request that makes it."""


class PresetModel(Model):
    """Schedules that belong together."""

    name: str
    title: str
    description: str
    settings: dict[str, str]
    """What can be given when it is loaded, each with what it is."""
    schedules: list[PlannedModel]


class PresetList(Model):
    """Every preset there is."""

    items: list[PresetModel]
    next_cursor: str | None


class MadeModel(Model):
    """What became of one schedule of a preset."""

    name: str
    outcome: Fate
    """`kept` when somebody edited it: it stays as they want it."""
    schedule_id: str
    schedule: str
    """Its name."""
    status: str
    next_run_at: datetime | None


class LoadedModel(Model):
    """What a load or an unload did."""

    preset: str
    items: list[MadeModel]


class LoadRequest(Model):
    """What the preset can be given; what is left out keeps what stands."""

    settings: dict[str, Any] | None = None


class UnloadRequest(Model):
    """Whether schedules that somebody edited go as well."""

    edited: bool | None = False


REQUESTS: tuple[type[BaseModel], ...] = (LoadRequest, UnloadRequest)


async def _name(preset: Annotated[str, Path(description="A preset's name.")]) -> str:
    if not _NAME.fullmatch(preset):
        raise NotFound("preset", preset[:64])
    return preset


Name = Annotated[str, Depends(_name)]


@router.get("", dependencies=[permits(Presets.list)], response_model=PresetList, summary="List presets")
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """With the schedules that each would make."""
    shown, following = part.of(cases[Presets].list(caller), lambda one: one.name)
    return encode.answer({"items": [_preset(one) for one in shown], "next_cursor": following})


@router.get(
    "/{preset}",
    dependencies=[permits(Presets.get)],
    response_model=PresetModel,
    responses=UNKNOWN,
    summary="One preset",
)
async def get(cases: Cases, caller: Who, preset: Name) -> Response:
    """With the schedules that it would make."""
    return encode.answer(_preset(cases[Presets].get(caller, preset)))


@router.post(
    "/{preset}/load",
    dependencies=[permits(Presets.load)],
    response_model=LoadedModel,
    openapi_extra=body(LoadRequest, required=False),
    responses=UNKNOWN,
    summary="Load a preset",
)
async def load(cases: Cases, caller: Who, preset: Name, asked: Body) -> Response:
    """Makes its schedules, each once however often it is loaded. What somebody edited stays as it is."""
    done = await cases[Presets].load(caller, preset, asked.document, asked.once(200, _whole))
    return encode.answer(_loaded(done))


@router.post(
    "/{preset}/unload",
    dependencies=[permits(Presets.unload)],
    response_model=LoadedModel,
    openapi_extra=body(UnloadRequest, required=False),
    responses=UNKNOWN,
    summary="Unload a preset",
)
async def unload(cases: Cases, caller: Who, preset: Name, asked: Body) -> Response:
    """Deletes the schedules that it made and nobody edited."""
    done = await cases[Presets].unload(caller, preset, asked.document, asked.once(200, _whole))
    return encode.answer(_loaded(done))


def _preset(one: Preset) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "description": one.description,
        "settings": dict(one.settings),
        "schedules": [{"name": each.name, "schedule": dict(each.document)} for each in one.schedules],
    }


def _loaded(one: Loaded) -> dict[str, Any]:
    return {
        "preset": one.preset,
        "items": [
            {
                "name": each.name,
                "outcome": each.fate.value,
                "schedule_id": each.schedule.id,
                "schedule": each.schedule.name,
                "status": "deleted" if each.fate is Fate.DELETED else each.schedule.status.value,
                "next_run_at": None if each.fate is Fate.DELETED else rfc3339(each.schedule.next_run_at),
            }
            for each in one.made
        ],
    }


def _whole(one: Loaded) -> bytes:
    return encode.dumps(_loaded(one))
