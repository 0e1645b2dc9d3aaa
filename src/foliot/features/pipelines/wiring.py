"""Builds pipelines from the settings: catalogue of transforms, resources of steps, lookup of definitions."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from foliot.cluster import machine, page_reader
from foliot.cluster.page_reader import CallResult, Pool, PoolCall, ProcessDied
from foliot.cluster.process_pool import ProcessPool, reader_pool
from foliot.config.settings import Settings
from foliot.core.document import rfc3339
from foliot.core.egress import Egress
from foliot.core.errors import Invalid
from foliot.core.parent_template import ParentRun
from foliot.db.database import Database
from foliot.engine.sql.run_items import read_items
from foliot.features.articles.model import ItemView
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.pipelines.action import PipelineAction
from foliot.features.pipelines.chain.check import TransformCatalogue
from foliot.features.pipelines.chain.context import Transform
from foliot.features.pipelines.files import LocalFiles
from foliot.features.pipelines.model import (
    DiscordCredentials,
    IsolatedCall,
    Item,
    PipelineDefinition,
    RowTarget,
    RowWriter,
    SecretLookup,
    StepResources,
    Unreadable,
)
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.pipelines.sql.sink import SqlSinkDatabase
from foliot.features.pipelines.steps import ALIASES, built_in
from foliot.features.pipelines.steps.parsers import read_page
from foliot.features.pipelines.usecases.reconcile import PipelineReconciler
from foliot.features.schedules.usecases.declared import Declarations
from foliot.features.tasks.run.call import Probation
from foliot.net.slots import FairSlots
from foliot.pages import article
from foliot.pages import price as prices
from foliot.pages.charset import text_of_body
from foliot.pages.suggestions import selectors_for
from foliot.pages.text_diff import changed_lines, diff_texts
from foliot.pages.watched import read_links, read_watched
from foliot.plugins import Found, Loader, members

if TYPE_CHECKING:
    from foliot.features.pipelines.file.read import PipelineFileReader


_OURS = "foliot."


def load(modules: Sequence[str]) -> TransformCatalogue:
    """The catalogue of all transforms; what cannot be loaded is a fault in it."""
    catalogue = TransformCatalogue()
    for transform in built_in():
        catalogue.add(transform, *ALIASES.get(transform.__name__, ()), built_in=True)
    loader = Loader(
        catalogue=catalogue,
        find=transforms_in,
        add=lambda transform, names: catalogue.add(transform, *names),
        place=lambda transform: f"transform {transform.__name__}",
    )
    loader.load(modules)
    return catalogue


def transforms_in(made: Any) -> Iterator[Found[type[Transform]]]:
    """The transforms of a module by their names in it, or the class itself; without those imported from Foliot."""
    seen: set[type[Transform]] = set()
    for name, member in members(made):
        if not inspect.isclass(member) or not issubclass(member, Transform) or member in seen:
            continue
        if member.__module__.startswith(_OURS) or name.startswith("_"):
            continue
        seen.add(member)
        yield name, member


READING = timedelta(seconds=30)
"""Time limit of parsing a feed or sitemap, and of calls by custom transforms."""
PAGE = timedelta(seconds=5)
"""Time limit of parsing one page."""
OUT = "out"
"""Directory of file sinks, below FOLIOT_HOME."""

log = structlog.get_logger("foliot.pipelines")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineParts:
    """The parts of pipelines in one process."""

    catalogue: TransformCatalogue
    action: PipelineAction
    outside: StepResources
    pool: ProcessPool

    async def close(self) -> None:
        await self.pool.close()
        # The fetcher is every caller's; this part is in each process.
        await self.outside.fetcher.pages.close()


def build_pipelines(
    settings: Settings,
    store: Database,
    egress: Egress,
    wallet: SecretLookup,
    fetcher: Fetcher,
    judge: DataJudge,
) -> PipelineParts:
    """Loads all transforms; one that cannot be loaded is logged, and does not affect the others."""
    catalogue = load(settings.transforms)
    for fault in catalogue.faults():
        log.error(fault, action="transforms_not_loaded")
    here = machine.ReaderCapacity.here()
    pool = reader_pool(here)
    reached = step_resources(
        egress=egress,
        fetcher=fetcher,
        wallet=wallet,
        apart=PooledCall(pool, here.many),
        out=settings.home / OUT,
        more=settings.sink_dirs,
        own=settings.sqlite_path,
    )
    bot = settings.discord_token
    reached = replace(
        reached,
        discord=DiscordCredentials(api=settings.discord_api, token=None if bot is None else bot.reveal()),
        run_items=StoredRunItems(store),
    )
    action = PipelineAction(definitions=StoredDefinitions(store), catalogue=catalogue, outside=reached, judge=judge)
    return PipelineParts(catalogue=catalogue, action=action, outside=reached, pool=pool)


def step_resources(  # noqa: PLR0913 -- one argument for each resource
    *,
    egress: Egress,
    fetcher: Fetcher,
    wallet: SecretLookup,
    apart: IsolatedCall,
    out: Path | None,
    more: Sequence[Path],
    own: Path | None = None,
) -> StepResources:
    """Access of steps: files below `out` and `more` (without `out` none), and not Foliot's own database."""
    return StepResources(
        egress=egress,
        fetcher=fetcher,
        files=LocalFiles([*([out] if out is not None else []), *more]),
        tables=SqlSinkDatabase(out, own, more),
        collections=LazyMongo(),
        wallet=wallet,
        apart=apart,
        article=article.extract,
        price=prices.price_on,
        price_text=prices.read_text,
    )


@dataclass(frozen=True, slots=True)
class StoredDefinitions:
    """Looks up definitions in the database."""

    store: Database

    async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
        async with self.store.read(tenant_id) as tx:
            return await SqlPipelines(tx).find(tenant_id, name)

    async def names(self, tenant_id: str) -> Sequence[str]:
        async with self.store.read(tenant_id) as tx:
            return sorted(await SqlPipelines(tx).names(tenant_id))


@dataclass(frozen=True, slots=True)
class StoredRunItems:
    """Items of crawls and of batches of articles, from the database."""

    store: Database

    async def page(self, tenant_id: str, run: ParentRun, after: int, limit: int) -> Sequence[Item] | None:
        async with self.store.read(tenant_id) as tx:
            match run.kind:
                case "crawl":
                    found = await read_items(tx.conn, (tenant_id, run.run_id, run.attempt), after, limit)
                    return [item if isinstance(item, dict) else {"value": item} for item in found.items]
                case "articles":
                    read = await SqlArticles(tx).items(run.run_id, skip=after, limit=limit, failed=False)
                    return [_article(one) for one in read]
                case _:
                    return None


def _article(one: ItemView) -> Item:
    """An article as the results of its job name its fields."""
    page = one.page
    return {
        "article_id": one.article_id,
        "url": one.url,
        "source": one.source,
        "category": one.category,
        "title": page.title,
        "content": page.content,
        "author": page.author,
        "published_at": page.published_at,
        "language": page.language,
        "scraped_at": rfc3339(one.scraped_at),
    }


PAGES: frozenset[Callable[..., Any]] = frozenset(
    [
        article.extract,
        changed_lines,
        diff_texts,
        prices.price_on,
        read_page,
        read_links,
        read_watched,
        selectors_for,
        text_of_body,
    ]
)


@dataclass(slots=True)
class PooledCall:
    """Parses untrusted input in a process pool, tenants in turn."""

    pool: Pool
    many: int
    """The number of processes of the pool: waiting for one does not count against the time limit."""
    reading: timedelta = READING
    page: timedelta = PAGE
    probation: Probation = field(default_factory=Probation)
    _turns: FairSlots = field(init=False)
    _alone: FairSlots = field(init=False, default_factory=lambda: FairSlots(1))

    def __post_init__(self) -> None:
        self._turns = FairSlots(self.many)

    async def __call__(
        self, function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str
    ) -> Any:
        call = page_reader.asked(function.__module__, function.__qualname__, parameters, body)
        patience = self.page if function in PAGES else self.reading
        async with AsyncExitStack() as stack:
            if self.probation.holds(tenant_id):
                await stack.enter_async_context(self._alone.turn(tenant_id, tenant_id))
            await stack.enter_async_context(self._turns.turn("", tenant_id))
            told = await self._told(call, patience, tenant_id)
        if told.error is not None:
            raise Unreadable(told.error[:300])
        return told.result

    async def _told(self, call: PoolCall, patience: timedelta, tenant_id: str) -> CallResult:
        try:
            return await self.pool.call(call, page_reader.SILENCE, patience)
        except TimeoutError:
            self.probation.begin(tenant_id)
            raise Unreadable(f"it takes longer than {patience.total_seconds():g} s") from None
        except ProcessDied:
            self.probation.begin(tenant_id)
            raise Unreadable("it crashed its reader") from None


class LazyMongo:
    """Imports the MongoDB sink on first use: the driver is slow to import and may not be installed."""

    def open(self, into: RowTarget) -> AbstractAsyncContextManager[RowWriter]:
        return _mongo(into)


@asynccontextmanager
async def _mongo(into: RowTarget) -> AsyncIterator[RowWriter]:
    try:
        from foliot.features.pipelines.mongo_documents import MongoSinkDatabase
    except ModuleNotFoundError:
        raise Invalid("uri", "needs PyMongo, which is not installed: pip install 'foliot[mongo]'") from None
    async with MongoSinkDatabase().open(into) as rows:
        yield rows


def reader(settings: Settings, catalogue: TransformCatalogue) -> PipelineFileReader:
    """A reader with the transforms and the time zone of this process."""
    from foliot.features.pipelines.file.read import PipelineFileReader

    return PipelineFileReader(catalogue=catalogue, zone=settings.timezone)


def build_reconciler(
    settings: Settings, store: Database, declaring: Declarations, catalogue: TransformCatalogue
) -> PipelineReconciler | None:
    """The actor that applies the file to the database; None without a file."""
    if settings.pipelines is None:
        return None
    from foliot.features.pipelines.file.watch import WatchedPipelineFile

    return PipelineReconciler(
        store=store,
        book=WatchedPipelineFile(path=settings.pipelines, reader=reader(settings, catalogue)),
        declaring=declaring,
        tenant_id=settings.pipelines_tenant,
    )
