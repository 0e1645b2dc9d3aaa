"""Maps the claims of a verified token to a caller. Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.core.access import Caller, Role

LEEWAY = timedelta(seconds=10)
"""Allowed clock skew between issuer and Foliot."""
LONGEST_TENANT = 64
LONGEST_USER = 200
RESERVED = ("key:", "discord:")
"""Prefixes of callers without a token: the audit log must not confuse a token's subject with them."""
_LAST_SECOND = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


class TokenRefused(Exception):
    """Why a token is refused: for the log alone, so it never repeats the token's content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """The claims that every token must have."""

    audience: str
    issuer: str | None = None
    longest: timedelta = timedelta(days=31)


def read_claims(claims: Mapping[str, Any], expected: Expectations, now: datetime) -> Caller:
    """The caller; `TokenRefused` when a claim is missing, malformed or for another audience."""
    _addressed(claims, expected)
    expires_at = _current(claims, expected.longest, now)
    user_id = _name(claims, "sub", LONGEST_USER)
    if user_id.startswith(RESERVED):
        raise TokenRefused("sub is a name that only API keys and Discord's members have")
    return Caller(
        tenant_id=_name(claims, "tenant_id" if "tenant_id" in claims else "sub", LONGEST_TENANT),
        user_id=user_id,
        role=_role(claims),
        expires_at=expires_at,
    )


def _addressed(claims: Mapping[str, Any], expected: Expectations) -> None:
    # With several audiences, each of them could use the token against us.
    if claims.get("aud") not in (expected.audience, [expected.audience]):
        raise TokenRefused("aud is missing, another, or not ours alone")
    if expected.issuer is not None and claims.get("iss") != expected.issuer:
        raise TokenRefused("iss is missing or another")


def _current(claims: Mapping[str, Any], longest: timedelta, now: datetime) -> datetime:
    """When it expires."""
    expires_at = _moment(claims, "exp")
    if expires_at is None:
        raise TokenRefused("exp is missing")
    if expires_at + LEEWAY <= now:
        raise TokenRefused("expired")
    not_before, issued_at = _moment(claims, "nbf"), _moment(claims, "iat")
    if any(moment is not None and moment > now + LEEWAY for moment in (not_before, issued_at)):
        raise TokenRefused("nbf or iat lies in the future")
    begins = now if issued_at is None else min(now, issued_at)
    if expires_at - begins > longest + LEEWAY:
        raise TokenRefused("lives longer than FOLIOT_JWT_MAX_HOURS")
    return expires_at


def _moment(claims: Mapping[str, Any], name: str) -> datetime | None:
    """A whole number of seconds since 1970; text, fractions and booleans are refused, whatever they look like."""
    value = claims.get(name)
    if value is None and name not in claims:
        return None
    if type(value) is not int or not 0 <= value <= _LAST_SECOND:
        raise TokenRefused(f"{name} is not a whole number of seconds")
    return datetime.fromtimestamp(value, UTC)


def _role(claims: Mapping[str, Any]) -> Role:
    role = claims.get("role", Role.VIEWER.value)
    if not isinstance(role, str) or role not in set(Role):
        raise TokenRefused("role is unknown")
    return Role(role)


def _name(claims: Mapping[str, Any], name: str, longest: int) -> str:
    """Text without trailing spaces, which some databases ignore in comparisons."""
    value = claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise TokenRefused(f"{name} must be a text of 1 to {longest} characters")
    if not value.isprintable() or value != value.strip():
        raise TokenRefused(f"{name} must have no control characters, and no spaces around it")
    return value
