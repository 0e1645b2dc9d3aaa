"""Which part of a list is asked for. Where it goes on is opaque text, signed for one tenant and one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from foliot.doors.rest.asking import MAX_LIMIT
from foliot.doors.rest.who import Who
from foliot.ports import Page
from foliot.usecases.cursors import Cursors


async def cursors_of(request: Request, caller: Who) -> Cursors:
    return Cursors(request.app.state.cursor_pepper, f"{caller.tenant_id}\n{request.url.path}")


OfThisList = Annotated[Cursors, Depends(cursors_of)]
Cursor = Annotated[str | None, Query(max_length=400, description="`next_cursor` of the page before.")]


@dataclass(frozen=True, slots=True)
class Turn:
    """The page that is asked for, and what seals the place of the next one."""

    page: Page
    cursors: Cursors

    def more(self) -> Page:
        """What to ask the store for, so that the answer knows whether there is a next page."""
        return Page(self.page.limit + 1, self.page.cursor)


async def _turn(
    cursors: OfThisList,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")] = 50,
    cursor: Cursor = None,
) -> Turn:
    return Turn(Page(limit, None if cursor is None else cursors.open(cursor)), cursors)


Paged = Annotated[Turn, Depends(_turn)]
