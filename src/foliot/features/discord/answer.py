"""Answers an interaction in time: Discord waits three seconds, then calls the bot dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import discord
import structlog

from foliot.engine.model.views import RunView
from foliot.features.discord import text as words
from foliot.features.discord.buttons import Button, view_of

PATIENCE = 1.5
"""Seconds after which the asker is told that the answer takes longer. Discord's three count from the click."""
LONGEST = 60.0
"""Seconds after which no answer is an answer."""

log = structlog.get_logger("foliot.discord")

Interaction = discord.Interaction[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordReply:
    """What somebody is told."""

    text: str = ""
    embed: discord.Embed | None = None
    buttons: Sequence[Button] = ()
    private: bool = True
    """Only the asker sees it."""
    failed: bool = False
    run: RunView | None = None
    """Its message is to follow this run."""
    what: str = ""
    """What the run is of."""

    def shown(self) -> dict[str, Any]:
        """As the library takes it."""
        made: dict[str, Any] = {"content": self.text, "allowed_mentions": discord.AllowedMentions.none()}
        if self.embed is not None:
            made["embed"] = self.embed
        if self.buttons:
            made["view"] = view_of(self.buttons)
        return made


Follow = Callable[[Interaction, DiscordReply, int], None]
"""Takes over a message that is to follow a run."""


@dataclass(slots=True)
class DiscordReplies:
    """Gives every interaction its answer. What has begun goes on to its end, whoever stops waiting."""

    follow: Follow
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def give(
        self, interaction: Interaction, asked: Coroutine[Any, Any, DiscordReply], *, private: bool = True
    ) -> None:
        """A message of its own. `private`: what is promised while the answer takes its time."""
        work = self._begin(asked)
        await asyncio.wait({work}, timeout=PATIENCE)
        late = not work.done()
        try:
            if late:
                await interaction.response.defer(ephemeral=private, thinking=True)
            answer = await work
            message_id = await (self._later(interaction, answer, private) if late else _at_once(interaction, answer))
        except Exception as lost:  # noqa: BLE001 -- Discord's troubles end here
            _lost(interaction, lost)
            return
        if answer.run is not None and message_id is not None and not answer.private:
            self.follow(interaction, answer, message_id)

    async def change(self, interaction: Interaction, asked: Coroutine[Any, Any, DiscordReply]) -> None:
        """In place of the message whose button was pressed; what went wrong comes beside it."""
        work = self._begin(asked)
        await asyncio.wait({work}, timeout=PATIENCE)
        late = not work.done()
        try:
            if late:
                await interaction.response.defer()
            answer = await work
            if answer.failed:
                await (interaction.followup.send if late else interaction.response.send_message)(
                    **answer.shown(), ephemeral=True
                )
            else:
                # What is not named stays: the old embed and the old buttons must go.
                shown = {"embed": None, "view": None, **answer.shown()}
                await (interaction.edit_original_response if late else interaction.response.edit_message)(**shown)
        except Exception as lost:  # noqa: BLE001 -- Discord's troubles end here
            _lost(interaction, lost)

    async def rest(self, seconds: float) -> None:
        """Wait for what is under way."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)

    def _begin(self, asked: Coroutine[Any, Any, DiscordReply]) -> asyncio.Task[DiscordReply]:
        task = asyncio.create_task(_settled(asked))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    @staticmethod
    async def _later(interaction: Interaction, answer: DiscordReply, private: bool) -> int | None:  # noqa: FBT001
        if answer.private and not private:
            # Promised to all, and now for one: the promise is taken back.
            await interaction.delete_original_response()
            await interaction.followup.send(**answer.shown(), ephemeral=True)
            return None
        return (await interaction.edit_original_response(**answer.shown())).id


async def _at_once(interaction: Interaction, answer: DiscordReply) -> int | None:
    sent = await interaction.response.send_message(**answer.shown(), ephemeral=answer.private)
    return sent.message_id


async def _settled(asked: Coroutine[Any, Any, DiscordReply]) -> DiscordReply:
    """The answer, or why there is none."""
    try:
        async with asyncio.timeout(LONGEST):
            return await asked
    except Exception as error:
        said = words.refusal(error)
        if words.is_surprise(error):
            log.exception("a command failed", action="discord_command_failed")
        return DiscordReply(text=said, failed=True)


def _lost(interaction: Interaction, lost: Exception) -> None:
    """Nobody hears it: another process has answered already, or it came too late."""
    log.warning(
        "an answer did not arrive",
        action="discord_answer_lost",
        interaction=interaction.id,
        error=f"{type(lost).__name__}: {lost}"[:300],
    )
