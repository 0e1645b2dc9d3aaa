"""The route that starts or schedules crawls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from foliot.features.crawls import schema
from foliot.features.crawls.model import NewCrawl
from foliot.features.crawls.usecases import CrawlAnswer, Crawls
from foliot.features.jobs.rest.logs import LOGS
from foliot.servers.http import encode, sse
from foliot.servers.http.fast_route import FastRoute
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, wants_stream
from foliot.servers.http.schema import body

router = APIRouter(tags=["Crawls"], route_class=FastRoute)

IgnoreCache = Annotated[bool, Query(description="As in the body: always start a new crawl.")]


@router.post(
    "/crawl",
    dependencies=[permits(Crawls.request)],
    response_model=schema.FreshCrawl | schema.CachedCrawl,
    openapi_extra=body(NewCrawl),
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        202: {
            "model": schema.PlannedCrawl,
            "description": "The crawl is planned, because `schedule_at` or `interval` was given",
        },
    },
    operation_id="crawls.create",
    summary="Crawl",
)
async def crawl(
    request: Request, cases: Cases, caller: Who, asked: Body, *, ignore_cache: IgnoreCache = False
) -> Response:
    """Now, at `schedule_at`, or repeatedly by `interval`. An equal request within `CRAWL_CACHE_TTL` and for the same
    user gets the same job, unless that failed or was cancelled.

    With `Accept: text/event-stream` a crawl that begins now is answered with its log, as `GET /jobs/{job_id}/logs`.
    """
    streamed = wants_stream(request)
    if streamed:
        # Checked first: no crawl starts for a caller that would then be refused its event stream.
        await sse.room(request.app, cases, caller)
    status = 202 if _planned(asked.document) else 200
    made = await cases[Crawls].request(caller, asked.document, asked.once(status, crawled), ignore_cache=ignore_cache)
    if streamed and made.run is not None:
        where = {"Content-Location": f"/jobs/{made.job_id}/logs"}
        return await sse.follow(request.app, cases, caller, sse.FollowedEvents(made.run, 0, LOGS), where)
    return encode.answer(crawled(made), status)


def _planned(document: Any) -> bool:
    return isinstance(document, Mapping) and any(document.get(name) is not None for name in ("schedule_at", "interval"))


def crawled(made: CrawlAnswer) -> schema.FreshCrawl | schema.CachedCrawl | schema.PlannedCrawl:
    """The answer in its three shapes: scheduled, cached, started."""
    if made.schedule is not None:
        planned: schema.PlannedCrawl = {"job_id": made.job_id, "scheduled": True, "next_run": made.schedule.next_at}
        if made.cached_at is not None:
            planned |= {"cached": True, "cached_at": made.cached_at}
        return planned
    if made.cached_at is not None:
        return schema.CachedCrawl(job_id=made.job_id, scheduled=False, cached=True, cached_at=made.cached_at)
    base = f"/jobs/{made.job_id}"
    return schema.FreshCrawl(
        job_id=made.job_id, scheduled=False, cached=False, logs_url=f"{base}/logs", status_url=f"{base}/status"
    )
