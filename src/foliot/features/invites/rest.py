"""The route of invitations."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from foliot.core.errors import Conflict
from foliot.features.api_keys.schema import NO_STORE
from foliot.features.invites import schema
from foliot.features.invites.model import InviteRequest
from foliot.features.invites.usecases import Invites, IssuedInvite
from foliot.servers.http import encode
from foliot.servers.http.own_address import own_address
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import CONFLICT, body, problem

router = APIRouter(prefix="/api/invites", tags=["Session"])


@router.post(
    "",
    dependencies=[permits(Invites.create)],
    status_code=201,
    response_model=schema.Invite,
    openapi_extra=body(InviteRequest),
    responses={**CONFLICT, **problem(429, "The tenant already has 100 keys")},
    operation_id="invites.create",
    summary="Invite a person",
)
async def create(request: Request, cases: Cases, caller: Who, asked: Body) -> Response:
    """Answers a link that signs in once, with a role; it is shown only in this answer.

    The access is an API key under the person's name: revoke it to end their sessions.
    """
    if request.app.state.identity is None:
        raise Conflict("local mode has no sign-in and no invitations: everything is open on this machine")
    address = own_address(request)

    def shown(made: IssuedInvite) -> schema.Invite:
        return schema.Invite(
            key_id=made.key.id,
            name=made.key.name,
            role=made.key.role,
            url=f"{address}/login?code={made.code}",
            link_expires_at=made.link_expires_at,
            expires_at=made.key.expires_at,
        )

    made = await cases[Invites].create(caller, asked.document, asked.once(201, shown, secret=True))
    return encode.answer(shown(made), 201, NO_STORE)
