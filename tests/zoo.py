"""Every kind of token that must not be let in, by name: for a server that checks by a secret, and one by an RSA key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from tests.tokens import SECRET, Sign, by, by_secret, claims, der, jwk, nothing, part, pem, private, token

Beast = tuple[str, str]


def zoo(now: datetime, algorithm: str, port: int) -> Iterator[Beast]:
    """For a server whose key is for `algorithm`: HS256 or RS256. Whatever follows a URL of the token meets `port`."""
    sign = by_secret() if algorithm == "HS256" else by(private("RS256"))
    header = {"alg": algorithm, "typ": "JWT"}
    good = claims(now)
    yield from _unsigned(good)
    yield from _other_algorithms(good, sign)
    yield from _confused(good)
    yield from _forged_keys(good, f"http://127.0.0.1:{port}")
    yield from _names_of_keys(good)
    yield from _headers(header, good, sign)
    yield from ((f"claims: {name}", token(header, said, sign)) for name, said in _claims(now))
    yield from _texts(header, good, sign)
    yield from _shapes(token(header, good, sign), header, good, sign)


def _unsigned(good: dict[str, Any]) -> Iterator[Beast]:
    spellings = {"".join(letters) for letters in product(*zip("none", "NONE", strict=True))}
    for spelling in sorted(spellings):
        yield f"alg {spelling}", token({"alg": spelling, "typ": "JWT"}, good, nothing)
        yield f"alg {spelling} with a dot", f"{part({'alg': spelling})}.{part(good)}."
    odds: list[Any] = ["", " none", "none ", "nonе", "null", None, [], ["none"], {}, 0, False, True]
    for odd in odds:
        yield f"alg {odd!r}", token({"alg": odd, "typ": "JWT"}, good, nothing)
    yield "no alg", token({"typ": "JWT"}, good, nothing)


def _other_algorithms(good: dict[str, Any], sign: Sign) -> Iterator[Beast]:
    """By the right key, but the token says otherwise."""
    for other in (
        "HS384",
        "HS512",
        "RS384",
        "RS512",
        "PS256",
        "ES384",
        "ES512",
        "ES256K",
        "hs256",
        "rs256",
        "A128KW",
        "dir",
    ):
        yield f"says {other}", token({"alg": other}, good, sign)
    for other in ("ES256", "EdDSA"):
        yield f"by a key of one's own, {other}", token({"alg": other}, good, by(private(other, 9)))
    for one, two in (("HS256", "RS256"), ("RS256", "HS256")):
        yield f"{one} then {two}", token(f'{{"alg":"{one}","alg":"{two}"}}', good, nothing)


def _confused(good: dict[str, Any]) -> Iterator[Beast]:
    """The public key, which everybody has, taken for a shared one."""
    public = pem(private("RS256"))
    guesses = {
        "PEM": public,
        "PEM without its last line break": public.rstrip(),
        "PEM with Windows line breaks": public.replace(b"\n", b"\r\n"),
        "DER": der(private("RS256")),
        "the JWK": json.dumps(jwk(private("RS256"))).encode(),
        "the JWK without spaces": json.dumps(jwk(private("RS256")), separators=(",", ":")).encode(),
        "nothing": b"",
        "a zero": b"\0",
    }
    for name, guess in guesses.items():
        for alg in ("HS256", "HS384"):
            yield f"{alg} by {name}", token({"alg": alg, "typ": "JWT"}, good, by_secret(guess))


def _forged_keys(good: dict[str, Any], url: str) -> Iterator[Beast]:
    """The token brings its key, or says where it is."""
    for alg in ("RS256", "ES256"):
        mine = private(alg, 9)
        own = jwk(mine, "mine")
        for extra in (
            {"jwk": own},
            {"jku": f"{url}/jwks"},
            {"jku": f"{url}/jwks", "kid": "mine"},
            {"x5u": f"{url}/cert"},
            {"x5c": [part(der(mine))]},
            {"x5t": "a" * 27},
            {"kid": f"{url}/jwks"},
            {"jwk": own, "jku": f"{url}/jwks", "x5u": f"{url}/x", "x5c": [], "kid": "mine"},
        ):
            yield f"{alg} {sorted(extra)}", token({"alg": alg, "typ": "JWT", **extra}, good, by(mine))
    shared = {"kty": "oct", "k": part(b"k" * 32)}
    yield "HS256 by its own key", token({"alg": "HS256", "jwk": shared}, good, by_secret(b"k" * 32))
    yield "issuer's URL", token({"alg": "RS256"}, good | {"iss": url}, by(private("RS256", 9)))


def _names_of_keys(good: dict[str, Any]) -> Iterator[Beast]:
    """The name of a key is looked for among names, and nowhere else."""
    for kid in (
        "../../../../dev/null",
        "/dev/null",
        "/etc/passwd",
        "file:///dev/null",
        "x' UNION SELECT 'a';--",
        "key\0",
        "$(id)",
        "| id",
        "",
        "k" * 5000,
        "\ud800",
    ):
        for secret in (b"", b"\0", b"a", kid.encode("utf-8", "replace")):
            yield f"kid {kid[:20]!r} by {secret[:9]!r}", token({"alg": "HS256", "kid": kid}, good, by_secret(secret))
    odds: list[Any] = [None, 0, [], {}, True]
    for odd in odds:
        yield f"kid {odd!r}", token({"alg": "HS256", "kid": odd}, good, by_secret(b""))


def _headers(header: dict[str, Any], good: dict[str, Any], sign: Sign) -> Iterator[Beast]:
    """Well signed, and still not to be followed."""
    for name, value in (
        ("crit", ["exp"]),
        ("crit", []),
        ("crit", ["b64"]),
        ("jku", "https://example.com"),
        ("x5u", "https://example.com"),
        ("x5c", []),
        ("jwk", jwk(private("ES256", 9))),
        ("b64", False),
        ("zip", "DEF"),
        ("typ", "refresh"),
        ("typ", "refresh+jwt"),
        ("typ", "logout+jwt"),
        ("typ", "dpop+jwt"),
        ("typ", "id_token"),
        ("typ", ""),
        ("typ", 1),
        ("typ", ["JWT"]),
        ("kid", 7),
        ("kid", ["x"]),
    ):
        yield f"header {name}={str(value)[:20]}", token({**header, name: value}, good, sign)


def _claims(now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((f"no {name}", claims(now, **{name: None})) for name in ("exp", "aud", "sub"))
    for name, values in _odd(int(now.timestamp())).items():
        for value in [*values, None]:
            yield f"{name} {value!r:.20}", claims(now) | {name: value}
    yield "tenant too long", claims(now, tenant_id="a" * 65)
    yield "sub too long for a tenant", claims(now, tenant_id=None, sub="a" * 65)
    yield "lives too long", claims(now, exp=int((now + timedelta(days=31, minutes=1)).timestamp()))


def _odd(at: int) -> dict[str, list[Any]]:
    late, nan, endless = at + 3600, float("nan"), float("inf")
    past = [False, 0, at - 11, at - 3600]
    future = [10**400, 2**63, 10**18, at + 32 * 86_400, at * 1000]
    names = ["", " ", " ada", "ada ", "a\x00b", "a\nb", "a\u202eb", "\ud800", "a" * 201, 7, True, [], {}]
    return {
        "exp": [
            str(late),
            f"{late}.0",
            late + 0.5,
            float(late),
            -1,
            True,
            [late],
            {},
            "",
            nan,
            endless,
            *past,
            *future,
        ],
        "nbf": [at + 60, str(at), at + 0.5, True, -1, [], nan],
        "iat": [at + 60, str(at), at + 0.5, True, -1, [], 0, at - 40 * 86_400, endless],
        "aud": [
            "other",
            "Foliot",
            "foliot ",
            "",
            [],
            ["other"],
            [["foliot"]],
            ["foliot", 1],
            {"foliot": 1},
            1,
            True,
            [None],
        ],
        "sub": names,
        "tenant_id": names,
        "role": ["root", "Admin", "superuser", "", "system ", 1, True, [], ["admin"], {}],
    }


def _texts(header: dict[str, Any], good: dict[str, Any], sign: Sign) -> Iterator[Beast]:
    """Well signed, and no claims at all."""
    for name, text in {
        "no JSON": b"hello",
        "a list": b"[]",
        "a text": b'"foliot"',
        "a number": b"1",
        "nothing": b"",
        "null": b"null",
        "not UTF-8": b'{"sub":"\xff\xfe"}',
        "nested": b"[" * 3000,
        "nested claims": b'{"sub":' + b"[" * 3000 + b"]" * 3000 + b"}",
        "a long number": b'{"exp":' + b"9" * 5000 + b"}",
    }.items():
        yield f"payload: {name}", token(header, text, sign)
        yield f"header: {name}", token(text, good, sign)
    yield "header nested", token(b'{"alg":"HS256","a":' + b"[" * 3000, good, sign)


def _shapes(fine: str, header: dict[str, Any], good: dict[str, Any], sign: Sign) -> Iterator[Beast]:
    """A good token, and something wrong with its text."""
    head, body, signature = fine.split(".")
    yield "signature cut", f"{head}.{body}.{signature[:-4]}"
    yield "signature gone", f"{head}.{body}."
    yield "no signature", f"{head}.{body}"
    yield "signature of another", f"{head}.{part(good | {'role': 'system'})}.{signature}"
    yield "one letter changed", f"{head}.{body}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"
    yield "empty payload", f"{head}..{signature}"
    yield "empty header", f".{body}.{signature}"
    yield "many dots", "." * 5000
    yield "four parts", f"{fine}.{signature}"
    yield "five parts, as if encrypted", f"{fine}.{body}.{signature}"
    yield "padded", f"{head}=.{body}=.{signature}="
    yield "with a line break", f"{head}.{body}.\n{signature}"
    yield "with spaces", f"{head} . {body} . {signature}"
    yield "two spaces before", f" {fine}"
    yield "space behind", f"{fine} x"
    yield "twice", f"{fine},{fine}"
    yield "quoted", f'"{fine}"'
    yield "another alphabet", f"{head}.{body}.{signature[:-2]}+/"
    yield "not ASCII", f"{head}.{body}.ÿþ{signature}"
    yield "zero byte", f"{head}.{body}.{signature}\x00"
    yield "a megabyte", "a" * 1_048_576
    yield "a megabyte, well signed", token(header, good | {"x": "a" * 1_048_576}, sign)
    yield "9 KiB, well signed", token(header, good | {"x": "a" * 7000}, sign)
    yield "the secret itself", SECRET
    yield "an API key that nobody has", "flt_01234567_" + "a" * 43
    yield "the beginning of an API key", "flt_"
