"""Routes of tenants' limits and allowed targets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field

from foliot.commands.envelope import UseCases
from foliot.commands.tenants_sql import Tenant
from foliot.core.errors import NotFound
from foliot.core.limits import LIMITS, MOST, MOST_BYTES
from foliot.core.limits import TenantLimits as Holding
from foliot.features.tenants import schema
from foliot.features.tenants.usecases import TenantRequest, Tenants
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, Document
from foliot.servers.http.schema import UNKNOWN, body
from foliot.servers.http.sse import OpenStreams

router = APIRouter(prefix="/api", tags=["Limits"])

MAX_TENANT = 64

Count = Annotated[int, Field(ge=0, le=MOST)]
Bytes = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Rate = Annotated[int, Field(ge=1, le=MOST)]


async def _tenant_id(tenant_id: Annotated[str, Path(description="A tenant's id, as tokens name it.")]) -> str:
    # The form that tokens allow; no tenant can have another id.
    if not 0 < len(tenant_id) <= MAX_TENANT or not tenant_id.isprintable() or tenant_id != tenant_id.strip():
        raise NotFound("tenant", tenant_id[:64])
    return tenant_id


TenantId = Annotated[str, Depends(_tenant_id)]


@router.get(
    "/tenants",
    dependencies=[permits(Tenants.list)],
    response_model=schema.TenantPage,
    summary="List tenants with settings of their own",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    """In the order of their ids. A tenant that is not listed has the defaults of the settings."""
    tenants = await cases[Tenants].list(caller, page.more())
    shown, following = page.of(tenants, lambda one: one.tenant_id)
    return encode.answer(schema.TenantPage(items=[_tenant(cases, one) for one in shown], next_cursor=following))


@router.get(
    "/tenants/{tenant_id:path}",
    dependencies=[permits(Tenants.get)],
    response_model=schema.TenantSettings,
    responses=UNKNOWN,
    summary="Get the limits of a tenant",
)
async def get(cases: Cases, caller: Who, tenant_id: TenantId) -> Response:
    """Also for a tenant without a row: it has the defaults of the settings."""
    return encode.answer(_tenant(cases, await cases[Tenants].get(caller, tenant_id)))


@router.put(
    "/tenants/{tenant_id:path}",
    dependencies=[permits(Tenants.put)],
    response_model=schema.TenantSettings,
    openapi_extra=body(TenantRequest),
    responses=UNKNOWN,
    summary="Set the limits of a tenant",
)
async def put(cases: Cases, caller: Who, tenant_id: TenantId, document: Document) -> Response:
    """Replaces the whole document. Every process applies it within 5 s; existing runs and schedules stay."""
    return encode.answer(_tenant(cases, await cases[Tenants].put(caller, tenant_id, document)))


@router.get(
    "/limits",
    dependencies=[permits(Tenants.use)],
    response_model=schema.LimitUsage,
    operation_id="limits.show",
    summary="Get your tenant's limits, and how much of them is used",
)
async def limits(request: Request, cases: Cases, caller: Who) -> Response:
    use = await cases[Tenants].use(caller)
    streams: OpenStreams = request.app.state.streams
    used = schema.LimitsUsed(
        schedules=use.schedules,
        concurrent_runs=use.running,
        streams=streams.of[caller.tenant_id],
        stored_bytes=use.stored_bytes,
    )
    return encode.answer(
        schema.LimitUsage(
            limits=_limits(use.limits),
            used=used,
            pages=schema.PageStorage(bytes=use.page_bytes, quota=use.page_quota),
        )
    )


def _tenant(cases: UseCases, one: Tenant) -> schema.TenantSettings:
    return schema.TenantSettings(
        tenant_id=one.tenant_id,
        limits={name: one.limits[name] for name in LIMITS if name in one.limits},
        effective=_limits(cases[Tenants].effective(one)),
        egress_allow=None if one.egress_allow is None else list(one.egress_allow),
        updated_by=one.updated_by,
        updated_at=one.updated_at,
    )


def _limits(one: Holding) -> schema.EffectiveLimits:
    return schema.EffectiveLimits(**one.as_dict())
