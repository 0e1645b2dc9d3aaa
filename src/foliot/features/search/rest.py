"""The route of autocompletion."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.features.search import schema
from foliot.features.search.usecases import Suggester, SuggestField
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases, plain_texts

router = APIRouter(prefix="/api/suggest", tags=["Runs"])


@router.get(
    "",
    dependencies=[permits(Suggester.suggest)],
    response_model=schema.SuggestionList,
    operation_id="filters.suggest",
    summary="Values that a filter could have",
)
async def suggest(
    cases: Cases,
    caller: Who,
    field: Annotated[SuggestField, Query(description="`any`: everything that has a page.")] = SuggestField.ANY,
    prefix: Annotated[str, Query(max_length=200, description="What was typed so far.")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Response:
    """Time zones match by city, abbreviation (`PT`, `CET`) and offset (`+01:00`) too."""
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
