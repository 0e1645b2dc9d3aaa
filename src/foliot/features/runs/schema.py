"""What the log of a run answers."""

from __future__ import annotations

from datetime import datetime

from foliot.servers.http.bodies import Model


class LogLine(Model):
    """One line; its number is the one it has among the run's events."""

    seq: int
    at: datetime
    level: str
    message: str
    category: str | None
    """What it tells of: `retry`, `redirect` and their like; null for most lines."""
    attempt: int | None
    """The attempt that wrote it."""


class Log(Model):
    """A part of a run's log, oldest line first."""

    items: list[LogLine]
    total: int
    """Lines of the whole log."""
    matches: int | None
    """Those of them that are asked for; null when all of them are."""
    first_seq: int | None
    """The number of the first line of the whole log, null when it has none."""
    last_seq: int | None
    before: int | None
    """What to give as `before` for the lines before these; null when there are none."""
    after: int | None
    """What to give as `after` for those after them; null when there are none yet."""
    pruned: bool
    """Whether lines that were written are not kept."""


class LogCount(Model):
    """How many lines are asked for. Each other number is what asking for it instead would find."""

    count: int
    by_level: dict[str, int]
    by_category: dict[str, int]
    by_attempt: dict[int, int]
