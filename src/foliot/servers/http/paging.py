"""Pagination parameters. Cursors are opaque text, signed for one tenant and one list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request

from foliot.commands.cursor import Cursors
from foliot.engine.model.views import PageRequest
from foliot.servers.http.permission import Who
from foliot.servers.http.request import MAX_LIMIT

T = TypeVar("T")


async def cursors_of(request: Request, caller: Who) -> Cursors:
    """Of this list in this order: a cursor of another order is refused."""
    order = request.query_params.get("sort", "")
    of = f"{caller.tenant_id}\n{request.url.path}" + (f"\n{order}" if order else "")
    return Cursors(request.app.state.cursor_pepper, of)


OfThisList = Annotated[Cursors, Depends(cursors_of)]
Cursor = Annotated[str | None, Query(max_length=400, description="`next_cursor` of the previous page.")]


@dataclass(frozen=True, slots=True)
class PageTurn:
    """The requested page, and what signs the cursor of the next one."""

    page: PageRequest
    cursors: Cursors

    def more(self) -> PageRequest:
        """The page to read, with one item more, which shows whether there is a next page."""
        return PageRequest(self.page.limit + 1, self.page.cursor)

    def of(self, things: Sequence[T], place: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """The items of this page, and the cursor of the next; `things` are the result of a read of `more()`."""
        shown = things[: self.page.limit]
        more = len(things) > self.page.limit
        return shown, self.cursors.seal(place(shown[-1])) if more else None


async def _turn(
    cursors: OfThisList,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of items to return.")] = 50,
    cursor: Cursor = None,
) -> PageTurn:
    return PageTurn(PageRequest(limit, None if cursor is None else cursors.open(cursor)), cursors)


Paged = Annotated[PageTurn, Depends(_turn)]


@dataclass(frozen=True, slots=True)
class ListPart:
    """A page of a list that is read whole, because it is short: configured, or bounded by a limit."""

    limit: int
    cursor: str | None
    cursors: Cursors

    def of(self, things: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """The items of this page, and the cursor of the next, which continues after the last item even if it moved."""
        start = self._start([_digest(key(thing)) for thing in things])
        shown = things[start : start + self.limit]
        more = start + len(shown) < len(things)
        return shown, self.cursors.seal(f"{start + len(shown)}:{_digest(key(shown[-1]))}") if shown and more else None

    def _start(self, digests: Sequence[str]) -> int:
        if self.cursor is None:
            return 0
        count, _, last = self.cursors.open(self.cursor).partition(":")
        return digests.index(last) + 1 if last in digests else min(int(count), len(digests))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


async def _part(
    cursors: OfThisList,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of items to return.")] = MAX_LIMIT,
    cursor: Cursor = None,
) -> ListPart:
    return ListPart(limit, cursor, cursors)


Parted = Annotated[ListPart, Depends(_part)]
