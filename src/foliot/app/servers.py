"""Opens the doors: who may come in, and how HTTP and gRPC are wired to the use cases.

Each is imported when it is wanted, for all of them take their time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foliot.auth.digest import Pepper
from foliot.auth.identity_port import Identity
from foliot.auth.lazy_keyring import LateKeyring
from foliot.commands.use_cases import UseCases
from foliot.config.settings import Settings
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import Actor, Loop
from foliot.net.client import HttpEgress
from foliot.wakeups.feed import Feed

if TYPE_CHECKING:
    from foliot.auth.claims import Expectations
    from foliot.auth.identity import Identities
    from foliot.auth.jwks import Jwks
    from foliot.auth.verification_keys import Keys as TokenKeys
    from foliot.features.discord.connection import DiscordDoor
    from foliot.servers.grpc.server import RpcDoor

FIRST_FETCH = 2.0
"""Seconds for which the start waits for the keys of an identity provider; after that, their arrival opens the door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """Who may come in, and what must run for it. Local mode has none."""

    identity: Identities
    actors: Sequence[Actor]
    jwks: Jwks | None = None
    egress: HttpEgress | None = None
    """Leads to the identity provider, and nothing but its keys is fetched by it."""

    async def open(self, loop: Loop) -> None:
        if self.egress is not None:
            await self.egress.start()
        if self.jwks is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_FETCH):
                    await self.jwks.run_once()
        loop.start(self.actors)

    async def close(self) -> None:
        if self.egress is not None:
            await self.egress.close()


def expectations(settings: Settings) -> Expectations:
    """What a token must say."""
    from foliot.auth.claims import Expectations

    return Expectations(
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
        longest=timedelta(hours=settings.jwt_max_hours),
    )


def provider(settings: Settings, clock: Clock) -> tuple[Jwks, HttpEgress]:
    """The keys of the identity provider, and a way out that leads nowhere else."""
    from foliot.auth.jwks import Jwks
    from foliot.net.url import read_url

    url = settings.jwks_url or ""
    target = read_url(url)
    place = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    egress = HttpEgress(allow=[place], ports=())
    return Jwks(url=url, egress=egress, clock=clock), egress


def entrance_of(settings: Settings, store: Database, clock: Clock, vault: LateKeyring | None) -> Entrance:
    """Tokens, keys, and what keeps them fresh."""
    # Cryptography takes its time to import, and local mode checks no token.
    from foliot.auth.identity import Identities
    from foliot.auth.tokens import Tokens
    from foliot.auth.verification_keys import hs256, key_file
    from foliot.features.api_keys.key_cache import Keys
    from foliot.features.api_keys.last_use import LastUse

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
    return Entrance(
        identity=Identities(
            Tokens(keys=keys, clock=clock, expected=expectations(settings)),
            None if vault is None else Keys(store=store, clock=clock, pepper=vault, last_use=last_use),
        ),
        actors=[last_use] if jwks is None else [last_use, jwks],
        jwks=jwks,
        egress=egress,
    )


def rest_door(
    settings: Settings, usecases: UseCases, identity: Identity | None, pepper: Pepper | None
) -> Callable[..., Any]:
    """HTTP, as an application for a server."""
    # The web framework takes longer to import than everything else together; a scheduler and an audit need none.
    from foliot.app.http import create_app
    from foliot.servers.http.same_site import LOOPBACK
    from foliot.web import DIST

    scraper = settings.metrics_token
    return create_app(
        usecases,
        identity=identity,
        hosts=LOOPBACK | {settings.host},
        metrics_token=None if scraper is None else scraper.reveal(),
        cursor_pepper=pepper,
        pages=DIST,
        public_url=settings.public_url,
    )


def discord_door(settings: Settings, usecases: UseCases, clock: Clock, feed: Feed) -> DiscordDoor | str:
    """Discord, or why there is no such door: whatever is wrong with it stops nothing else."""
    from importlib.util import find_spec

    if find_spec("discord") is None:
        return "Discord: needs discord.py, which is not installed: pip install 'foliot[discord]'"
    from foliot.features.discord.connection import DiscordDoor
    from foliot.features.discord.members import Members

    members = Members(
        roles=dict(settings.discord_roles),
        tenant_id=settings.discord_tenant or settings.pipelines_tenant,
        guild=settings.discord_guild,
    )
    token = settings.discord_token
    return DiscordDoor(
        cases=usecases,
        members=members,
        clock=clock,
        feed=feed,
        token=None if token is None else token.reveal(),
        api=settings.discord_api,
    )


def rpc_door(
    settings: Settings, usecases: UseCases, identity: Identity | None, pepper: Pepper | None, port: int, beside: Any
) -> RpcDoor:
    """GRPC at this port. `beside` is the HTTP door of the same process, if there is one."""
    from foliot.features.schedules.rpc.methods import scheduler_service
    from foliot.servers.grpc.server import Listening, RpcDoor

    certificate, key = settings.grpc_tls_cert, settings.grpc_tls_key
    reflect = settings.grpc_reflection
    return RpcDoor(
        cases=usecases,
        service=scheduler_service,
        listening=Listening(
            host=settings.grpc_host or settings.host,
            port=port,
            certificate=None if certificate is None else certificate.read_bytes(),
            key=None if key is None else key.read_bytes(),
        ),
        identity=identity,
        pepper=pepper,
        reflect=settings.local if reflect is None else reflect,
        needed=beside is None or settings.grpc_port is not None,
        # A tenant's streams are counted over both doors.
        **({} if beside is None else {"streams_of": beside.state.streams.of}),
    )
