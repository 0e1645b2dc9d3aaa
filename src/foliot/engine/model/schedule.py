"""A schedule: what to do, when, and under which policies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.time.trigger import Cron, FixedInterval, OneOff, Trigger, TriggerType
from foliot.engine.model.retry import RetryPolicy
from foliot.engine.model.run import DEFAULT_PRIORITY

MAX_WINDOW = 30 * 24 * 3600
MAX_GRACE = 3600
MAX_CATCHUP = 1000
MAX_TIMEOUT = 7 * 24 * 3600
MAX_JITTER = 24 * 3600
BUFFER = 100
"""How many runs of one schedule `buffer_all` lets wait."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ScheduleStatus(StrEnum):
    """Whether a schedule fires."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    DELETED = "deleted"


class ManagedBy(StrEnum):
    """Where a schedule is managed. One from a file is edited there; the others by any client."""

    API = "api"
    CODE = "code"
    PRESET = "preset"
    FILE = "file"


class Overlap(StrEnum):
    """What happens when an instant comes due while an earlier run is still open."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW_ALL = "allow_all"


class CatchupMode(StrEnum):
    """The policy for instants that passed while no scheduler was running."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Catchup:
    """Late is not missed: less than `grace_seconds` late always runs; older instants are judged by `mode`."""

    mode: CatchupMode = CatchupMode.LATEST
    window_seconds: int = 3600
    max_runs: int = 10
    grace_seconds: int = 60

    def as_dict(self) -> dict[str, Any]:
        return {
            "mode": self.mode.value,
            "window_seconds": self.window_seconds,
            "max_runs": self.max_runs,
            "grace_seconds": self.grace_seconds,
        }

    @classmethod
    def from_dict(cls, raw: object) -> Catchup:
        fields = Fields.of("catchup", raw)
        window = fields.integer("window_seconds", 3600, low=1, high=MAX_WINDOW)
        catchup = cls(
            mode=fields.choice("mode", CatchupMode, CatchupMode.LATEST),
            window_seconds=window,
            max_runs=fields.integer("max_runs", 10, low=1, high=MAX_CATCHUP),
            grace_seconds=fields.integer("grace_seconds", min(60, window), low=1, high=min(MAX_GRACE, window)),
        )
        fields.finish()
        return catchup


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """Everything the engine needs to fire a schedule; one version of it never changes."""

    trigger: Trigger
    kind: str
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    overlap: Overlap = Overlap.SKIP
    catchup: Catchup = field(default_factory=Catchup)
    queue: str = "default"
    priority: int = DEFAULT_PRIORITY
    timeout_seconds: int | None = None
    jitter_seconds: int = 0
    max_runs: int | None = None

    @property
    def type(self) -> TriggerType:
        match self.trigger.rule:
            case Cron():
                return TriggerType.CRON
            case FixedInterval():
                return TriggerType.INTERVAL
            case OneOff():
                return TriggerType.ONEOFF

    def ready_at(self, schedule_id: str, instant: datetime) -> datetime:
        """The instant, moved by jitter: the same on every node, for it hangs on the schedule and the instant alone."""
        if not self.jitter_seconds:
            return instant
        digest = hashlib.blake2b(f"{schedule_id}:{instant.isoformat()}".encode(), digest_size=8).digest()
        return instant + timedelta(seconds=self.jitter_seconds * int.from_bytes(digest) / 2**64)

    def dump(self) -> str:
        """The stored form. The anchor of an interval is kept beside it, so that like schedules share one text."""
        trigger = self.trigger.as_dict()
        trigger.pop("anchor", None)
        raw = {
            "trigger": trigger,
            "kind": self.kind,
            "retry": self.retry.as_dict(),
            "overlap": self.overlap.value,
            "catchup": self.catchup.as_dict(),
            "queue": self.queue,
            "priority": self.priority,
            "timeout_seconds": self.timeout_seconds,
            "jitter_seconds": self.jitter_seconds,
            "max_runs": self.max_runs,
        }
        return json.dumps(raw, separators=(",", ":"), sort_keys=True)

    @property
    def anchor(self) -> datetime:
        return self.trigger.rule.anchor if isinstance(self.trigger.rule, FixedInterval) else _EPOCH


def load_spec(text: str, anchor: datetime) -> ScheduleSpec:
    """Parse a stored spec; `Invalid` when it is damaged."""
    spec = _load(text)
    rule = spec.trigger.rule
    if isinstance(rule, FixedInterval) and rule.anchor != anchor:
        return replace(spec, trigger=replace(spec.trigger, rule=replace(rule, anchor=anchor)))
    return spec


@lru_cache(maxsize=4096)
def _load(text: str) -> ScheduleSpec:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid("spec", f"is not JSON ({error})", got=text[:100]) from None
    fields = Fields.of("spec", raw)
    trigger = fields.value("trigger")
    if isinstance(trigger, Mapping) and trigger.get("type") == TriggerType.INTERVAL:
        trigger = {**trigger, "anchor": _EPOCH.isoformat()}
    spec = ScheduleSpec(
        trigger=Trigger.from_dict(trigger),
        kind=fields.text("kind", "", most=64),
        retry=RetryPolicy.from_dict(fields.value("retry")),
        overlap=fields.choice("overlap", Overlap, Overlap.SKIP),
        catchup=Catchup.from_dict(fields.value("catchup")),
        queue=fields.text("queue", "default", most=64),
        priority=fields.integer("priority", DEFAULT_PRIORITY, low=1, high=10),
        timeout_seconds=fields.integer("timeout_seconds", 0, low=1, high=MAX_TIMEOUT) or None,
        jitter_seconds=fields.integer("jitter_seconds", 0, low=0, high=MAX_JITTER),
        max_runs=fields.integer("max_runs", 0, low=1, high=2**31 - 1) or None,
    )
    fields.finish()
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule as it stands."""

    id: str
    tenant_id: str
    user_id: str
    name: str
    description: str
    tags: tuple[str, ...]
    spec: ScheduleSpec
    action: Mapping[str, Any]
    status: ScheduleStatus
    version: int
    next_at: datetime | None
    last_run_at: datetime | None
    fired: int
    paused_reason: str
    fault: str | None
    created_at: datetime
    updated_at: datetime
    managed_by: ManagedBy = ManagedBy.API
    paused_at: datetime | None = None
    paused_by: str | None = None
    skip_at: datetime | None = None
    """The instant with a skip request: it makes no run."""
    skip_by: str | None = None

    @property
    def next_run_at(self) -> datetime | None:
        """The next instant that makes a run: the cursor, or the one after it where the cursor is to be skipped."""
        if self.next_at is None or self.next_at != self.skip_at:
            return self.next_at
        return self.spec.trigger.next_after(self.next_at)
