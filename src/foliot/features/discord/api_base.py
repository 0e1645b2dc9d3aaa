"""The base URL of Discord's API. discord.py has one for the whole process, so a process has one Discord."""

from __future__ import annotations

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route


async def enter(http: HTTPClient) -> None:
    """Connect to the gateway that this API names."""
    _, url, _ = await http.get_bot_gateway()
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)


def settle(api: str) -> None:
    """Use this API from now on."""
    Route.BASE = api
