"""Checks the token of the Discord bot."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "DISCORD_TOKEN"
PATIENCE = timedelta(seconds=5)
NO_ROLES = "is not set: no role may use Foliot from Discord; give ids of roles, as in 123456789012345678=operator"


async def check(settings: Settings) -> list[Finding]:
    """Whether Discord knows the bot, and whether any role may use it."""
    from importlib.util import find_spec

    if settings.discord_token is None:
        return []
    roles = [] if settings.discord_roles else [Finding("warning", "FOLIOT_DISCORD_ROLES", NO_ROLES)]
    if find_spec("discord") is None:
        return [
            *roles,
            Finding("error", KEY, "needs discord.py, which is not installed: pip install 'foliot[discord]'"),
        ]
    return [*roles, await _asked(settings)]


async def _asked(settings: Settings) -> Finding:
    import orjson

    from foliot.core.egress import EgressFailed, EgressRefused, OutgoingRequest
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
            OutgoingRequest(method="GET", url=url, headers={"Authorization": f"Bot {token}"}, timeout=PATIENCE)
        )
    except (EgressFailed, EgressRefused) as failed:
        return Finding(
            "warning", KEY, f"{settings.discord_api} cannot be reached now: {failed}; Foliot starts without it"
        )
    finally:
        await egress.close()
    if reply.status in (401, 403):
        return Finding("error", KEY, "is refused by Discord: copy the bot's token again")
    if reply.status != 200:
        return Finding("warning", KEY, f"{settings.discord_api} answers {reply.status}; Foliot starts without it")
    try:
        name = str(orjson.loads(reply.body)["username"])[:100]
    except (ValueError, KeyError, TypeError):
        return Finding("warning", KEY, f"{settings.discord_api} does not answer like Discord")
    return Finding("ok", KEY, f"belongs to the bot {name}")
