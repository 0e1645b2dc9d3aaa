"""Has pages read in processes of their own, several at a time: a process that is handed one page after the other waits
between them, and forgets what it had at hand.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.ports.tasks import Pool, ProcessDied
from foliot.tasks import reader

PATIENCE = timedelta(seconds=30)
"""For reading one page, or those that are read together."""
TOGETHER = 8
"""Pages that one process is handed at once, if so many wait."""
HEAVY = 512 * 1024
"""Bytes of them, unless one alone is heavier."""


class Unreadable(Exception):
    """The page cannot be read; says why."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a host sent, to be read."""

    url: str
    content_type: str
    body: bytes


@dataclass(slots=True, eq=False)
class _Waiting:
    page: Page
    told: asyncio.Future[dict[str, Any]]
    alone: bool = False
    """Its company was spoilt, perhaps by it."""
    company: Sequence[_Waiting] = ()
    """Those it is read with, itself among them, while it is."""
    work: asyncio.Task[None] | None = None


@dataclass(slots=True, kw_only=True)
class Readers:
    """As many as the pool has processes. A page that finds one free does not wait for others to come."""

    pool: Pool
    many: int
    patience: timedelta = PATIENCE
    _line: deque[_Waiting] = field(default_factory=deque)
    _busy: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    @property
    def crowded(self) -> bool:
        """Enough pages wait to be read: fetching others now would only make them wait as well."""
        return len(self._line) > self.many * 2

    async def read(self, page: Page) -> dict[str, Any]:
        """What the page says. `Unreadable`, or `ProcessDied`: then it may have been somebody else's fault."""
        if self._closed:
            raise ProcessDied("nothing is read any more: this process is shutting down")
        one = _Waiting(page, asyncio.get_running_loop().create_future())
        self._line.append(one)
        self._call_a_reader()
        try:
            return await one.told
        except asyncio.CancelledError:
            self._leave(one)
            raise

    def _call_a_reader(self) -> None:
        if len(self._busy) < self.many:
            task = asyncio.create_task(self._serve())
            self._busy.add(task)
            task.add_done_callback(self._busy.discard)

    def _leave(self, one: _Waiting) -> None:
        """Nobody wants it any more. Its reader is stopped when nobody wants any of what it reads."""
        with suppress(ValueError):
            self._line.remove(one)
        if one.work is not None and all(other.told.done() for other in one.company):
            one.work.cancel()

    async def close(self) -> None:
        """Leave what is being read, and whoever waits."""
        self._closed = True
        for one in self._line:
            one.told.cancel()
        self._line.clear()
        tasks = list(self._busy)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self) -> None:
        while group := self._next():
            work = asyncio.create_task(self._together(group))
            for one in group:
                one.company, one.work = group, work
            try:
                await asyncio.wait([work])
            finally:
                if not work.done():
                    work.cancel()
                    await asyncio.wait([work])
                error = asyncio.CancelledError() if work.cancelled() else work.exception()
                for one in group:
                    if one.work is work:
                        one.company, one.work = (), None
                    if error is not None:
                        _tell(one, error)

    def _next(self) -> list[_Waiting]:
        # Everybody who reads has a share of those that wait, so that the last of a job are not one reader's alone.
        share = -(-len(self._line) // self.many)
        group: list[_Waiting] = []
        weight = 0
        while self._line and len(group) < min(TOGETHER, share):
            one = self._line[0]
            weight += len(one.page.body)
            if group and (weight > HEAVY or one.alone):
                break
            group.append(self._line.popleft())
            if one.alone:
                break
        return group

    async def _together(self, group: Sequence[_Waiting]) -> None:
        try:
            answers = await self._ask([one.page for one in group])
        except (TimeoutError, ProcessDied, Unreadable) as error:
            if len(group) == 1:
                raise _plainly(error, self.patience) from None
            # One of them spoils it for the others: each by itself, whoever reads it, and only that one fails.
            for one in reversed(group):
                if not one.told.done():
                    one.alone = True
                    self._line.appendleft(one)
            self._call_a_reader()
            return
        for one, answer in zip(group, answers, strict=True):
            _tell(one, Unreadable(answer["unreadable"]) if "unreadable" in answer else answer)

    async def _ask(self, pages: Sequence[Page]) -> Sequence[dict[str, Any]]:
        told = [{"url": page.url, "content_type": page.content_type, "size": len(page.body)} for page in pages]
        body = b"".join(page.body for page in pages)
        call = reader.asked(
            "foliot.actions.articles.extraction", "extract_each", {"pages": told}, body, weight=len(pages)
        )
        answer = await self.pool.call(call, reader.SILENCE, self.patience)
        if answer.error is not None:
            raise Unreadable(answer.error)
        answers: Sequence[dict[str, Any]] = answer.result
        return answers


def _plainly(error: Exception, patience: timedelta) -> Exception:
    if isinstance(error, TimeoutError):
        return Unreadable(f"it took longer than {patience.total_seconds():g} s")
    return error


def _tell(one: _Waiting, what: dict[str, Any] | BaseException) -> None:
    if one.told.done():
        return
    if isinstance(what, asyncio.CancelledError):
        one.told.cancel()
    elif isinstance(what, BaseException):
        one.told.set_exception(what)
    else:
        one.told.set_result(what)
