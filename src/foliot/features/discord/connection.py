"""Keeps one process connected to Discord; reconnects with back-off, without affecting the rest of the process.

The bot: one gateway connection with the slash commands and buttons.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import discord
import structlog
from discord import app_commands

from foliot.commands.envelope import UseCases
from foliot.core.errors import FoliotError, Forbidden
from foliot.core.ports import Clock
from foliot.engine.loop import Actor
from foliot.features.discord import answer
from foliot.features.discord.answer import (
    ButtonAction,
    DiscordMembers,
    DiscordReplies,
    DiscordReply,
    FoliotButton,
    Interaction,
)
from foliot.features.discord.requests import LONGEST, DiscordRequests, ScheduleDraftMessage, draft_of
from foliot.features.discord.run_messages import MessagesUpdated, RunMessages
from foliot.wakeups.feed import Feed

Choice = app_commands.Choice
PIPELINE = "The pipeline's name"
JOB = "The job's id, as /jobs shows it"
NAME = app_commands.Range[str, 1, 100]
EXPRESSION = app_commands.Range[str, 1, LONGEST]
Asked = discord.Interaction[Any]
T = TypeVar("T")

TYPING = 2.5
"""Timeout of autocompletion; Discord does not let it be deferred."""


async def _offered(found: Coroutine[Any, Any, Sequence[T]]) -> Sequence[T]:
    """Nothing, on a timeout or an error: autocompletion is optional."""
    try:
        async with asyncio.timeout(TYPING):
            return await found
    except (FoliotError, TimeoutError):
        return ()


def commands(desk: DiscordRequests, answering: DiscordReplies) -> Sequence[app_commands.Command[Any, ..., Any]]:
    """Every command. Members without permission see them too: permission is checked when they are used."""

    async def pipelines_named(asked: Asked, typed: str) -> list[Choice[str]]:
        return [Choice(name=name, value=name) for name in await _offered(desk.choose_pipeline(asked, typed))]

    async def jobs_named(asked: Asked, typed: str) -> list[Choice[str]]:
        found = await _offered(desk.choose_job(asked, typed))
        return [Choice(name=f"{one.name[:60]} ({one.id[-8:]})", value=one.id) for one in found]

    @app_commands.command(description="Run a pipeline now")
    @app_commands.describe(pipeline=PIPELINE)
    @app_commands.autocomplete(pipeline=pipelines_named)
    async def run(asked: Asked, pipeline: NAME) -> None:
        await answering.give(asked, desk.run(asked, pipeline, asked.id), private=False)

    @app_commands.command(description="Schedule a pipeline; shows when it would run before anything is saved")
    @app_commands.describe(
        pipeline=PIPELINE,
        cron="When, as a cron expression: 0 9 * * 1-5 is at nine from Monday to Friday",
        timezone="The time zone, such as Europe/Stockholm",
    )
    @app_commands.autocomplete(pipeline=pipelines_named)
    async def schedule(asked: Asked, pipeline: NAME, cron: EXPRESSION, timezone: NAME | None = None) -> None:
        draft = ScheduleDraftMessage(pipeline, cron.strip(), (timezone or "").strip())
        await answering.give(asked, desk.schedule(asked, draft, asked.id))

    @app_commands.command(description="List the scheduled jobs")
    async def jobs(asked: Asked) -> None:
        await answering.give(asked, desk.jobs(asked))

    @app_commands.command(description="Remove a scheduled job")
    @app_commands.describe(job_id=JOB)
    @app_commands.autocomplete(job_id=jobs_named)
    async def remove(asked: Asked, job_id: NAME) -> None:
        await answering.give(asked, desk.remove(asked, job_id.strip()))

    @app_commands.command(description="List the pipelines")
    async def pipelines(asked: Asked) -> None:
        await answering.give(asked, desk.pipelines(asked))

    @app_commands.command(description="Show the status of Foliot, of a job or of a run")
    @app_commands.describe(job_id=f"{JOB}, or a run's id")
    @app_commands.autocomplete(job_id=jobs_named)
    async def status(asked: Asked, job_id: NAME | None = None) -> None:
        await answering.give(asked, desk.status(asked, None if job_id is None else job_id.strip()))

    made: list[app_commands.Command[Any, ..., Any]] = [run, schedule, jobs, remove, pipelines, status]
    for one in made:
        one.guild_only = True
    return made


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
        log.warning("a command could not be read", action="discord_not_understood", error=str(error)[:300])
        if not interaction.response.is_done():
            text = "✕ Foliot does not know this command any more: press Ctrl-R and try again"
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
            await answer.enter(self.http)
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
        log.info("the connection was lost", action="discord_gone")

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


API = "https://discord.com/api/v10"
FIRST_REST, LONGEST_REST = 2.0, 300.0
REFUSED_REST = 3600.0
"""A token that Discord refuses stays refused, and too many attempts get the bot blocked."""
STEADY = 60.0
"""A connection that lasted so long resets the back-off."""
GRACE = 2.0
AUTHENTICATION_FAILED = 4004


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
        answer.settle(self.api)
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
            self.trouble = "Discord refuses the token: correct DISCORD_TOKEN and restart"
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
