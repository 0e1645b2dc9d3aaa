"""Maps a call's gRPC status to the outcome of the attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from foliot.engine.model.run import AttemptError, Failed
from foliot.net.grpc_call import CallFailed, CallStatus


def is_permanent(status: CallStatus) -> bool:
    """Whether a retry of the same call would fail in the same way."""
    match status:
        case (
            CallStatus.UNAVAILABLE
            | CallStatus.DEADLINE_EXCEEDED
            | CallStatus.RESOURCE_EXHAUSTED
            | CallStatus.ABORTED
            | CallStatus.CANCELLED
            | CallStatus.INTERNAL
            | CallStatus.UNKNOWN
        ):
            return False
        case (
            CallStatus.INVALID_ARGUMENT
            | CallStatus.NOT_FOUND
            | CallStatus.ALREADY_EXISTS
            | CallStatus.PERMISSION_DENIED
            | CallStatus.UNAUTHENTICATED
            | CallStatus.FAILED_PRECONDITION
            | CallStatus.OUT_OF_RANGE
            | CallStatus.UNIMPLEMENTED
            | CallStatus.DATA_LOSS
        ):
            return True


def judge(service: str, failed: CallFailed, elapsed: timedelta) -> Failed:
    """The status decides whether to retry; the service may say when."""
    permanent = is_permanent(failed.status)
    return Failed(
        AttemptError(f"grpc_{failed.status.lower()}", sentence(service, failed)),
        permanent=permanent,
        retry_after=None if permanent else failed.retry_after,
        response=describe(failed.status, elapsed, failed),
    )


def sentence(service: str, failed: CallFailed) -> str:
    message = "; ".join([failed.message, *(f"{field}: {what}" for field, what in failed.violations)]).strip("; ")
    return f"{service} ended the call with {failed.status}" + (f": {message}" if message else ".")


def describe(status: str, elapsed: timedelta, failed: CallFailed | None = None) -> dict[str, Any]:
    """What is stored of the answer on the attempt."""
    kept: dict[str, Any] = {"status": str(status), "duration_ms": round(elapsed.total_seconds() * 1000)}
    if failed is not None:
        kept["message"] = failed.message
        kept["violations"] = [{"field": field, "message": what} for field, what in failed.violations]
    return kept
