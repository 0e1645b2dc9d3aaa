"""What a task is given besides its parameters: who it is, where it writes, and how it asks to be tried again."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn

from foliot.cluster.pool_port import AttemptInfo, ProgressSink

LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
)


class Retry(Exception):
    """Try this run again, after so long; it counts as a failed attempt."""

    def __init__(self, after: timedelta | float | None = None, reason: str = "asked to be tried again") -> None:
        super().__init__(reason)
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        self.after = None if seconds is None else float(seconds)


class GiveUp(Exception):
    """Trying again would not help."""


class TaskStopped(Exception):
    """Somebody asked for the run to stop, or its time is over."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Returned by a task of which a part failed: its run ends as `partial`."""

    result: Any


class _RunLogHandler(logging.Handler):
    """Carries what a logger is told into the log of the run."""

    def __init__(self, tell: ProgressSink) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        level = next((word for least, word in LEVELS if record.levelno >= least), "debug")
        # Half of a surrogate pair is no text that could be written down, or sent to another process.
        self._tell.log(self.format(record).encode("utf-8", "replace").decode(), level)


def run_logger(name: str, tell: ProgressSink) -> logging.Logger:
    """A logger of this attempt alone, which nobody else can find or configure."""
    made = logging.Logger(f"foliot.task.{name}", logging.DEBUG)  # noqa: LOG001 -- not the one of that name which all share
    made.addHandler(_RunLogHandler(tell))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """One attempt, as its function sees it. May be used from any thread."""

    task: str
    run_id: str
    """Stays the same for every attempt: give it to whatever must not happen twice."""
    tenant_id: str
    schedule_id: str | None
    attempt: int
    """1 is the first."""
    max_attempts: int
    scheduled_for: str | None
    """The instant that the run stands for, as RFC 3339; None for one that somebody asked for."""
    logger: logging.Logger
    """Its lines are read with the run: `foliot run logs`."""
    tell: ProgressSink = field(repr=False)
    stop: threading.Event = field(default_factory=threading.Event, repr=False)

    @classmethod
    def of(
        cls, task: str, attempt: AttemptInfo, tell: ProgressSink, stop: threading.Event | None = None
    ) -> TaskContext:
        return cls(
            task=task,
            run_id=attempt.run_id,
            tenant_id=attempt.tenant_id,
            schedule_id=attempt.schedule_id,
            attempt=attempt.attempt,
            max_attempts=attempt.max_attempts,
            scheduled_for=attempt.scheduled_for,
            logger=run_logger(task, tell),
            tell=tell,
            stop=stop or threading.Event(),
        )

    def progress(self, **data: Any) -> None:
        """Say how far it is: an event of the run, for whoever follows it."""
        self.tell.progress(data)

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked for the run to stop, or its time is over: a loop looks here, and leaves."""
        return self.stop.is_set()

    def check_cancelled(self) -> None:
        """Leave now if that is so."""
        if self.stop.is_set():
            raise TaskStopped

    def retry(self, after: timedelta | float | None = None, reason: str = "asked to be tried again") -> NoReturn:
        """End this attempt; the next begins after so many seconds (by the retry policy when none are given).

        The attempts that the schedule allows are counted: after the last one the run has failed.
        """
        raise Retry(after, reason)

    def give_up(self, reason: str) -> NoReturn:
        """End the run as failed, whatever attempts are left."""
        raise GiveUp(reason)
