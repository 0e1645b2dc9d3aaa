"""Signs and verifies JWTs, and maps the claims of a verified one to a caller."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jwt
import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from foliot.auth.verification_keys import BadKeys, VerificationKey, VerificationKeys, public_key
from foliot.core.access import Caller, Role
from foliot.core.errors import Invalid, Unauthenticated
from foliot.core.ports import Clock

if TYPE_CHECKING:
    from jwt.types import Options


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
        raise TokenRefused("sub has a form that is reserved for API keys and Discord members")
    return Caller(
        tenant_id=_name(claims, "tenant_id" if "tenant_id" in claims else "sub", LONGEST_TENANT),
        user_id=user_id,
        role=_role(claims),
        expires_at=expires_at,
    )


def _addressed(claims: Mapping[str, Any], expected: Expectations) -> None:
    # With several audiences, each of them could use the token against us.
    if claims.get("aud") not in (expected.audience, [expected.audience]):
        raise TokenRefused("aud is missing or wrong, or names other audiences too")
    if expected.issuer is not None and claims.get("iss") != expected.issuer:
        raise TokenRefused("iss is missing or wrong")


def _current(claims: Mapping[str, Any], longest: timedelta, now: datetime) -> datetime:
    """When it expires."""
    expires_at = _moment(claims, "exp")
    if expires_at is None:
        raise TokenRefused("exp is missing")
    if expires_at + LEEWAY <= now:
        raise TokenRefused("expired")
    not_before, issued_at = _moment(claims, "nbf"), _moment(claims, "iat")
    if any(moment is not None and moment > now + LEEWAY for moment in (not_before, issued_at)):
        raise TokenRefused("nbf or iat is in the future")
    begins = now if issued_at is None else min(now, issued_at)
    if expires_at - begins > longest + LEEWAY:
        raise TokenRefused("is valid for longer than FOLIOT_JWT_MAX_HOURS")
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
        raise TokenRefused(f"{name} must be text of 1 to {longest} characters")
    if not value.isprintable() or value != value.strip():
        raise TokenRefused(f"{name} must not contain control characters, or begin or end with a space")
    return value


LARGEST = 8 * 1024
REMEMBERED = 4096
FRESH = 5.0
"""Seconds for which a verified token is cached."""

_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TYPES = frozenset({"jwt", "at+jwt"})
# Each refers to a key, or to an extension that we would have to know: keys come from the settings, and none is known.
_FOREIGN = frozenset({"crit", "jku", "jwk", "x5u", "x5c", "b64", "zip", "enc"})
# `read_claims` checks these, more strictly and by our clock.
_UNCHECKED: Options = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}

log = structlog.get_logger("foliot.auth")


@dataclass(frozen=True, slots=True)
class _CheckedToken:
    caller: Caller
    kid: str | None
    key: VerificationKey
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Caches verified tokens for a few seconds, by digest, while the key is valid and the token has not expired."""

    keys: VerificationKeys
    clock: Clock
    expected: Expectations
    _seen: OrderedDict[bytes, _CheckedToken] = field(default_factory=OrderedDict, repr=False)

    async def caller(self, bearer: str) -> Caller:
        """The caller of this token; `Unauthenticated`, always in the same words, when it is not valid."""
        try:
            return self._remembered(bearer)
        except TokenRefused as why:
            log.debug("authentication failed", action="unauthenticated", reason=str(why))
            raise Unauthenticated from None

    async def still(self, caller: Caller) -> bool:
        """Whether the token has not expired since, and its key is still configured."""
        return not self._over(caller) and self.keys.find(caller.kid) is not None

    def _remembered(self, token: str) -> Caller:
        if len(token) > LARGEST or not _SHAPE.fullmatch(token):
            raise TokenRefused("not a token")
        digest, monotonic = hashlib.sha256(token.encode()).digest(), self.clock.monotonic()
        seen = self._seen.get(digest)
        if (
            seen is None
            or monotonic >= seen.until
            or self.keys.find(seen.kid) is not seen.key
            or self._over(seen.caller)
        ):
            self._seen.pop(digest, None)
            caller, kid, key = self._checked(token)
            seen = self._seen[digest] = _CheckedToken(caller, kid, key, monotonic + FRESH)
            while len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        return seen.caller

    def _over(self, caller: Caller) -> bool:
        return caller.expires_at is None or self.clock.now() >= caller.expires_at + LEEWAY

    def _checked(self, token: str) -> tuple[Caller, str | None, VerificationKey]:
        algorithm, kid = _header(token)
        key = self.keys.find(kid)
        if key is None:
            raise TokenRefused("signed by an unknown key")
        if algorithm != key.algorithm:
            raise TokenRefused("signed with an algorithm that its key is not for")
        try:
            claims = jwt.decode(token, key.material, algorithms=[key.algorithm], options=_UNCHECKED)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as wrong:
            raise TokenRefused(type(wrong).__name__) from None
        return replace(read_claims(claims, self.expected, self.clock.now()), kid=kid), kid, key


def _header(token: str) -> tuple[object, str | None]:
    """Algorithm and key id, as the token claims them."""
    part = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        raise TokenRefused("its header cannot be read") from None
    if not isinstance(header, dict) or _FOREIGN & header.keys():
        raise TokenRefused("its header has a key or a critical extension, which is not supported")
    kind, kid = header.get("typ"), header.get("kid")
    if not (kind is None or (isinstance(kind, str) and kind.lower() in _TYPES)):
        raise TokenRefused("wrong type of token")
    if not (kid is None or isinstance(kid, str)):
        raise TokenRefused("its key id (kid) is not text")
    return header.get("alg"), kid


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """The signing key. `kid` identifies it to servers that know several."""

    key: VerificationKey
    expected: Expectations
    kid: str | None = None

    def sign(self, *, tenant_id: str, user_id: str, role: Role, life: timedelta, now: datetime) -> str:
        """A token that a server with these settings accepts; `Invalid` when it would not."""
        begins = int(now.timestamp())
        claims: dict[str, Any] = {
            "sub": user_id,
            "tenant_id": tenant_id,
            "role": role.value,
            "aud": self.expected.audience,
            "iat": begins,
            "exp": begins + int(life.total_seconds()),
        }
        if self.expected.issuer is not None:
            claims["iss"] = self.expected.issuer
        try:
            read_claims(claims, self.expected, now)
        except TokenRefused as why:
            raise Invalid("token", f"no server would accept it: {why}") from None
        return jwt.encode(
            claims, self.key.material, algorithm=self.key.algorithm, headers={"kid": self.kid} if self.kid else None
        )


def private_key(path: Path) -> VerificationKey:
    """A private key from a PEM file without a password; `Invalid` otherwise."""
    try:
        material: Any = load_pem_private_key(path.read_bytes(), password=None)
        return VerificationKey(public_key(material.public_key()).algorithm, material)
    except (OSError, ValueError, TypeError, AttributeError, UnsupportedAlgorithm, BadKeys) as wrong:
        why = f": {wrong}" if isinstance(wrong, BadKeys) else ""
        raise Invalid(
            "--key-file", f"must be a private key in a PEM file without a password{why}", got=str(path)
        ) from None
