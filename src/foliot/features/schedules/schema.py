"""What may be asked of a schedule besides what it is: skipping its next instant, making up for others."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from foliot.features.backfills.model import MOST_RUNS, USUAL_RUNS, Which
from foliot.features.bulk.model.bulk import Order
from foliot.features.schedules.usecases.ranking import Over
from foliot.servers.http.bodies import Model


class Skips(Model):
    """An instant that will make no run, and who wanted that."""

    at: datetime
    by: str | None


class SkipRequest(Model):
    """Which instant is meant: any other than the next is refused (409)."""

    at: datetime | None = None


class SetBack(Model):
    """A schedule that was ahead, and when it fires next."""

    id: str
    name: str
    next_run_at: datetime | None


class Realigned(Model):
    """The schedules that were set back."""

    items: list[SetBack]


class BackfillRequest(Model):
    """Which instants to make up for, and how fast."""

    from_: datetime = Field(alias="from")
    to: datetime | None = None
    """Exclusive, and not in the future; without it, now."""
    which: Which = Which.MISSING
    rate: int = Field(5, ge=1, le=50, description="Runs a second.")
    limit: int = Field(USUAL_RUNS, ge=1, le=MOST_RUNS, description="Refuse (422) to make more runs than this.")
    stop_after: int | None = Field(None, ge=1, description="Stop when so many failed.")
    order: Order = Order.OLDEST
    dry_run: bool = Field(default=False, description="Only say what would be done.")
    expect: int | None = Field(None, ge=0, description="Refuse (409) unless it would make so many runs now.")


class Unfilled(Model):
    """An instant that would get a run."""

    at: datetime
    outcome: Literal["ran", "queued", "skipped", "missed", "pruned", "planned"]
    reason: str
    run_id: str | None


class BackfillTrial(Model):
    """What a backfill would do."""

    dry_run: bool
    count: int
    """Runs that it would make."""
    named: int
    """Instants of the stretch."""
    left_out: dict[str, int]
    """How many of them get no run, by why."""
    first: datetime | None
    last: datetime | None
    sample: list[Unfilled]
    hosts: list[str]
    warnings: list[str]


class Proofs(Model):
    """Filters of runs that show where the numbers come from."""

    runs: str
    failed: str
    slow: str | None


class Ranked(Model):
    """A schedule with how its runs ended."""

    schedule_id: str
    name: str
    runs: int
    """Those that succeeded or failed."""
    failed: int
    failure_ratio: float
    p95_ms: int | None
    """The duration that 95 of 100 did not exceed, to two digits."""
    q: Proofs


class Ranking(Model):
    """The first few of each, the worst first."""

    over: Over
    since: datetime
    runs: int
    whole: bool
    """False when there were more runs than are counted: these are the newest."""
    slowest: list[Ranked]
    flakiest: list[Ranked]


REQUESTS = (SkipRequest, BackfillRequest)
