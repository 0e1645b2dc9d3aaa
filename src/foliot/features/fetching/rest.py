"""Routes of hosts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from foliot.features.fetching import schema
from foliot.features.fetching.usecases import HostRequest, Hosts, HostView, TurnsRequest, host_name
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import UNKNOWN, body

router = APIRouter(prefix="/api/hosts", tags=["Hosts"])


async def _name(host: Annotated[str, Path(description="`example.com`, or `example.com:8080`.")]) -> str:
    return host_name(host)


HostName = Annotated[str, Depends(_name)]


@router.get(
    "",
    dependencies=[permits(Hosts.list)],
    response_model=schema.HostPage,
    summary="List hosts",
    operation_id="hosts.list",
)
async def list_hosts(
    cases: Cases,
    caller: Who,
    turn: Paged,
    q: Annotated[str, Query(max_length=255, description="Part of the name.")] = "",
) -> Response:
    """Their limits, when each may be requested next, and what waits."""
    more = turn.more()
    shown, following = turn.of(await cases[Hosts].list(caller, more.cursor, more.limit, q), lambda view: view.row.host)
    return encode.answer(schema.HostPage(items=[_host(one) for one in shown], next_cursor=following))


@router.get(
    "/{host}",
    dependencies=[permits(Hosts.get)],
    response_model=schema.HostStatus,
    responses=UNKNOWN,
    summary="One host",
    operation_id="hosts.get",
)
async def get_host(cases: Cases, caller: Who, host: HostName) -> Response:
    return encode.answer(_host(await cases[Hosts].get(caller, host)))


@router.put(
    "/{host}",
    dependencies=[permits(Hosts.put)],
    response_model=schema.HostStatus,
    openapi_extra=body(HostRequest),
    summary="Set the limits of a host",
    operation_id="hosts.put",
)
async def put_host(cases: Cases, caller: Who, host: HostName, asked: Body) -> Response:
    """An admin of the operator's tenant, or the role system, sets them for all.

    Another tenant may give `rate` alone, and only a slower one: it holds for that tenant.
    """
    return encode.answer(_host(await cases[Hosts].put(caller, host, asked.document, asked.once(200, _host))))


@router.delete(
    "/{host}",
    dependencies=[permits(Hosts.reset)],
    response_model=schema.HostStatus,
    summary="Reset a host to its defaults",
    operation_id="hosts.reset",
)
async def reset_host(cases: Cases, caller: Who, host: HostName, asked: Body) -> Response:
    return encode.answer(_host(await cases[Hosts].reset(caller, host, asked.once(200, _host))))


@router.post(
    "/{host}/turns",
    dependencies=[permits(Hosts.allot)],
    response_model=schema.TurnBlock,
    openapi_extra=body(TurnsRequest),
    summary="Turns for a spider",
    operation_id="hosts.turns",
)
async def allot_turns(cases: Cases, caller: Who, host: HostName, asked: Body) -> Response:
    """A block of turns at the host, within the limits that all requests share; reports what answers said."""
    block = await cases[Hosts].allot(caller, host, asked.document, asked.once(200, schema.TurnBlock.of))
    return encode.answer(schema.TurnBlock.of(block))


def _host(view: HostView) -> schema.HostStatus:
    return schema.HostStatus.of(view)
