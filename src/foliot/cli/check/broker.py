"""Checks the connection to the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_BROKER_URL"


async def check(settings: Settings) -> list[Finding]:
    """Whether the broker answers. Foliot starts without it, and its runs wait."""
    shown = settings.broker_shown
    if shown is None:
        return []
    if settings.is_sqlite:
        return [Finding("warning", KEY, f"{shown} is not used: on SQLite one process does everything")]
    from foliot.app import transport
    from foliot.core.errors import Unavailable

    broker = transport.broker(settings)
    assert broker is not None  # noqa: S101 -- its URL is set
    try:
        await broker.check()
    except Unavailable as away:
        return [Finding("error", KEY, f"must be reachable, got {shown}: {away}")]
    finally:
        await broker.close()
    return [Finding("ok", KEY, f"{shown} answers; it carries runs from schedulers to workers")]
