"""Routes of the audit log: list entries, and revert an edit of a schedule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from foliot.commands.audit import word
from foliot.commands.audit_sql import AuditEntry
from foliot.core.access import Thing
from foliot.core.document import moment
from foliot.core.errors import Invalid, NotFound
from foliot.features.audit_log import schema
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.schedules import schema as schedules_schema
from foliot.features.schedules.usecases.revert import Reverts
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, Text, plain_texts
from foliot.servers.http.schema import CONFLICT, MISMATCH, UNKNOWN

router = APIRouter(prefix="/api/audit", tags=["Audit log"])

_ENTRY_ID = re.compile(r"aud_[0-9a-f]{32}")
THINGS = sorted(word(thing) for thing in Thing)


@dataclass(frozen=True, slots=True)
class AuditPeriod:
    """The period that is asked for."""

    start: datetime | None
    end: datetime | None


async def _stretch(
    from_: Annotated[str | None, Query(alias="from", max_length=64, description="The start of the time range.")] = None,
    to: Annotated[str | None, Query(max_length=64, description="The end of the time range, exclusive.")] = None,
) -> AuditPeriod:
    start = moment("from", from_) if from_ else None
    end = moment("to", to) if to else None
    if start is not None and end is not None and start >= end:
        raise Invalid("to", "must be later than 'from'", got=to)
    return AuditPeriod(start, end)


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
    dependencies=[permits(AuditLog.list, AuditLog.names)],
    response_model=schema.AuditPage,
    summary="List audit entries, newest first",
)
async def list_(
    cases: Cases,
    caller: Who,
    page: Paged,
    stretch: Annotated[AuditPeriod, Depends(_stretch)],
    filters: Annotated[Filters, Depends(_filters)],
) -> Response:
    """`seq` and `digest` are the entry's link in the tenant's hash chain; it gets them within seconds."""
    found = await cases[AuditLog].list(caller, page.more(), start=stretch.start, end=stretch.end, **filters)
    names = await cases[AuditLog].names(caller, found)
    shown, following = page.of(found, lambda one: one.id)
    return encode.answer(schema.AuditPage(items=[_entry(one, names) for one in shown], next_cursor=following))


async def _entry_id(entry_id: Annotated[str, Path(description="An entry's id, `aud_…`.")]) -> str:
    if not _ENTRY_ID.fullmatch(entry_id):
        raise NotFound("entry of the audit log", entry_id[:64])
    return entry_id


@router.post(
    "/{entry_id}/revert",
    dependencies=[permits(Reverts.revert)],
    response_model=schedules_schema.Schedule,
    responses={**UNKNOWN, **CONFLICT, **MISMATCH},
    summary="Revert an edit of a schedule",
)
async def revert(cases: Cases, caller: Who, entry_id: Annotated[str, Depends(_entry_id)], asked: Body) -> Response:
    """Restores what was there before it, as a new version; headers with their values. Also needs the permission to
    read the audit log. Refused (409) if the schedule was edited since, or deleted."""
    made = await cases[Reverts].revert(
        caller, entry_id, asked.once(200, schedules_schema.Schedule.of, schedules_schema.etag)
    )
    return encode.answer(schedules_schema.Schedule.of(made), headers=schedules_schema.etag(made))


def _entry(one: AuditEntry, names: Mapping[str, str]) -> schema.AuditLogEntry:
    return schema.AuditLogEntry(
        id=one.id,
        at=one.at,
        user_id=one.user_id,
        key_id=one.key_id,
        door=one.door,
        verb=one.verb,
        thing=one.thing,
        thing_id=one.thing_id,
        thing_name=names.get(one.thing_id),
        before=one.was,
        after=one.became,
        seq=one.seq,
        digest=one.digest,
    )
