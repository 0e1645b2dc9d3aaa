"""Copies scraped articles to MongoDB asynchronously, in the order of their last change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.articles.model import ArticleView, ChangeCursor, ChangedArticle
from foliot.features.articles.mongo import SinkUnavailable
from foliot.features.articles.sql.articles import SqlArticles

PERIOD = 2.0
LOOK = 2000
"""Changed articles that one query lists."""
GROUP = 50
"""Articles of one write: each can be as long as a book."""
OVERLAP = timedelta(seconds=30)
"""How far each round rereads: a change is stamped before its commit, and may become visible after a later one."""
MOST_KNOWN = 100_000
"""Maximum number of articles remembered as written; one that is dropped too early is written once more."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class ArticleSink(Protocol):
    """Where articles are copied to; stores the position of the copy too."""

    async def mark(self) -> datetime | None: ...

    async def remember(self, at: datetime) -> None: ...

    async def write(self, views: Sequence[ArticleView]) -> int: ...


@dataclass(frozen=True, slots=True)
class ArticlesCopied:
    """How many articles one round wrote."""

    written: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ArticleCopier:
    """Copies articles from a cursor on `updated_at`. Idempotent: several copiers write the same documents."""

    clock: Clock
    store: Database
    sink: ArticleSink
    name: str = "copier"
    topics: Sequence[str] = ()
    period: float = PERIOD
    look: int = LOOK
    overlap: timedelta = OVERLAP
    most_known: int = MOST_KNOWN
    written: int = 0
    refused: int = 0
    away: str | None = None
    """Why the sink is unavailable."""
    _from: ChangeCursor | None = None
    _reached: datetime = BEGINNING
    _known: dict[str, ChangedArticle] = field(default_factory=dict)
    """What was written, for as long as the overlap may list it again."""

    async def run_once(self) -> ArticlesCopied:
        try:
            copied = await self._copy()
        except SinkUnavailable as away:
            self.away = away.told
            raise
        self.away = None
        return copied

    def report(self) -> Mapping[str, Any]:
        return {"mongodb": {"written": self.written, "refused": self.refused, "error": self.away}}

    async def _copy(self) -> ArticlesCopied:
        if self._from is None:
            self._from = ChangeCursor(await self.sink.mark() or BEGINNING)
            self._reached = self._from.at + self.overlap
        async with self.store.read() as tx:
            changes = await SqlArticles(tx).changed(self._from, self.look)
        new = [change for change in changes if self._is_new(change)]
        for start in range(0, len(new), GROUP):
            await self._write([change.mark.article_id for change in new[start : start + GROUP]])
        # The latest last: `_forget` drops the oldest.
        for change in changes:
            self._known.pop(change.mark.article_id, None)
            self._known[change.mark.article_id] = change
        if changes:
            self._reached = max(self._reached, changes[-1].mark.at)
        if len(changes) == self.look:
            self._from = changes[-1].mark
            self._forget(self._reached - self.overlap)
            return ArticlesCopied(len(new), 0.0)
        await self._go_back()
        return ArticlesCopied(len(new), self.period)

    def _is_new(self, change: ChangedArticle) -> bool:
        known = self._known.get(change.mark.article_id)
        return known is None or known.scraped_at != change.scraped_at

    async def _write(self, ids: Sequence[str]) -> None:
        async with self.store.read() as tx:
            views = await SqlArticles(tx).views(ids)
        if views:
            refused = await self.sink.write(views)
            self.refused += refused
            self.written += len(views) - refused

    async def _go_back(self) -> None:
        """All is written: moves the cursor back by the overlap, and stores that position in the sink."""
        # After the clock was set back, new changes have earlier stamps.
        back = max(min(self._reached, self.clock.now()) - self.overlap, BEGINNING)
        if self._from != ChangeCursor(back):
            await self.sink.remember(back)
        self._from = ChangeCursor(back)
        self._forget(back)

    def _forget(self, before: datetime) -> None:
        """Drops what changed before that moment, which is not listed again, and the oldest above `most_known`."""
        known = [change for change in self._known.values() if change.mark.at >= before]
        self._known = {change.mark.article_id: change for change in known[-self.most_known :]}
