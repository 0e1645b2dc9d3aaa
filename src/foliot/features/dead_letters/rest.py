"""Routes of dead letters: groups, replay, mute."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from foliot.core.errors import NotFound
from foliot.engine.model.dead_letter_sort import DEAD_LETTER_SORTS, group_place, read_dead_letter_sort
from foliot.features.dead_letters import schema
from foliot.features.dead_letters.model import ReplayRequest
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.mutes import schema as mutes_schema
from foliot.features.mutes.model import MuteRequest
from foliot.features.mutes.usecases import Mutes
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, Text, plain_texts
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body

router = APIRouter(prefix="/api/dead-letters", tags=["Dead letters"])

SortParameter = Annotated[
    str | None, Query(max_length=40, description=f"{', '.join(DEAD_LETTER_SORTS)}; by default the newest first.")
]


@router.get(
    "",
    dependencies=[permits(DeadLetters.groups)],
    response_model=schema.DeadLettersByErrorPage,
    operation_id="dead_letters.by_error",
    summary="Dead letters, grouped by error",
)
async def groups(  # noqa: PLR0913, PLR0917 -- one argument for each query parameter
    cases: Cases,
    caller: Who,
    page: Paged,
    kind: Text = None,
    schedule_id: Text = None,
    code: Text = None,
    sort: SortParameter = None,
) -> Response:
    """Dead letters with the same failure form a group, the latest failure first or in another order; each group names
    its newest 100."""
    filters = plain_texts(kind=kind, schedule_id=schedule_id, code=code)
    order = read_dead_letter_sort(sort)
    found = await cases[DeadLetters].groups(caller, page.more(), order, **filters)
    shown, following = page.of(found, lambda one: group_place(one, one.ids[0], order))
    items = [schema.DeadLettersByError.of(one) for one in shown]
    return encode.answer(schema.DeadLettersByErrorPage(items=items, next_cursor=following))


@router.post(
    "/replay",
    dependencies=[permits(DeadLetters.replay)],
    status_code=202,
    response_model=schema.ReplayResult,
    openapi_extra=body(ReplayRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Replay",
)
async def replay(cases: Cases, caller: Who, asked: Body) -> Response:
    """By ids or by filter, at most 500 at once. Each is a new run; the dead letter stays until its replay succeeds.

    It follows its schedule as it is now, unless `as_of` is `then`; the run says which version it follows.
    """
    made = await cases[DeadLetters].replay(caller, asked.document, asked.once(202, schema.ReplayResult.of))
    return encode.answer(schema.ReplayResult.of(made), 202)


_FINGERPRINT = re.compile(r"[0-9a-f]{12}")


async def _fingerprint(
    fingerprint: Annotated[str, Path(description="A group's fingerprint, as in the list of groups.")],
) -> str:
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise NotFound("group of dead letters", fingerprint[:64])
    return fingerprint


Fingerprint = Annotated[str, Depends(_fingerprint)]


@router.post(
    "/groups/{fingerprint}/mute",
    dependencies=[permits(Mutes.mute)],
    response_model=mutes_schema.MutedGroup,
    openapi_extra=body(MuteRequest, required=False),
    responses=UNKNOWN,
    summary="Mute a group",
)
async def mute(cases: Cases, caller: Who, fingerprint: Fingerprint, asked: Body) -> Response:
    """It needs no attention for a while, by default 24 hours. Its dead letters stay, new ones join it."""
    made = await cases[Mutes].mute(caller, fingerprint, asked.document, asked.once(200, mutes_schema.MutedGroup.of))
    return encode.answer(mutes_schema.MutedGroup.of(made))


@router.post(
    "/groups/{fingerprint}/unmute",
    dependencies=[permits(Mutes.unmute)],
    response_model=mutes_schema.UnmutedGroup,
    responses=UNKNOWN,
    summary="Unmute a group",
)
async def unmute(cases: Cases, caller: Who, fingerprint: Fingerprint, asked: Body) -> Response:
    """Before the time is over; unmuting a group that is not muted changes nothing."""
    await cases[Mutes].unmute(caller, fingerprint, asked.once(200, _unmuted))
    return encode.answer(
        mutes_schema.UnmutedGroup(
            fingerprint=fingerprint,
            mute=None,
        )
    )


def _unmuted(fingerprint: str) -> mutes_schema.UnmutedGroup:
    return mutes_schema.UnmutedGroup(
        fingerprint=fingerprint,
        mute=None,
    )
