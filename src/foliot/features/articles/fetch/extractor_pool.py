"""Extracts articles in a process pool, several pages of one tenant per call, tenants in turn.

One call per page would leave a process idle between pages and its caches cold.
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
from foliot.cluster.page_reader import Pool, ProcessDied
from foliot.features.tasks.run.call import Probation

PATIENCE = timedelta(seconds=5)
"""Time limit of one call, for one page or a group."""
TOGETHER = 8
"""Maximum pages of one call."""
HEAVY = 512 * 1024
"""Maximum bytes of one call, unless a single page is larger."""


class UnreadablePage(Exception):
    """The page cannot be extracted; the message says why."""


class TookTooLong(UnreadablePage):
    """The extraction of the page exceeded the time limit."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The body of a page, with its content type and URL."""

    url: str
    content_type: str
    body: bytes
    tenant_id: str = ""


@dataclass(slots=True, eq=False)
class _WaitingPage:
    page: FetchedPage
    result: asyncio.Future[dict[str, Any]]
    alone: bool = False
    """Extracted in a call of its own, because a call for its group failed, perhaps because of it."""
    company: Sequence[_WaitingPage] = ()
    """The group it is extracted with, itself included, while that call runs."""
    work: asyncio.Task[None] | None = None


@dataclass(slots=True, kw_only=True)
class ExtractorPool:
    """Fair queue in front of the process pool, one call per process; with an idle process, a page starts at once."""

    pool: Pool
    many: int
    patience: timedelta = PATIENCE
    probation: Probation = field(default_factory=Probation)
    _lines: OrderedDict[str, deque[_WaitingPage]] = field(default_factory=OrderedDict)
    """Waiting pages by tenant, the next tenant first. No queue in it is empty."""
    _reading: Counter[str] = field(default_factory=Counter)
    """How many calls each tenant has under way."""
    _busy: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    @property
    def crowded(self) -> bool:
        """Back-pressure: enough pages are waiting, so that more fetches would only lengthen the queue."""
        return sum(map(len, self._lines.values())) > self.many * 2

    def held_back(self) -> Collection[str]:
        """Tenants on probation with waiting pages: more fetches of theirs would only take slots from others."""
        return [tenant for tenant in self._lines if self.probation.holds(tenant)]

    async def read(self, page: FetchedPage) -> dict[str, Any]:
        """The extracted article. Raises `UnreadablePage`, or `ProcessDied`, which another page may have caused."""
        if self._closed:
            raise ProcessDied("no more pages are read: this process is shutting down")
        one = _WaitingPage(page, asyncio.get_running_loop().create_future())
        self._lines.setdefault(page.tenant_id, deque()).append(one)
        self._call_a_reader()
        try:
            return await one.result
        except asyncio.CancelledError:
            self._leave(one)
            raise

    def _call_a_reader(self) -> None:
        if len(self._busy) < self.many:
            task = asyncio.create_task(self._serve())
            self._busy.add(task)
            task.add_done_callback(self._busy.discard)

    def _leave(self, one: _WaitingPage) -> None:
        """Removes a cancelled page; its call is cancelled once every page of the group is."""
        with suppress(KeyError, ValueError):
            self._lines[one.page.tenant_id].remove(one)
            self._forget(one.page.tenant_id)
        if one.work is not None and all(other.result.done() for other in one.company):
            one.work.cancel()

    async def close(self) -> None:
        """Cancels running calls and waiting pages."""
        self._closed = True
        for one in [one for line in self._lines.values() for one in line]:
            one.result.cancel()
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
        """The next group: pages of one tenant only, so that no tenant's page can fail another's."""
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
        # Split the queue over all processes, so that the last pages of a job are not extracted by one of them alone.
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
            # One page failed the whole group: each is retried in a call of its own, and only that page fails.
            for one in reversed(group):
                if not one.result.done():
                    one.alone = True
                    self._lines.setdefault(tenant, deque()).appendleft(one)
            self._call_a_reader()
            return
        for one, answer in zip(group, answers, strict=True):
            _tell(one, UnreadablePage(answer["unreadable"]) if "unreadable" in answer else answer)

    async def _ask(self, pages: Sequence[FetchedPage]) -> Sequence[dict[str, Any]]:
        described = [{"url": page.url, "content_type": page.content_type, "size": len(page.body)} for page in pages]
        body = b"".join(page.body for page in pages)
        call = page_reader.asked("foliot.pages.article", "extract_each", {"pages": described}, body, weight=len(pages))
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
    if one.result.done():
        return
    if isinstance(what, asyncio.CancelledError):
        one.result.cancel()
    elif isinstance(what, BaseException):
        one.result.set_exception(what)
    else:
        one.result.set_result(what)
