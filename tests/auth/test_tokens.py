"""Tokens: who is let in, who is not, and for how long that is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import FRESH, LEEWAY, REMEMBERED, Expectations, Signer, Tokens, private_key
from foliot.auth.verification_keys import (
    AGAIN,
    PERIOD,
    BadKeys,
    Jwks,
    KeySet,
    SingleKey,
    VerificationKey,
    VerificationKeys,
    hs256,
    key_file,
    key_set,
)
from foliot.core.access import Caller, Role
from foliot.core.egress import EgressFailed, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Invalid, Unauthenticated, Unavailable
from foliot.testing import StoppedClock
from tests.tokens import ALGORITHMS, SECRET, by, by_secret, claims, jwk, jwks, pem, private, private_pem, token
from tests.zoo import zoo

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
HS = {"alg": "HS256", "typ": "JWT"}


def checker(keys: VerificationKeys | None = None, **expected: Any) -> Tokens:
    return Tokens(
        keys=keys or hs256(SECRET), clock=StoppedClock(NOW), expected=Expectations(audience="foliot", **expected)
    )


def good(**changes: Any) -> str:
    return token(HS, claims(NOW, **changes), by_secret())


async def refused(tokens: Tokens, shown: str) -> bool:
    try:
        await tokens.caller(shown)
    except Unauthenticated:
        return True
    return False


async def test_a_good_token_names_its_caller() -> None:
    caller = await checker().caller(good())

    assert caller == Caller("acme", "ada", Role.OPERATOR, expires_at=NOW + timedelta(hours=1))


async def test_without_a_tenant_the_user_is_one_and_without_a_role_they_only_look() -> None:
    caller = await checker().caller(good(tenant_id=None, role=None))

    assert (caller.tenant_id, caller.user_id, caller.role) == ("ada", "ada", Role.VIEWER)


@pytest.mark.parametrize("role", Role)
async def test_every_role_can_be_claimed(role: Role) -> None:
    assert (await checker().caller(good(role=role.value))).role is role


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "AT+JWT", None])
async def test_an_access_token_may_say_so(kind: str | None) -> None:
    header = {"alg": "HS256"} | ({} if kind is None else {"typ": kind})

    assert not await refused(checker(), token(header, claims(NOW), by_secret()))


@pytest.mark.parametrize("audience", ["foliot", ["foliot"]])
async def test_a_token_is_meant_for_us(audience: object) -> None:
    assert not await refused(checker(), good(aud=audience))


@pytest.mark.parametrize(
    "audience", [["other", "foliot"], ["foliot", "other"], ["foliot", "foliot"], [], "other", None]
)
async def test_a_token_for_others_is_none_for_us(audience: object) -> None:
    """Whoever else it is for could come to us with it."""
    assert await refused(checker(), good(aud=audience))


@pytest.mark.parametrize(("name", "stranger"), [("key:robot", True), ("discord:17", True), ("monkey:1", False)])
async def test_no_token_takes_the_name_of_a_key_or_of_somebody_at_discord(name: str, stranger: bool) -> None:
    assert await refused(checker(), good(sub=name, tenant_id="acme")) is stranger


@pytest.mark.parametrize("algorithm", ["HS256", "RS256"])
async def test_nothing_in_the_zoo_is_let_in(algorithm: str) -> None:
    tokens = checker(
        hs256(SECRET) if algorithm == "HS256" else SingleKey(VerificationKey("RS256", private("RS256").public_key()))
    )

    let_in = [name for name, shown in zoo(NOW, algorithm, port=9) if not await refused(tokens, shown)]

    assert let_in == []


async def test_the_zoo_is_refused_by_a_set_of_keys_too() -> None:
    named = key_set(jwks(jwk(private("RS256"), "rsa"), jwk(private("ES256"), "ec"), jwk(private("EdDSA"), "ed")))

    assert [name for name, shown in zoo(NOW, "RS256", port=9) if not await refused(checker(named), shown)] == []


@pytest.mark.parametrize(
    "issuer", ["https://other.example", "https://id.example/", "", None, ["https://id.example"], 1]
)
async def test_the_issuer_must_be_the_one_that_is_set(issuer: object) -> None:
    tokens = checker(issuer="https://id.example")

    assert await refused(tokens, good(iss=issuer))
    assert not await refused(tokens, good(iss="https://id.example"))


async def test_without_a_set_issuer_anyone_may_issue() -> None:
    assert not await refused(checker(), good(iss="https://id.example"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_each_type_of_key_checks_its_own_algorithm_and_no_other(algorithm: str) -> None:
    key = private(algorithm)
    tokens = checker(SingleKey(VerificationKey(algorithm, key.public_key())))

    assert not await refused(tokens, token({"alg": algorithm}, claims(NOW), by(key)))
    assert await refused(tokens, token({"alg": algorithm}, claims(NOW), by(private(algorithm, 1))))
    for other in {*ALGORITHMS, "HS256"} - {algorithm}:
        assert await refused(tokens, token({"alg": other}, claims(NOW), by(key)))


# --- time -------------------------------------------------------------------------------------------------------------


def moving() -> tuple[Tokens, StoppedClock]:
    clock = StoppedClock(NOW)
    return Tokens(keys=hs256(SECRET), clock=clock, expected=Expectations(audience="foliot")), clock


async def test_a_token_counts_until_it_expires_and_a_moment_longer_for_clocks_that_differ() -> None:
    tokens, clock = moving()
    caller = await tokens.caller(good())

    clock.advance(timedelta(hours=1) + LEEWAY - timedelta(seconds=1))
    assert not await refused(tokens, good())
    assert await tokens.still(caller)
    clock.advance(1)
    assert await refused(tokens, good())
    assert not await tokens.still(caller)
    assert timedelta() < LEEWAY <= timedelta(seconds=30)


async def test_what_is_remembered_does_not_outlive_the_token() -> None:
    tokens, clock = moving()
    short = good(exp=int(NOW.timestamp()) + 1)
    assert not await refused(tokens, short)

    clock.set(NOW + timedelta(seconds=12))  # the monotonic clock, by which memory is counted, has not moved
    assert await refused(tokens, short)


async def test_a_token_from_a_clock_that_is_a_little_ahead_counts() -> None:
    at = int(NOW.timestamp())
    assert not await refused(checker(), good(iat=at + 5, nbf=at + 5))


async def test_the_longest_life_is_the_operators_choice() -> None:
    at = int(NOW.timestamp())
    hour = checker(longest=timedelta(hours=1))

    assert not await refused(hour, good(exp=at + 3600))
    assert await refused(hour, good(exp=at + 3660))
    assert await refused(hour, good(exp=at + 3660, iat=None))
    assert await refused(hour, good(exp=at + 60, iat=at - 7200))


# --- memory -----------------------------------------------------------------------------------------------------------


@dataclass
class Counted:
    """One key, and how often a token was checked by it."""

    key: VerificationKey = field(default_factory=lambda: hs256(SECRET).key)
    checks: int = 0

    def find(self, kid: str | None) -> VerificationKey | None:
        self.checks += 1
        return self.key


async def test_a_token_is_checked_once_in_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    import jwt

    decoded: list[str] = []
    real = jwt.decode

    def counting(shown: str, *arguments: Any, **options: Any) -> Any:
        decoded.append(shown)
        return real(shown, *arguments, **options)

    monkeypatch.setattr("jwt.decode", counting)
    tokens, clock = moving()

    for _ in range(50):
        await tokens.caller(good())
    assert len(decoded) == 1
    clock.advance(FRESH)
    await tokens.caller(good())
    assert len(decoded) == 2


async def test_a_key_that_is_gone_is_forgotten_at_once() -> None:
    keys = Counted()
    tokens = checker(keys)
    assert not await refused(tokens, good())

    keys.key = hs256(SECRET[::-1]).key

    assert await refused(tokens, good())


async def test_memory_is_bounded_and_holds_no_token() -> None:
    tokens = checker()
    for number in range(REMEMBERED + 10):
        await tokens.caller(good(jti=number))

    assert len(tokens._seen) == REMEMBERED
    assert good(jti=0) not in repr(tokens) + repr(list(tokens._seen)[-1])
    before = len(tokens._seen)
    for name, shown in zoo(NOW, "HS256", port=9):
        assert await refused(tokens, shown), name
    assert len(tokens._seen) == before


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("form", ["pem", "jwks"])
async def test_a_key_file_holds_pem_or_jwks(algorithm: str, form: str, tmp_path: Path) -> None:
    key, path = private(algorithm), tmp_path / "key"
    path.write_bytes(pem(key) if form == "pem" else jwks(jwk(key)))

    assert not await refused(checker(key_file(path)), token({"alg": algorithm, "kid": "any"}, claims(NOW), by(key)))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "it is neither PEM nor JWKS"),
        (b"hello", "it is neither PEM nor JWKS"),
        (b"\xff\xfe", "it is neither PEM nor JWKS"),
        (b"{", "not JSON"),
        (b'{"keys": {}}', "a list"),
        (b'{"keys": []}', "no key"),
        (b'{"keys": [1, {}, {"kty": "oct", "k": "AAAA"}]}', "no key"),
        (private_pem(private("RS256")), "private key"),
        (b" " * 300_000, "more than"),
        (pem(rsa.generate_private_key(public_exponent=65537, key_size=1024)), "2048 to 8192 bits, not 1024"),
        (pem(ec.generate_private_key(ec.SECP384R1())), "P-256"),
    ],
)
def test_a_key_file_that_cannot_be_used_says_why(raw: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(raw)

    with pytest.raises(Invalid, match=why) as caught:
        key_file(path)
    assert caught.value.field == "FOLIOT_JWT_KEY_FILE"


def leaving_out() -> dict[str, Mapping[str, Any]]:
    key = private("RS256")
    small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    return {
        "for encryption": jwk(key, "x", use="enc"),
        "not for checking": jwk(key, "x", key_ops=["sign"]),
        "odd operations": jwk(key, "x", key_ops=7),
        "with its private half": jwk(key, "x", d="AQAB"),
        "for another algorithm": jwk(key, "x", alg="PS256"),
        "for a shared one": jwk(key, "x", alg="HS256"),
        "too small": jwk(small, "x"),
        "another curve": jwk(ec.generate_private_key(ec.SECP384R1()), "x"),
        "shared": {"kty": "oct", "k": "A" * 43, "kid": "x"},
        "huge": jwk(key, "x") | {"n": "A" * 100_000},
        "cut": jwk(key, "x") | {"n": "!"},
        "without a number": {"kty": "RSA", "kid": "x", "e": "AQAB"},
        "off the curve": jwk(private("ES256"), "x") | {"y": "A" * 43},
        "odd type": {"kty": ["RSA"], "kid": "x"},
        "odd name": jwk(key) | {"kid": 7},
        "long name": jwk(key, "x" * 300),
    }


@pytest.mark.parametrize("name", leaving_out())
def test_keys_that_cannot_check_signatures_are_left_out(name: str) -> None:
    other = jwk(private("ES256"), "good")

    assert set(key_set(jwks(leaving_out()[name], other)).named) == {"good"}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"keys": 1}',
        jwks(*[{}] * 65),
        jwks(jwk(private("RS256"), "same"), jwk(private("ES256"), "same")),
        jwks(jwk(private("RS256"), "same"), jwk(private("RS256", 1), "same")),
        jwks(jwk(private("RS256")), jwk(private("ES256"))),
    ],
    ids=lambda raw: raw[:20].decode(),
)
def test_a_document_that_cannot_be_meant_is_refused_whole(raw: bytes) -> None:
    with pytest.raises(BadKeys):
        key_set(raw)


def test_the_same_key_twice_is_one() -> None:
    assert len(key_set(jwks(*[jwk(private("RS256"), "same")] * 2)).named) == 1


async def test_among_several_keys_a_token_must_name_its_own() -> None:
    one, two = private("RS256"), private("RS256", 1)
    tokens = checker(key_set(jwks(jwk(one, "one"), jwk(two, "two"))))

    assert not await refused(tokens, token({"alg": "RS256", "kid": "one"}, claims(NOW), by(one)))
    assert await refused(tokens, token({"alg": "RS256", "kid": "two"}, claims(NOW), by(one)))
    assert await refused(tokens, token({"alg": "RS256", "kid": "three"}, claims(NOW), by(one)))
    assert await refused(tokens, token({"alg": "RS256"}, claims(NOW), by(one)))


# --- an identity provider ---------------------------------------------------------------------------------------------


@dataclass
class Provider:
    """Answers what it is told to, and counts."""

    body: bytes = b""
    status: int = 200
    truncated: bool = False
    asked: int = 0

    def check(self, url: str) -> None: ...

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        self.asked += 1
        if self.status == 0:
            raise EgressFailed("target_unreachable", "The target cannot be reached.")
        return OutgoingResponse(
            status=self.status, headers={}, body=self.body, truncated=self.truncated, elapsed=timedelta()
        )


def provided(provider: Provider) -> tuple[Jwks, Tokens]:
    clock = StoppedClock(NOW)
    keys = Jwks(url="https://id.example/jwks", egress=provider, clock=clock)
    return keys, Tokens(keys=keys, clock=clock, expected=Expectations(audience="foliot"))


def signed(algorithm: str, which: int, kid: str) -> str:
    return token({"alg": algorithm, "kid": kid}, claims(NOW), by(private(algorithm, which)))


async def test_until_keys_are_known_the_answer_is_that_something_is_away() -> None:
    provider = Provider(status=0)
    keys, tokens = provided(provider)

    assert (await keys.run_once()).rest == AGAIN
    with pytest.raises(Unavailable, match="FOLIOT_JWKS_URL"):
        await tokens.caller(signed("RS256", 0, "one"))
    assert await refused(tokens, "what is no token is none in any case")
    assert keys.problems() != []


async def test_keys_come_and_go_with_the_providers_document() -> None:
    provider = Provider(jwks(jwk(private("RS256"), "one")))
    keys, tokens = provided(provider)
    assert (await keys.run_once()).rest == PERIOD
    assert not await refused(tokens, signed("RS256", 0, "one"))

    provider.body = jwks(jwk(private("RS256"), "one"), jwk(private("ES256"), "two"))
    assert await refused(tokens, signed("ES256", 0, "two"))
    await keys.run_once()
    assert not await refused(tokens, signed("ES256", 0, "two"))
    assert not await refused(tokens, signed("RS256", 0, "one"))

    provider.body = jwks(jwk(private("ES256"), "two"))
    await keys.run_once()
    assert await refused(tokens, signed("RS256", 0, "one"))
    assert provider.asked == 3
    assert keys.problems() == []


async def test_what_is_open_by_a_key_that_the_provider_withdrew_counts_no_longer() -> None:
    provider = Provider(jwks(jwk(private("RS256"), "one"), jwk(private("ES256"), "two")))
    keys, tokens = provided(provider)
    await keys.run_once()
    one, two = [await tokens.caller(signed(*by_whom)) for by_whom in (("RS256", 0, "one"), ("ES256", 0, "two"))]
    assert await tokens.still(one)

    provider.body = jwks(jwk(private("ES256"), "two"))
    await keys.run_once()

    assert (await tokens.still(one), await tokens.still(two)) == (False, True)


@pytest.mark.parametrize(
    "trouble",
    [
        {"status": 0},
        {"status": 500},
        {"status": 302},
        {"body": b"<html>"},
        {"truncated": True},
        {"body": b'{"keys":1}'},
    ],
    ids=str,
)
async def test_the_last_good_keys_count_while_the_provider_has_trouble(trouble: dict[str, Any]) -> None:
    provider = Provider(jwks(jwk(private("RS256"), "one")))
    keys, tokens = provided(provider)
    await keys.run_once()

    for name, value in trouble.items():
        setattr(provider, name, value)
    did = await keys.run_once()

    assert (did.keys, did.fresh, did.rest) == (1, False, AGAIN)
    assert not await refused(tokens, signed("RS256", 0, "one"))
    assert "last at 2027-01-04 12:00:00Z" in keys.problems()[0]


async def test_a_provider_who_takes_every_key_back_is_believed() -> None:
    provider = Provider(jwks(jwk(private("RS256"), "one")))
    keys, tokens = provided(provider)
    await keys.run_once()

    provider.body = jwks()
    await keys.run_once()

    assert await refused(tokens, signed("RS256", 0, "one"))


async def test_no_token_makes_us_ask_the_provider() -> None:
    provider = Provider(jwks(jwk(private("RS256"), "one")))
    keys, tokens = provided(provider)
    await keys.run_once()

    for name, shown in zoo(NOW, "RS256", port=9):
        assert await refused(tokens, shown), name

    assert provider.asked == 1


# --- signing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["HS256", *ALGORITHMS])
async def test_what_is_signed_is_let_in(algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    expected = Expectations(audience="foliot", issuer="https://us.example")
    if algorithm == "HS256":
        key, keys = hs256(SECRET).key, hs256(SECRET)
    else:
        path.write_bytes(private_pem(private(algorithm)))
        key, keys = private_key(path), SingleKey(VerificationKey(algorithm, private(algorithm).public_key()))

    made = Signer(key=key, expected=expected).sign(
        tenant_id="acme", user_id="ada", role=Role.SYSTEM, life=timedelta(hours=2), now=NOW
    )

    tokens = Tokens(keys=keys, clock=StoppedClock(NOW), expected=expected)
    assert await tokens.caller(made) == Caller("acme", "ada", Role.SYSTEM, expires_at=NOW + timedelta(hours=2))


@pytest.mark.parametrize(
    "wrong", [{"tenant_id": ""}, {"tenant_id": "a" * 65}, {"user_id": " ada"}, {"life": timedelta(days=40)}], ids=str
)
def test_nothing_is_signed_that_no_server_would_accept(wrong: dict[str, Any]) -> None:
    signer = Signer(key=hs256(SECRET).key, expected=Expectations(audience="foliot"))
    asked: dict[str, Any] = {"tenant_id": "acme", "user_id": "ada", "role": Role.VIEWER, "life": timedelta(hours=1)}

    with pytest.raises(Invalid, match="no server would accept it"):
        signer.sign(**asked | wrong, now=NOW)


@pytest.mark.parametrize("raw", [b"", b"hello", pem(private("RS256"))])
def test_only_a_private_key_signs(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(raw)

    with pytest.raises(Invalid, match="must be a private key"):
        private_key(path)


# --- tokens and keys --------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """Knows everybody by one name."""

    name: str
    counts: bool = True

    async def caller(self, bearer: str) -> Caller:
        return Caller(self.name, "somebody", Role.VIEWER, key_id="key_1" if self.name == "keys" else None)

    async def still(self, caller: Caller) -> bool:
        return self.counts


async def test_what_begins_like_an_api_key_is_asked_of_the_keys() -> None:
    both = CredentialCheck(Known("tokens", counts=False), Known("keys"))

    by_key, by_token = await both.caller("flt_x"), await both.caller("eyJ")

    assert (by_key.tenant_id, by_token.tenant_id) == ("keys", "tokens")
    assert await both.still(by_key)
    assert not await both.still(by_token)


async def test_without_a_vault_no_api_key_counts() -> None:
    with pytest.raises(Unauthenticated):
        await CredentialCheck(Known("tokens")).caller("flt_x")
    assert not await CredentialCheck(Known("tokens")).still(Caller("t", "u", Role.VIEWER, key_id="key_1"))


def test_a_set_of_one_key_needs_no_names() -> None:
    key = VerificationKey("RS256", None)

    assert KeySet({None: key}).find("any") is key
    assert KeySet({"one": key}).find(None) is key
    assert KeySet({"one": key}).find("two") is None
    assert json.loads(jwks())["keys"] == []
