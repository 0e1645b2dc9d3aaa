"""The exceptions of the client: problem documents (RFC 9457) with their fields.

FoliotError
├── Invalid            400, 405, 413, 422: `errors` names the fields
├── Unauthenticated    401
├── Forbidden          403
├── NotFound           404
├── Conflict           409, 412, or not possible in the current state
├── TooMany            429: `retry_after`
└── Unavailable        5xx, 408, or no answer
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FoliotError(Exception):
    """The server refused a request, or gave no answer."""

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
        request: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        """Status of the answer; None without an answer."""
        self.problem: dict[str, Any] = dict(problem or {})
        """The whole problem document."""
        self.request = request
        """Method and path of the request, without its query."""
        self.retry_after = retry_after
        """Seconds that the server asks to wait, when it names them."""

    @property
    def code(self) -> str:
        """Which problem it is, for programs; empty when the answer named none."""
        return str(self.problem.get("code", ""))

    @property
    def title(self) -> str:
        return str(self.problem.get("title", ""))

    def __str__(self) -> str:
        where = f" ({self.request}: {self.status or 'no answer'})" if self.request else ""
        return f"{self.detail}{where}"


class Invalid(FoliotError):
    """The request breaks a rule."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The broken rules: `field`, `message`, `got`, and `suggestion` where there is one."""
        errors = self.problem.get("errors")
        return errors if isinstance(errors, list) else []

    def __str__(self) -> str:
        fields = "".join(f"\n  {error.get('field', '?')}: {error.get('message', '')}" for error in self.errors)
        return f"{super().__str__()}{fields}"


class Unauthenticated(FoliotError):
    """The token is missing, unknown or expired."""


class Forbidden(FoliotError):
    """The role of the token does not allow this."""


class NotFound(FoliotError):
    """There is no such thing in this tenant."""


class Conflict(FoliotError):
    """Not possible in the current state, or changed by another client since."""


class TooMany(FoliotError):
    """A limit is exceeded; `retry_after` says for how many seconds."""


class Unavailable(FoliotError):
    """The server could not be reached, gave no answer in time, or failed."""


_BY_CODE: dict[str, type[FoliotError]] = {
    "conflict": Conflict,
    "version_mismatch": Conflict,
    "not_found": NotFound,
    "unavailable": Unavailable,
}
_BY_STATUS: dict[int, type[FoliotError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: NotFound,
    412: Conflict,
    429: TooMany,
}


def error_of(status: int, problem: object, request: str, retry_after: float | None) -> FoliotError:
    """The exception for an answer that is no success; `problem` is its decoded body."""
    document = problem if isinstance(problem, Mapping) else {}
    detail = document.get("detail") or document.get("title")
    if not isinstance(detail, str):
        detail = f"the server answered {status} without a reason: is the URL the address of a Foliot server?"
    kind = _BY_CODE.get(str(document.get("code"))) or _BY_STATUS.get(status) or _by_class(status)
    return kind(detail, status=status, problem=document, request=request, retry_after=retry_after)


def _by_class(status: int) -> type[FoliotError]:
    if status >= 500:
        return Unavailable
    return Invalid if status >= 400 else FoliotError
