"""Requests about schedules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from annotated_types import Ge, MaxLen, MinLen
from annotated_types import Interval as Between
from typing_extensions import TypedDict

from foliot.core.declaration import (
    OPEN,
    OR_NULL,
    Checked,
    Described,
    Missing,
    Name,
    Parsed,
    Wire,
    as_given,
    declared,
)
from foliot.core.document import check_name, check_prose
from foliot.core.errors import Invalid
from foliot.core.queue_name import MAX_REASON
from foliot.core.time.trigger import MOST_PARENTS, FollowOutcome, TriggerType
from foliot.engine.model.outcome import RetryField, RetryPolicy
from foliot.engine.model.schedule import SchedulePolicies, TimeRestrictions

MAX_DESCRIPTION = 10_000
MAX_TAGS = 20
MAX_TAG = 64
MAX_COUNT = 500
"""Instants of one preview."""


def check_tags(path: str, got: object) -> tuple[str, ...]:
    """Tags without repetitions, at most as many as a schedule may have."""
    if not isinstance(got, list | tuple):
        raise Invalid(path, "must be a list of words", got=got)
    if len(got) > MAX_TAGS:
        raise Invalid(path, f"must be at most {MAX_TAGS}", got=f"{len(got)} tags")
    for place, tag in enumerate(got):
        if not isinstance(tag, str) or not 1 <= len(tag.strip()) <= MAX_TAG:
            raise Invalid(f"{path}[{place}]", f"must be text of 1 to {MAX_TAG} characters", got=tag)
        check_name(f"{path}[{place}]", tag)
    return tuple(dict.fromkeys(tag.strip() for tag in got))


Tags = Annotated[
    tuple[str, ...],
    Wire(Annotated[list[Annotated[str, MinLen(1), MaxLen(MAX_TAG)]], MaxLen(MAX_TAGS)]),
    Parsed(check_tags),
]


@declared
class Interval:
    """An interval in parts, added up."""

    days: Annotated[int, Ge(0)] = 0
    hours: Annotated[int, Ge(0)] = 0
    minutes: Annotated[int, Ge(0)] = 0
    seconds: Annotated[int, Ge(0)] = 0


@declared
class Following:
    """Which schedules it follows: their runs that end so make its runs."""

    schedule: Annotated[str, MaxLen(200)] | Annotated[list[str], MinLen(1), MaxLen(MOST_PARENTS)]
    """Ids or names. An answer holds ids."""
    outcome: FollowOutcome = FollowOutcome.SUCCESS
    all: bool = False
    """Wait for one run of each since its own last run; otherwise each run of any of them is followed."""


@declared
class WebhookPayload:
    """The request that a webhook sends."""

    url: Annotated[str, MaxLen(8192), Described({"examples": ["https://example.com/hook"]})]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = "POST"
    headers: Annotated[dict[str, str], MaxLen(64)] = field(default_factory=dict)
    """`{{ secret.NAME }}` in a value stands for a secret."""
    body: Any = None
    """Sent as JSON; at most 256 KiB."""


class ActionConfig(TypedDict):
    """The action of a schedule. `kind` chooses it; the other fields are its configuration."""

    kind: str


ActionConfig.__pydantic_config__ = {  # type: ignore[attr-defined]
    **OPEN,
    "json_schema_extra": {"example": {"kind": "webhook", "url": "https://example.com/hook"}},
}


@dataclass(frozen=True, kw_only=True)
class ScheduleLabels:
    """What people call it."""

    __slots__ = ()

    name: Name
    description: Annotated[str, MaxLen(MAX_DESCRIPTION), Checked(check_prose), OR_NULL] = ""
    tags: Annotated[Tags, OR_NULL] = ()


_PAUSED = (
    "Paused in the same request, so that nothing fires in between. Without it, an existing schedule keeps its status."
)
_TYPE_CRON = "Type cron: 5 fields, 6 with seconds first, @hourly … @yearly, L, #, names, H."


@dataclass(frozen=True, kw_only=True)
class TriggerFields:
    """The trigger: when a schedule fires. Which fields apply depends on `type`: `read_trigger` reads them."""

    __slots__ = ()

    type: Annotated[TriggerType, Parsed(as_given)]
    cron_expr: Annotated[
        str | None, Described({"examples": ["0 2 * * *"], "description": _TYPE_CRON}), Parsed(as_given)
    ] = None
    interval_seconds: Annotated[
        int | None, Ge(1), Described({"description": "Type interval; or `interval`."}), Parsed(as_given)
    ] = None
    interval: Annotated[Interval | None, Parsed(as_given)] = None
    run_at: Annotated[
        datetime | None, Described({"description": "Type oneoff; an offset is required."}), Parsed(as_given)
    ] = None
    after: Annotated[Following | None, Described({"description": "Type after."}), Parsed(as_given)] = None
    timezone: Annotated[str | None, Described({"examples": ["Europe/Stockholm"]}), Parsed(as_given)] = None
    start_at: Annotated[datetime | None, Parsed(as_given)] = None
    end_at: Annotated[datetime | None, Parsed(as_given)] = None


@dataclass(frozen=True, kw_only=True)
class ActionFields:
    """What a schedule does. The action of its kind reads the configuration."""

    __slots__ = ()

    action: Annotated[ActionConfig | None, Parsed(as_given)] = None
    payload: Annotated[
        WebhookPayload | None,
        Described({"description": "The same as action `webhook`; give one of the two."}),
        Parsed(as_given),
    ] = None
    retry_policy: RetryField = field(default_factory=RetryPolicy)


@dataclass(frozen=True, kw_only=True)
class ScheduleDocument(SchedulePolicies, ActionFields, TriggerFields, ScheduleLabels):
    """A whole schedule, as a request describes it."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class CreatedPaused:
    """The wish to create or replace a schedule paused."""

    __slots__ = ()

    paused: Annotated[bool, OR_NULL, Described({"description": _PAUSED})] = False
    paused_reason: Annotated[str | None, MaxLen(MAX_REASON)] = None


@declared(
    frozen=True,
    example={
        "name": "Daily Task",
        "type": "cron",
        "cron_expr": "0 2 * * *",
        "timezone": "Europe/Stockholm",
        "action": {"kind": "webhook", "url": "https://example.com/hook", "method": "POST"},
    },
)
class ScheduleRequest(CreatedPaused, ScheduleDocument):
    """A request to create or replace a schedule."""


@declared(frozen=True)
class PreviewRequest(TimeRestrictions, TriggerFields):
    """A trigger, or `words` that describe one; `start_at` is the first moment considered."""

    type: Annotated[TriggerType | None, Parsed(as_given)] = None  # type: ignore[assignment]
    """Not together with `words`, which replace it."""
    words: Annotated[str | None, MaxLen(200), Described({"examples": ["every day at 02:30"]}), Parsed(as_given)] = None
    count: Annotated[int, Between(ge=1, le=MAX_COUNT)] = 10


@declared
class RunNowRequest:
    """Overrides for this run only."""

    payload: dict[str, Any] | None = None


@declared
class SkipRequest:
    """Which instant is meant: any other than the next is refused (409)."""

    at: datetime | None = None


MOST_SCHEDULES = 10_000
"""Schedules of one batch."""


def _batch(path: str, got: object) -> list[object]:
    if not isinstance(got, list) or not 1 <= len(got) <= MOST_SCHEDULES:
        count = f"{len(got):,}" if isinstance(got, list) else got
        raise Invalid(path, f"must be a list of 1 to {MOST_SCHEDULES:,} schedules", got=count)
    return got


@declared
class ScheduleBatchRequest:
    """Many schedules at once."""

    schedules: Annotated[
        list[object],
        Wire(Annotated[list[ScheduleRequest], MinLen(1), MaxLen(MOST_SCHEDULES)]),
        Missing(f"must be a list of 1 to {MOST_SCHEDULES:,} schedules"),
        Parsed(_batch),
    ]
    atomic: bool = True
    """Whether one fault refuses all of them; otherwise each schedule has its own answer."""
