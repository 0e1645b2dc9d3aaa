"""The route that submits articles."""

from __future__ import annotations

from fastapi import APIRouter, Response

from foliot.features.articles import schema
from foliot.features.articles.config import ArticleJobRequest
from foliot.features.articles.usecases import Articles, SubmittedArticles
from foliot.features.jobs.usecases import JobRecord
from foliot.servers.http import encode
from foliot.servers.http.fast_route import FastRoute
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Batch, Cases
from foliot.servers.http.schema import body

router = APIRouter(prefix="/jobs", tags=["Articles"], route_class=FastRoute)


@router.post(
    "/submit",
    dependencies=[permits(Articles.submit)],
    status_code=201,
    response_model=schema.ArticleJob,
    openapi_extra=body(ArticleJobRequest),
    summary="Fetch articles",
)
async def submit(cases: Cases, caller: Who, asked: Batch) -> Response:
    """Up to 10,000 pages, the most urgent first; a page that several jobs want at the same time is fetched once.

    Pages scraped within `max_age_seconds` (by default `ARTICLE_CACHE_TTL`) are not fetched again, unless
    `ignore_cache` is set.
    """
    made = await cases[Articles].submit(caller, asked.document, asked.once(201, submitted, _located))
    return encode.answer(submitted(made), 201, _located(made))


def submitted(made: SubmittedArticles) -> schema.ArticleJob:
    """The answer as JSON."""
    counts = made.counts
    fresh = counts.total - counts.cached
    return schema.ArticleJob(
        job_id=made.run.id,
        status=JobRecord(made.run.id, made.run, counts=counts).word,
        total_articles=counts.total,
        new_articles=fresh,
        cached_articles=counts.cached,
        message=f"Job submitted: {fresh} articles to fetch, {counts.cached} from the cache.",
    )


def _located(made: SubmittedArticles) -> dict[str, str]:
    return {"Location": f"/jobs/{made.run.id}/status"}
