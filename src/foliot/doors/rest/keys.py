"""Routes of API keys."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.key import Key
from foliot.domain.reading import rfc3339
from foliot.doors.rest import models_access, render
from foliot.doors.rest.asking import Body, Cases, KeyId
from foliot.doors.rest.bodies import body
from foliot.doors.rest.models import CONFLICT, UNKNOWN, problem
from foliot.doors.rest.models_access import NO_STORE
from foliot.doors.rest.paging import Paged
from foliot.doors.rest.who import Who, permits
from foliot.usecases.keys import NewKey

router = APIRouter(prefix="/api/keys", tags=["API keys"])


@router.post(
    "",
    dependencies=[permits(Verb.WRITE, Thing.KEY)],
    status_code=201,
    response_model=models_access.NewKey,
    openapi_extra=body(models_access.KeyRequest),
    responses={**CONFLICT, **problem(429, "There are 100 keys already")},
    summary="Create an API key",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """`key` is shown this once and kept nowhere. Nobody hands out more than they have."""
    made = await cases.keys.create(caller, asked.document, asked.once(201, _shown, secret=True))
    return Response(_shown(made), 201, NO_STORE, "application/json")


@router.get(
    "",
    dependencies=[permits(Verb.READ, Thing.KEY)],
    response_model=models_access.Keys,
    summary="List API keys, newest first",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    """Revoked and expired ones too, and never the keys themselves."""
    return render.page(await cases.keys.list(caller, page.more()), page, _key, lambda one: one.id)


@router.delete(
    "/{key_id}",
    dependencies=[permits(Verb.WRITE, Thing.KEY)],
    status_code=204,
    responses=UNKNOWN,
    summary="Revoke an API key",
)
async def revoke(cases: Cases, caller: Who, key_id: KeyId) -> Response:
    """For good: within 5 s nothing accepts it, and streams opened with it end. It stays listed."""
    await cases.keys.revoke(caller, key_id)
    return Response(status_code=204)


def _key(one: Key) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "role": one.role.value,
        "scopes": None if one.scopes is None else sorted(one.scopes),
        "hint": one.hint,
        "created_by": one.created_by,
        "created_at": rfc3339(one.created_at),
        "expires_at": rfc3339(one.expires_at),
        "last_used_at": rfc3339(one.last_used_at),
        "revoked_at": rfc3339(one.revoked_at),
        "revoked_by": one.revoked_by,
    }


def _shown(made: NewKey) -> bytes:
    return render.dumps({**_key(made.key), "key": made.text})
