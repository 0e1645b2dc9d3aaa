"""Calls of gRPC services: what is sent, what comes back, and how they fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class CallStatus(StrEnum):
    """The status of a failed call, in gRPC's terms."""

    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INTERNAL = "INTERNAL"
    UNAVAILABLE = "UNAVAILABLE"
    DATA_LOSS = "DATA_LOSS"
    UNAUTHENTICATED = "UNAUTHENTICATED"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcRequest:
    """One call of one method."""

    service: str
    """A name of the address book."""
    path: str
    """`/package.Service/Method`."""
    messages: Sequence[bytes]
    metadata: Mapping[str, str] = field(default_factory=dict)
    timeout: timedelta = timedelta(seconds=30)
    most: int = 4 * 1024 * 1024
    """Maximum bytes of answers; more are refused."""
    tenant_id: str = ""
    """The tenant of the call; empty for Foliot's own calls of reflection and health."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcAnswers:
    """The answers, and the number of the connection that they came over."""

    messages: Sequence[bytes]
    line: int
    elapsed: timedelta


class CallFailed(Exception):
    """No complete answer came. `message` is the service's own, if it sent one; it names no address."""

    def __init__(
        self,
        status: CallStatus,
        message: str,
        *,
        retry_after: timedelta | None = None,
        violations: Sequence[tuple[str, str]] = (),
        said: str = "",
    ) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.violations = violations
        """The fields that the service rejects, and why."""
        self.said = said
        """For the operator's log alone: it may name addresses."""


class AnswerTooLarge(Exception):
    """A request or an answer is larger than allowed."""
