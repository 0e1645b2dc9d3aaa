"""The route of tickets, which let browsers open streams."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.errors import Invalid
from foliot.domain.reading import rfc3339
from foliot.doors.rest import models_access, render
from foliot.doors.rest.asking import Body, Cases
from foliot.doors.rest.models import CONFLICT
from foliot.doors.rest.models_access import NO_STORE
from foliot.doors.rest.who import Who, permits
from foliot.usecases.tickets import NewTicket

router = APIRouter(prefix="/api/stream-tickets", tags=["API keys"])


@router.post(
    "",
    dependencies=[permits(Verb.WRITE, Thing.TICKET)],
    status_code=201,
    response_model=models_access.Ticket,
    responses=CONFLICT,
    summary="A ticket for a stream",
)
async def issue(cases: Cases, caller: Who, asked: Body) -> Response:
    """Opens one stream, as `?ticket=` and within 60 s. The stream ends when what you show now no longer counts."""
    if asked.document not in (None, {}):
        raise Invalid("body", "must be empty: a ticket stands for whoever asks for it")
    made = await cases.tickets.issue(caller, asked.once(201, _shown, secret=True))
    return Response(_shown(made), 201, NO_STORE, "application/json")


def _shown(made: NewTicket) -> bytes:
    return render.dumps({"ticket": made.text, "expires_at": rfc3339(made.expires_at)})
