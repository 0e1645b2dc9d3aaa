"""`foliot discord` and `foliot up` as processes, with a stand-in for Discord beside them."""

from __future__ import annotations

import asyncio

import pytest

from foliot.db.migrate import migrate
from tests.acceptance.house import SECONDS, House
from tests.discord_server import OPERATORS, TOKEN, DiscordServer, a_discord, api_of


def bot(discord: DiscordServer) -> dict[str, str]:
    return {
        "DISCORD_TOKEN": TOKEN,
        "FOLIOT_DISCORD_API": api_of(discord),
        "FOLIOT_DISCORD_ROLES": f"{OPERATORS}=operator",
        "LOG_LEVEL": "debug",
    }


@pytest.mark.services
@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
async def test_the_door_is_a_process_of_its_own(house: House, server_database_url: str) -> None:
    house.environ["DATABASE_URL"] = server_database_url
    await migrate(server_database_url)

    async with a_discord() as discord:
        house.environ |= bot(discord)
        process = await asyncio.to_thread(house.start, "discord")
        await discord.until(lambda: discord.got["identify"], SECONDS)
        told = await discord.ask(discord.command("status"))
        process.terminate()
        ended = await asyncio.to_thread(process.wait, SECONDS)

    assert house.said.startswith("Foliot")
    assert ": Discord, data in postgresql" in house.said
    assert "0 jobs, 0 active" in told.data["content"]
    assert ended == 0
    assert TOKEN not in house.said + house.log.read_text()


async def test_up_opens_it_beside_the_others(house: House) -> None:
    async with a_discord() as discord:
        house.environ |= bot(discord)
        process = await asyncio.to_thread(lambda: house.start("up", "--port", "0", lines=5))
        await discord.until(lambda: discord.got["identify"], SECONDS)
        told = await discord.ask(discord.command("jobs"))
        process.terminate()
        ended = await asyncio.to_thread(process.wait, SECONDS)

    assert "Discord  connecting" in house.said
    assert "no scheduled jobs" in told.data["content"]
    assert ended == 0
    assert TOKEN not in house.said + house.log.read_text()
