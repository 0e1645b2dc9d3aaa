"""Has pages read in processes of their own, several of a tenant at a time, and tenants in turn.

A process that is handed one page after the other waits between them, and forgets what it had at hand.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.cluster import page_reader
from foliot.cluster.pool_port import Pool, ProcessDied
from foliot.features.tasks.run.probation import Probation

PATIENCE = timedelta(seconds=5)
"""For reading one page, or those that are read together."""
TOGETHER = 8
"""Pages that one process is handed at once, if so many wait."""
HEAVY = 512 * 1024
"""Bytes of them, unless one alone is heavier."""


class UnreadablePage(Exception):
    """The page cannot be read; says why."""


class TookTooLong(UnreadablePage):
    """The page kept its reader for all the time there is."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What a host sent, to be read."""

    url: str
    content_type: str
    body: bytes
    tenant_id: str = ""


@dataclass(slots=True, eq=False)
class _WaitingPage:
    page: FetchedPage
    told: asyncio.Future[dict[str, Any]]
    alone: bool = False
    """Its company was spoilt, perhaps by it."""
    company: Sequence[_WaitingPage] = ()
    """Those it is read with, itself among them, while it is."""
    work: asyncio.Task[None] | None = None


@dataclass(slots=True, kw_only=True)
class ExtractorPool:
    """As many as the pool has processes. A page that finds one free does not wait for others to come."""

    pool: Pool
    many: int
    patience: timedelta = PATIENCE
    probation: Probation = field(default_factory=Probation)
    _lines: OrderedDict[str, deque[_WaitingPage]] = field(default_factory=OrderedDict)
    """Who waits, by tenant; whose turn is next comes first. No line is empty."""
    _reading: Counter[str] = field(default_factory=Counter)
    """How many readers each tenant has."""
    _busy: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    @property
    def crowded(self) -> bool:
        """Enough pages wait to be read: fetching others now would only make them wait as well."""
        return sum(map(len, self._lines.values())) > self.many * 2

    def held_back(self) -> Collection[str]:
        """Tenants on probation whose pages wait: fetching more of theirs would only take places from others."""
        return [tenant for tenant in self._lines if self.probation.holds(tenant)]

    async def read(self, page: FetchedPage) -> dict[str, Any]:
        """What the page says. `UnreadablePage`, or `ProcessDied`: then it may have been somebody else's fault."""
        if self._closed:
            raise ProcessDied("nothing is read any more: this process is shutting down")
        one = _WaitingPage(page, asyncio.get_running_loop().create_future())
        self._lines.setdefault(page.tenant_id, deque()).append(one)
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

    def _leave(self, one: _WaitingPage) -> None:
        """Nobody wants it any more. Its reader is stopped when nobody wants any of what it reads."""
        with suppress(KeyError, ValueError):
            self._lines[one.page.tenant_id].remove(one)
            self._forget(one.page.tenant_id)
        if one.work is not None and all(other.told.done() for other in one.company):
            one.work.cancel()

    async def close(self) -> None:
        """Leave what is being read, and whoever waits."""
        self._closed = True
        for one in [one for line in self._lines.values() for one in line]:
            one.told.cancel()
        self._lines.clear()
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
                self._reading[group[0].page.tenant_id] -= 1
                if not work.done():
                    work.cancel()
                    await asyncio.wait([work])
                error = asyncio.CancelledError() if work.cancelled() else work.exception()
                for one in group:
                    if one.work is work:
                        one.company, one.work = (), None
                    if error is not None:
                        _tell(one, error)

    def _next(self) -> list[_WaitingPage]:
        """Pages of the tenant whose turn it is: a group is of one tenant, so that none pays for another's page."""
        for tenant in self._lines:
            suspect = self.probation.holds(tenant)
            if suspect and self._reading[tenant]:
                continue
            group = self._group(self._lines[tenant], alone=suspect)
            self._lines.move_to_end(tenant)
            self._forget(tenant)
            self._reading[tenant] += 1
            return group
        return []

    def _group(self, line: deque[_WaitingPage], *, alone: bool) -> list[_WaitingPage]:
        # Everybody who reads has a share of those that wait, so that the last of a job are not one reader's alone.
        share = -(-len(line) // self.many)
        group: list[_WaitingPage] = []
        weight = 0
        while line and len(group) < min(TOGETHER, share):
            one = line[0]
            weight += len(one.page.body)
            if group and (weight > HEAVY or one.alone):
                break
            group.append(line.popleft())
            if one.alone or alone:
                break
        return group

    def _forget(self, tenant: str) -> None:
        if not self._lines[tenant]:
            del self._lines[tenant]
        self._reading += Counter()

    async def _together(self, group: Sequence[_WaitingPage]) -> None:
        try:
            answers = await self._ask([one.page for one in group])
        except (TimeoutError, ProcessDied, UnreadablePage) as error:
            tenant = group[0].page.tenant_id
            if not isinstance(error, UnreadablePage):
                self.probation.begin(tenant)
            if len(group) == 1:
                raise _plainly(error, self.patience) from None
            # One of them spoils it for the others: each by itself, whoever reads it, and only that one fails.
            for one in reversed(group):
                if not one.told.done():
                    one.alone = True
                    self._lines.setdefault(tenant, deque()).appendleft(one)
            self._call_a_reader()
            return
        for one, answer in zip(group, answers, strict=True):
            _tell(one, UnreadablePage(answer["unreadable"]) if "unreadable" in answer else answer)

    async def _ask(self, pages: Sequence[FetchedPage]) -> Sequence[dict[str, Any]]:
        told = [{"url": page.url, "content_type": page.content_type, "size": len(page.body)} for page in pages]
        body = b"".join(page.body for page in pages)
        call = page_reader.asked("foliot.pages.article", "extract_each", {"pages": told}, body, weight=len(pages))
        answer = await self.pool.call(call, page_reader.SILENCE, self.patience)
        if answer.error is not None:
            raise UnreadablePage(answer.error)
        answers: Sequence[dict[str, Any]] = answer.result
        return answers


def _plainly(error: Exception, patience: timedelta) -> Exception:
    if isinstance(error, TimeoutError):
        return TookTooLong(f"it took longer than {patience.total_seconds():g} s")
    return error


def _tell(one: _WaitingPage, what: dict[str, Any] | BaseException) -> None:
    if one.told.done():
        return
    if isinstance(what, asyncio.CancelledError):
        one.told.cancel()
    elif isinstance(what, BaseException):
        one.told.set_exception(what)
    else:
        one.told.set_result(what)
