"""Routes of API keys."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from foliot.auth.api_key import Key
from foliot.core.document import rfc3339
from foliot.features.api_keys import schema as models_access
from foliot.features.api_keys.schema import NO_STORE
from foliot.features.api_keys.usecases import Keys, NewKey
from foliot.servers.http import encode
from foliot.servers.http.bodies import body
from foliot.servers.http.models import CONFLICT, UNKNOWN, problem
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, KeyId

router = APIRouter(prefix="/api/keys", tags=["API keys"])


@router.post(
    "",
    dependencies=[permits(Keys.create)],
    status_code=201,
    response_model=models_access.NewKey,
    openapi_extra=body(models_access.KeyRequest),
    responses={**CONFLICT, **problem(429, "There are 100 keys already")},
    summary="Create an API key",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """`key` is shown this once and kept nowhere. Nobody hands out more than they have."""
    made = await cases[Keys].create(caller, asked.document, asked.once(201, _shown, secret=True))
    return Response(_shown(made), 201, NO_STORE, "application/json")


@router.get(
    "",
    dependencies=[permits(Keys.list)],
    response_model=models_access.Keys,
    summary="List API keys, newest first",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    """Revoked and expired ones too, and never the keys themselves."""
    return encode.page(await cases[Keys].list(caller, page.more()), page, _key, lambda one: one.id)


@router.delete(
    "/{key_id}",
    dependencies=[permits(Keys.revoke)],
    status_code=204,
    responses=UNKNOWN,
    summary="Revoke an API key",
)
async def revoke(cases: Cases, caller: Who, key_id: KeyId) -> Response:
    """For good: within 5 s nothing accepts it, and streams opened with it end. It stays listed."""
    await cases[Keys].revoke(caller, key_id)
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
    return encode.dumps({**_key(made.key), "key": made.text})
