"""`foliot mcp`: the tools of a server, on standard input and output."""

from __future__ import annotations

from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup

group = CommandGroup()


@group.command()
def mcp() -> None:
    """Offer the tools of a server to an agent that starts programs (MCP on standard input and output).

    FOLIOT_URL and FOLIOT_TOKEN name the server and the key: its role and scopes are what the agent may do.
    """
    with connect() as client:
        # An agent shows what a program prints before the protocol begins; a server that is away is said at once.
        client.get("/health")
        from foliot.features.mcp.stdio import serve

        serve(client.address, client.token)
