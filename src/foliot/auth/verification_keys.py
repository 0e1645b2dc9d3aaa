"""Keys that verify tokens, and their periodic download from an identity provider (JWKS)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Invalid, Unavailable
from foliot.core.ports import Clock

MOST_KEYS = 64
LARGEST_FILE = 256 * 1024
RSA_BITS = range(2048, 8193)
_LONGEST_NUMBER = 2048
"""Digits of a number in a JWK: larger ones would take long to parse."""
_LONGEST_ID = 200
_READERS: dict[str, type[RSAAlgorithm | ECAlgorithm | OKPAlgorithm]] = {
    "RSA": RSAAlgorithm,
    "EC": ECAlgorithm,
    "OKP": OKPAlgorithm,
}


class BadKeys(Exception):
    """These keys cannot be used; the message says why, never their content."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """One key and its algorithm."""

    algorithm: str
    material: Any


class VerificationKeys(Protocol):
    """The keys that are valid now."""

    def find(self, kid: str | None) -> VerificationKey | None:
        """The key that a token names, or the only one; `Unavailable` when none is known yet."""
        ...


@dataclass(frozen=True, slots=True)
class SingleKey:
    """The operator's single key, whatever key id a token has."""

    key: VerificationKey

    def find(self, kid: str | None) -> VerificationKey | None:
        return self.key


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys by id; ids matter only where there are several, or where both sides have one."""

    named: Mapping[str | None, VerificationKey]

    def find(self, kid: str | None) -> VerificationKey | None:
        if len(self.named) == 1 and (kid is None or None in self.named):
            return next(iter(self.named.values()))
        return None if kid is None else self.named.get(kid)


def hs256(secret: str) -> SingleKey:
    return SingleKey(VerificationKey("HS256", secret.encode()))


def key_file(path: Path) -> SingleKey | KeySet:
    """A public key as PEM, or a JWKS document; `Invalid` names the setting."""
    try:
        return _read(path.read_bytes())
    except (OSError, BadKeys) as wrong:
        why = str(wrong) if isinstance(wrong, BadKeys) else wrong.strerror
        rule = f"must hold a public key (PEM) or a JWKS document: {why}"
        raise Invalid("FOLIOT_JWT_KEY_FILE", rule, got=str(path)) from None


def _read(raw: bytes) -> SingleKey | KeySet:
    if len(raw) > LARGEST_FILE:
        raise BadKeys(f"it has more than {LARGEST_FILE // 1024} KiB")
    if raw.lstrip()[:1] != b"{":
        return SingleKey(public_key(_pem(raw)))
    keys = key_set(raw)
    if not keys.named:
        raise BadKeys("it contains no key that can verify a signature")
    return keys


def _pem(raw: bytes) -> object:
    if b"PRIVATE KEY" in raw:
        raise BadKeys("it contains a private key, which only the issuer may have; give the public key")
    try:
        return load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        raise BadKeys("it is neither PEM nor JWKS") from None


def public_key(material: object) -> VerificationKey:
    """With the algorithm of its key type."""
    if isinstance(material, RSAPublicKey):
        if material.key_size not in RSA_BITS:
            raise BadKeys(f"an RSA key must have {RSA_BITS[0]} to {RSA_BITS[-1]} bits, not {material.key_size}")
        return VerificationKey("RS256", material)
    if isinstance(material, EllipticCurvePublicKey) and isinstance(material.curve, SECP256R1):
        return VerificationKey("ES256", material)
    if isinstance(material, Ed25519PublicKey):
        return VerificationKey("EdDSA", material)
    raise BadKeys("a key must be RSA, EC on the curve P-256, or Ed25519")


def key_set(raw: bytes) -> KeySet:
    """The signature keys of a JWKS document; others are skipped. `BadKeys` when it is none."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise BadKeys("it is not JSON") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise BadKeys(f"it must be an object with a list `keys` of at most {MOST_KEYS}")
    named: dict[str | None, VerificationKey] = {}
    for jwk in listed:
        if not isinstance(jwk, dict) or not _checks_signatures(jwk):
            continue
        kid, key = jwk.get("kid"), _jwk(jwk)
        if key is None or not (kid is None or (isinstance(kid, str) and 0 < len(kid) <= _LONGEST_ID)):
            continue
        if kid in named and not _same(named[kid], key):
            raise BadKeys("two keys have the same name, or none")
        named[kid] = key
    return KeySet(named)


def _checks_signatures(jwk: Mapping[str, Any]) -> bool:
    """Also skips what should never have been published: private and shared keys."""
    operations = jwk.get("key_ops", ["verify"])
    return (
        jwk.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and "d" not in jwk
        and all(
            len(value) <= _LONGEST_NUMBER for name in ("n", "e", "x", "y") if isinstance(value := jwk.get(name), str)
        )
    )


def _jwk(jwk: Mapping[str, Any]) -> VerificationKey | None:
    kind = jwk.get("kty")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return None
    try:
        key = public_key(reader.from_jwk(dict(jwk)))
    except (BadKeys, PyJWTError, UnsupportedAlgorithm, ValueError, TypeError, KeyError, AttributeError):
        return None
    return key if jwk.get("alg", key.algorithm) == key.algorithm else None


def _same(one: VerificationKey, other: VerificationKey) -> bool:
    return one.algorithm == other.algorithm and bool(one.material == other.material)


PERIOD = 60.0
AGAIN = 5.0
"""Seconds until the next try when one failed."""
TIMEOUT = timedelta(seconds=3)

log = structlog.get_logger("foliot.auth")


@dataclass(frozen=True, slots=True)
class KeysFetched:
    """How many keys are known, and whether this round fetched them."""

    keys: int
    fresh: bool
    rest: float


@dataclass(slots=True, kw_only=True)
class Jwks:
    """The last valid answer stays in force until the next one."""

    url: str
    egress: Egress
    clock: Clock
    name: str = "jwks"
    topics: Sequence[str] = ()
    error: str | None = field(default=None, init=False)
    fetched_at: datetime | None = field(default=None, init=False)
    _keys: KeySet | None = field(default=None, init=False)

    def find(self, kid: str | None) -> VerificationKey | None:
        if self._keys is None:
            raise Unavailable("the keys that verify tokens have not been fetched yet (FOLIOT_JWKS_URL)")
        return self._keys.find(kid)

    def problems(self) -> list[str]:
        """Problems to show in the health report."""
        if self.error is None:
            return []
        since = "never" if self.fetched_at is None else f"last at {self.fetched_at:%Y-%m-%d %H:%M:%S}Z"
        return [f"the keys of FOLIOT_JWKS_URL cannot be fetched ({self.error}); {since}"]

    async def run_once(self) -> KeysFetched:
        try:
            found = await self.fetch()
        except (EgressRefused, EgressFailed, BadKeys) as failed:
            self._tell(str(failed))
            known = 0 if self._keys is None else len(self._keys.named)
            return KeysFetched(known, fresh=False, rest=AGAIN)
        if self.error is not None or self._keys is None or set(found.named) != set(self._keys.named):
            log.info("keys were fetched", action="jwks_fetched", keys=len(found.named))
        self._keys = found if self._keys is None else _kept(self._keys, found)
        self.error, self.fetched_at = None, self.clock.now()
        return KeysFetched(len(found.named), fresh=True, rest=PERIOD)

    async def fetch(self) -> KeySet:
        """The provider's current keys; raises when the answer cannot be used."""
        reply = await self.egress.send(
            OutgoingRequest(
                method="GET",
                url=self.url,
                headers={"Accept": "application/json", "User-Agent": f"Foliot/{__version__}"},
                timeout=TIMEOUT,
                keep=LARGEST_FILE,
                most=LARGEST_FILE,
            )
        )
        if reply.status != 200:
            raise BadKeys(f"it answered {reply.status}")
        if reply.truncated:
            raise BadKeys(f"it has more than {LARGEST_FILE // 1024} KiB")
        return key_set(reply.body)

    def _tell(self, error: str) -> None:
        if error != self.error:
            log.warning("keys could not be fetched", action="jwks_failed", error=error, known=self._keys is not None)
        self.error = error


def _kept(before: KeySet, after: KeySet) -> KeySet:
    """An unchanged key stays the same object, so that tokens verified with it stay cached."""
    return KeySet(
        {
            kid: before.named[kid] if kid in before.named and before.named[kid] == key else key
            for kid, key in after.named.items()
        }
    )
