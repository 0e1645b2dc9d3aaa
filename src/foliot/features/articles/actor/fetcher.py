"""Claims articles whose hosts may be requested now, and fetches them concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.executor import MARGIN
from foliot.engine.loop import Spacing, rest_until
from foliot.engine.model.outcome import NoRetry, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import AttemptTarget
from foliot.engine.slots import Slots
from foliot.features.articles.model import QUEUE, ClaimedArticle, ExtractedPage, FetchEnding, Scraper
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.fetching.answer import path_of
from foliot.features.fetching.fetcher import MISSED
from foliot.features.fetching.latency import HostLatencies
from foliot.features.fetching.model import (
    NO_NEWS,
    NO_WORD,
    FetchFailure,
    HostUpdate,
    PageMoved,
    PageUnchanged,
    RobotsRules,
)
from foliot.features.fetching.politeness import Politeness
from foliot.wakeups.feed import ARTICLES_TOPIC, PAGES_TOPIC, Feed

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


def ending(
    taken: ClaimedArticle, answer: Answered, now: datetime, policy: RetryPolicy, attempts: int, well: HostUpdate
) -> FetchEnding:
    """Maps the answer to an attempt to the ending that is stored; `well` is what a good answer says about its host."""
    fence, host, tenant = taken.fence, taken.host, taken.tenant_id
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
        case FetchFailure(problem=AttemptError(code=MISSED.problem.code)):
            return handed_back(taken, now)
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
                news=_asked(taken, problem, pause),
            )


def _asked(taken: ClaimedArticle, problem: AttemptError, pause: timedelta | None) -> HostUpdate:
    return NO_NEWS if pause is None else HostUpdate(pause=pause, path=path_of(taken.url), reason=problem.message[:200])


SHORTEST = 0.005
LINGER = 0.1
"""Seconds between two claims when few slots are free: a claim costs the database the same, however few it takes."""
CROWDED = 0.5
"""The same while fetched pages queue for extraction: claiming later delays no article then."""
LONGEST_LEAD = 2.0
"""Upper bound of the seconds by which requests to a rate-limited host are planned ahead, however slow the database."""
SILENT = frozenset({"target_timeout", "target_unreachable"})
"""Codes of failures in which the host did not answer."""
FREE_TOPIC = f"{PAGES_TOPIC}:free"
"""Published when fetches of this process have ended and slots are free."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    """Slots, rate limits, retries and back-pressure of the fetcher of this process."""

    scraper: Scraper
    slots: int = 32
    manners: Politeness = field(default_factory=Politeness)
    attempts: int = 3
    policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(delay_seconds=5))
    crowded: Callable[[], bool] = bool
    """Back-pressure: whether enough fetched pages queue for extraction."""
    latencies: HostLatencies = field(default_factory=HostLatencies)
    """Of the hosts, as the fetcher of pages notes them."""
    held_back: Callable[[], Collection[str]] = tuple
    """Tenants whose pages are not fetched now."""


@dataclass(frozen=True, slots=True)
class ArticlesClaimed:
    """How many articles one round claimed."""

    taken: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ArticleFetcher:
    """Claims and fetches articles, one in each process that executes; row locks and fences keep claims apart."""

    clock: Clock
    store: Database
    feed: Feed
    how: FetcherSettings
    worker: str
    lease: timedelta
    longest_rest: float
    queues: Collection[str] | None = None
    name: str = "gatherer"
    topics: Sequence[str] = (ARTICLES_TOPIC, FREE_TOPIC)
    fetches: dict[str, ArticleFetch] = field(default_factory=dict)
    endings: list[FetchEnding] = field(default_factory=list)
    """Endings that are not written yet; the recorder empties it."""
    closing: bool = False
    places: Slots = field(default_factory=Slots)
    """Slots in use per host, and circuit breakers of hosts that do not answer."""
    _spacing: Spacing = field(default_factory=Spacing)
    _lead: float = 0.0
    """How long claims have taken lately, with a margin: the start times that a claim allocates begin after that."""
    _more: bool = False
    """The last claim was limited by free slots: when a fetch ends, the next claim is worthwhile."""

    def __post_init__(self) -> None:
        self.places.total = self.how.slots

    @property
    def free(self) -> int:
        # Unwritten endings count: while the database is unavailable, fetching stops.
        return self.how.slots - len(self.fetches) - len(self.endings) // 4

    async def run_once(self) -> ArticlesClaimed:
        if self.closing or (self.queues is not None and QUEUE not in self.queues):
            return ArticlesClaimed(0, self.longest_rest)
        wanted = self.free
        if wanted <= 0:
            self._more = True
            return ArticlesClaimed(0, self.longest_rest)
        if early := self._spacing.early(self._pause(wanted)):
            return ArticlesClaimed(0, early)
        now = self.clock.now()
        if not self._more:
            async with self.store.glance() as tx:
                next_at = await SqlArticles(tx).next_at(now)
            if next_at is None or next_at > now:
                return ArticlesClaimed(0, rest_until(next_at, now, self.longest_rest, SHORTEST))
        taken = await self._take(now, wanted)
        self._more = len(taken) == wanted
        if taken:
            return ArticlesClaimed(len(taken), SHORTEST)
        async with self.store.glance() as tx:
            freed = await SqlArticles(tx).freed_at(now)
        return ArticlesClaimed(0, rest_until(freed, now, self.longest_rest, SHORTEST))

    def _pause(self, wanted: int) -> float:
        """How long after the last claim another one for this many articles is worthwhile."""
        if wanted * 2 >= self.how.slots:
            return SHORTEST
        return CROWDED if self.how.crowded() else LINGER

    async def _take(self, now: datetime, limit: int) -> Sequence[ClaimedArticle]:
        # Read before the statement runs, so that the lease ends here before it ends in the database.
        asked_at = asyncio.get_running_loop().time()
        without = frozenset(self.how.held_back())
        manners = replace(self.how.manners, lead=timedelta(seconds=self._lead))
        async with self.store.begin() as tx:
            # If the acknowledgement of the commit is lost, these wait for their lease to expire: no request was sent.
            taken = await SqlArticles(tx).take(
                now, limit, self.worker, self.lease, new_id("tok"), manners, self._avoid, without
            )
        self._spacing.mark()
        took = asyncio.get_running_loop().time() - asked_at
        self._lead = min(max(took * 1.5, self._lead * 0.8), LONGEST_LEAD)
        for article in taken:
            self._start(article, asked_at)
        return taken

    def _avoid(self, tenant_id: str, host: str) -> bool:
        """Whether the host's breaker is open; while pages queue for extraction, timeouts say nothing about hosts."""
        return self.places.shut(tenant_id, host) and not self.how.crowded()

    def _start(self, taken: ClaimedArticle, asked_at: float) -> None:
        fetch = ArticleFetch(taken, asked_at)
        self.fetches[fetch.article_id] = fetch
        self.places.hold(fetch.article_id, taken.tenant_id, AttemptTarget(taken.host, SILENT))
        fetch.task = asyncio.create_task(self._fetch(fetch))
        fetch.task.add_done_callback(lambda _: self._land(fetch))
        self.renew(fetch, asked_at)

    def renew(self, fetch: ArticleFetch, asked_at: float) -> None:
        """Extends the lease from `asked_at`."""
        fetch.hold(asked_at, self.lease.total_seconds() * (1 - MARGIN))

    async def _fetch(self, fetch: ArticleFetch) -> None:
        taken = fetch.taken
        try:
            if (early := (taken.start_at - self.clock.now()).total_seconds()) > 0:
                await asyncio.sleep(early)
            if taken.latest_at is not None and self.clock.now() > taken.latest_at:
                # The database or this process was slow: the request would come too close to the one planned after it.
                self._put(handed_back(taken, self.clock.now()))
                return
            scraper = self.how.scraper
            answer: Answered = await (scraper.robots(taken) if taken.robots_due else scraper.scrape(taken))
        except asyncio.CancelledError:
            if not fetch.lost:
                self._put(handed_back(taken, self.clock.now()))
            raise
        except Exception as error:
            log.exception("an article could not be read", action="scraper_crashed", article_id=fetch.article_id)
            answer = FetchFailure(problem=AttemptError("scraper_crashed", f"{type(error).__name__}: {error}"[:500]))
        fetch.outcome = _host_outcome(answer)
        if not fetch.lost:
            # Only for a host that was slowed down does a good answer change the interval.
            well = self.how.latencies.update(taken.url, HostUpdate(well=taken.slowed))
            self._put(ending(taken, answer, self.clock.now(), self.how.policy, self.how.attempts, well))

    def _put(self, ending: FetchEnding) -> None:
        self.endings.append(ending)
        self.feed.wake(PAGES_TOPIC)

    def _land(self, fetch: ArticleFetch) -> None:
        fetch.let_go()
        self.places.leave(fetch.article_id, fetch.outcome, self.clock.now())
        if self.fetches.get(fetch.article_id) is fetch:
            del self.fetches[fetch.article_id]
        if self._more:
            self.feed.wake(FREE_TOPIC)
        if not self.fetches:
            self.feed.wake(PAGES_TOPIC)

    async def drain(self, grace: float | None) -> int:
        """Waits for the current fetches; after the grace, if there is one, hands back what has not finished."""
        self.closing = True
        tasks = [fetch.task for fetch in self.fetches.values() if fetch.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        late = [fetch for fetch in self.fetches.values() if fetch.task is not None]
        for fetch in late:
            if fetch.task is not None:
                fetch.task.cancel()
        if late:
            await asyncio.wait([fetch.task for fetch in late if fetch.task is not None], timeout=5)
        return len(late)


def _host_outcome(answer: Answered) -> Outcome | None:
    """The outcome that counts for the host's circuit breaker; None where only robots.txt was unavailable."""
    if isinstance(answer, FetchFailure):
        return Failed(answer.problem)
    return None if isinstance(answer, RobotsRules) and answer.robots == NO_WORD else Succeeded()
