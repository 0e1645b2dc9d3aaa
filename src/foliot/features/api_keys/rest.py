"""Routes of API keys."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.auth.identity import ApiKeyRequest, KeyRecord
from foliot.features.api_keys import schema
from foliot.features.api_keys.schema import NO_STORE
from foliot.features.api_keys.usecases import ApiKeys, IssuedKey
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, KeyId
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, fields_of, problem

router = APIRouter(prefix="/api/keys", tags=["API keys"])


@router.post(
    "",
    dependencies=[permits(ApiKeys.create)],
    status_code=201,
    response_model=schema.NewApiKey,
    openapi_extra=body(ApiKeyRequest),
    responses={**CONFLICT, **problem(429, "The tenant already has 100 keys")},
    summary="Create an API key",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """`key` is shown only in this answer and is not stored. A key cannot exceed the rights of its creator."""
    key = await cases[ApiKeys].create(caller, asked.document, asked.once(201, _shown, secret=True))
    return encode.answer(_shown(key), 201, NO_STORE)


@router.get(
    "",
    dependencies=[permits(ApiKeys.list)],
    response_model=schema.ApiKeyPage,
    summary="List API keys, newest first",
)
async def list_(cases: Cases, caller: Who, page: Paged) -> Response:
    """Revoked and expired ones too, and never the keys themselves."""
    shown, following = page.of(await cases[ApiKeys].list(caller, page.more()), lambda one: one.id)
    return encode.answer(schema.ApiKeyPage(items=[_key(one) for one in shown], next_cursor=following))


@router.delete(
    "/{key_id}",
    dependencies=[permits(ApiKeys.revoke)],
    status_code=204,
    responses=UNKNOWN,
    summary="Revoke an API key",
)
async def revoke(cases: Cases, caller: Who, key_id: KeyId) -> Response:
    """For good: within 5 s nothing accepts it, and streams opened with it end. It stays listed."""
    await cases[ApiKeys].revoke(caller, key_id)
    return Response(status_code=204)


def _key(one: KeyRecord) -> schema.ApiKey:
    return schema.ApiKey(
        id=one.id,
        name=one.name,
        role=one.role,
        scopes=None if one.scopes is None else sorted(one.scopes),
        hint=one.hint,
        created_by=one.created_by,
        created_at=one.created_at,
        expires_at=one.expires_at,
        last_used_at=one.last_used_at,
        revoked_at=one.revoked_at,
        revoked_by=one.revoked_by,
    )


def _shown(made: IssuedKey) -> schema.NewApiKey:
    return schema.NewApiKey(**fields_of(_key(made.key)), key=made.text)
