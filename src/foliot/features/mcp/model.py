"""Arguments of the tools, and the confirmation of a draft."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from annotated_types import Interval, MaxLen, MinLen

from foliot.core.declaration import Described, Parsed, Wire, as_given, declared
from foliot.core.errors import Invalid

MOST_ITEMS = 100
"""Items of a list."""
MOST_LINES = 300
MOST_IDS = 500
_TOKEN = re.compile(r"([0-9a-f]{32})-[0-9a-f]{16}")

Reference = Annotated[str, MaxLen(200)]
Confirmation = Annotated[
    str | None,
    MaxLen(64),
    Described({"description": "What the draft answered as `confirm`; leave it out to get the draft."}),
]
RunsFilter = Annotated[
    str, MaxLen(1000), Described({"examples": ["state:failed since:24h", "schedule:prices", "error:timeout"]})
]


def _ids(path: str, got: object) -> tuple[str, ...]:
    if not isinstance(got, list) or not 1 <= len(got) <= MOST_IDS or not all(isinstance(one, str) for one in got):
        raise Invalid(path, f"must be a list of 1 to {MOST_IDS} run ids")
    return tuple(dict.fromkeys(got))


Ids = Annotated[tuple[str, ...] | None, Wire(Annotated[list[str], MinLen(1), MaxLen(MOST_IDS)] | None), Parsed(_ids)]
Anything = Annotated[dict[str, Any], Parsed(as_given)]


@declared
class WhyArguments:
    """Explains a run, or a time of a schedule."""

    target: Reference
    """A run's id, or the name or id of a schedule."""
    at: Annotated[str | None, MaxLen(64)] = None
    """Of a schedule: the time in question, as `12:00` or `2027-03-28 02:30` on the clock of its zone, or RFC 3339. By
    default its newest time."""


@declared
class NoArguments:
    """Takes no arguments."""


@declared
class FindSchedulesArguments:
    """Which schedules."""

    q: Annotated[str, MaxLen(1000)] = ""
    """A filter, as in `status:paused tag:prices`; words: part of the name. Empty for all, newest first."""
    limit: Annotated[int, Interval(ge=1, le=MOST_ITEMS)] = 30


@declared
class FindRunsArguments:
    """Which runs."""

    q: RunsFilter = ""
    """A filter. Fields: state, schedule, kind, queue, tag, error, code, since, until, id, took. Empty for all, newest
    first."""
    limit: Annotated[int, Interval(ge=1, le=MOST_ITEMS)] = 20
    before: Annotated[str | None, MaxLen(64)] = None
    """A run's id: those that were created before it."""


@declared
class ReadLogArguments:
    """Which lines of which log."""

    run: Reference
    """A run's id, or the name of a schedule: then its newest run."""
    grep: Annotated[str, MaxLen(200)] = ""
    """Only lines that contain this, ignoring case."""
    level: Annotated[str, MaxLen(20)] = "debug"
    """Only lines of at least this level: debug, info, warning, error, critical."""
    before: Annotated[int | None, Interval(ge=0, le=2**53)] = None
    """Lines before this number; by default the end of the log."""
    limit: Annotated[int, Interval(ge=1, le=MOST_LINES)] = 100


@declared
class PreviewTriggerArguments:
    """A trigger, in words or by its fields."""

    words: Annotated[str | None, MaxLen(500), Described({"examples": ["every weekday at 07:30"]})] = None
    cron_expr: Annotated[str | None, MaxLen(500)] = None
    interval_seconds: Annotated[int | None, Interval(ge=1, le=10**9)] = None
    run_at: Annotated[str | None, MaxLen(64)] = None
    timezone: Annotated[str | None, MaxLen(64), Described({"examples": ["Europe/Stockholm"]})] = None
    start_at: Annotated[str | None, MaxLen(64)] = None
    """Count from this moment, RFC 3339; by default now."""
    count: Annotated[int, Interval(ge=1, le=MOST_ITEMS)] = 10


@declared
class PlanArguments:
    """Documents, compared with what is stored. Nothing is written."""

    schedules: Annotated[list[dict[str, Any]], Parsed(as_given)]
    """Schedules, as `POST /api/schedules` takes them; their names are the keys."""
    file: Annotated[str, MaxLen(60)] = "agent"
    """The name of the set: what it defines is `managed_by: file:NAME`."""
    prune: bool = False
    """Delete what this file defined before and no longer contains."""


@declared
class CreateScheduleArguments:
    """A schedule. The first call answers a draft and stores nothing; the second confirms it."""

    schedule: Anything
    """As `POST /api/schedules` takes it: name, `cron_expr` or `interval_seconds` or `run_at`, `timezone`, and `action`
    such as `{"kind": "webhook", "url": "https://…"}`."""
    confirm: Confirmation = None


@declared
class RunNowArguments:
    """Which schedule to run now."""

    schedule: Reference
    """Its name or id."""
    payload: Anything | None = None
    """Overrides parts of the action for this run."""


@declared
class PauseArguments:
    """Which schedule to pause, or to resume."""

    schedule: Reference
    """Its name or id."""
    reason: Annotated[str, MaxLen(500)] = ""
    resume: bool = False
    """Resume it instead."""


@declared
class ReplayArguments:
    """Which dead letters to replay. The first call answers what would be done; the second confirms it."""

    ids: Ids = None
    """Ids of runs in the state `dead_letter`."""
    q: Annotated[str | None, MaxLen(1000)] = None
    """Or a filter of runs, as in `schedule:prices code:http_503`."""
    confirm: Confirmation = None


@declared
class WatchPageArguments:
    """A page to watch. The first call visits it once and stores nothing; the second confirms it."""

    url: Annotated[str, MaxLen(8192)]
    name: Annotated[str | None, MaxLen(200)] = None
    """By default the URL."""
    select: Annotated[str | None, MaxLen(1000)] = None
    """Compare only what this CSS selector finds."""
    fields: Anything | None = None
    """Values to compare, as in `{"price": {"css": ".price", "type": "price"}}`."""
    when: Annotated[str | None, MaxLen(1000), Described({"examples": ["drops(price, 10%)"]})] = None
    """Which changes count; by default all."""
    every_seconds: Annotated[int, Interval(ge=60, le=31_536_000)] = 3600
    confirm: Confirmation = None


@declared
class ChangesSinceArguments:
    """Which changes of watched pages."""

    after: Annotated[int | None, Interval(ge=0, le=2**53)] = None
    """`last_seq` of the answer before: the changes after it, oldest first. Without it, the newest changes."""
    q: Annotated[str, MaxLen(1000)] = ""
    """A filter, as in `watch:Shop matched:true since:7d`."""
    limit: Annotated[int, Interval(ge=1, le=MOST_ITEMS)] = 30


@dataclass(frozen=True, slots=True)
class DraftTerms:
    """What a confirmation stands for: a tool, its tenant and the arguments that were shown as a draft."""

    tool: str
    tenant_id: str
    arguments: Mapping[str, Any]

    def digest(self) -> str:
        """The same for the same arguments, whatever their order."""
        content = [self.tool, self.tenant_id, dict(self.arguments)]
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]

    def token(self) -> str:
        """A confirmation of this draft. Each draft has its own: repeating a confirmation has no second effect."""
        return f"{self.digest()}-{os.urandom(8).hex()}"

    def check(self, confirm: str) -> None:
        """`Invalid` unless the confirmation is of a draft of these arguments."""
        found = _TOKEN.fullmatch(confirm)
        if found is None or found[1] != self.digest():
            raise Invalid("confirm", "is not of a draft of these arguments: leave it out, and confirm the new draft")
