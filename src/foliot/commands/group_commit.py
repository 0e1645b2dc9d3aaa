"""Those who ask at the same time are written down together: one transaction, one commit, an answer for each."""

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
"""In one group; who comes after that goes with the next."""
SMALL = 8 * 1024
"""Bytes of a document; whoever brings a larger one goes alone, and makes nobody else wait for it."""
PATIENCE = 1.0
"""Seconds: a database that takes longer to be away is away for all who wait, not for one group after the other."""

Write = Callable[[str, Sequence[Q]], Awaitable[Sequence[A | Exception | None]]]
"""Writes what one tenant asks for, and answers each once it is committed: with what it made, with the error that is
this one's own, or with None for one that has to be asked alone."""


@dataclass(slots=True)
class Together(Generic[Q, A]):
    """While one group of a tenant is being written, the next one gathers: nobody waits for company that does not come.

    A group that fails as a whole fails because of one of them, and nobody can tell which: each is asked alone then.
    Only when the database is away do all of them hear it.
    """

    most: int = MOST
    patience: float = PATIENCE
    _lines: dict[str, deque[tuple[Q, asyncio.Future[A | None]]]] = field(default_factory=dict)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def ask(self, tenant_id: str, asked: Q, write: Write[Q, A]) -> A | None:
        """The answer, once it is committed; None when this one has to be asked alone."""
        done: asyncio.Future[A | None] = asyncio.get_running_loop().create_future()
        line = self._lines.get(tenant_id)
        if line is None:
            line = self._lines[tenant_id] = deque()
            # A task of its own, which no client that goes away can cancel; whoever comes before it begins comes along.
            serving = asyncio.create_task(self._serve(tenant_id, line, write), name="together")
            self._serving.add(serving)
            serving.add_done_callback(self._serving.discard)
        line.append((asked, done))
        return await done

    async def _serve(self, tenant_id: str, line: deque[tuple[Q, asyncio.Future[A | None]]], write: Write[Q, A]) -> None:
        group: list[tuple[Q, asyncio.Future[A | None]]] = []
        try:
            while line:
                # Whoever has gone away before anything was done for them wants nothing any more.
                group = [line.popleft() for _ in range(min(self.most, len(line)))]
                group = [one for one in group if not one[1].done()]
                if group:
                    await self._write(tenant_id, group, line, write)
        finally:
            del self._lines[tenant_id]
            # Of those whose answer nobody will give any more, for this task was stopped.
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
            answers = await write(tenant_id, [asked for asked, _ in group])
        except Contended:
            pass
        except Unavailable as away:
            if asyncio.get_running_loop().time() - began >= self.patience:
                group += line
                line.clear()
            answers = [Unavailable(str(away), told=away.told, cause=away.cause) for _ in group]
        except Exception:  # noqa: BLE001, S110 -- whatever it is, it comes from one of them, who will hear it alone
            pass
        for (_, done), answer in zip(group, answers, strict=True):
            _tell(done, answer)


def small(document: object, most: int = SMALL) -> bool:
    """Whether it may travel with others."""
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
