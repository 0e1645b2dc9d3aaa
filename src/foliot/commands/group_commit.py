"""Collects concurrent requests of a tenant into one transaction; each caller gets its own answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import orjson

from foliot.core.errors import Contended, Unavailable

Q = TypeVar("Q")
A = TypeVar("A")

MOST = 100
"""Requests per group; later ones go into the next."""
SMALL = 8 * 1024
"""Bytes of a document; a request with a larger one gets its own transaction, so that no other waits for it."""
PATIENCE = 1.0
"""Seconds: a database that takes longer to fail has failed for every waiting request, not for this group alone."""

Write = Callable[[str, Sequence[Q]], Awaitable[Sequence[A | Exception | None]]]
"""Writes the requests of one tenant in one transaction. Each answer, after the commit, is the result, the error of
that request, or None for a request that has to run alone."""


@dataclass(slots=True)
class GroupCommit(Generic[Q, A]):
    """Group commit: while one group of a tenant is written, the next one accumulates; there is no timer.

    A group that fails as a whole fails because of one unknown request: each is run alone then.
    Only when the database is unreachable do all of them fail.
    """

    most: int = MOST
    patience: float = PATIENCE
    _lines: dict[str, deque[tuple[Q, asyncio.Future[A | None]]]] = field(default_factory=dict)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def ask(self, tenant_id: str, request: Q, write: Write[Q, A]) -> A | None:
        """The answer, after the commit; None when this request has to run alone."""
        done: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()
        line = self._lines.get(tenant_id)
        if line is None:
            line = self._lines[tenant_id] = deque()
            # A separate task, which no client's disconnect cancels; requests that arrive before it starts join.
            serving = asyncio.create_task(self._serve(tenant_id, line, write), name="together")
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        line.append((request, done))
        return await done

    async def _serve(self, tenant_id: str, line: deque[tuple[Q, asyncio.Future[A | None]]], write: Write[Q, A]) -> None:
        group: list[tuple[Q, asyncio.Future[A | None]]] = []
        try:
            while line:
                # Clients that disconnected before their request began are left out.
                group = [line.popleft() for _ in range(min(self.most, len(line)))]
                group = [entry for entry in group if not entry[1].done()]
                if group:
                    await self._write(tenant_id, group, line, write)
        finally:
            del self._lines[tenant_id]
            # This task was cancelled: the remaining requests get no answer.
            for _, done in (*group, *line):
                done.cancel()

    async def _write(
        self,
        tenant_id: str,
        group: list[tuple[Q, asyncio.Future[A | None]]],
        line: deque[tuple[Q, asyncio.Future[A | None]]],
        write: Write[Q, A],
    ) -> None:
        began = asyncio.get_running_loop().time()
        answers: Sequence[A | Exception | None] = [None] * len(group)
        try:
            answers = await write(tenant_id, [request for request, _ in group])
        except Contended:
            pass
        except Unavailable as away:
            if asyncio.get_running_loop().time() - began >= self.patience:
                group += line
                line.clear()
            answers = [Unavailable(str(away), told=away.told, cause=away.cause) for _ in group]
        except Exception:  # noqa: BLE001, S110 -- one request caused it; run alone, that request raises it again
            pass
        for (_, done), answer in zip(group, answers, strict=True):
            _tell(done, answer)


def small(document: object, most: int = SMALL) -> bool:
    """Whether the document is small enough for a group."""
    try:
        return len(orjson.dumps(document)) <= most
    except TypeError:
        return False


def _tell(done: asyncio.Future[Any], answer: object) -> None:
    if done.done():
        return
    if isinstance(answer, Exception):
        done.set_exception(answer)
    else:
        done.set_result(answer)
