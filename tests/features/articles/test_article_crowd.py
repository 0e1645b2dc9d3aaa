"""Who fetches does not run ahead of who reads, and tells only what is news."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import Fence
from foliot.features.articles.actor.fetcher import (
    CROWDED,
    LINGER,
    SHORTEST,
    ArticleFetch,
    ArticleFetcher,
    FetcherSettings,
    ending,
)
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.fetching.model import HostUpdate
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed

NOW = datetime(2027, 1, 4, 12, tzinfo=UTC)


def taken(number: int = 1, **changes: Any) -> ClaimedArticle:
    fence = Fence(f"art_{number}", 1, "tok_1")
    return ClaimedArticle(
        fence=fence, tenant_id="acme", url="https://news.test/", host="news.test", attempt=1, start_at=NOW, **changes
    )


@pytest.mark.parametrize(
    ("under_way", "crowded", "rest"),
    [(5, False, LINGER), (5, True, CROWDED), (4, True, SHORTEST), (4, False, SHORTEST)],
)
async def test_few_are_not_worth_a_take_while_others_wait_to_be_read(
    under_way: int, crowded: bool, rest: float
) -> None:
    """Half of the slots are."""
    nobody: Any = None
    how = FetcherSettings(scraper=nobody, slots=8, crowded=lambda: crowded)
    gatherer = ArticleFetcher(
        clock=StoppedClock(NOW),
        store=nobody,
        feed=MemoryFeed(),
        how=how,
        worker="worker",
        lease=timedelta(minutes=1),
        longest_rest=9,
        fetches={str(at): ArticleFetch(taken(at), 0) for at in range(under_way)},
    )
    began = asyncio.get_running_loop().time()
    gatherer._spacing._last = began + 10  # far enough away for the slowest machine

    took = await gatherer.run_once()

    assert took.taken == 0
    assert 0 <= 10 + rest - took.rest <= asyncio.get_running_loop().time() - began + 1e-6


@pytest.mark.parametrize("slowed", [True, False])
def test_a_good_word_is_for_hosts_that_were_slowed_down(slowed: bool) -> None:
    told = ending(
        taken(slowed=slowed), ExtractedPage(title="T"), NOW, RetryPolicy(delay_seconds=5), 3, HostUpdate(well=slowed)
    )
    assert told.news.well is slowed
