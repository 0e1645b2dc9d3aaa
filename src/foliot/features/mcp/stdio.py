"""MCP on standard input and output: passes lists and calls of tools on to the endpoint of a server.

Each side speaks the version of the protocol that it understands; the tools, their permissions and answers are the
server's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.stdio import stdio_server

from foliot import __version__
from foliot.terminal.output import Failure

TIMEOUT = 120.0
"""Seconds for one call: the preview of a watch waits for the turn of its host."""


def serve(address: str, token: str | None) -> None:
    """Until standard input ends."""
    try:
        asyncio.run(_serve(address, token))
    except* httpx2.HTTPStatusError as failed:
        raise Failure(_refusal(failed.exceptions[0])) from None


def _refusal(failed: BaseException) -> str:
    while isinstance(failed, BaseExceptionGroup):
        failed = failed.exceptions[0]
    return f"the server refused: {failed}\n  hint: FOLIOT_TOKEN must be a valid token or API key of it"


async def _serve(address: str, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), cache=None) as remote,
    ):

        async def list_tools(_context: Any, _params: Any) -> Any:
            return await remote.list_tools()

        async def call_tool(_context: Any, params: Any) -> Any:
            return await remote.call_tool(params.name, params.arguments)

        server = Server(
            "foliot",
            version=__version__,
            instructions=remote.instructions,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
        async with stdio_server() as (source, sink):
            await server.run(source, sink, server.create_initialization_options())
