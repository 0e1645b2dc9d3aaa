"""Settings of the Discord bot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.field import about
from foliot.config.parse import SecretValue
from foliot.config.pipelines import tenant
from foliot.core.access import Role

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
            "Which roles of the Discord server may do what: pairs such as `123456789012345678=operator`, separated by "
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
            "Where Discord's API is: for a proxy, or for a stand-in on this machine.", "FOLIOT_DISCORD_API", read=api
        ),
    )
