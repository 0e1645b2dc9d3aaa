"""The exceptions that Foliot raises, as a tree.

FoliotError
├── Invalid          a value breaks a rule; names field, rule and what it got
│   └── InvalidMany  several of them, from one request
├── NotFound         no such thing for this caller
├── Conflict         the thing is not in a state that allows this
├── VersionMismatch  another client changed it first (If-Match)
├── KeyReused        an idempotency key came back with another body
├── Unauthenticated  no valid credential
│   └── SessionOver  a browser's session has ended
├── Forbidden        this caller may not do this
│   └── Forged       a request with a browser's session that does not come from our own page (CSRF)
├── TooMany          a limit on how much or how often
└── Unavailable      something Foliot itself depends on does not answer
    └── Contended    the database rolled the transaction back (deadlock): retrying is safe

Marks the place of an error in a line of text with carets, for monospaced output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from foliot.core.mask import shown, shown_text


def underlined(text: object, position: Sequence[int] | None, suggestion: str | None) -> list[str]:
    """The text, carets below the error, and the suggestion; unknown parts are left out."""
    lines = []
    if isinstance(text, str) and position is not None and text.isprintable():
        start, end = position
        # A position beyond the text refers to a longer one, of which this is a part.
        if 0 <= start < end <= len(text):
            lines += [text, " " * start + "^" * (end - start)]
    return [*lines, f"did you mean: {suggestion}"] if suggestion else lines


class FoliotError(Exception):
    """Every error Foliot raises on purpose."""


class Invalid(FoliotError):
    """A value breaks a rule. `position` is the range in the text, `suggestion` what may be meant."""

    def __init__(
        self,
        field: str,
        message: str,
        *,
        got: object = None,
        position: tuple[int, int] | None = None,
        suggestion: str | None = None,
    ) -> None:
        got = _discreet(got)
        super().__init__(f"{field}: {message}" + (f", got {got!r}" if got is not None else ""))
        self.field = field
        self.message = message
        self.got = got
        self.position = position
        self.suggestion = suggestion


def _discreet(got: object) -> object:
    """The value as an error may repeat it: without the credentials in headers and URLs."""
    match got:
        case str():
            return shown_text(got)
        case Mapping():
            return shown(got)
        case list() | tuple():
            return [_discreet(one) for one in got]
        case _:
            return got


class InvalidMany(Invalid):
    """Several values break rules; the message is that of the first."""

    def __init__(self, errors: Iterable[Invalid]) -> None:
        self.errors = list(errors)
        first = self.errors[0]
        super().__init__(
            first.field, first.message, got=first.got, position=first.position, suggestion=first.suggestion
        )


class NotFound(FoliotError):
    """No such thing, or not for this caller: the two answers are the same."""

    def __init__(self, kind: str, key: str) -> None:
        super().__init__(f"no {kind} {key!r}")
        self.kind = kind
        self.key = key


class Conflict(FoliotError):
    """The thing is not in a state that allows this."""


class VersionMismatch(FoliotError):
    """The caller's version is not the current one."""

    def __init__(self, expected: str, current: int) -> None:
        super().__init__(
            f"version {expected} is not the current version {current}: read it again and repeat your change"
        )
        self.expected = expected
        self.current = current


class KeyReused(FoliotError):
    """An idempotency key was used before with another request."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the idempotency key {key!r} was used before with another request")
        self.key = key


class Unauthenticated(FoliotError):
    """No valid credential. Every reason reads the same to the outside."""

    def __init__(self) -> None:
        super().__init__("a valid token or API key is required, as in Authorization: Bearer …")


class SessionOver(Unauthenticated):
    """A browser's session has ended, was revoked or never existed."""

    def __init__(self) -> None:
        FoliotError.__init__(self, "your session has ended: sign in again")


class Forbidden(FoliotError):
    """This caller may not do this."""


class Forged(Forbidden):
    """A request with a browser's session that does not come from our own page (CSRF)."""


class TooMany(FoliotError):
    """A limit on how much or how often."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Cause(StrEnum):
    """Why the database refuses."""

    DISK_FULL = "disk_full"
    READ_ONLY = "read_only"
    DISK_ERROR = "disk_error"
    BUSY = "busy"
    AWAY = "away"

    @property
    def told(self) -> str:
        return _CAUSES[self]


_CAUSES = {
    Cause.DISK_FULL: "the database takes no writes: its disk is full",
    Cause.READ_ONLY: "the database takes no writes: it is read-only",
    Cause.DISK_ERROR: "the database cannot use its disk",
    Cause.BUSY: "the database is too busy: it did not answer in time",
    Cause.AWAY: "the database did not answer",
}


class Unavailable(FoliotError):
    """A dependency does not answer. `told` is the reason as any client may see it: no address, user or path."""

    def __init__(self, message: str, *, told: str | None = None, cause: Cause | None = None) -> None:
        super().__init__(message)
        self.told = message if told is None else told
        self.cause = cause


class Contended(Unavailable):
    """The database rolled the transaction back because of a deadlock: nothing was written, retrying is safe."""


@dataclass(frozen=True, slots=True)
class StoreRefusal:
    """What the database refuses a process, from when to when by the monotonic clock."""

    cause: Cause
    error: str
    since: float
    last: float
