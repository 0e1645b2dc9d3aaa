"""Makes tokens, good and bad. Signs by hand: no library should refuse to make what is wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

SECRET = "uq3nK9s_Zf0-vT7xYb2mWc8eRd5gHj1LpA6oQi4Sk"
Sign = Callable[[bytes], bytes]
Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
ALGORITHMS = ("RS256", "ES256", "EdDSA")


def part(raw: bytes | str | Mapping[str, Any]) -> str:
    """One part of a token: JSON, or bytes as they are."""
    text = json.dumps(raw, separators=(",", ":")) if isinstance(raw, Mapping) else raw
    return base64.urlsafe_b64encode(text.encode() if isinstance(text, str) else text).rstrip(b"=").decode()


def token(header: Mapping[str, Any] | str | bytes, claims: Mapping[str, Any] | str | bytes, sign: Sign) -> str:
    body = f"{part(header)}.{part(claims)}"
    return f"{body}.{part(sign(body.encode()))}"


def claims(now: datetime, **changes: Any) -> dict[str, Any]:
    """What a good token says; None leaves a claim out."""
    at = int(now.timestamp())
    said = {"sub": "ada", "tenant_id": "acme", "role": "operator", "aud": "foliot", "iat": at, "exp": at + 3600}
    return {name: value for name, value in (said | changes).items() if value is not None}


def by_secret(secret: str | bytes = SECRET) -> Sign:
    key = secret.encode() if isinstance(secret, str) else secret
    return lambda body: hmac.new(key, body, hashlib.sha256).digest()


def by(key: Private) -> Sign:
    def sign(body: bytes) -> bytes:
        if isinstance(key, rsa.RSAPrivateKey):
            return key.sign(body, padding.PKCS1v15(), SHA256())
        if isinstance(key, ec.EllipticCurvePrivateKey):
            r, s = decode_dss_signature(key.sign(body, ec.ECDSA(SHA256())))
            return r.to_bytes(32) + s.to_bytes(32)
        return key.sign(body)

    return sign


def nothing(_: bytes) -> bytes:
    return b""


def private(algorithm: str, which: int = 0) -> Private:
    """A key for this algorithm; the same one for the same number."""
    return _made(algorithm, which)


@cache
def _made(algorithm: str, which: int) -> Private:
    match algorithm:
        case "RS256":
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


def pem(key: Private) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def der(key: Private) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def private_pem(key: Private) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def jwk(key: Private, kid: str | None = None, **more: Any) -> dict[str, Any]:
    """The public half, as an identity provider publishes it."""
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        found = {"kty": "RSA", "n": part(numbers.n.to_bytes(public.key_size // 8)), "e": part(numbers.e.to_bytes(3))}
    elif isinstance(public, ec.EllipticCurvePublicKey):
        point = public.public_numbers()
        size = (public.curve.key_size + 7) // 8
        found = {
            "kty": "EC",
            "crv": f"P-{public.curve.key_size}",
            "x": part(point.x.to_bytes(size)),
            "y": part(point.y.to_bytes(size)),
        }
    else:
        found = {"kty": "OKP", "crv": "Ed25519", "x": part(public.public_bytes(Encoding.Raw, PublicFormat.Raw))}
    return found | ({"kid": kid} if kid is not None else {}) | {"use": "sig"} | more


def jwks(*keys: Mapping[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()
