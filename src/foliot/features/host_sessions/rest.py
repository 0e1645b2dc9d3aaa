"""Routes of host sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from foliot.features.host_sessions import schema
from foliot.features.host_sessions.usecases import HostSessionRequest, HostSessions
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(prefix="/api", tags=["Hosts"])

Host = Annotated[str, Path(description="`example.com`, or `example.com:8080`.")]
Name = Annotated[str, Path(description="Letters, digits and underscores; at most 64.")]


@router.get(
    "/host-sessions",
    dependencies=[permits(HostSessions.list)],
    response_model=schema.HostSessionPage,
    summary="List sessions of hosts",
    operation_id="host_sessions.list",
)
async def list_sessions(cases: Cases, caller: Who, part: Parted) -> Response:
    """By host and name, without their cookies."""
    shown, following = part.of(await cases[HostSessions].list(caller), lambda one: f"{one.host}/{one.name}")
    items = [schema.HostSessionStatus.of(one) for one in shown]
    return encode.answer(schema.HostSessionPage(items=items, next_cursor=following))


@router.put(
    "/hosts/{host}/sessions/{name}",
    dependencies=[permits(HostSessions.put)],
    response_model=schema.HostSessionStatus,
    openapi_extra=body(HostSessionRequest),
    responses={**CONFLICT, **problem(429, "The tenant already has 100 sessions")},
    summary="Set a session of a host",
    operation_id="host_sessions.put",
)
async def put_session(cases: Cases, caller: Who, host: Host, name: Name, asked: Body) -> Response:
    """Pages of this host that are fetched with `session: NAME` send its cookies; they are encrypted and never shown."""
    once = asked.once(200, schema.HostSessionStatus.of)
    session = await cases[HostSessions].put(caller, host, name, asked.document, once)
    return encode.answer(schema.HostSessionStatus.of(session))


@router.delete(
    "/hosts/{host}/sessions/{name}",
    dependencies=[permits(HostSessions.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete a session of a host",
    operation_id="host_sessions.delete",
)
async def delete_session(cases: Cases, caller: Who, host: Host, name: Name) -> Response:
    """With its cookies."""
    await cases[HostSessions].delete(caller, host, name)
    return Response(status_code=204)
