"""Wires authentication: JWT verification, API keys, and the identity provider's JWKS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from foliot.auth.keyring import LazyKeyring
from foliot.config.settings import Settings
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import Actor, Loop
from foliot.net.client import HttpEgress

if TYPE_CHECKING:
    from foliot.auth.identity import CredentialCheck
    from foliot.auth.tokens import Expectations
    from foliot.auth.verification_keys import Jwks
    from foliot.auth.verification_keys import VerificationKeys as TokenKeys

FIRST_FETCH = 2.0
"""Seconds for which the start waits for the identity provider's keys; until they arrive, tokens are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """The verifiers of tokens and keys, and the actors that refresh them. Local mode has none."""

    identity: CredentialCheck
    actors: Sequence[Actor]
    jwks: Jwks | None = None
    egress: HttpEgress | None = None
    """An HTTP client that reaches the identity provider only, to fetch its keys."""

    async def start(self, loop: Loop) -> None:
        if self.egress is not None:
            await self.egress.start()
        if self.jwks is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_FETCH):
                    await self.jwks.run_once()
        loop.start(self.actors)

    def problems(self) -> Sequence[str]:
        """Problems with the identity provider's keys."""
        return () if self.jwks is None else self.jwks.problems()

    async def close(self) -> None:
        if self.egress is not None:
            await self.egress.close()


def expectations(settings: Settings) -> Expectations:
    """The claims that a token must have."""
    from foliot.auth.tokens import Expectations

    return Expectations(
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
        longest=timedelta(hours=settings.jwt_max_hours),
    )


def provider(settings: Settings, clock: Clock) -> tuple[Jwks, HttpEgress]:
    """The identity provider's JWKS, and an HTTP client that reaches nothing else."""
    from foliot.auth.verification_keys import Jwks
    from foliot.net.url import read_url

    url = settings.jwks_url or ""
    target = read_url(url)
    place = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    egress = HttpEgress(allow=[place], ports=())
    return Jwks(url=url, egress=egress, clock=clock), egress


def build_authentication(
    settings: Settings, store: Database, clock: Clock, vault: LazyKeyring | None
) -> Authentication:
    """The verifiers of tokens and keys, and the actors that refresh them."""
    # Importing cryptography is slow, and local mode checks no token.
    from foliot.auth.identity import CredentialCheck
    from foliot.auth.tokens import Tokens
    from foliot.auth.verification_keys import hs256, key_file
    from foliot.features.api_keys.key_cache import KeyCache, LastUse

    if not settings.checks_tokens:
        raise Invalid(
            "FOLIOT_LOCAL",
            "must not be off where nothing checks tokens: this process is asked by people and programs; "
            "set FOLIOT_JWT_SECRET, FOLIOT_JWKS_URL or FOLIOT_JWT_KEY_FILE",
        )
    jwks = egress = None
    keys: TokenKeys
    if settings.jwt_secret is not None:
        keys = hs256(settings.jwt_secret.reveal())
    elif settings.jwt_key_file is not None:
        keys = key_file(settings.jwt_key_file)
    else:
        jwks, egress = provider(settings, clock)
        keys = jwks
    last_use = LastUse(store=store)
    return Authentication(
        identity=CredentialCheck(
            Tokens(keys=keys, clock=clock, expected=expectations(settings)),
            None if vault is None else KeyCache(store=store, clock=clock, pepper=vault, last_use=last_use),
        ),
        actors=[last_use] if jwks is None else [last_use, jwks],
        jwks=jwks,
        egress=egress,
    )
