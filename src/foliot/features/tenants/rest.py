"""Routes of what tenants may use at most."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from foliot.commands.tenant import Tenant
from foliot.commands.use_cases import UseCases
from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.core.limits import LIMITS, MOST, MOST_BYTES
from foliot.core.limits import Limits as Holding
from foliot.features.tenants.usecases import Tenants
from foliot.servers.http import encode
from foliot.servers.http.bodies import Model, body
from foliot.servers.http.models import UNKNOWN
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, Document
from foliot.servers.http.sse import Streams

router = APIRouter(prefix="/api", tags=["Limits"])

MAX_TENANT = 64

Count = Annotated[int, Field(ge=0, le=MOST)]
Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Rate = Annotated[int, Field(ge=1, le=MOST)]


class OwnLimits(Model):
    """What is left out follows the settings; a null lifts the limit."""

    requests_per_minute: Rate | None = None
    schedules: Count | None = None
    concurrent_runs: Count | None = None
    run_now_per_minute: Rate | None = None
    streams: Count | None = None
    stored_bytes: Bytes | None = None


class TenantRequest(Model):
    """What a tenant may use; the whole of it."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"limits": {"schedules": 500, "concurrent_runs": 20}, "egress_allow": []}}
    )

    limits: OwnLimits | None = None
    egress_allow: list[str] | None = Field(None, max_length=256, examples=[["*.example.com", "203.0.113.0/24"]])
    """Where its actions may go, among what the operator allows; empty: all of that."""


class Limits(Model):
    """What holds; null is no limit."""

    requests_per_minute: int | None
    schedules: int | None
    concurrent_runs: int | None
    run_now_per_minute: int | None
    streams: int | None
    stored_bytes: int | None
    """Of schedules, their versions, and what runs were given beyond them."""


class TenantModel(Model):
    """What is said of a tenant, and what therefore holds."""

    tenant_id: str
    limits: dict[str, int | None]
    """Its own; what is not named follows the settings."""
    effective: Limits
    egress_allow: list[str] | None
    """Null: it cannot be read, and nothing of this tenant goes out until it is put anew."""
    updated_by: str | None
    updated_at: str | None


class TenantPage(Model):
    """Tenants of whom something is said."""

    items: list[TenantModel]
    next_cursor: str | None


class Used(Model):
    """How much is used now."""

    schedules: int
    concurrent_runs: int
    streams: int
    """Of the process that answers."""
    stored_bytes: int


class LimitsInUse(Model):
    """Your tenant's limits, and how much of them is used."""

    limits: Limits
    used: Used


REQUESTS: tuple[type[BaseModel], ...] = (TenantRequest,)


async def _tenant_id(tenant_id: Annotated[str, Path(description="A tenant's id, as tokens name it.")]) -> str:
    # As tokens may name one; any other names nobody.
    if not 0 < len(tenant_id) <= MAX_TENANT or not tenant_id.isprintable() or tenant_id != tenant_id.strip():
        raise NotFound("tenant", tenant_id[:64])
    return tenant_id


TenantId = Annotated[str, Depends(_tenant_id)]


@router.get(
    "/tenants",
    dependencies=[permits(Tenants.list)],
    response_model=TenantPage,
    summary="List tenants of whom something is said",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    """In the order of their ids. A tenant that is not listed has what the settings say."""
    found = await cases[Tenants].list(caller, page.more())
    return encode.page(found, page, lambda one: _tenant(cases, one), lambda one: one.tenant_id)


@router.get(
    "/tenants/{tenant_id:path}",
    dependencies=[permits(Tenants.get)],
    response_model=TenantModel,
    responses=UNKNOWN,
    summary="What one tenant may use",
)
async def get(cases: Cases, caller: Who, tenant_id: TenantId) -> Response:
    """Also of a tenant of whom nothing is said: it has what the settings say."""
    return encode.answer(_tenant(cases, await cases[Tenants].get(caller, tenant_id)))


@router.put(
    "/tenants/{tenant_id:path}",
    dependencies=[permits(Tenants.put)],
    response_model=TenantModel,
    openapi_extra=body(TenantRequest),
    responses=UNKNOWN,
    summary="Say what one tenant may use",
)
async def put(cases: Cases, caller: Who, tenant_id: TenantId, document: Document) -> Response:
    """The whole document anew. Every process follows it within 5 s; what runs or exists already stays."""
    return encode.answer(_tenant(cases, await cases[Tenants].put(caller, tenant_id, document)))


@router.get(
    "/limits",
    dependencies=[permits(Tenants.use)],
    response_model=LimitsInUse,
    summary="Your tenant's limits, and how much of them is used",
)
async def limits(request: Request, cases: Cases, caller: Who) -> Response:
    use = await cases[Tenants].use(caller)
    streams: Streams = request.app.state.streams
    used = {"schedules": use.schedules, "concurrent_runs": use.running, "streams": streams.of[caller.tenant_id]}
    used["stored_bytes"] = use.stored_bytes
    return encode.answer({"limits": _limits(use.limits), "used": used})


def _tenant(cases: UseCases, one: Tenant) -> dict[str, Any]:
    return {
        "tenant_id": one.tenant_id,
        "limits": {name: one.limits[name] for name in LIMITS if name in one.limits},
        "effective": _limits(cases[Tenants].effective(one)),
        "egress_allow": None if one.egress_allow is None else list(one.egress_allow),
        "updated_by": one.updated_by,
        "updated_at": rfc3339(one.updated_at),
    }


def _limits(one: Holding) -> dict[str, int | None]:
    return one.as_dict()
