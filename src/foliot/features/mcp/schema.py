"""Answers of the tools: short, with links to the dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.engine.model.views import RunView

MOST_CHARACTERS = 500
"""Of a message or a value in a list."""


def short(text: object, most: int = MOST_CHARACTERS) -> str:
    """At most so many characters."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


@declared
class RunSummary:
    """A run without its attempts."""

    id: str
    schedule: str | None
    schedule_id: str | None
    kind: str
    state: str
    scheduled_for: datetime | None
    created_at: datetime
    finished_at: datetime | None
    attempt: int
    max_attempts: int
    error: Mapping[str, str] | None
    link: str

    @classmethod
    def of(cls, run: RunView, base: str) -> RunSummary:
        return cls(
            id=run.id,
            schedule=run.schedule_name,
            schedule_id=run.schedule_id,
            kind=run.kind,
            state=run.state.value,
            scheduled_for=run.scheduled_for,
            created_at=run.created_at,
            finished_at=run.finished_at,
            attempt=run.attempt,
            max_attempts=run.max_attempts,
            error=None if run.error is None else {name: short(value) for name, value in run.error.items()},
            link=f"{base}/runs/{run.id}",
        )


@declared
class ScheduleSummary:
    """A schedule without its action's details."""

    id: str
    name: str
    status: str
    summary: str
    timezone: str
    kind: str
    next_run_at: datetime | None
    last_run_at: datetime | None
    paused_reason: str
    tags: list[str]
    link: str


@declared
class LogText:
    """Lines of a log, oldest first."""

    run_id: str
    lines: list[str]
    total: int
    matches: int | None
    """How many lines match the filter in the whole log."""
    before: int | None
    """Give this as `before` for the lines before these; null when there are none."""
    link: str


@declared
class Draft:
    """What confirming would do. Nothing is stored yet."""

    draft: Any
    confirm: str
    """Call the tool again with the same arguments and this."""
    notes: list[str]
