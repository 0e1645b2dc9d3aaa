"""The route of what needs attention."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.features.insights import schema
from foliot.features.insights.usecases.attention import Attention
from foliot.servers.http import encode
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Cases

router = APIRouter(prefix="/api/attention", tags=["Dashboard"])


@router.get(
    "",
    dependencies=[permits(Attention.check)],
    response_model=schema.AttentionReport,
    operation_id="attention.list",
    summary="List what needs attention",
)
async def list_(cases: Cases, caller: Who) -> Response:
    """Failing, late and missed schedules, dead letters, stalled queues, and what can be done about each."""
    findings = await cases[Attention].check(caller)
    return encode.answer(
        schema.AttentionReport(
            checked_at=findings.at,
            items=[schema.AttentionItem.of(one) for one in findings.items],
        )
    )
