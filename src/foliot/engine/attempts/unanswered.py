"""Outcomes of attempts whose action did not return one: damaged, stopped, timed out or crashed."""

from __future__ import annotations

import asyncio
import traceback
from datetime import timedelta
from typing import Any

import structlog

from foliot.engine.attempts.attempt import SOFT, RunningAttempt, StopReason
from foliot.engine.attempts.attempt_log import AttemptLog
from foliot.engine.model.run import AttemptError, Cancelled, Ended, Failed, HandedBack, Outcome, Parked
from foliot.engine.model.views import ClaimedRun

log = structlog.get_logger("foliot.engine")


LOCKED = AttemptError(
    "secret_unavailable",
    "A credential of this action cannot be decrypted: the master key has changed.",
)


def hopeless(claimed: ClaimedRun) -> Failed:
    """A retry would change nothing."""
    if claimed.locked and claimed.fault is None:
        # The next worker may have the key.
        return Failed(LOCKED)
    if claimed.fault is not None:
        problem = AttemptError("damaged", f"the run's configuration cannot be read: {claimed.fault}")
    else:
        problem = AttemptError("unknown_action", f"this version does not support the action {claimed.kind!r}")
    return Failed(problem, permanent=True)


def stopped(flight: RunningAttempt, error: asyncio.CancelledError) -> Ended | None:
    if flight.stop is not None:
        return told_to_stop(flight)
    if flight.task is not None and not flight.task.cancelling():
        # The attempt was not stopped by us: the action let a cancellation of its own escape.
        return crashed(flight, error)
    raise error


def told_to_stop(flight: RunningAttempt) -> Ended | None:
    """The outcome of an attempt that was told to stop, before it started or since."""
    match flight.stop:
        case StopReason.CANCEL:
            return Cancelled("cancelled on request")
        case StopReason.SHUTDOWN:
            return HandedBack()
        case StopReason.TIMEOUT:
            return timed_out(flight)
        case StopReason.UNSTARTED:
            return HandedBack("no slot was free in time, so it was not started")
        case StopReason.LEASE | None:
            return None


def timed_out(flight: RunningAttempt) -> Failed:
    return Failed(AttemptError("timeout", f"did not finish within {flight.limit * SOFT:g} s"))


def crashed(notebook: AttemptLog, error: BaseException) -> Failed:
    fields: dict[str, Any] = {"exc_info": error}
    if notebook.redactor.forms:
        fields = {"exception": notebook.redactor.text("".join(traceback.format_exception(error)))}
    log.error(
        "an action raised an exception",
        action="action_crashed",
        run_id=notebook.run_id,
        kind=notebook.claimed.kind,
        **fields,
    )
    # Hidden values are removed before the text is truncated: half of one would not be recognised.
    message = notebook.redactor.text(f"{type(error).__name__}: {error}")
    return Failed(AttemptError("action_crashed", message[:1000]))


def unanswered(flight: RunningAttempt, outcome: Ended | None) -> Outcome | None:
    """It is unknown whether a noted effect has started: it is checked, and not started a second time."""
    if outcome is None or flight.noted is None:
        return outcome
    if isinstance(outcome, Failed):
        flight.log(f"It is not yet known what was started: {outcome.problem.message}", level="warning")
    return Parked(flight.noted, timedelta())
