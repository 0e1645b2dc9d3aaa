"""What `foliot check` says about what wakes other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.access import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "REDIS_URL"


async def waking(settings: Settings) -> list[Finding]:
    """Whether the Redis that is named answers. Foliot starts without it, and wakes nobody elsewhere."""
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
    return [Finding("ok", KEY, f"{shown} answers, and wakes other processes")]
