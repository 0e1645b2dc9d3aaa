"""The Discord bot without Discord: permissions, messages, and that it can be built without a token."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import discord
import pytest
import yaml

from foliot.app.use_cases import use_cases
from foliot.cli.discord import serve
from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from foliot.core.access import Interface, Role
from foliot.core.errors import Conflict, Forbidden, Unavailable
from foliot.features.discord import text as words
from foliot.features.discord.answer import DiscordMembers
from foliot.features.discord.connection import DiscordConnection
from foliot.features.discord.requests import ScheduleDraftMessage
from foliot.features.pipelines.steps.discord_sink import DiscordSink
from foliot.logs import redact
from foliot.testing import GivenActions, StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.discord_server import TOKEN

GUILD = 7
MAP = DiscordMembers(roles={"1": Role.VIEWER, "2": Role.OPERATOR, "user:30": Role.ADMIN}, tenant_id="news")


def asked(*roles: int, user: int = 40, guild: int | None = GUILD) -> Any:
    """An interaction, as far as the map looks at it."""
    member = object.__new__(discord.Member)
    member._roles = list(roles)  # type: ignore[assignment]
    member._user = SimpleNamespace(id=user)  # type: ignore[assignment]
    return SimpleNamespace(guild_id=guild, user=member)


@pytest.mark.parametrize(
    ("roles", "user", "granted"),
    [((1,), 40, Role.VIEWER), ((9, 1, 2), 40, Role.OPERATOR), ((1,), 30, Role.ADMIN), ((), 30, Role.ADMIN)],
)
def test_of_several_roles_the_most_counts(roles: tuple[int, ...], user: int, granted: Role) -> None:
    caller = MAP.caller(asked(*roles, user=user))

    assert (caller.role, caller.tenant_id, caller.user_id) == (granted, "news", f"discord:{user}")
    assert caller.interface is Interface.DISCORD


@pytest.mark.parametrize("event", [asked(), asked(9), asked(30, user=1), asked(2, guild=None)])
def test_whoever_is_not_in_the_map_may_nothing(event: Any) -> None:
    with pytest.raises(Forbidden):
        MAP.caller(event)


def test_without_a_map_nobody_may_anything_and_is_told_what_to_write() -> None:
    with pytest.raises(Forbidden, match=r"FOLIOT_DISCORD_ROLES; the ids of your roles: 5, 6"):
        DiscordMembers(roles={}, tenant_id="news").caller(asked(5, 6))


def test_another_server_does_not_count_even_with_a_role_of_the_map() -> None:
    only = DiscordMembers(roles={"1": Role.ADMIN}, tenant_id="news", guild=8)

    with pytest.raises(Forbidden, match="does not take commands from this server"):
        only.caller(asked(1))


def test_the_role_of_everybody_can_be_granted() -> None:
    assert DiscordMembers(roles={str(GUILD): Role.VIEWER}, tenant_id="t").caller(asked()).role is Role.VIEWER


async def test_it_is_made_without_a_token_and_does_nothing() -> None:
    async with open_store() as store:
        clock, feed = StoppedClock(), MemoryFeed()
        cases = use_cases(store, clock, feed, GivenActions.of())
        door = DiscordConnection(cases=cases, members=MAP, clock=clock, feed=feed)

        assert (await door.run_once()).rest > 60
        bot = door.bot()
        await bot.close()
        await door.stop()

    assert bot.names == ["run", "schedule", "jobs", "remove", "pipelines", "status"]
    assert "abc" not in repr(DiscordConnection(cases=cases, members=MAP, clock=clock, feed=feed, token="abc"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a`b", "`a'b`"), ("", "` `"), ("a\nb\x00c", "`a b c`"), ("x" * 200, f"`{'x' * 99}…`")],
)
def test_code_stays_code(text: str, shown: str) -> None:
    assert words.code(text) == shown


def test_what_others_wrote_is_neither_bold_nor_a_link_nor_a_call() -> None:
    assert words.plain("**x** <@1> @here [a](http://b) `c`", 200) == (r"\*\*x\*\* \<\@1\> \@here \[a](http://b) \`c\`")


def test_surprises_and_addresses_are_not_told() -> None:
    assert (
        words.refusal(RuntimeError("password=hunter2")) == "✕ an internal error occurred; Foliot's log has the details"
    )
    assert "10.0.0.1" not in words.refusal(Unavailable("10.0.0.1 is away", told="the database is away"))


def test_a_list_that_is_too_long_counts_what_it_leaves_out() -> None:
    shown = words.listed("t", ["x" * 100] * 50, 7, "look there")

    assert len(shown) <= 2000
    assert shown.splitlines()[-1] == f"and {57 - (len(shown.splitlines()) - 2)} more: look there"


def test_a_draft_is_read_back_from_the_message_that_shows_it() -> None:
    draft = ScheduleDraftMessage("news", "0 9 * * 1-5", "Europe/Stockholm")

    assert ScheduleDraftMessage.read([draft.embed("title")]) == draft
    assert ScheduleDraftMessage.read([]) is None
    assert ScheduleDraftMessage.read([discord.Embed(title="x")]) is None


# --- settings ---


def test_the_settings_name_roles_and_members() -> None:
    chosen = Settings.load(
        {
            "DISCORD_TOKEN": "Bot abc",
            "FOLIOT_DISCORD_ROLES": "123=operator, user:5=viewer",
            "FOLIOT_DISCORD_GUILD": "77",
            "FOLIOT_DISCORD_API": "http://127.0.0.1:9/api/v10/",
        }
    )

    assert chosen.discord_token is not None
    assert chosen.discord_token.reveal() == "abc"
    assert chosen.discord_roles == (("123", Role.OPERATOR), ("user:5", Role.VIEWER))
    assert (chosen.discord_guild, chosen.discord_api) == (77, "http://127.0.0.1:9/api/v10")
    assert "abc" not in repr(chosen)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("FOLIOT_DISCORD_ROLES", "123"),
        ("FOLIOT_DISCORD_ROLES", "ops=admin"),
        ("FOLIOT_DISCORD_ROLES", "123=system"),
        ("FOLIOT_DISCORD_ROLES", "123=admin,123=viewer"),
        ("FOLIOT_DISCORD_GUILD", "-1"),
        ("FOLIOT_DISCORD_API", "http://elsewhere.test/api"),
        ("FOLIOT_DISCORD_API", "ftp://x"),
        ("DISCORD_TOKEN", "two words"),
    ],
)
def test_wrong_settings_are_refused_by_name(key: str, text: str) -> None:
    with pytest.raises(SettingsError, match=key) as refused:
        Settings.load({key: text})
    assert key != "DISCORD_TOKEN" or text not in str(refused.value)


def test_the_command_needs_a_token_and_says_so() -> None:
    with pytest.raises(Conflict, match="set DISCORD_TOKEN"):
        serve(Settings.load({"DATABASE_URL": "postgresql://127.0.0.1/foliot"}))


def test_no_line_of_the_log_shows_a_token() -> None:
    line = redact(None, "info", {"event": f"Bot {TOKEN} was refused", "discord_token": "abc"})

    assert line == {"event": "Bot *** was refused", "discord_token": "***"}


# --- the page ---


def test_the_page_names_every_command_and_shows_a_pipeline_that_can_be_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "discord.md").read_text(encoding="utf-8")

    named = re.findall(r"^\| `/(\w+)[^`]*` \|", page, re.MULTILINE)
    assert named == ["run", "schedule", "jobs", "remove", "pipelines", "status"]
    [written] = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(written)["pipelines"]["my_pipeline"]["chain"]
    assert DiscordSink.model_validate(steps[-1]["kwargs"]).template == "**{title}** {url}"
