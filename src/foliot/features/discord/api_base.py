"""Where Discord is. Its library knows one place for the whole process, so a process has one Discord."""

from __future__ import annotations

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route


async def enter(http: HTTPClient) -> None:
    """Go where this API says that its gateway is."""
    _, url, _ = await http.get_bot_gateway()
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url)


def settle(api: str) -> None:
    """Ask this API from now on."""
    Route.BASE = api
