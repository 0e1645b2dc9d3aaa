"""What the inner storeys ask of the way out to gRPC services: calls by name, in bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from foliot.core.address_book import AddressBook


class CallStatus(StrEnum):
    """How a call that failed ended, in gRPC's own words."""

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
class Call:
    """One call of one method."""

    service: str
    """A name of the address book."""
    path: str
    """`/package.Service/Method`."""
    messages: Sequence[bytes]
    metadata: Mapping[str, str] = field(default_factory=dict)
    timeout: timedelta = timedelta(seconds=30)
    most: int = 4 * 1024 * 1024
    """How many bytes of answers are read before the rest is refused."""
    tenant_id: str = ""
    """For whom it is made; empty for Foliot itself, which asks services what they can do and how they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What came back, and over which connection: each has its number."""

    messages: Sequence[bytes]
    line: int
    elapsed: timedelta


class CallFailed(Exception):
    """No complete answer came. `message` is the service's own word where it had one; it names no address."""

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
        """Which fields the service complains about, and how."""
        self.said = said
        """For the operator's log alone: it may name addresses."""


class AnswerTooLarge(Exception):
    """The service answered, or was asked, with more than is carried."""


class Calls(Protocol):
    """The one way out to gRPC services."""

    @property
    def book(self) -> AddressBook: ...

    def line_of(self, service: str) -> int | None:
        """The number of the connection in use; None when there is none, or it broke."""
        ...

    async def admit(self, service: str, tenant_id: str) -> None:
        """`EgressRefused` when the service is not to be called, or not by this tenant."""
        ...

    async def call(self, call: Call) -> Answers:
        """Raises `EgressRefused`, `CallFailed` or `AnswerTooLarge`."""
        ...
