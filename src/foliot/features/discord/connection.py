"""Keeps one process connected to Discord; reconnects with back-off, without affecting the rest of the process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import discord
import structlog

from foliot.commands.envelope import UseCases
from foliot.core.ports import Clock
from foliot.engine.loop import Actor
from foliot.features.discord import api_base
from foliot.features.discord.answer import DiscordReplies
from foliot.features.discord.bot import Bot
from foliot.features.discord.members import DiscordMembers
from foliot.features.discord.requests import DiscordRequests
from foliot.features.discord.run_messages import MessagesUpdated, RunMessages
from foliot.wakeups.feed import Feed

API = "https://discord.com/api/v10"
FIRST_REST, LONGEST_REST = 2.0, 300.0
REFUSED_REST = 3600.0
"""A token that Discord refuses stays refused, and too many attempts get the bot blocked."""
STEADY = 60.0
"""A connection that lasted so long resets the back-off."""
GRACE = 2.0
AUTHENTICATION_FAILED = 4004

log = structlog.get_logger("foliot.discord")


@dataclass(slots=True, kw_only=True)
class DiscordConnection:
    """Keeps the bot connected. Without a token it does nothing."""

    cases: UseCases
    members: DiscordMembers
    clock: Clock
    feed: Feed
    token: str | None = field(default=None, repr=False)
    api: str = API
    name: str = "discord"
    topics: Sequence[str] = ()
    trouble: str | None = None
    """The last error."""
    _follower: RunMessages = field(init=False)
    _answering: DiscordReplies = field(init=False)
    _bot: Bot | None = field(init=False, default=None)
    _link: asyncio.Task[None] | None = field(init=False, default=None)
    _failures: int = field(init=False, default=0)
    _stopping: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._follower = RunMessages(cases=self.cases, members=self.members, clock=self.clock, feed=self.feed)
        self._answering = DiscordReplies(self._follower.follow)

    def actors(self) -> Sequence[Actor]:
        """The actors of the bot."""
        return [self, self._follower]

    def bot(self) -> Bot:
        """A new bot, not connected: each connection has its own."""
        desk = DiscordRequests(cases=self.cases, members=self.members)
        return Bot(desk, self._answering, guild=self.members.guild, asks_where=self.api != API)

    @property
    def connected(self) -> bool:
        return self._bot is not None and self._bot.is_ready()

    def remark(self) -> str | None:
        """The line that health shows to operators."""
        if self.connected or self.trouble is None:
            return None
        return f"Discord: {self.trouble}"

    async def run_once(self) -> MessagesUpdated:
        """Connect and stay connected until that ends; returns when to try again."""
        if self.token is None or self._stopping:
            return MessagesUpdated(REFUSED_REST)
        api_base.settle(self.api)
        began, bot = self.clock.monotonic(), self.bot()
        # A task of its own, so that one that hangs can be abandoned.
        link = asyncio.create_task(bot.start(self.token), name="foliot-discord-link")
        self._bot, self._link = bot, link
        await asyncio.wait({link})
        self._bot = self._link = None
        await _hang_up(bot)
        failed = None if link.cancelled() else link.exception()
        return MessagesUpdated(FIRST_REST) if failed is None else self._failed(failed, self.clock.monotonic() - began)

    async def stop(self) -> None:
        """Finish the answers under way, and disconnect."""
        self._stopping = True
        await self._answering.rest(GRACE)
        link = self._link
        if self._bot is not None:
            await _hang_up(self._bot)
        if link is not None:
            link.cancel()

    def _failed(self, failed: BaseException, lasted: float) -> MessagesUpdated:
        if _refused(failed):
            self.trouble = "it refuses the token: see DISCORD_TOKEN, and start again with the right one"
            log.error(self.trouble, action="discord_refused")
            return MessagesUpdated(REFUSED_REST)
        self._failures = 1 if lasted > STEADY else self._failures + 1
        rest = min(FIRST_REST * 2.0 ** min(self._failures - 1, 10), LONGEST_REST)
        self.trouble = f"no connection ({type(failed).__name__}); the next try is in {rest:.0f} s"
        log.warning(
            "no connection to Discord",
            action="discord_failed",
            error=f"{type(failed).__name__}: {failed}"[:300],
            again_in=rest,
        )
        return MessagesUpdated(rest)


async def _hang_up(bot: Bot) -> None:
    """Closes the connection with a timeout: Discord may not answer the close frame."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(GRACE):
            await bot.close()


def _refused(failed: BaseException) -> bool:
    if isinstance(failed, discord.ConnectionClosed):
        return failed.code == AUTHENTICATION_FAILED
    return isinstance(failed, discord.LoginFailure)
