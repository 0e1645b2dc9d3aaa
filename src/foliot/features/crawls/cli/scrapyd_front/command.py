"""The command `foliot scrapyd`."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import replace
from typing import Annotated

import typer

from foliot.terminal.access import asks
from foliot.terminal.client import Client
from foliot.terminal.group import CommandGroup
from foliot.terminal.output import Exit, Failure, note, one_line_errors

group = CommandGroup()


@group.command()
@asks
def scrapyd(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 6800,
) -> None:
    """Serve the web services of Scrapyd in front of a Foliot server (FOLIOT_URL) and its nodes (SCRAPYD_URL).

    Programs that speak to a Scrapyd (scrapyd-client, ScrapydWeb) speak to Foliot instead: crawls are queued, retried
    and kept. They sign in with any user and an API key as password.
    """
    from foliot.config.settings import Settings
    from foliot.features.crawls.cli.scrapyd_front.nodes import FrontNodes
    from foliot.features.crawls.cli.scrapyd_front.server import FrontSettings, ScrapydFront
    from foliot.features.crawls.cli.scrapyd_front.web_services import WebServices

    with one_line_errors():
        # Everyone asks with a key of their own: that of this process would open the server to all.
        client = replace(Client.from_environment(), token=None)
        nodes = FrontNodes.of([url.reveal() for url in Settings.load(os.environ).scrapyd_urls])
        settings = FrontSettings(client, WebServices(nodes, socket.gethostname()))
        try:
            front = ScrapydFront(host, port, settings)
        except OSError as failed:
            reason = failed.strerror or failed
            raise Failure(f"--port: cannot listen on {host}:{port} ({reason})", Exit.FAILED) from None
        with front:
            note(f"listening on http://{host}:{front.server_port}/ in front of {client.address} (Ctrl-C ends)")
            with contextlib.suppress(KeyboardInterrupt):
                front.serve_forever(0.1)
