"""Routes of secrets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from foliot.core.secrets import OVERLAP, SIGNING
from foliot.features.secrets import schema
from foliot.features.secrets.model import SecretView
from foliot.features.secrets.usecases import Secrets
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, Document
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(prefix="/api/secrets", tags=["Secrets"])

Name = Annotated[str, Path(description="Letters, digits and underscores; at most 64.")]


@router.put(
    "/{name}",
    dependencies=[permits(Secrets.put)],
    status_code=204,
    openapi_extra=body(schema.SecretRequest),
    responses={**CONFLICT, **problem(429, "The tenant already has 100 secrets")},
    summary="Set a secret",
)
async def put(cases: Cases, caller: Who, name: Name, asked: Document) -> Response:
    """Its value is encrypted and never shown again; actions use it within 5 s. Setting the same value changes nothing.

    With `hosts` it is sent to these only; without, a new value keeps the former ones. An empty list lifts that.
    """
    await cases[Secrets].put(caller, name, asked)
    return Response(status_code=204)


@router.get(
    "",
    dependencies=[permits(Secrets.list)],
    response_model=schema.SecretPage,
    summary="List secrets",
)
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """All of them by name, at most 100, and never their values."""
    shown, following = part.of(await cases[Secrets].list(caller), lambda one: one.name)
    return encode.answer(
        schema.SecretPage(
            items=[_secret(one) for one in shown],
            next_cursor=following,
        )
    )


@router.delete(
    "/{name}",
    dependencies=[permits(Secrets.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete a secret",
)
async def delete(cases: Cases, caller: Who, name: Name) -> Response:
    """All its versions at once. Webhooks that use it fail from then on, before anything is sent."""
    await cases[Secrets].delete(caller, name)
    return Response(status_code=204)


def _secret(one: SecretView) -> schema.SecretInfo:
    replaced = one.retired_at if one.name == SIGNING else None
    return schema.SecretInfo(
        name=one.name,
        version=one.version,
        created_at=one.created_at,
        created_by=one.created_by,
        hosts=list(one.hosts),
        previous_until=replaced + OVERLAP if replaced is not None else None,
    )
