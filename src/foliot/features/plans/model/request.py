"""Requests for a plan, and for applying one."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Annotated

from annotated_types import MaxLen, MinLen

from foliot.core.declaration import OR_NULL, Described, Parsed, Wire, declared
from foliot.core.errors import Invalid
from foliot.features.calendars.model.calendar import MOST_CALENDARS, NamedCalendarRequest
from foliot.features.schedules.model.request import MOST_SCHEDULES, ScheduleRequest
from foliot.features.watches.model.request import WatchRequest

MAX_FILE = 60
_FILE = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{MAX_FILE - 1}}}")


def check_file(path: str, got: object) -> str:
    """The name of a set of documents: what they define is `managed_by: file:NAME`."""
    if not isinstance(got, str) or not _FILE.fullmatch(got):
        rule = f"must be 1 to {MAX_FILE} letters, digits, dots, dashes and underscores"
        raise Invalid(path, rule, got=got[:100] if isinstance(got, str) else got)
    return got


def _several(path: str, got: object) -> tuple[object, ...]:
    if not isinstance(got, list) or len(got) > MOST_SCHEDULES:
        count = f"{len(got):,}" if isinstance(got, list) else got
        raise Invalid(path, f"must be a list of at most {MOST_SCHEDULES:,} documents", got=count)
    return tuple(got)


@declared(frozen=True)
class PlanDocuments:
    """The wanted state, by kind of thing; names are the keys."""

    schedules: Annotated[
        tuple[object, ...], Wire(Annotated[list[ScheduleRequest], MaxLen(MOST_SCHEDULES)]), Parsed(_several), OR_NULL
    ] = ()
    """As `POST /api/schedules` takes them, or as the export wrote them; `status` is `active` or `paused`."""
    calendars: Annotated[
        tuple[object, ...],
        Wire(Annotated[list[NamedCalendarRequest], MaxLen(MOST_CALENDARS)]),
        Parsed(_several),
        OR_NULL,
    ] = ()
    """As `POST /api/calendars` takes them. They are written before the schedules that name them."""
    watches: Annotated[
        tuple[object, ...], Wire(Annotated[list[WatchRequest], MaxLen(MOST_SCHEDULES)]), Parsed(_several), OR_NULL
    ] = ()
    """As `POST /api/watches` takes them, or as `GET` shows them; `status` is `active` or `paused`."""


FileName = Annotated[
    str,
    MinLen(1),
    MaxLen(MAX_FILE),
    Described({"examples": ["prices"], "description": "What the documents define is `managed_by: file:NAME`."}),
    Parsed(check_file),
]


def _offsets(path: str, got: object) -> dict[str, str]:
    if not isinstance(got, dict) or len(got) > MOST_SCHEDULES:
        raise Invalid(path, "must be an object of cron expressions by the names of schedules")
    for name, expression in got.items():
        if not isinstance(expression, str):
            raise Invalid(f"{path}.{name[:100]}", "must be a cron expression", got=expression)
    return got


@declared(frozen=True)
class PlanRequest:
    """Documents, compared with what is stored."""

    file: FileName
    documents: PlanDocuments
    prune: Annotated[bool, OR_NULL] = False
    """Delete what this file defined before and no longer contains."""
    overwrite: Annotated[bool, OR_NULL] = False
    """Undo edits that were made by hand; without it they are reported as drift and left alone."""
    spread: Annotated[bool, OR_NULL] = False
    """Propose `offsets` that flatten the peaks of queues."""
    offsets: Annotated[dict[str, str], Parsed(_offsets), OR_NULL] = field(default_factory=dict)
    """Cron expressions in place of those of the documents, by name: what a plan with `spread` proposed."""
    simulate: Annotated[bool, OR_NULL] = True
    """Forecast the next seven days."""


@declared(frozen=True)
class ApplyRequest(PlanRequest):
    """The same, and the plan that was shown."""

    digest: Annotated[str, MaxLen(64)]
    """Of the plan that is applied: refused when the plan would be another by now."""
