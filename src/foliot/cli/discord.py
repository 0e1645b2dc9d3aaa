"""The Discord door as a process of its own, and what `foliot check` and `foliot up` say about it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import typer

import foliot
from foliot.cli.entrance import Finding
from foliot.core.errors import Conflict

if TYPE_CHECKING:
    from foliot.app.build import App
    from foliot.config.settings import Settings

KEY = "DISCORD_TOKEN"
PATIENCE = timedelta(seconds=5)
NOBODY = "is not set: nobody may command Foliot from Discord, as in 123456789012345678=operator for the id of a role"


def serve(settings: Settings) -> int:
    """This door and no other, until asked to stop."""
    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.revision import refuse_other_revision

    if settings.discord_token is None:
        raise Conflict("foliot discord needs a bot's token: set DISCORD_TOKEN to the one that Discord gave the bot")

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
    """A line of `foliot up`, where somebody asked for the door."""
    if app.discord is None and app.discord_missing is None:
        return ""
    said = "connecting; the log says more"
    if app.discord_missing is not None:
        said = app.discord_missing.removeprefix("Discord: ")
    return f"\n  Discord  {said}"


async def commanding(settings: Settings) -> list[Finding]:
    """What `foliot check` says: whether Discord knows the bot, and whether anybody may use it."""
    from importlib.util import find_spec

    if settings.discord_token is None:
        return []
    found = [] if settings.discord_roles else [Finding("warning", "FOLIOT_DISCORD_ROLES", NOBODY)]
    if find_spec("discord") is None:
        return [
            *found,
            Finding("error", KEY, "needs discord.py, which is not installed: pip install 'foliot[discord]'"),
        ]
    return [*found, await _asked(settings)]


async def _asked(settings: Settings) -> Finding:
    import orjson

    from foliot.core.egress import EgressFailed, EgressRefused, Outgoing
    from foliot.net.client import HttpEgress
    from foliot.net.url import read_url

    url = f"{settings.discord_api}/users/@me"
    target = read_url(url)
    host = f"[{target.host}]" if ":" in target.host else target.host
    egress = HttpEgress(allow=[f"{host}:{target.port}"], ports=())
    token = "" if settings.discord_token is None else settings.discord_token.reveal()
    await egress.start()
    try:
        reply = await egress.send(
            Outgoing(method="GET", url=url, headers={"Authorization": f"Bot {token}"}, timeout=PATIENCE)
        )
    except (EgressFailed, EgressRefused) as failed:
        return Finding(
            "warning", KEY, f"{settings.discord_api} cannot be asked now: {failed}; Foliot starts without it"
        )
    finally:
        await egress.close()
    if reply.status in (401, 403):
        return Finding("error", KEY, "is refused by Discord: copy the bot's token anew")
    if reply.status != 200:
        return Finding("warning", KEY, f"{settings.discord_api} answers {reply.status}; Foliot starts without it")
    try:
        name = str(orjson.loads(reply.body)["username"])[:100]
    except (ValueError, KeyError, TypeError):
        return Finding("warning", KEY, f"{settings.discord_api} does not answer as Discord does")
    return Finding("ok", KEY, f"is that of the bot {name}")
