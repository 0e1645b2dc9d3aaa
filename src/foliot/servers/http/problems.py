"""Maps every error to an RFC 9457 problem document; the one place that knows status codes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from foliot.commands.idempotency import AnsweredBefore
from foliot.core.errors import (
    Conflict,
    FoliotError,
    Forbidden,
    Forged,
    Invalid,
    InvalidMany,
    KeyReused,
    NotFound,
    SessionOver,
    TooMany,
    Unauthenticated,
    Unavailable,
    VersionMismatch,
)

MEDIA_TYPE = "application/problem+json"
SHOWN = 200
"""Characters of an invalid value that an error repeats."""

TITLES = {
    "malformed": (400, "The body is not JSON"),
    "bad_request": (400, "Ambiguous request"),
    "unauthenticated": (401, "Authentication required"),
    "session_over": (401, "Session ended"),
    "forbidden": (403, "Permission denied"),
    "forged": (403, "Cross-site request refused"),
    "foreign_host": (403, "Unknown host name"),
    "foreign_origin": (403, "Cross-origin request refused"),
    "not_found": (404, "Not found"),
    "no_such_route": (404, "Route not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "timeout": (408, "Request timeout"),
    "conflict": (409, "Not possible in its current state"),
    "version_mismatch": (412, "Changed in the meantime"),
    "too_large": (413, "Request body too large"),
    "invalid": (422, "Invalid request"),
    "key_reused": (422, "Idempotency key already used"),
    "too_many": (429, "Too many requests"),
    "internal": (500, "Internal error"),
    "unavailable": (503, "Service unavailable"),
}
"""Every code a problem may carry, with its status and title."""

_CODES: tuple[tuple[type[FoliotError], str], ...] = (
    (Invalid, "invalid"),
    (NotFound, "not_found"),
    (Conflict, "conflict"),
    (VersionMismatch, "version_mismatch"),
    (KeyReused, "key_reused"),
    (SessionOver, "session_over"),
    (Unauthenticated, "unauthenticated"),
    (Forged, "forged"),
    (Forbidden, "forbidden"),
    (TooMany, "too_many"),
    (Unavailable, "unavailable"),
)

log = structlog.get_logger()


class BadBody(Exception):
    """A body that cannot be read: too large, or not JSON."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def problem(
    code: str,
    detail: str,
    *,
    errors: Sequence[Mapping[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
    status: int | None = None,
    cause: str | None = None,
) -> Response:
    """A problem document."""
    known, title = TITLES[code]
    body: dict[str, Any] = {
        "type": f"urn:foliot:problem:{code}",
        "title": title,
        "status": status or known,
        "detail": detail,
        "code": code,
    }
    if errors is not None:
        body["errors"] = errors
    if cause is not None:
        body["cause"] = cause
    return Response(orjson.dumps(body), status or known, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Register the handlers that answer every exception with a problem document."""
    app.add_exception_handler(FoliotError, _ours)
    app.add_exception_handler(AnsweredBefore, _answered_before)
    app.add_exception_handler(BadBody, _bad_body)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(RequestValidationError, _parameters)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(Exception, _surprise)


async def _gone(_: Request, __: Exception) -> Response:
    """The client disconnected before the body had arrived; the request has no effect."""
    return Response(status_code=400)


def code_of(error: FoliotError) -> str:
    """The code of its problem document."""
    return next(code for kind, code in _CODES if isinstance(error, kind))


def detail_of(error: FoliotError) -> str:
    """What its problem document says."""
    return _clean(error.told if isinstance(error, Unavailable) else str(error))


async def _ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, FoliotError)  # noqa: S101 -- registered for nothing else
    code = code_of(error)
    errors = _errors(error)
    cause = error.cause.value if isinstance(error, Unavailable) and error.cause is not None else None
    return problem(code, detail_of(error), errors=errors, headers=_headers(error), cause=cause)


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, Unavailable):
        return {"Retry-After": "1"}
    if isinstance(error, TooMany) and error.retry_after is not None:
        return {"Retry-After": str(math.ceil(error.retry_after))}
    return {}


def _errors(error: Exception) -> list[dict[str, Any]] | None:
    """The broken rules by field; None for errors that are no 422."""
    if isinstance(error, KeyReused):
        return [
            {"field": "Idempotency-Key", "message": "was used before with another request", "got": shown(error.key)}
        ]
    return complaints(error) if isinstance(error, Invalid) else None


def complaints(error: Invalid) -> list[dict[str, Any]]:
    """The broken rules, each by its field."""
    errors = error.errors if isinstance(error, InvalidMany) else [error]
    return [_complaint(one) for one in errors]


def _complaint(error: Invalid) -> dict[str, Any]:
    document = {"field": _clean(error.field), "message": _clean(error.message), "got": shown(error.got)}
    if error.position is not None:
        document["position"] = error.position
    if error.suggestion is not None:
        document["suggestion"] = _clean(error.suggestion)
    return document


async def _answered_before(_: Request, error: Exception) -> Response:
    assert isinstance(error, AnsweredBefore)  # noqa: S101 -- registered for nothing else
    return Response(error.body, error.status, {**error.headers, "Idempotent-Replayed": "true"}, "application/json")


async def _bad_body(_: Request, error: Exception) -> Response:
    assert isinstance(error, BadBody)  # noqa: S101 -- registered for nothing else
    return problem(error.code, str(error))


async def _parameters(_: Request, error: Exception) -> Response:
    """FastAPI's validation errors of path, query and headers."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- registered for nothing else
    errors = [
        {"field": ".".join(map(str, one["loc"][1:])), "message": _rule(one), "got": shown(one.get("input"))}
        for one in error.errors()
    ]
    first = errors[0]
    return problem("invalid", f"{first['field']}: {first['message']}, got {first['got']!r}", errors=errors)


_RULES = {
    "missing": "is required",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "must be at most {max_length} characters",
    "string_too_short": "must be at least {min_length} characters",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "bool_parsing": "must be true or false",
}
"""Messages for FastAPI's validation errors, worded like ours."""


def _rule(error: Mapping[str, Any]) -> str:
    context = {name: str(value).replace("'", "") for name, value in (error.get("ctx") or {}).items()}
    return _RULES.get(str(error.get("type")), "is not valid for this parameter").format(**context)


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- registered for nothing else
    path = _clean(request.url.path)
    match error.status_code:
        case 404:
            return problem("no_such_route", f"there is no route {path}; /docs lists them")
        case 405:
            return problem("method_not_allowed", f"{path} does not support {request.method}", headers=error.headers)
        case status:
            return problem("malformed" if status < 500 else "internal", str(error.detail), status=status)


async def _surprise(request: Request, error: Exception) -> Response:
    """A bug of ours: the log has the traceback, the answer does not."""
    log.error("a request failed", action="request_failed", path=request.url.path, exc_info=error)
    return problem("internal", "the server's log has the details")


def shown(got: object) -> object:
    """An invalid value for an error document: truncated, and always JSON."""
    if got is None or isinstance(got, bool):
        return got
    if isinstance(got, float):
        return got if math.isfinite(got) else str(got)
    if isinstance(got, int):
        return got if abs(got) < 2**53 else _clean(str(got))
    return _clean(got if isinstance(got, str) else str(got))


def _clean(text: str) -> str:
    """Truncated text without lone surrogates, which JSON cannot encode."""
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= SHOWN * 2 else f"{text[:SHOWN]}…"
