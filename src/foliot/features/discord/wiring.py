"""Wires the Discord bot; discord.py is imported only where the bot is enabled."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from foliot.commands.envelope import UseCases
from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.wakeups.feed import Feed

if TYPE_CHECKING:
    from foliot.features.discord.connection import DiscordConnection

NOT_INSTALLED = "Discord: needs discord.py, which is not installed: pip install 'foliot[discord]'"


def is_installed() -> bool:
    """Whether discord.py is installed; without it, the rest of the process works all the same."""
    return find_spec("discord") is not None


def build_connection(settings: Settings, usecases: UseCases, clock: Clock, feed: Feed) -> DiscordConnection:
    """The bot with its map of members; it connects only once it is started."""
    from foliot.features.discord.answer import DiscordMembers
    from foliot.features.discord.connection import DiscordConnection

    members = DiscordMembers(
        roles=dict(settings.discord_roles),
        tenant_id=settings.discord_tenant or settings.pipelines_tenant,
        guild=settings.discord_guild,
    )
    token = settings.discord_token
    return DiscordConnection(
        cases=usecases,
        members=members,
        clock=clock,
        feed=feed,
        token=None if token is None else token.reveal(),
        api=settings.discord_api,
    )
