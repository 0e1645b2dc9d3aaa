"""Which part of a list is asked for. Where it goes on is opaque text, signed for one tenant and one list."""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from foliot.domain.errors import Invalid
from foliot.doors.rest.asking import MAX_LIMIT
from foliot.doors.rest.who import Who
from foliot.ports import Page
from foliot.ports.keys import Pepper

PURPOSE = "cursor"
_SIGNED = 24
_PLACE = re.compile(r"[^\x00-\x1f\x7f]{1,64}")


@dataclass(frozen=True, slots=True)
class Cursors:
    """Seals and opens places in one list of one tenant. Local mode, where all is one tenant's, has no key for it."""

    pepper: Pepper | None
    place_of: str

    def seal(self, place: str) -> str:
        sealed = f"{self._signatures(place)[0]}{place}"
        return urlsafe_b64encode(sealed.encode()).decode().rstrip("=")

    def open(self, cursor: str) -> str:
        """The place; `Invalid` for whatever was not sealed here."""
        try:
            sealed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        except (ValueError, binascii.Error):
            sealed = ""
        signature, place = sealed[:_SIGNED], sealed[_SIGNED:]
        ours = _PLACE.fullmatch(place) and any(
            hmac.compare_digest(signature.encode(), one.encode()) for one in self._signatures(place)
        )
        if not ours:
            raise Invalid("cursor", "is not a next_cursor of this list", got=cursor)
        return place

    def _signatures(self, place: str) -> list[str]:
        """By the newest key first; a cursor outlives the replacement of a key."""
        text = f"{self.place_of}\n{place}"
        if self.pepper is None:
            return [hashlib.sha256(text.encode()).hexdigest()[:_SIGNED]]
        return [digest[:_SIGNED] for _, digest in self.pepper.digests(PURPOSE, text)]


def cursors_of(request: Request, caller: Who) -> Cursors:
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


def _turn(
    cursors: OfThisList,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")] = 50,
    cursor: Cursor = None,
) -> Turn:
    return Turn(Page(limit, None if cursor is None else cursors.open(cursor)), cursors)


Paged = Annotated[Turn, Depends(_turn)]
