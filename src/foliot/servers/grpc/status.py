"""Maps every error to a gRPC status with details (google.rpc); the one place that knows status codes."""

from __future__ import annotations

from typing import Any

import grpc
import structlog
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from foliot.core.errors import (
    Conflict,
    Forbidden,
    Invalid,
    InvalidMany,
    KeyReused,
    NotFound,
    TooMany,
    Unauthenticated,
    Unavailable,
    VersionMismatch,
    underlined,
)

DOMAIN = "foliot"
DETAILS = "grpc-status-details-bin"
SHOWN = 300
"""Bytes of a status message, or of an invalid value in it."""
ROOM = 3000
"""Bytes of all details: clients refuse a status whose metadata has more than 8 KiB."""

Codes = grpc.StatusCode
CODES: tuple[tuple[type[Exception], Any, str], ...] = (
    (KeyReused, Codes.INVALID_ARGUMENT, "KEY_REUSED"),
    (Invalid, Codes.INVALID_ARGUMENT, "INVALID"),
    (NotFound, Codes.NOT_FOUND, "NOT_FOUND"),
    (Conflict, Codes.FAILED_PRECONDITION, "CONFLICT"),
    (VersionMismatch, Codes.FAILED_PRECONDITION, "VERSION_MISMATCH"),
    (Unauthenticated, Codes.UNAUTHENTICATED, "UNAUTHENTICATED"),
    (Forbidden, Codes.PERMISSION_DENIED, "FORBIDDEN"),
    (TooMany, Codes.RESOURCE_EXHAUSTED, "TOO_MANY"),
    (Unavailable, Codes.UNAVAILABLE, "UNAVAILABLE"),
    (TimeoutError, Codes.DEADLINE_EXCEEDED, "TOO_SLOW"),
)
"""Every expected error: its status code, and the reason in ErrorInfo."""

log = structlog.get_logger("foliot.rpc")


class ServerStopping(Unavailable):
    """The process stops before the stream has ended."""


async def abort(context: Any, error: Exception, method: str) -> None:
    """End the call with the status of the error; never returns."""
    known = next(((code, reason) for kind, code, reason in CODES if isinstance(error, kind)), None)
    if known is None:
        # A bug of ours: the log has the traceback, the answer does not.
        log.error("a call failed", action="call_failed", method=method, exc_info=error)
        await context.abort(Codes.INTERNAL, "an internal error occurred; the server's log has the details")
    code, reason = known or (Codes.INTERNAL, "INTERNAL")
    message = _message(error)
    status = Status(code=code.value[0], message=message)
    for detail in (ErrorInfo(reason=reason, domain=DOMAIN), *_details(error)):
        _attach(status, detail)
    await context.abort(code, message, ((DETAILS, status.SerializeToString()),))


def _message(error: Exception) -> str:
    if isinstance(error, Unavailable):
        return brief(error.told)
    if isinstance(error, NotFound):
        # The same message for every resource, so that it does not reveal which one is missing.
        return brief(f"no job {error.key!r}")
    if isinstance(error, TimeoutError):
        return "no answer in time; repeat the call, with the same idempotency-key if it had one"
    if isinstance(error, Unauthenticated):
        return "a valid token or API key is required, as in the metadata authorization: Bearer …"
    return brief(str(error))


def _details(error: Exception) -> list[Message]:
    if isinstance(error, Invalid):
        every = error.errors if isinstance(error, InvalidMany) else [error]
        return [BadRequest(field_violations=_fitting([_violation(one) for one in every]))]
    if isinstance(error, KeyReused):
        violation = BadRequest.FieldViolation(field="idempotency-key", description=brief(str(error)))
        return [BadRequest(field_violations=[violation])]
    if isinstance(error, TooMany) and error.retry_after is not None:
        return [RetryInfo(retry_delay=_seconds(error.retry_after))]
    if isinstance(error, Unavailable):
        return [RetryInfo(retry_delay=_seconds(1))]
    return []


def _violation(error: Invalid) -> BadRequest.FieldViolation:
    got = "" if error.got is None else f", got {brief(repr(error.got))}"
    lines = [brief(error.message) + got, *underlined(error.got, error.position, error.suggestion)]
    return BadRequest.FieldViolation(field=brief(error.field), description="\n".join(lines))


def _fitting(violations: list[BadRequest.FieldViolation]) -> list[BadRequest.FieldViolation]:
    """As many violations as fit into the metadata, the first in any case."""
    kept, room = violations[:1], ROOM - violations[0].ByteSize()
    for one in violations[1:]:
        room -= one.ByteSize() + 4
        if room < 0:
            break
        kept.append(one)
    return kept


def _seconds(seconds: float) -> Duration:
    duration = Duration()
    duration.FromMicroseconds(int(seconds * 1_000_000))
    return duration


def _attach(status: Status, detail: Message) -> None:
    status.details.add().Pack(detail)


def brief(text: str) -> str:
    """The text truncated to `SHOWN` bytes, at a character boundary."""
    encoded = text.encode("utf-8", "replace")
    return encoded.decode() if len(encoded) <= SHOWN else f"{encoded[: SHOWN - 3].decode(errors='ignore')}…"
