"""An article that this process has claimed: an asyncio task with a lease, and the ending that its answer leads to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.retry import NoRetry, RetryPolicy
from foliot.engine.model.run import Failed, Outcome
from foliot.features.articles.model.fetch import (
    ClaimedArticle,
    ExtractedPage,
    FetchEnding,
    FetchFailure,
    HostUpdate,
    PageMoved,
    PageUnchanged,
    RobotsRules,
)

Answered = RobotsRules | ExtractedPage | PageUnchanged | PageMoved | FetchFailure


@dataclass(slots=True, eq=False)
class ArticleFetch:
    """One claimed article: its lease, its task, and the timer that cancels it before the lease expires."""

    taken: ClaimedArticle
    leased_at: float
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    outcome: Outcome | None = None
    """Outcome of the fetch, for the circuit breaker of its host."""
    lost: bool = False
    """The lease expired or was revoked: no result of this fetch is written."""

    @property
    def article_id(self) -> str:
        return self.taken.fence.run_id

    def lose(self) -> None:
        """Marks the lease as lost and cancels the task."""
        self.lost = True
        if self.task is not None:
            self.task.cancel()

    def hold(self, asked_at: float, seconds: float) -> None:
        """The lease holds for `seconds` from `asked_at`; when it expires, the fetch is cancelled."""
        self.let_go()
        self.leased_at = asked_at
        self.timer = asyncio.get_running_loop().call_at(asked_at + seconds, self.lose)

    def let_go(self) -> None:
        """Cancels the timer of the lease."""
        if self.timer is not None:
            self.timer.cancel()


def handed_back(taken: ClaimedArticle, now: datetime) -> FetchEnding:
    """Ends the attempt without a result; it does not count as a try."""
    return FetchEnding(fence=taken.fence, host=taken.host, at=now, handed_back=True)


def ending(taken: ClaimedArticle, answer: Answered, now: datetime, policy: RetryPolicy, attempts: int) -> FetchEnding:
    """Maps the answer to an attempt to the ending that is stored."""
    fence, host, tenant = taken.fence, taken.host, taken.tenant_id
    # Only for a host that was slowed down does a good answer change the interval.
    well = HostUpdate(well=taken.slowed)
    match answer:
        case ExtractedPage():
            return FetchEnding(fence=fence, host=host, tenant_id=tenant, at=now, page=answer, news=well)
        case PageUnchanged():
            return FetchEnding(fence=fence, host=host, tenant_id=tenant, at=now, unchanged=True, news=well)
        case PageMoved(url):
            return FetchEnding(
                fence=fence, host=host, tenant_id=tenant, at=now, handed_back=True, moved_to=url, news=well
            )
        case RobotsRules(robots, crawl_delay, pause):
            news = HostUpdate(robots=robots, crawl_delay=crawl_delay, pause=pause)
            return FetchEnding(fence=fence, host=host, at=now, handed_back=True, news=news)
        case FetchFailure(problem=problem, permanent=permanent, retry_after=after, pause=pause):
            failure = Failed(problem, permanent=permanent, retry_after=after)
            verdict = policy.decide(fence.run_id, taken.attempt, attempts, failure, now)
            retry_at = None if isinstance(verdict, NoRetry) else verdict.moment
            return FetchEnding(
                fence=fence,
                host=host,
                tenant_id=tenant,
                at=now,
                problem=problem,
                retry_at=retry_at,
                news=HostUpdate(pause=pause),
            )
