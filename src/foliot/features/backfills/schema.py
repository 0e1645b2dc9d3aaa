"""Requests and answers about backfills."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.features.schedules.schema import ScheduleInstant


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
