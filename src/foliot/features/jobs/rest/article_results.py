"""Results of a batch of articles: a page of JSON, NDJSON, or CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.document import rfc3339
from foliot.features.articles import schema as articles_schema
from foliot.features.articles.model import ArticleCounts, ItemState, ItemView, PreviousContent
from foliot.features.articles.usecases import Articles
from foliot.features.jobs.rest.results import cell, table
from foliot.features.jobs.usecases import JobRecord
from foliot.servers.http import encode
from foliot.servers.http.schema import fields_of

BATCH = 100
"""Articles per query: each can be as long as a book."""
COLUMNS = (
    "article_id", "url", "source", "category", "title", "content", "author", "published_at", "language",
    "canonical_url", "image", "scraped_at", "cached", "error", "previous_scraped_at",
    "reference_count", "retry_count",
)  # fmt: skip


async def page(
    cases: UseCases, caller: Caller, job: JobRecord, skip: int, limit: int
) -> articles_schema.ArticleResults:
    """A page of the articles that were read, and a page of those that failed."""
    counts = job.counts or ArticleCounts()
    read: Sequence[ItemView] = ()
    failed: Sequence[ItemView] = ()
    if job.run is not None and job.counts is not None:
        read = await cases[Articles].page(caller, job.run.id, skip=skip, limit=limit, failed=False)
        failed = await cases[Articles].page(caller, job.run.id, skip=skip, limit=limit, failed=True)
    return articles_schema.ArticleResults(
        job_id=job.id,
        status=job.word,
        total_articles=counts.total,
        successful=counts.completed,
        failed=counts.failed,
        cancelled=counts.cancelled,
        results=[result(one) for one in read],
        failed_articles=[missed(one) for one in failed],
    )


def result(one: ItemView) -> articles_schema.ArticleResult:
    """An article that was read."""
    page = one.page
    return articles_schema.ArticleResult(
        article_id=one.article_id,
        url=one.url,
        source=one.source,
        category=one.category,
        title=page.title,
        content=page.content,
        author=page.author,
        published_at=page.published_at,
        language=page.language,
        canonical_url=page.canonical_url,
        image=page.image,
        rendered=bool(page.rendered),
        scraped_at=one.scraped_at,
        cached=one.state is ItemState.CACHED,
        reference_count=one.reference_count,
        retry_count=one.retry_count,
        previous_scraped_at=one.previous_scraped_at,
    )


def whole(one: ItemView, before: PreviousContent | None) -> articles_schema.ArticleDetail:
    """An article with its content before it last changed."""
    previous = (
        None
        if before is None
        else articles_schema.PreviousVersion(
            title=before.title,
            content=before.content,
            scraped_at=before.scraped_at,
        )
    )
    return articles_schema.ArticleDetail(**fields_of(result(one)), previous=previous)


def missed(one: ItemView) -> articles_schema.FailedArticle:
    """An article that could not be read."""
    error = one.error or {}
    return articles_schema.FailedArticle(
        article_id=one.article_id,
        url=one.url,
        error=error.get("message", "unknown"),
        code=error.get("code"),
        attempted_at=one.at,
        reference_count=one.reference_count,
        retry_count=one.retry_count,
    )


def _fields(one: ItemView) -> dict[str, Any]:
    return fields_of(result(one)) | {"error": None if one.error is None else one.error.get("message")}


async def as_ndjson(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[bytes]:
    async for items in _all(cases, caller, job):
        yield b"".join(encode.dumps(_fields(one)) + b"\n" for one in items)


async def as_csv(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[bytes]:
    yield table([COLUMNS])
    async for items in _all(cases, caller, job):
        rows = [_fields(one) for one in items]
        yield table([[_cell(row[name]) for name in COLUMNS] for row in rows])


def _cell(value: Any) -> object:
    return cell(rfc3339(value) if isinstance(value, datetime) else value)


async def _all(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[Sequence[ItemView]]:
    """Everything that is settled now, in the order of the request."""
    after = 0
    while job.run is not None and job.counts is not None:
        found = await cases[Articles].items(caller, job.run.id, after=after, limit=BATCH)
        if not found:
            return
        after = found[-1].position
        yield [one for one in found if one.state not in {ItemState.PENDING, ItemState.CANCELLED}]
