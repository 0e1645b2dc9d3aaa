"""The route that asks for crawls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from foliot.core.document import rfc3339
from foliot.features.crawls.usecases import Crawled, Crawls
from foliot.features.jobs import schema as models_jobs
from foliot.features.jobs.rest.logs import LOGS
from foliot.servers.http import encode, sse
from foliot.servers.http.bodies import body
from foliot.servers.http.fast_route import Swift
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, wants_stream

router = APIRouter(tags=["Crawls"], route_class=Swift)

IgnoreCache = Annotated[bool, Query(description="The same as in the body: a new crawl in any case.")]


@router.post(
    "/crawl",
    dependencies=[permits(Crawls.request)],
    response_model=models_jobs.FreshCrawl | models_jobs.CachedCrawl,
    openapi_extra=body(models_jobs.CrawlRequest),
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
        202: {"model": models_jobs.PlannedCrawl, "description": "It is planned: `schedule_at` or `interval` was given"},
    },
    summary="Crawl",
)
async def crawl(
    request: Request, cases: Cases, caller: Who, asked: Body, *, ignore_cache: IgnoreCache = False
) -> Response:
    """Now, at `schedule_at`, or whenever `interval` says. The same request again, within `CRAWL_CACHE_TTL` and for
    the same user, is given the same job, unless that failed or was cancelled.

    With `Accept: text/event-stream` a crawl that begins now is answered with its log, as `GET /jobs/{job_id}/logs`.
    """
    streamed = wants_stream(request)
    if streamed:
        # No crawl begins for whoever would then be refused its stream.
        await sse.room(request.app, cases, caller)
    status = 202 if _planned(asked.document) else 200
    made = await cases[Crawls].request(caller, asked.document, asked.once(status, _written), ignore_cache=ignore_cache)
    if streamed and made.run is not None:
        where = {"Content-Location": f"/jobs/{made.job_id}/logs"}
        return await sse.follow(request.app, cases, caller, sse.Followed(made.run, 0, LOGS), where)
    return encode.answer(crawled(made), status)


def _planned(document: Any) -> bool:
    return isinstance(document, Mapping) and any(document.get(name) is not None for name in ("schedule_at", "interval"))


def crawled(made: Crawled) -> dict[str, Any]:
    """The answer in its three shapes: planned, asked for before, begun."""
    before = {} if made.cached_at is None else {"cached": True, "cached_at": rfc3339(made.cached_at)}
    if made.schedule is not None:
        return {"job_id": made.job_id, "scheduled": True, "next_run": rfc3339(made.schedule.next_at), **before}
    if before:
        return {"job_id": made.job_id, "scheduled": False, **before}
    base = f"/jobs/{made.job_id}"
    urls = {"logs_url": f"{base}/logs", "status_url": f"{base}/status"}
    return {"job_id": made.job_id, "scheduled": False, "cached": False, **urls}


def _written(made: Crawled) -> bytes:
    return encode.dumps(crawled(made))
