"""Routes of what stored versions show: numbers over time, and trials of conditions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from foliot.features.watches.model.request import ConditionTrialRequest
from foliot.features.watches.model.watch import WATCHED_PAGE
from foliot.features.watches.rest.watches import WatchId, checked
from foliot.features.watches.schema.changes import ConditionTrialAnswer, WatchPlotDetail
from foliot.features.watches.usecases.plots import MOST_PAGES_SHOWN, WatchPlots
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases
from foliot.servers.http.schema import UNKNOWN, body

router = APIRouter(prefix="/api/watches", tags=["Watches"])


@router.get(
    "/{watch_id}/plot",
    dependencies=[permits(WatchPlots.plot)],
    response_model=WatchPlotDetail,
    responses=UNKNOWN,
    summary="A numeric field of a watch over time",
    operation_id="watches.plot",
)
async def plot(
    cases: Cases,
    caller: Who,
    watch_id: WatchId,
    field: Annotated[
        str | None, Query(max_length=64, description="A field of type number or price; default: the first one.")
    ] = None,
    pages: Annotated[int, Query(ge=1, le=MOST_PAGES_SHOWN, description="At most this many pages.")] = 8,
    page: Annotated[
        str | None, Query(max_length=40, description="The id of one page, `wpg_…`: that one alone.")
    ] = None,
) -> Response:
    """Of the pages that changed last, or of one, up to 500 versions each."""
    page_id = None if page is None else checked("page", WATCHED_PAGE, page)
    return encode.answer(WatchPlotDetail.of(await cases[WatchPlots].plot(caller, watch_id, field, pages, page_id)))


@router.post(
    "/{watch_id}/try-condition",
    dependencies=[permits(WatchPlots.try_condition)],
    response_model=ConditionTrialAnswer,
    openapi_extra=body(ConditionTrialRequest),
    responses=UNKNOWN,
    summary="Try a condition over stored versions",
    operation_id="watches.try_condition",
)
async def try_condition(cases: Cases, caller: Who, watch_id: WatchId, asked: Body) -> Response:
    """What it would have said of the newest 200 changes, or 20 where it looks at texts; nothing is stored."""
    trial = await cases[WatchPlots].try_condition(caller, watch_id, asked.document)
    return encode.answer(ConditionTrialAnswer.of(trial))
