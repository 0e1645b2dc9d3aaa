"""Checks the connection to Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "REDIS_URL"


async def check(settings: Settings) -> list[Finding]:
    """Whether Redis answers. Foliot starts without it, and other processes poll instead of being woken."""
    if settings.redis_url is None:
        return []
    from foliot.config.database import masked

    shown = masked(settings.redis_url.reveal())
    if settings.is_sqlite:
        return [Finding("warning", KEY, f"{shown} is not used: on SQLite one process does everything")]
    from foliot.wakeups.redis import answers

    try:
        await answers(settings.redis_url.reveal())
    except Exception as failed:  # noqa: BLE001 -- whatever the driver raises: it cannot be used
        reason = str(failed) or "no answer within 5 s"
        return [Finding("error", KEY, f"must be reachable, got {shown}: {reason.splitlines()[0][:300]}")]
    return [Finding("ok", KEY, f"{shown} answers; it wakes other processes")]
