"""The route that issues tickets, by which browsers open streams."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.core.errors import Invalid
from foliot.features.api_keys.schema import NO_STORE
from foliot.features.sessions import schema
from foliot.features.sessions.usecases import NewTicket, Tickets
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT

router = APIRouter(prefix="/api/stream-tickets", tags=["API keys"])


@router.post(
    "",
    dependencies=[permits(Tickets.issue)],
    status_code=201,
    response_model=schema.StreamTicket,
    responses=CONFLICT,
    operation_id="stream_tickets.create",
    summary="Create a ticket for a stream",
)
async def issue(cases: Cases, caller: Who, asked: Body) -> Response:
    """Opens one stream, as `?ticket=` and within 60 s. The stream ends when your credential is no longer valid."""
    if asked.document not in (None, {}):
        raise Invalid("body", "must be empty: a ticket is issued to its caller")
    ticket = await cases[Tickets].issue(caller, asked.once(201, _shown, secret=True))
    return encode.answer(_shown(ticket), 201, NO_STORE)


def _shown(made: NewTicket) -> schema.StreamTicket:
    return schema.StreamTicket(
        ticket=made.text,
        expires_at=made.expires_at,
    )
