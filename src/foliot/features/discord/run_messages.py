"""Edits the message of a run until the run has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import discord
import structlog

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.errors import FoliotError
from foliot.core.ports import Clock
from foliot.engine.model.run import EventType
from foliot.features.discord import text as words
from foliot.features.discord.answer import DiscordMembers, DiscordReply, Interaction
from foliot.features.runs.usecases.runs import Runs
from foliot.wakeups.feed import Feed

TOPIC = "discord"
PACE = 1.0
"""Seconds between two rounds; Discord allows five edits in five seconds."""
IDLE = 3600.0
TOKEN_SECONDS = 14 * 60.0
"""How long a message is edited by its interaction's token, which expires after 15 minutes; later by the bot's."""
MOST = 200
"""Messages that are followed at once; beyond that, the oldest is no longer updated."""
TRIES = 5
EVENTS = 200

log = structlog.get_logger("foliot.discord")


@dataclass(slots=True)
class FollowedRun:
    """A message and its run."""

    caller: Caller
    what: str
    run_id: str
    interaction: Interaction
    message_id: int
    since: float
    shown: str
    after: int = 0
    progress: Mapping[str, Any] | None = None
    failures: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class MessagesUpdated:
    """How long the follower sleeps."""

    rest: float


@dataclass(slots=True, kw_only=True)
class RunMessages:
    """Reads every followed run about once a second, and edits its message when it has changed."""

    cases: UseCases
    members: DiscordMembers
    clock: Clock
    feed: Feed
    followed: list[FollowedRun] = field(default_factory=list)
    name: str = "discord-follower"
    topics: Sequence[str] = (TOPIC,)

    def follow(self, interaction: Interaction, answer: DiscordReply, message_id: int) -> None:
        if answer.run is None:
            return
        caller, since = self.members.caller(interaction), self.clock.monotonic()
        one = FollowedRun(caller, answer.what, answer.run.id, interaction, message_id, since, answer.text)
        self.followed = [*self.followed[-MOST + 1 :], one]
        self.feed.wake(TOPIC)

    async def run_once(self) -> MessagesUpdated:
        await asyncio.gather(*(self._look(one) for one in self.followed))
        self.followed = [one for one in self.followed if not one.ended]
        return MessagesUpdated(PACE if self.followed else IDLE)

    async def _look(self, one: FollowedRun) -> None:
        try:
            run, events = await self.cases[Runs].events(one.caller, one.run_id, one.after, EVENTS)
        except FoliotError:
            one.ended = self._once_more(one)
            return
        for event in events:
            one.after = event.seq
            one.progress = event.data if event.type is EventType.PROGRESS else one.progress
        text = words.run_message(one.what, run, one.progress)
        one.ended = run.state.final
        if text != one.shown:
            await self._write(one, text)

    async def _write(self, one: FollowedRun, text: str) -> None:
        no_mentions = discord.AllowedMentions.none()
        try:
            if self.clock.monotonic() - one.since < TOKEN_SECONDS:
                await one.interaction.edit_original_response(content=text, allowed_mentions=no_mentions)
            else:
                channel = one.interaction.client.get_partial_messageable(one.interaction.channel_id or 0)
                await channel.get_partial_message(one.message_id).edit(content=text, allowed_mentions=no_mentions)
        except discord.NotFound:
            # The message was deleted.
            one.ended = True
        except Exception as failed:  # noqa: BLE001 -- errors of Discord's API end here
            one.ended = self._once_more(one)
            log.debug("a message was not edited", action="discord_not_edited", error=str(failed)[:300])
        else:
            one.shown, one.failures = text, 0

    @staticmethod
    def _once_more(one: FollowedRun) -> bool:
        """Counts a failed edit; whether to give up on the message."""
        one.failures += 1
        return one.failures >= TRIES
