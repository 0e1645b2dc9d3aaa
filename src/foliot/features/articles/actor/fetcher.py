"""Takes articles whose hosts are free and has them fetched, many at once."""

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
from foliot.engine.model.retry import RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.pace import Spacing, rest_until
from foliot.engine.ports import AttemptTarget
from foliot.engine.slots import Slots
from foliot.features.articles.actor.fetch import Answered, ArticleFetch, ending, handed_back
from foliot.features.articles.model.article import NO_WORD, QUEUE, Politeness
from foliot.features.articles.model.fetch import ClaimedArticle, FetchEnding, FetchFailure, RobotsRules, Scraper
from foliot.features.articles.sql.articles import SqlArticles
from foliot.wakeups.feed import ARTICLES_TOPIC, PAGES_TOPIC, Feed

SHORTEST = 0.005
LINGER = 0.1
"""Seconds after the last take until few are worth another: each costs the database the same, however few it takes."""
CROWDED = 0.5
"""The same while what was taken before waits to be read: nobody is kept waiting by taking the next later."""
LONGEST_LEAD = 2.0
"""Seconds ahead at which a host that minds is asked at the latest, however slow the database is."""
SILENT = frozenset({"target_timeout", "target_unreachable"})
"""Codes of failures in which nobody answered."""
FREE_TOPIC = f"{PAGES_TOPIC}:free"
"""Fetches have ended here: others can begin."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    """How this process fetches articles."""

    scraper: Scraper
    slots: int = 32
    manners: Politeness = field(default_factory=Politeness)
    attempts: int = 3
    policy: RetryPolicy = field(default_factory=lambda: RetryPolicy(delay_seconds=5))
    crowded: Callable[[], bool] = bool
    """Whether enough pages that were fetched wait to be read."""
    held_back: Callable[[], Collection[str]] = tuple
    """Tenants of which no more pages are fetched now."""


@dataclass(frozen=True, slots=True)
class ArticlesClaimed:
    """How many articles one round took."""

    taken: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ArticleFetcher:
    """One for each process that executes; the rows decide who has what, so any number is harmless."""

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
    """What waits to be written; the filer empties it."""
    closing: bool = False
    places: Slots = field(default_factory=Slots)
    """Whom this process waits for, and who does not answer."""
    _spacing: Spacing = field(default_factory=Spacing)
    _lead: float = 0.0
    """How long takes have taken lately, and some more: what they give out begins after that."""
    _more: bool = False
    """Only for want of a slot was no more taken: whoever lands makes it worth another look."""

    def __post_init__(self) -> None:
        self.places.total = self.how.slots

    @property
    def free(self) -> int:
        # What is not written yet counts: a database that is away must not be outrun.
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
        """How long after the last take this many are worth another."""
        if wanted * 2 >= self.how.slots:
            return SHORTEST
        return CROWDED if self.how.crowded() else LINGER

    async def _take(self, now: datetime, limit: int) -> Sequence[ClaimedArticle]:
        # Our own clock starts before the database's does, so our lease ends before the database's.
        asked_at = asyncio.get_running_loop().time()
        without = frozenset(self.how.held_back())
        manners = replace(self.how.manners, lead=timedelta(seconds=self._lead))
        async with self.store.begin() as tx:
            # An acknowledgement that got lost leaves these to their lease's end: nothing was asked of their hosts.
            taken = await SqlArticles(tx).take(
                now, limit, self.worker, self.lease, new_id("tok"), manners, self._avoid, without
            )
        self._spacing.mark()
        took = asyncio.get_running_loop().time() - asked_at
        self._lead = min(max(took * 1.5, self._lead * 0.8), LONGEST_LEAD)
        for one in taken:
            self._start(one, asked_at)
        return taken

    def _avoid(self, tenant_id: str, host: str) -> bool:
        """Hosts that do not answer get no more; while pages wait to be read, nobody can tell."""
        return self.places.shut(tenant_id, host) and not self.how.crowded()

    def _start(self, taken: ClaimedArticle, asked_at: float) -> None:
        fetch = ArticleFetch(taken, asked_at)
        self.fetches[fetch.article_id] = fetch
        self.places.hold(fetch.article_id, taken.tenant_id, AttemptTarget(taken.host, SILENT))
        fetch.task = asyncio.create_task(self._fetch(fetch))
        fetch.task.add_done_callback(lambda _: self._land(fetch))
        self.renew(fetch, asked_at)

    def renew(self, fetch: ArticleFetch, asked_at: float) -> None:
        """The lease holds from `asked_at`."""
        fetch.hold(asked_at, self.lease.total_seconds() * (1 - MARGIN))

    async def _fetch(self, fetch: ArticleFetch) -> None:
        taken = fetch.taken
        try:
            if (early := (taken.start_at - self.clock.now()).total_seconds()) > 0:
                await asyncio.sleep(early)
            if taken.latest_at is not None and self.clock.now() > taken.latest_at:
                # The database or this process was slow: now it would come too close to somebody else's request.
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
        fetch.outcome = _told(answer)
        if not fetch.lost:
            self._put(ending(taken, answer, self.clock.now(), self.how.policy, self.how.attempts))

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
        """Let what is being fetched finish; hand back what does not within the grace, if there is one."""
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


def _told(answer: Answered) -> Outcome | None:
    """What an answer says about its host; nothing, where it is only known that robots.txt could not be had."""
    if isinstance(answer, FetchFailure):
        return Failed(answer.problem)
    return None if isinstance(answer, RobotsRules) and answer.robots == NO_WORD else Succeeded()
