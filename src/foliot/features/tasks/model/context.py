"""The context that a task receives besides its parameters: run id, logger, progress, cancellation, retry."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn

from foliot.cluster.page_reader import AttemptInfo, ProgressSink

LEVELS = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
)


class Retry(Exception):
    """Raised to retry the run after a delay; counts as a failed attempt."""

    def __init__(self, after: timedelta | float | None = None, reason: str = "requested a retry") -> None:
        super().__init__(reason)
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        self.after = None if seconds is None else float(seconds)


class GiveUp(Exception):
    """Raised to fail the run without further attempts."""


class TaskStopped(Exception):
    """Raised when the run was cancelled or has timed out."""


@dataclass(frozen=True, slots=True)
class Partial:
    """Returned by a task that succeeded in part: its run ends as `partial`."""

    result: Any


class _RunLogHandler(logging.Handler):
    """A logging handler that writes records to the run's log."""

    def __init__(self, tell: ProgressSink) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        level = next((word for least, word in LEVELS if record.levelno >= least), "debug")
        # A lone surrogate cannot be encoded as UTF-8, neither for the database nor for the pipe to another process.
        self._tell.log(self.format(record).encode("utf-8", "replace").decode(), level)


def run_logger(name: str, tell: ProgressSink) -> logging.Logger:
    """A logger of this attempt alone; being unregistered, it cannot be found or configured from outside."""
    logger = logging.Logger(f"foliot.task.{name}", logging.DEBUG)  # noqa: LOG001 -- not the shared logger of that name
    logger.addHandler(_RunLogHandler(tell))
    return logger


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """One attempt, as seen by its function. Thread-safe."""

    task: str
    run_id: str
    """The same for every attempt: use it as the idempotency key of side effects."""
    tenant_id: str
    schedule_id: str | None
    attempt: int
    """1 is the first."""
    max_attempts: int
    scheduled_for: str | None
    """The instant of the schedule, as RFC 3339; None for a run that was started by hand."""
    logger: logging.Logger
    """Writes to the run's log: `foliot run logs`."""
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
        """Report progress: an event of the run, sent to its followers."""
        self.tell.progress(data)

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled or has timed out: a loop checks this and returns."""
        return self.stop.is_set()

    def check_cancelled(self) -> None:
        """Raise `TaskStopped` if the run was cancelled or has timed out."""
        if self.stop.is_set():
            raise TaskStopped

    def retry(self, after: timedelta | float | None = None, reason: str = "requested a retry") -> NoReturn:
        """End this attempt; the next begins after so many seconds (by the retry policy when none are given).

        This counts as an attempt of the schedule's retry policy: after the last one the run has failed.
        """
        raise Retry(after, reason)

    def give_up(self, reason: str) -> NoReturn:
        """End the run as failed, whatever attempts are left."""
        raise GiveUp(reason)
