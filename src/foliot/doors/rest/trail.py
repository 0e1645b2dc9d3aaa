"""The route of the trail; at this door it is called the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from foliot.domain.access import Thing, Verb
from foliot.domain.errors import Invalid
from foliot.domain.reading import moment, rfc3339
from foliot.domain.trail import TrailEntry
from foliot.doors.rest import models, render
from foliot.doors.rest.asking import Cases, Text, plain_texts
from foliot.doors.rest.paging import Paged
from foliot.doors.rest.who import Who, permits
from foliot.usecases.trail import word

router = APIRouter(prefix="/api/audit", tags=["Audit log"])

THINGS = sorted(word(thing) for thing in Thing)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when."""

    start: datetime | None
    end: datetime | None


async def _stretch(
    from_: Annotated[str | None, Query(alias="from", max_length=64, description="The earliest moment.")] = None,
    to: Annotated[str | None, Query(max_length=64, description="Up to this moment, not included.")] = None,
) -> Stretch:
    start = moment("from", from_) if from_ else None
    end = moment("to", to) if to else None
    if start is not None and end is not None and start >= end:
        raise Invalid("to", "must be later than 'from'", got=to)
    return Stretch(start, end)


Filters = dict[str, str | None]


async def _filters(
    user: Text = None,
    thing: Annotated[str | None, Query(max_length=200, description=f"One of {', '.join(THINGS)}.")] = None,
    thing_id: Text = None,
    verb: Text = None,
) -> Filters:
    if thing and thing not in THINGS:
        raise Invalid("thing", f"must be one of {', '.join(THINGS)}", got=thing)
    named = plain_texts(user=user, thing=thing, thing_id=thing_id, verb=verb)
    return {"user_id": named.pop("user"), **named}


@router.get(
    "",
    dependencies=[permits(Verb.READ, Thing.TRAIL)],
    response_model=models.Trail,
    summary="Who changed what, newest first",
)
async def list_(
    cases: Cases,
    caller: Who,
    page: Paged,
    stretch: Annotated[Stretch, Depends(_stretch)],
    filters: Annotated[Filters, Depends(_filters)],
) -> Response:
    """`seq` and `digest` are the entry's place in the tenant's chain; it gets them within seconds."""
    found = await cases.trail.list(caller, page.more(), start=stretch.start, end=stretch.end, **filters)
    return render.page(found, page, _entry, lambda one: one.id)


def _entry(one: TrailEntry) -> dict[str, Any]:
    return {
        "id": one.id,
        "at": rfc3339(one.at),
        "user_id": one.user_id,
        "key_id": one.key_id,
        "door": one.door,
        "verb": one.verb,
        "thing": one.thing,
        "thing_id": one.thing_id,
        "before": one.was,
        "after": one.became,
        "seq": one.seq,
        "digest": one.digest,
    }
