"""Fetches an article if its host allows, and has it read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any

from foliot.actions.articles import robots
from foliot.actions.articles.extraction import NO_TEXT, SIGN_IN
from foliot.actions.articles.fetching import Fetched, Fetcher
from foliot.actions.articles.verdict import header, judge, never
from foliot.domain.article import NO_WORD, NO_WORD_KEPT
from foliot.domain.run import Problem
from foliot.ports import Clock
from foliot.ports.articles import Allowance, Extracted, Missed, Moved, Taken, Unchanged
from foliot.ports.tasks import Attempt, Call, Pool, ProcessDied
from foliot.tasks import reader

READING = timedelta(seconds=30)
"""For reading one page."""
MOST_VALIDATOR = 1000
MISSING = {
    NO_TEXT: never("no_text", "Nothing on the page reads like an article; it may want a browser."),
    SIGN_IN: never("sign_in", "The page asks for a sign-in."),
}


UNHEARD = Missed(
    problem=Problem("robots_unavailable", "The host could not say what it allows, so nothing was fetched from it."),
    retry_after=NO_WORD_KEPT,
)


class Silence:
    """What is said while a page is read is nobody's business."""

    def log(self, message: str, level: str) -> None: ...

    def progress(self, data: Mapping[str, Any]) -> None: ...


class Readers:
    """As many as the pool has processes: the wait for one is not the page's own time."""

    def __init__(self, many: int) -> None:
        self._turns = asyncio.Semaphore(many)
        self._enough = many * 2
        self._waiting = 0

    @property
    def crowded(self) -> bool:
        """Enough pages wait to be read: fetching others now would only make them wait as well."""
        return self._waiting > self._enough

    async def __aenter__(self) -> None:
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turns.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScraper:
    """One page at a time, as often as asked for at once."""

    fetcher: Fetcher
    pool: Pool
    clock: Clock
    reading: timedelta = READING
    readers: Readers
    _silence: Silence = field(default_factory=Silence)

    async def robots(self, taken: Taken) -> Allowance | Missed:
        """What the host of this article allows. One that cannot say is left alone for a while."""
        fetched = await self.fetcher.robots(taken)
        if isinstance(fetched, Missed):
            return fetched if fetched.permanent else Allowance(NO_WORD)
        return robots.judge(fetched.reply, self.clock.now())

    async def scrape(self, taken: Taken) -> Extracted | Unchanged | Moved | Missed:
        """The article, where else to ask for it, or why there is none."""
        if taken.robots == NO_WORD:
            return UNHEARD
        fetched = await self.fetcher.page(taken, _known(taken))
        if not isinstance(fetched, Fetched):
            return fetched
        found = judge(fetched.reply, self.clock.now())
        if isinstance(found, Unchanged) and not _known(taken):
            return never("http_304", "The host says that the page is as it was, and was not asked that.")
        return found or await self._read(taken, fetched)

    async def _read(self, taken: Taken, fetched: Fetched) -> Extracted | Missed:
        reply = fetched.reply
        call = Call(
            module=reader.__name__,
            function=reader.read.__name__,
            task="",
            parameters={
                "module": "foliot.actions.articles.extraction",
                "function": "extract",
                "parameters": {"content_type": header(reply.headers, "content-type"), "url": fetched.url},
            },
            attempt=_attempt(taken),
            body=reply.body,
        )
        try:
            async with self.readers:
                told = await self.pool.call(call, self._silence, self.reading)
        except TimeoutError:
            return never("unreadable", f"The page could not be read within {self.reading.total_seconds():g} s.")
        except ProcessDied:
            # Somebody else may have used up the memory: whether it was the page shows when it is read again.
            return Missed(problem=Problem("unreadable", "The page brought its reader down."))
        if told.error is not None:
            return never("unreadable", f"The page could not be read: {told.error[:300]}")
        if "missing" in told.result:
            return MISSING[told.result["missing"]]
        return Extracted(
            **told.result,
            etag=header(reply.headers, "etag")[:MOST_VALIDATOR] or None,
            last_modified=header(reply.headers, "last-modified")[:64] or None,
        )


def _known(taken: Taken) -> dict[str, str]:
    known = {"If-None-Match": taken.etag, "If-Modified-Since": taken.last_modified}
    return {name: value for name, value in known.items() if value}


def _attempt(taken: Taken) -> Attempt:
    return Attempt(
        run_id=taken.fence.run_id,
        tenant_id=taken.tenant_id,
        schedule_id=None,
        attempt=taken.attempt,
        max_attempts=taken.attempt,
        scheduled_for=None,
    )
