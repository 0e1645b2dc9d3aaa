"""Builds the fetcher of articles, the pool of extractor processes, and the copy to MongoDB from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foliot.cluster import machine
from foliot.cluster.process_pool import ProcessPool, reader_pool
from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.articles.actor.fetcher import FetcherSettings
from foliot.features.articles.fetch.extractor_pool import ExtractorPool
from foliot.features.articles.fetch.scraper import PageScraper
from foliot.features.fetching.parts import FetchParts

if TYPE_CHECKING:
    from foliot.features.articles.mongo import MongoArticles
    from foliot.features.articles.mongo_copier import ArticleCopier
    from foliot.features.jobs.mongo_copier import JobCopier


@dataclass(frozen=True, slots=True)
class ArticleParts:
    """The settings of the fetcher, and the pool of extractor processes."""

    how: FetcherSettings
    readers: ExtractorPool
    pool: ProcessPool

    async def close(self) -> None:
        await self.readers.close()
        await self.pool.close()


def build_articles(settings: Settings, fetching: FetchParts, clock: Clock) -> ArticleParts:
    """No process is started before the first page."""
    # A pool of its own: a heavy task must not delay pages. As many processes as CPUs: each call has several pages.
    here = machine.ReaderCapacity.here()
    pool = reader_pool(here)
    readers = ExtractorPool(pool=pool, many=here.many)
    how = FetcherSettings(
        latencies=fetching.pages.latencies,
        scraper=PageScraper(fetcher=fetching.pages, readers=readers, clock=clock, keeper=fetching.fetcher.keeper),
        crowded=lambda: readers.crowded,
        held_back=readers.held_back,
        slots=settings.scrape_concurrency,
        manners=fetching.manners,
        attempts=settings.scrape_attempts,
    )
    return ArticleParts(how, readers, pool)


@dataclass(frozen=True, slots=True)
class MongoCopy:
    """The writers of articles, jobs and items to MongoDB."""

    copier: ArticleCopier
    jobs: JobCopier
    sink: MongoArticles

    def report(self) -> Mapping[str, Any]:
        return {**self.copier.report(), **self.jobs.report()}

    async def close(self) -> None:
        await self.sink.close()


def build_mongo_copy(settings: Settings, store: Database, clock: Clock) -> MongoCopy | None:
    """None without MONGO_URI. No connection is opened before the first document."""
    if settings.mongo_uri is None:
        return None
    # The driver is slow to import.
    from foliot.features.articles.mongo import MongoArticles, MongoJobs
    from foliot.features.articles.mongo_copier import ArticleCopier
    from foliot.features.jobs.mongo_copier import JobCopier

    sink = MongoArticles(settings.mongo_uri.reveal(), settings.mongo_db_name)
    jobs = JobCopier(clock=clock, store=store, sink=MongoJobs(sink))
    return MongoCopy(ArticleCopier(clock=clock, store=store, sink=sink), jobs, sink)
