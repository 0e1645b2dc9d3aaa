"""Checks whether the database accepts the connections of all processes, and whether wake-ups reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_SERVER_PROCESSES"


async def check_processes(settings: Settings) -> list[Finding]:
    if settings.server_processes == 1:
        return []
    from foliot.app import build
    from foliot.core.errors import FoliotError

    try:
        each, allowed = await build.connections(settings)
    except (FoliotError, OSError):
        # The check of the database reports it.
        return []
    wanted = settings.server_processes * each
    shown = f"{settings.server_processes} processes open up to {wanted} connections"
    if allowed is not None and wanted >= allowed:
        text = f"{shown}, and the database accepts {allowed}: raise its max_connections, or start fewer processes"
        findings = [Finding("warning", KEY, text)]
    else:
        findings = [Finding("ok", KEY, f"{shown}; the database accepts {allowed}")]
    if not settings.is_postgresql and settings.redis_url is None:
        text = "on MariaDB processes wake each other through Redis only: set REDIS_URL, or they poll every second"
        findings.append(Finding("warning", KEY, text))
    return findings
