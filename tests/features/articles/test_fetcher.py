"""Articles through a real engine on a real database: fetched once, in order, politely, also after crashes."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRole
from foliot.engine.model.run import AttemptError, RunState
from foliot.engine.slots import Slots
from foliot.features.articles.action import ArticlesAction
from foliot.features.articles.actor.extension import ArticleFetching, article_fetching
from foliot.features.articles.actor.fetcher import FetcherSettings
from foliot.features.articles.model import ArticleCounts, ClaimedArticle, ExtractedPage
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.usecases import Articles as ArticlesCases
from foliot.features.articles.usecases import SubmittedArticles
from foliot.features.audit_log.actor import audit_chaining
from foliot.features.fetching.model import FetchFailure, PageMoved, PageUnchanged, RobotsRules
from foliot.features.fetching.politeness import Politeness
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed

FREE = Politeness(together=1000)
WAIT = 20.0
"""Seconds for which a host is left alone that did not answer for a third of it."""


class Anywhere:
    """Lets every URL through."""

    def check(self, url: str) -> None: ...


@dataclass
class Library:
    """Answers for every page, and writes down who asked."""

    answer: Callable[[ClaimedArticle], ExtractedPage | PageUnchanged | PageMoved | FetchFailure] = lambda taken: (
        ExtractedPage(title="T", content=taken.url)
    )
    delay: float = 0.0
    asked: list[str] = field(default_factory=list)
    robots_asked: Counter[str] = field(default_factory=Counter)

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        self.robots_asked[taken.host] += 1
        return RobotsRules("")

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        self.asked.append(taken.url)
        await asyncio.sleep(self.delay)
        return self.answer(taken)


@dataclass
class House:
    """Doors and as many engines as wanted, over one database."""

    store: Database
    cases: UseCases
    feed: MemoryFeed
    clock: StoreClock
    actions: GivenActions
    engines: list[Engine] = field(default_factory=list)

    async def engine(
        self, library: Library, *, slots: int = 50, manners: Politeness = FREE, attempts: int = 3
    ) -> Engine:
        engine = Engine(
            node_id=f"node-{len(self.engines)}",
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            actions=self.actions,
            pace=EnginePace(scale=0.1, retention=None),
            workers_of=lambda executor: EmbeddedWorkers(executor, 10),
            role=NodeRole.UP,
            extensions=[
                article_fetching(FetcherSettings(scraper=library, slots=slots, manners=manners, attempts=attempts)),
                audit_chaining,
            ],
            slots=Slots(failures=3, wait=WAIT),
        )
        await engine.start()
        self.engines.append(engine)
        return engine

    async def submit(self, urls: list[Any], **changes: Any) -> SubmittedArticles:
        return await self.cases[ArticlesCases].submit(LOCAL, {"articles": urls, **changes})

    async def ended(self, run_id: str, seconds: float = 40) -> RunState:
        async with asyncio.timeout(seconds):
            while True:
                run = await self.cases[Runs].get(LOCAL, run_id)
                if run.state.final:
                    return run.state
                await asyncio.sleep(0.05)

    async def counts(self, run_id: str) -> ArticleCounts:
        found: Mapping[str, ArticleCounts] = await self.cases[ArticlesCases].counts(LOCAL, [run_id])
        return found[run_id]


@asynccontextmanager
async def house(url: str) -> AsyncIterator[House]:
    await migrate(url)
    store, clock, feed = Database(url), StoreClock(), MemoryFeed()
    await feed.start()
    actions = GivenActions.of(ArticlesAction(targets=Anywhere()))
    made = House(store, use_cases(store, clock, feed, actions), feed, clock, actions)
    try:
        yield made
    finally:
        for engine in made.engines:
            await engine.stop(1)
        await store.close()


def pages(count: int, host: str = "news.test") -> list[str]:
    return [f"https://{host}/{number}" for number in range(count)]


async def test_a_job_is_done_when_its_last_article_is(database_url: str) -> None:
    async with house(database_url) as here:
        library = Library()
        await here.engine(library)
        made = await here.submit(pages(100))

        assert await here.ended(made.run.id) is RunState.SUCCESS
        assert await here.counts(made.run.id) == ArticleCounts(total=100, done=100)
        assert Counter(library.asked) == Counter(pages(100))
        assert library.robots_asked == {"news.test": 1}
        run = await here.cases[Runs].get(LOCAL, made.run.id)
        assert run.result == {"total": 100, "completed": 100, "cached": 0, "failed": 0}


async def test_failures_are_tried_again_and_end_in_words(sqlite_database_url: str) -> None:
    tries: Counter[str] = Counter()

    def answer(taken: ClaimedArticle) -> ExtractedPage | FetchFailure:
        tries[taken.url] += 1
        if taken.url.endswith("/1"):
            return FetchFailure(problem=AttemptError("http_404", "The page is gone."), permanent=True)
        if taken.url.endswith("/2") and tries[taken.url] < 3:
            return FetchFailure(problem=AttemptError("http_503", "Busy."), retry_after=timedelta(milliseconds=10))
        return ExtractedPage(title="T", content="text")

    async with house(sqlite_database_url) as here:
        await here.engine(Library(answer))
        made = await here.submit(pages(4))

        assert await here.ended(made.run.id) is RunState.PARTIAL
        failed = await here.cases[ArticlesCases].items(LOCAL, made.run.id, after=0, limit=10, failed=True)
        assert [(one.url, one.error) for one in failed] == [
            ("https://news.test/1", {"code": "http_404", "message": "The page is gone."})
        ]
        assert tries["https://news.test/2"] == 3


async def test_a_page_that_is_elsewhere_is_fetched_there_by_the_rules_of_that_host(sqlite_database_url: str) -> None:
    places = {"https://news.test/0": "https://other.test/a", "https://other.test/a": "https://other.test/b"}

    def answer(taken: ClaimedArticle) -> ExtractedPage | PageMoved:
        return PageMoved(places[taken.url]) if taken.url in places else ExtractedPage(title=taken.url, content="text")

    async with house(sqlite_database_url) as here:
        library = Library(answer)
        await here.engine(library)
        made = await here.submit(pages(2))

        assert await here.ended(made.run.id) is RunState.SUCCESS
        assert library.robots_asked == {"news.test": 1, "other.test": 1}
        assert Counter(library.asked) == Counter([*pages(2), *places.values()])
        items = await here.cases[ArticlesCases].items(LOCAL, made.run.id, after=0, limit=10)
        assert [(one.url, one.page.title) for one in items] == [
            ("https://news.test/0", "https://other.test/b"), ("https://news.test/1", "https://news.test/1"),
        ]  # fmt: skip


async def test_a_slow_database_brings_no_two_requests_together(
    sqlite_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given out too late is not asked for: the moments that follow are somebody else's."""
    take, slowness = SqlArticles.take, itertools.cycle([0.0, 0.5])

    async def slowly(*given: Any) -> Any:
        taken = await take(*given)
        await asyncio.sleep(next(slowness) if taken else 0)
        return taken

    monkeypatch.setattr(SqlArticles, "take", slowly)
    async with house(sqlite_database_url) as here:
        starts: list[float] = []

        def answer(taken: ClaimedArticle) -> ExtractedPage:
            starts.append(asyncio.get_running_loop().time())
            return ExtractedPage(title="T", content="text")

        await here.engine(Library(answer), manners=Politeness(interval=timedelta(seconds=0.25), together=100))
        made = await here.submit(pages(5))

        assert await here.ended(made.run.id) is RunState.SUCCESS
    assert len(starts) == 5
    # As late as it may be on one side, and as early as it may be on the other.
    assert min(later - first for first, later in itertools.pairwise(starts)) > 0.25 - 0.06, starts


async def test_two_jobs_at_once_have_each_page_fetched_once(server_database_url: str) -> None:
    async with house(server_database_url) as here:
        library = Library(delay=0.01)
        for _ in range(2):
            await here.engine(library)
        one, other = await asyncio.gather(here.submit(pages(300)), here.submit(list(reversed(pages(300)))))

        assert {await here.ended(one.run.id), await here.ended(other.run.id)} == {RunState.SUCCESS}
        assert set(Counter(library.asked).values()) == {1}
        assert (await here.counts(one.run.id), await here.counts(other.run.id)) == (
            ArticleCounts(total=300, done=300),
        ) * 2


async def test_the_urgent_come_first_and_nobody_waits_for_ever(sqlite_database_url: str) -> None:
    async with house(sqlite_database_url) as here:
        library = Library(delay=0.005)
        articles = [{"url": url, "priority": 1 + 4 * (at % 3)} for at, url in enumerate(pages(60))]
        made = await here.submit(articles)
        await here.engine(library, slots=1)

        assert await here.ended(made.run.id) is RunState.SUCCESS
        bands = [1 + 4 * (int(url.rpartition("/")[2]) % 3) for url in library.asked]
        assert bands == sorted(bands)


async def test_a_cancelled_job_leaves_the_queue_and_others_go_on(sqlite_database_url: str) -> None:
    async with house(sqlite_database_url) as here:
        library = Library(delay=0.05)
        await here.engine(library, slots=2)
        gone, stays = await here.submit(pages(200)), await here.submit(pages(10))

        await here.cases[Runs].cancel(LOCAL, gone.run.id)

        assert await here.ended(stays.run.id) is RunState.SUCCESS
        assert await here.ended(gone.run.id) is RunState.CANCELLED
        counts = await here.counts(gone.run.id)
        assert counts.pending == 0
        assert counts.cancelled > 0
        assert len(library.asked) < 200


async def test_what_a_dead_worker_had_is_fetched_again_and_nothing_else(server_database_url: str) -> None:
    async with house(server_database_url) as here:
        stuck, library = Library(delay=3600), Library()
        dying = await here.engine(stuck, slots=20)
        made = await here.submit(pages(100))
        async with asyncio.timeout(20):
            while len(stuck.asked) < 20:
                await asyncio.sleep(0.02)
        # As a power failure would: nothing is handed back, and no lease renewed.
        await dying.loop.stop()
        here.engines.clear()
        await here.engine(library)

        assert await here.ended(made.run.id, 60) is RunState.SUCCESS
        assert Counter(library.asked) == Counter(pages(100))
        assert await here.counts(made.run.id) == ArticleCounts(total=100, done=100)
        fetching = dying.extension(ArticleFetching)
        assert fetching is not None
        for fetch in list(fetching.gatherer.fetches.values()):
            fetch.lost = True
            if fetch.task is not None:
                fetch.task.cancel()


async def test_a_worker_that_leaves_hands_its_articles_back(sqlite_database_url: str) -> None:
    async with house(sqlite_database_url) as here:
        slow, library = Library(delay=3600), Library()
        leaving = await here.engine(slow, slots=5)
        made = await here.submit(pages(8))
        async with asyncio.timeout(20):
            while len(slow.asked) < 5:
                await asyncio.sleep(0.02)
        await leaving.stop(0.05)
        here.engines.clear()
        await here.engine(library)

        assert await here.ended(made.run.id) is RunState.SUCCESS
        async with here.store.read() as tx:
            items = await SqlArticles(tx).items(made.run.id, after=0, limit=10)
        assert {one.error for one in items} == {None}
        assert len(library.asked) == 8


async def test_a_job_that_failed_can_be_run_again_for_what_it_lacks(database_url: str) -> None:
    gone = {"https://news.test/1"}

    def answer(taken: ClaimedArticle) -> ExtractedPage | FetchFailure:
        if taken.url in gone:
            return FetchFailure(problem=AttemptError("http_404", "The page is gone."), permanent=True)
        return ExtractedPage(title="T", content="text")

    async with house(database_url) as here:
        library = Library(answer)
        await here.engine(library)
        first = await here.submit(pages(3))
        assert await here.ended(first.run.id) is RunState.PARTIAL
        gone.clear()
        again = await here.cases[Runs].retry(LOCAL, first.run.id)

        assert await here.ended(again.id) is RunState.SUCCESS
        assert await here.counts(again.id) == ArticleCounts(total=1, done=1)


async def test_a_page_that_cannot_be_stored_fails_alone(sqlite_database_url: str) -> None:
    def answer(taken: ClaimedArticle) -> ExtractedPage:
        odd: Any = object() if taken.url.endswith("/1") else "T"
        return ExtractedPage(title=odd, content="text")

    async with house(sqlite_database_url) as here:
        await here.engine(Library(answer))
        made = await here.submit(pages(5))

        assert await here.ended(made.run.id) is RunState.PARTIAL
        assert await here.counts(made.run.id) == ArticleCounts(total=5, done=4, failed=1)


async def test_a_scheduled_job_fetches_anew(sqlite_database_url: str) -> None:
    async with house(sqlite_database_url) as here:
        library = Library()
        await here.engine(library)
        first = await here.submit(pages(3))
        await here.ended(first.run.id)
        schedule = await here.cases[Schedules].create(
            LOCAL,
            {
                "name": "Every morning",
                "type": "cron",
                "cron_expr": "0 6 * * *",
                "action": {"kind": "articles", "articles": [{"url": url} for url in pages(3)]},
            },
        )
        run = await here.cases[Schedules].run_now(LOCAL, schedule.id)

        assert await here.ended(run.id) is RunState.SUCCESS
        assert Counter(library.asked) == Counter(dict.fromkeys(pages(3), 2))


async def test_a_host_that_does_not_answer_is_left_alone_and_others_are_not(sqlite_database_url: str) -> None:
    problem = AttemptError("target_timeout", "The target did not answer in time.")
    late = FetchFailure(problem=problem, retry_after=timedelta(seconds=0.1))

    @dataclass
    class Halves(Library):
        """One host answers, and the other never."""

        async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
            self.asked.append(taken.url)
            if taken.host == "bad.test":
                await asyncio.sleep(0.2)
                return late
            return ExtractedPage(title="T", content="text")

    async with house(sqlite_database_url) as here:
        library = Halves()
        engine = await here.engine(library, slots=8, manners=Politeness(together=4))
        fetching = engine.extension(ArticleFetching)
        assert fetching is not None
        places = fetching.gatherer.places
        places.wait = 0.6
        await here.submit(pages(20, "bad.test"), max_age_seconds=0)
        await until(lambda: bool(places.open_breakers(here.clock.now())))
        places.wait = WAIT
        for one in places.breakers.values():
            one.trial_at += WAIT
        reported = engine.report()["breakers"]
        before = len(library.asked)
        made = await here.submit(pages(40, "good.test"))

        assert await here.ended(made.run.id) is RunState.SUCCESS
        # Those that were under way when it opened, and no other.
        assert len([url for url in library.asked[before:] if "bad.test" in url]) <= 4
        assert [one["target"] for one in reported] == ["bad.test"]


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
