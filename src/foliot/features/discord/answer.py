"""Answers interactions before Discord's limit of three seconds; a slow answer is deferred first.

The base URL of Discord's API. discord.py has one for the whole process, so a process has one Discord.

Maps Discord members to callers. A member who is not in the map has no rights; Discord's permissions grant none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import discord
import structlog
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route

from foliot.core.access import Caller, Interface, Role
from foliot.core.errors import Forbidden
from foliot.engine.model.views import RunView
from foliot.features.discord import text as words


async def enter(http: HTTPClient) -> None:
    """Connect to the gateway that this API names."""
    _, url, _ = await http.get_bot_gateway()
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)


def settle(api: str) -> None:
    """Use this API from now on."""
    Route.BASE = api


USER = "user:"
_ORDER = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordMembers:
    """Callers by the ids of members and of their roles."""

    roles: Mapping[str, Role]
    tenant_id: str
    guild: int | None = None
    """The one server that is served; None: any whose roles are in the map, for role ids are unique across servers."""

    def caller(self, interaction: discord.Interaction[Any]) -> Caller:
        """The member's caller; `Forbidden` when they have no rights, with a message that helps to extend the map."""
        if interaction.guild_id is None or not isinstance(interaction.user, discord.Member):
            raise Forbidden("Foliot takes commands in a server only, not in private messages")
        if self.guild is not None and interaction.guild_id != self.guild:
            raise Forbidden("Foliot does not take commands from this server")
        member = interaction.user
        # Names would need the server's list of roles, which is not subscribed to: the ids come with the command.
        held = list(member._roles)  # noqa: SLF001
        # The role `@everyone` has the id of its server.
        granted = self._granted([*held, interaction.guild_id], member.id)
        if granted is None:
            listed = ", ".join(map(str, held[:20])) or "none"
            raise Forbidden(
                "none of your roles may use Foliot here. Its operator grants that by FOLIOT_DISCORD_ROLES; "
                f"the ids of your roles: {listed}"
            )
        return Caller(self.tenant_id, f"discord:{member.id}", granted, Interface.DISCORD)

    def _granted(self, roles: Iterable[int], user: int) -> Role | None:
        found = [self.roles.get(str(role)) for role in roles] + [self.roles.get(f"{USER}{user}")]
        return max((role for role in found if role is not None), key=_ORDER.index, default=None)


class ButtonAction(StrEnum):
    """The action of a button."""

    SAVE = "save"
    CANCEL = "cancel"
    SCHEDULE = "schedule"
    """Preview the suggested schedule."""
    RUN = "run"
    """Run the suggested pipeline."""


@dataclass(frozen=True, slots=True)
class Button:
    """`of` is the id of its interaction, the idempotency key: pressed twice, it has one effect."""

    label: str
    press: ButtonAction
    of: int
    main: bool = False


class FoliotButton(
    discord.ui.DynamicItem[discord.ui.Button[Any]], template=r"foliot:(?P<press>[a-z]+):(?P<of>[0-9]{1,20})"
):
    """A button of the bot, whichever process sent it."""

    def __init__(self, button: Button) -> None:
        style = discord.ButtonStyle.primary if button.main else discord.ButtonStyle.secondary
        super().__init__(
            discord.ui.Button(label=button.label, style=style, custom_id=f"foliot:{button.press}:{button.of}")
        )
        self.button = button

    @classmethod
    async def from_custom_id(
        cls, _interaction: discord.Interaction[Any], item: discord.ui.Item[Any], match: re.Match[str], /
    ) -> Self:
        return cls(Button(getattr(item, "label", None) or "", ButtonAction(match["press"]), int(match["of"])))

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        await interaction.client.pressed(interaction, self.button.press, self.button.of)


def view_of(buttons: Sequence[Button]) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for button in buttons:
        view.add_item(FoliotButton(button))
    return view


PATIENCE = 1.5
"""Seconds after which the answer is deferred. Discord's three seconds count from the click."""
LONGEST = 60.0
"""Seconds after which an answer is given up."""

log = structlog.get_logger("foliot.discord")

Interaction = discord.Interaction[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordReply:
    """The message that answers an interaction."""

    text: str = ""
    embed: discord.Embed | None = None
    buttons: Sequence[Button] = ()
    private: bool = True
    """Whether only the user who asked sees it (ephemeral)."""
    failed: bool = False
    run: RunView | None = None
    """The run that the message is to follow."""
    what: str = ""
    """What the run executes."""

    def shown(self) -> dict[str, Any]:
        """As arguments of discord.py."""
        arguments: dict[str, Any] = {"content": self.text, "allowed_mentions": discord.AllowedMentions.none()}
        if self.embed is not None:
            arguments["embed"] = self.embed
        if self.buttons:
            arguments["view"] = view_of(self.buttons)
        return arguments


Follow = Callable[[Interaction, DiscordReply, int], None]
"""Registers a message to be updated as its run goes on."""


@dataclass(slots=True)
class DiscordReplies:
    """Answers every interaction. A use case that has begun is finished, even when its answer comes too late."""

    follow: Follow
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def give(
        self, interaction: Interaction, asked: Coroutine[Any, Any, DiscordReply], *, private: bool = True
    ) -> None:
        """As a new message. `private`: whether the deferred answer is ephemeral."""
        work = self._begin(asked)
        await asyncio.wait({work}, timeout=PATIENCE)
        late = not work.done()
        try:
            if late:
                await interaction.response.defer(ephemeral=private, thinking=True)
            answer = await work
            message_id = await (self._later(interaction, answer, private) if late else _at_once(interaction, answer))
        except Exception as lost:  # noqa: BLE001 -- errors of Discord's API end here
            _lost(interaction, lost)
            return
        if answer.run is not None and message_id is not None and not answer.private:
            self.follow(interaction, answer, message_id)

    async def change(self, interaction: Interaction, asked: Coroutine[Any, Any, DiscordReply]) -> None:
        """In place of the message whose button was pressed; an error is a message beside it."""
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
                # Discord keeps what is not named: the old embed and buttons must be cleared.
                shown = {"embed": None, "view": None, **answer.shown()}
                await (interaction.edit_original_response if late else interaction.response.edit_message)(**shown)
        except Exception as lost:  # noqa: BLE001 -- errors of Discord's API end here
            _lost(interaction, lost)

    async def rest(self, seconds: float) -> None:
        """Wait for the answers under way."""
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
            # The deferred answer was public and this one is ephemeral: the former is deleted.
            await interaction.delete_original_response()
            await interaction.followup.send(**answer.shown(), ephemeral=True)
            return None
        return (await interaction.edit_original_response(**answer.shown())).id


async def _at_once(interaction: Interaction, answer: DiscordReply) -> int | None:
    sent = await interaction.response.send_message(**answer.shown(), ephemeral=answer.private)
    return sent.message_id


async def _settled(asked: Coroutine[Any, Any, DiscordReply]) -> DiscordReply:
    """The answer, or the error as a message."""
    try:
        async with asyncio.timeout(LONGEST):
            return await asked
    except Exception as error:
        text = words.refusal(error)
        if words.is_surprise(error):
            log.exception("a command failed", action="discord_command_failed")
        return DiscordReply(text=text, failed=True)


def _lost(interaction: Interaction, lost: Exception) -> None:
    """Logs an answer that could not be delivered: another process has answered already, or it came too late."""
    log.warning(
        "an answer could not be delivered",
        action="discord_answer_lost",
        interaction=interaction.id,
        error=f"{type(lost).__name__}: {lost}"[:300],
    )
