"""Requests and answers about backfills."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from foliot.features.backfills.model import MOST_RUNS, USUAL_RUNS, InstantSelection
from foliot.features.bulk.model import BulkOrder
from foliot.features.schedules.schema import ScheduleInstant
from foliot.servers.http.schema import declared


@declared
class NewBackfill:
    """A request for a backfill: which instants, and at what rate."""

    from_: Annotated[datetime, Field(alias="from")]
    to: datetime | None = None
    """Exclusive, and not in the future; without it, now."""
    which: InstantSelection = InstantSelection.MISSING
    rate: Annotated[int, Field(ge=1, le=50, description="Runs a second.")] = 5
    limit: Annotated[int, Field(ge=1, le=MOST_RUNS, description="Refuse (422) to make more runs than this.")] = (
        USUAL_RUNS
    )
    stop_after: Annotated[int | None, Field(ge=1, description="Stop when so many failed.")] = None
    order: BulkOrder = BulkOrder.OLDEST
    dry_run: Annotated[bool, Field(description="Only say what would be done.")] = False
    expect: Annotated[int | None, Field(ge=0, description="Refuse (409) unless it would make so many runs now.")] = None


@declared
class BackfillDryRun:
    """What a backfill would do."""

    dry_run: bool
    count: int
    """Runs that it would create."""
    named: int
    """Instants of the period."""
    left_out: dict[str, int]
    """How many of them get no run, by reason."""
    first: datetime | None
    last: datetime | None
    sample: list[ScheduleInstant]
    hosts: list[str]
    warnings: list[str]
