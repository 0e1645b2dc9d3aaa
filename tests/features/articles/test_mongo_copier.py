"""Who copies articles elsewhere remembers what it wrote for as long as it may come across it again, and no longer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.features.articles.model import ChangeCursor, ChangedArticle
from foliot.features.articles.mongo_copier import ArticleCopier
from foliot.testing import StoppedClock

BEGAN = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction of these tests answers the statements itself."""
    monkeypatch.setattr("foliot.features.articles.mongo_copier.SqlArticles", lambda tx: tx)


@dataclass
class Shelf:
    """Articles in the order in which they were read, one a second; a store as far as a copier needs one."""

    count: int

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        yield self

    async def changed(self, after: ChangeCursor, limit: int) -> Sequence[ChangedArticle]:
        every = [ChangeCursor(BEGAN + timedelta(seconds=at), f"art_{at:04}") for at in range(self.count)]
        return [
            ChangedArticle(one, one.at) for one in every if (one.at, one.article_id) > (after.at, after.article_id)
        ][:limit]

    async def views(self, ids: Sequence[str]) -> Sequence[str]:
        return ids


@dataclass
class Sink:
    """Counts how often each was written."""

    taken: list[str] = field(default_factory=list)

    async def mark(self) -> datetime | None:
        return None

    async def remember(self, at: datetime) -> None: ...

    async def write(self, views: Sequence[Any]) -> int:
        self.taken += views
        return 0


def copier(count: int, sink: Sink, **changes: Any) -> ArticleCopier:
    shelf: Any = Shelf(count)
    return ArticleCopier(
        clock=StoppedClock(BEGAN + timedelta(days=1)),
        store=shelf,
        sink=sink,
        look=50,
        overlap=timedelta(seconds=30),
        **changes,
    )


async def test_a_first_copy_remembers_only_what_it_may_come_across_again() -> None:
    sink = Sink()
    copies = copier(1000, sink)
    known = []
    while (await copies.run_once()).rest == 0:
        known.append(len(copies._known))

    assert len(known) == 20
    assert max(known) <= 31
    assert (await copies.run_once()).written == 0
    assert sink.taken == sorted(set(sink.taken))
    assert len(sink.taken) == 1000


async def test_however_many_change_at_once_a_bound_holds_and_what_is_forgotten_is_written_again() -> None:
    sink = Sink()
    copies = copier(1000, sink, most_known=10)
    while (await copies.run_once()).rest == 0:
        assert len(copies._known) <= 10

    again = (await copies.run_once()).written
    assert 0 < again <= 31
    assert set(sink.taken) == {f"art_{at:04}" for at in range(1000)}
    assert len(copies._known) <= 10
