"""Verifies JWTs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import jwt
import structlog

from foliot.auth.claims import LEEWAY, Expectations, TokenRefused, read_claims
from foliot.auth.verification_keys import VerificationKey, VerificationKeys
from foliot.core.access import Caller
from foliot.core.errors import Unauthenticated
from foliot.core.ports import Clock

if TYPE_CHECKING:
    from jwt.types import Options

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
            log.debug("a caller was not let in", action="unauthenticated", reason=str(why))
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
            raise TokenRefused("signed by a key that is not ours")
        if algorithm != key.algorithm:
            raise TokenRefused("signed by another algorithm than the key's")
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
        raise TokenRefused("its header says what we do not follow")
    kind, kid = header.get("typ"), header.get("kid")
    if not (kind is None or (isinstance(kind, str) and kind.lower() in _TYPES)):
        raise TokenRefused("another type of token")
    if not (kid is None or isinstance(kid, str)):
        raise TokenRefused("its key has no proper name")
    return header.get("alg"), kid
