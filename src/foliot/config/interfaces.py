"""Settings of the gRPC server and the Discord bot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foliot.config import access
from foliot.config import parse as reading
from foliot.config.parse import SecretValue, about, tenant
from foliot.core.access import Role
from foliot.core.errors import Invalid

USUAL_PORT = 50054
OFF = "off"
"""The value that turns the gRPC server off."""


def grpc_port(text: str) -> int | str | None:
    """Kubernetes sets GRPC_PORT beside a service named grpc: it holds a URL, not a port, and is ignored."""
    if text.startswith("tcp://"):
        return None
    if text.lower() == OFF:
        return OFF
    try:
        return reading.whole(0, 65535)(text)
    except ValueError as rule:
        raise ValueError(f"{rule}, or {OFF}") from None


@dataclass(frozen=True, kw_only=True, repr=False)
class GrpcSettings:
    """Settings of the gRPC server."""

    grpc_host: str | None = field(
        default=None,
        metadata=about(
            "Address the gRPC server listens on; in local mode a loopback address. Default: that of `FOLIOT_HOST`.",
            "FOLIOT_GRPC_HOST",
            read=reading.address,
        ),
    )
    grpc_port: int | str | None = field(
        default=None,
        metadata=about(
            f"Port the gRPC server listens on; 0 takes any free one and prints it, `{OFF}` starts no gRPC server. "
            f"Default: {USUAL_PORT}; `foliot up` starts without gRPC when that port is taken.",
            "FOLIOT_GRPC_PORT",
            "GRPC_PORT",
            read=grpc_port,
        ),
    )
    grpc_reflection: bool | None = field(
        default=None,
        metadata=about(
            "Whether the gRPC server answers reflection, without a token: 1 or 0. Default: 1 in local mode, else 0.",
            "FOLIOT_GRPC_REFLECTION",
            read=reading.switch,
        ),
    )
    grpc_tls_cert: Path | None = field(
        default=None,
        metadata=about(
            "File with the certificate (PEM, with its chain) of the gRPC server; with `FOLIOT_GRPC_TLS_KEY`. "
            "Default: no TLS.",
            "FOLIOT_GRPC_TLS_CERT",
            read=reading.file,
        ),
    )
    grpc_tls_key: Path | None = field(
        default=None,
        metadata=about("File with its private key (PEM).", "FOLIOT_GRPC_TLS_KEY", read=reading.file),
    )


def complaints(values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]]) -> list[Invalid]:
    """Checks rules between these settings and the others."""
    errors = []
    host = values["grpc_host"]
    if host is not None and not reading.is_loopback(host) and not any(values[name] for name in access.SOURCES):
        rule = "must be a loopback address (127.0.0.1, ::1 or localhost) as long as no token is required"
        errors.append(Invalid(next(iter(given("grpc_host"))), rule, got=host))
    pair = {"grpc_tls_cert": "FOLIOT_GRPC_TLS_CERT", "grpc_tls_key": "FOLIOT_GRPC_TLS_KEY"}
    missing = [key for name, key in pair.items() if values[name] is None]
    if len(missing) == 1:
        errors.append(Invalid(missing[0], "must be set too: a certificate and its key go together"))
    return errors


API = "https://discord.com/api/v10"
USER = "user:"
"""The prefix that marks a member's id among the ids of roles."""

_ID = re.compile(r"[1-9]\d{0,19}")
_ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)
_RULE = (
    "must be pairs of a role's id and viewer, operator or admin, such as 123456789012345678=operator, "
    "separated by commas; user:<id> stands for one member"
)


def token(text: str) -> SecretValue:
    """Strips the scheme word of a header; only Discord can tell whether the token is valid."""
    bare = text.removeprefix("Bot ").strip()
    if not bare.isascii() or not bare.isprintable() or " " in bare:
        raise ValueError("must be the token of a bot as Discord shows it: visible characters without spaces")
    return SecretValue(bare)


def snowflake(text: str) -> int:
    if not _ID.fullmatch(text):
        raise ValueError("must be an id of Discord: a whole number, as in Copy ID")
    return int(text)


def roles(text: str) -> tuple[tuple[str, Role], ...]:
    """Maps Discord's roles and members to roles here."""
    granted: dict[str, Role] = {}
    for entry in reading.entries(text):
        member, equals, role = (part.strip() for part in entry.partition("="))
        if not equals or not _ID.fullmatch(member.removeprefix(USER)) or role not in _ROLES or member in granted:
            raise ValueError(_RULE)
        granted[member] = Role(role)
    return tuple(granted.items())


def api(text: str) -> str:
    """The bot's token is sent there: without TLS only on loopback."""
    parts = urlsplit(text)
    near = parts.scheme == "http" and reading.is_loopback(parts.hostname or "")
    if not (parts.scheme == "https" or near) or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError(f"must be an https:// URL such as {API}, or an http:// one on this machine")
    return text.rstrip("/")


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscordSettings:
    """Who may use Foliot from Discord, and with which role."""

    discord_token: SecretValue | None = field(
        default=None,
        metadata=about(
            "The bot's token: starts the Discord bot in `foliot up` and `foliot discord`, and is what `DiscordSink` "
            "sends with. Default: no bot.",
            "FOLIOT_DISCORD_TOKEN",
            "DISCORD_TOKEN",
            read=token,
            secret=True,
        ),
    )
    discord_roles: tuple[tuple[str, Role], ...] = field(
        default=(),
        metadata=about(
            "What the roles of the Discord server may do: pairs such as `123456789012345678=operator`, separated by "
            "commas; `viewer` looks, `operator` and `admin` also run, schedule and remove; `user:<id>=…` names one "
            "member. Of several roles the highest counts. Default: no member may do anything.",
            "FOLIOT_DISCORD_ROLES",
            read=roles,
        ),
    )
    discord_guild: int | None = field(
        default=None,
        metadata=about(
            "The id of the one Discord server whose commands count, and in which they are registered (at once there; "
            "elsewhere it takes Discord longer). Default: any server the bot was invited to, by its roles.",
            "FOLIOT_DISCORD_GUILD",
            read=snowflake,
        ),
    )
    discord_tenant: str | None = field(
        default=None,
        metadata=about(
            "The tenant whose pipelines and schedules are commanded from Discord. "
            "Default: that of `FOLIOT_PIPELINES_TENANT`.",
            "FOLIOT_DISCORD_TENANT",
            read=tenant,
        ),
    )
    discord_api: str = field(
        default=API,
        metadata=about(
            "Address of Discord's API, for a proxy or a test server on this machine.", "FOLIOT_DISCORD_API", read=api
        ),
    )
