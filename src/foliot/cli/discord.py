"""Runs the Discord bot as a process of its own, and describes it for `foliot up`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

import foliot
from foliot.core.errors import Conflict

if TYPE_CHECKING:
    from foliot.app.build import App
    from foliot.config.settings import Settings


def serve(settings: Settings) -> int:
    """Run the bot and nothing else until asked to stop."""
    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.database import refuse_other_revision

    if settings.discord_token is None:
        raise Conflict("foliot discord needs the token of a bot: set DISCORD_TOKEN")

    async def main() -> int:
        await refuse_other_revision(settings)
        app = build.build(settings, http=False, engine=False, discord=True)
        if app.discord_missing is not None:
            await app.stop()
            raise Conflict(app.discord_missing)

        def announce() -> None:
            typer.echo(f"Foliot {foliot.__version__}: Discord, data in {settings.database_shown}; Ctrl-C stops it.")

        return await process.live(app, None, announce)

    return process.run(main())


def shown(app: App) -> str:
    """A line for `foliot up`; empty when no bot is configured."""
    if app.discord is None and app.discord_missing is None:
        return ""
    status = "connecting; the log says more"
    if app.discord_missing is not None:
        status = app.discord_missing.removeprefix("Discord: ")
    return f"\n  Discord  {status}"
