"""`foliot token`."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.core.access import LOCAL, Role
from foliot.terminal.access import needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import duration
from foliot.terminal.output import Exit, Failure, one_line_errors

group = CommandGroup()

LONGEST = 100 * 366 * 86_400

if TYPE_CHECKING:
    from foliot.auth.verification_keys import VerificationKey
    from foliot.config.settings import Settings


@group.command()
@needs()
def token(
    *,
    tenant: Annotated[str, typer.Option(help="The tenant it gives access to.")] = LOCAL.tenant_id,
    user: Annotated[str, typer.Option(help="The user that changes are recorded under.")] = "cli",
    role: Annotated[Role, typer.Option(help="What it allows.")] = Role.VIEWER,
    ttl: Annotated[str, typer.Option(help="How long it is valid: 90s, 15m, 8h, 30d.")] = "8h",
    key_file: Annotated[
        Path | None,
        typer.Option(help="Private key (PEM) to sign with, for servers that verify by FOLIOT_JWT_KEY_FILE or a JWKS."),
    ] = None,
    kid: Annotated[str | None, typer.Option(help="Id of that key (kid), for servers that know several.")] = None,
) -> None:
    """Sign a token with FOLIOT_JWT_SECRET and print it; every server with the same settings accepts it."""
    from foliot.auth.tokens import Signer
    from foliot.config.settings import Settings
    from foliot.db.clock import wall
    from foliot.features.api_keys import wiring

    with one_line_errors():
        seconds = duration("--ttl", ttl)
        if not 1 <= seconds <= LONGEST:
            raise Failure(f"--ttl: must be at least a second and at most 100 years, got {ttl!r}", Exit.USAGE)
        life = timedelta(seconds=int(seconds))
        settings = Settings.load(os.environ)
        signer = Signer(key=_key(settings, key_file), expected=wiring.expectations(settings), kid=kid)
        typer.echo(signer.sign(tenant_id=tenant, user_id=user, role=role, life=life, now=wall()))


def _key(settings: Settings, path: Path | None) -> VerificationKey:
    from foliot.auth.tokens import private_key
    from foliot.auth.verification_keys import hs256

    if path is not None:
        return private_key(path)
    if settings.jwt_secret is not None:
        return hs256(settings.jwt_secret.reveal()).key
    if not settings.checks_tokens:
        raise Failure(
            "there is no key to sign with, and local mode needs no token: "
            "set FOLIOT_JWT_SECRET (at least 32 bytes) to the value of the server"
        )
    raise Failure(
        "the servers know only a public key, which cannot sign: ask your identity provider for a token, "
        "or give the private key with --key-file"
    )
