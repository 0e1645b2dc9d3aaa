"""Copies every article that was read to a sink, behind the back of those who read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.articles.model.fetch import ArticleView, ChangeCursor, ChangedArticle
from foliot.features.articles.mongo import SinkUnavailable
from foliot.features.articles.sql.articles import SqlArticles

PERIOD = 2.0
LOOK = 2000
"""Articles whose change is looked at at once."""
GROUP = 50
"""Articles that are written at once: each can be as long as a book."""
OVERLAP = timedelta(seconds=30)
"""A change is stamped before it is committed, and may show up behind a younger one: so far we look back each time."""
MOST_KNOWN = 100_000
"""Articles that are remembered as written, at most: one that is forgotten too early is written once more."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class ArticleSink(Protocol):
    """Takes articles."""

    async def mark(self) -> datetime | None: ...

    async def remember(self, at: datetime) -> None: ...

    async def write(self, views: Sequence[ArticleView]) -> int: ...


@dataclass(frozen=True, slots=True)
class ArticlesCopied:
    """What one round did."""

    written: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ArticleCopier:
    """One in a house is enough, and any number is harmless: each writes the same documents."""

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
    """Why the sink takes nothing now."""
    _from: ChangeCursor | None = None
    _reached: datetime = BEGINNING
    _known: dict[str, ChangedArticle] = field(default_factory=dict)
    """What was written as it stood there, for as long as we may come across it again."""

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
            found = await SqlArticles(tx).changed(self._from, self.look)
        new = [one for one in found if self._is_new(one)]
        for start in range(0, len(new), GROUP):
            await self._write([one.mark.article_id for one in new[start : start + GROUP]])
        # The latest last: those that are forgotten first.
        for one in found:
            self._known.pop(one.mark.article_id, None)
            self._known[one.mark.article_id] = one
        if found:
            self._reached = max(self._reached, found[-1].mark.at)
        if len(found) == self.look:
            self._from = found[-1].mark
            self._forget(self._reached - self.overlap)
            return ArticlesCopied(len(new), 0.0)
        await self._go_back()
        return ArticlesCopied(len(new), self.period)

    def _is_new(self, one: ChangedArticle) -> bool:
        known = self._known.get(one.mark.article_id)
        return known is None or known.scraped_at != one.scraped_at

    async def _write(self, ids: Sequence[str]) -> None:
        async with self.store.read() as tx:
            views = await SqlArticles(tx).views(ids)
        if views:
            refused = await self.sink.write(views)
            self.refused += refused
            self.written += len(views) - refused

    async def _go_back(self) -> None:
        """Everything is written: look once more at the last of it, and let the sink remember where that begins."""
        # A clock that was put back stamps what is new with moments that have been.
        back = max(min(self._reached, self.clock.now()) - self.overlap, BEGINNING)
        if self._from != ChangeCursor(back):
            await self.sink.remember(back)
        self._from = ChangeCursor(back)
        self._forget(back)

    def _forget(self, before: datetime) -> None:
        """What changed before that moment is not come across again; nor is there room for any number of the others."""
        known = [one for one in self._known.values() if one.mark.at >= before]
        self._known = {one.mark.article_id: one for one in known[-self.most_known :]}
