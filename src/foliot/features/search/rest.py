"""The routes of autocompletion and of resolving names."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.features.search import schema
from foliot.features.search.usecases import ReferenceKind, ReferenceResolver, Suggester, SuggestField
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, plain_texts

router = APIRouter(prefix="/api", tags=["Runs"])


@router.get(
    "/suggest",
    dependencies=[permits(Suggester.suggest)],
    response_model=schema.SuggestionList,
    operation_id="filters.suggest",
    summary="Suggest values for a filter",
)
async def suggest(
    cases: Cases,
    caller: Who,
    field: Annotated[SuggestField, Query(description="`any`: everything that has a page.")] = SuggestField.ANY,
    prefix: Annotated[str, Query(max_length=200, description="What has been typed so far.")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Response:
    """Time zones match by city, abbreviation (`PT`, `CET`) and offset (`+05:30`, `UTC+5:30`) too."""
    completions = await cases[Suggester].suggest(caller, field, plain_texts(prefix=prefix)["prefix"] or "", limit)
    items = [
        schema.FilterSuggestion(
            field=one.field,
            value=one.value,
            label=one.label,
            hint=one.hint,
        )
        for one in completions
    ]
    return encode.answer(
        schema.SuggestionList(
            items=items,
        )
    )


@router.get(
    "/resolve",
    dependencies=[permits(ReferenceResolver.resolve)],
    response_model=schema.ReferenceResolution,
    operation_id="references.resolve",
    summary="Resolve a name or an id prefix",
)
async def resolve(
    cases: Cases,
    caller: Who,
    kind: Annotated[ReferenceKind, Query(description="The kind of object.")],
    ref: Annotated[str, Query(min_length=1, max_length=200, description="A name, an id, or the beginning of an id.")],
) -> Response:
    """Schedules and API keys have names; a schedule's name also stands for its newest run.

    Names match exactly, or else regardless of case. Deleted schedules are found by id only.
    """
    found = await cases[ReferenceResolver].resolve(caller, kind, plain_texts(ref=ref)["ref"] or "")
    return encode.answer(
        schema.ReferenceResolution(
            matches=[
                schema.ReferenceMatch(kind=one.field, id=one.value, name=one.label, hint=one.hint)
                for one in found.matches
            ],
            more=found.more,
            suggestions=list(found.suggestions),
        )
    )
