"""The bot: one gateway connection with the slash commands and buttons."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

import discord
import structlog
from discord import app_commands

from foliot.core.errors import Forbidden
from foliot.features.discord import api_base
from foliot.features.discord.answer import DiscordReplies, DiscordReply, Interaction
from foliot.features.discord.buttons import ButtonAction, FoliotButton
from foliot.features.discord.commands import commands
from foliot.features.discord.members import DiscordMembers
from foliot.features.discord.requests import DiscordRequests, draft_of

log = structlog.get_logger("foliot.discord")

# discord.py warns of voice and of caches that are not used, and logs a trace for each lost connection, which we log.
for _noisy in ("discord.client", "discord.state"):
    logging.getLogger(_noisy).setLevel(logging.CRITICAL)


class CommandTree(app_commands.CommandTree[Any]):
    """Refuses members without a role in the map; autocompletion then offers nothing."""

    members: DiscordMembers

    async def interaction_check(self, interaction: Interaction, /) -> bool:
        if interaction.type is not discord.InteractionType.autocomplete:
            return True
        try:
            self.members.caller(interaction)
        except Forbidden:
            await interaction.response.autocomplete([])
            return False
        return True

    async def on_error(self, interaction: Interaction, error: app_commands.AppCommandError, /) -> None:
        """For a command that was removed or changed: Discord still has an old list of them."""
        log.warning("a command was not understood", action="discord_not_understood", error=str(error)[:300])
        if not interaction.response.is_done():
            text = "✕ Foliot does not know this command any more: press Ctrl-R, and look again"
            await interaction.response.send_message(text, ephemeral=True)


class Bot(discord.Client):
    """Uses its token only once it is started."""

    def __init__(
        self, desk: DiscordRequests, answering: DiscordReplies, *, guild: int | None, asks_where: bool
    ) -> None:
        # Interactions need no intent, and no other events are used.
        super().__init__(
            intents=discord.Intents.none(), allowed_mentions=discord.AllowedMentions.none(), max_messages=None
        )
        self.desk = desk
        self.answering = answering
        self.guild = None if guild is None else discord.Object(guild)
        self.asks_where = asks_where
        self.tree = CommandTree(self)
        self.tree.members = desk.members
        for command in commands(desk, answering):
            self.tree.add_command(command, guild=self.guild)
        self.add_dynamic_items(FoliotButton)

    async def setup_hook(self) -> None:
        if self.asks_where:
            await api_base.enter(self.http)
        try:
            await self.tree.sync(guild=self.guild)
        except discord.HTTPException as failed:
            # The commands that were registered last time still work.
            log.warning("the commands were not registered", action="discord_not_synced", error=str(failed)[:300])

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Drops events once the bot is closing: the library would look for an event loop that it has released."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def on_ready(self) -> None:
        log.info("connected", action="discord_ready", bot=str(self.user))

    async def on_resumed(self) -> None:
        log.info("connected again", action="discord_resumed")

    async def on_disconnect(self) -> None:
        log.info("the connection is gone", action="discord_gone")

    async def on_error(self, event_method: str, /, *_args: Any, **_kwargs: Any) -> None:
        log.error(
            "an event was not handled",
            action="discord_event_failed",
            event_method=event_method,
            exc_info=sys.exc_info(),
        )

    async def pressed(self, interaction: Interaction, press: ButtonAction, of: int) -> None:
        """Handles a button on one of the bot's messages."""
        match press:
            case ButtonAction.SAVE:
                await self.answering.change(interaction, self.desk.save(interaction, of))
            case ButtonAction.CANCEL:
                await self.answering.change(interaction, self.desk.cancel(interaction))
            case ButtonAction.SCHEDULE:
                await self.answering.change(interaction, self._schedule(interaction, of))
            case ButtonAction.RUN:
                await self.answering.give(interaction, self._run(interaction, of), private=False)

    async def _schedule(self, interaction: Interaction, of: int) -> DiscordReply:
        return await self.desk.schedule(interaction, draft_of(interaction), of)

    async def _run(self, interaction: Interaction, of: int) -> DiscordReply:
        return await self.desk.run(interaction, draft_of(interaction).pipeline, of)

    @property
    def names(self) -> Sequence[str]:
        """The names of its commands."""
        return [command.name for command in self.tree.get_commands(guild=self.guild)]
