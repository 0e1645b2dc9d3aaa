"""Checks whether pages can be rendered: the library, the browser, its sandbox, and what it would take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from foliot.cli.check import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

SECONDS = 5.0


async def check_browser(settings: Settings) -> list[Finding]:
    from foliot.config.connections import masked
    from foliot.features.fetching.render import installed

    key = "FOLIOT_BROWSER" if settings.browser_url is None else "FOLIOT_BROWSER_URL"
    if not settings.has_browser:
        program = installed.chromium()
        has = f"{program} is installed: auto would use it" if program else f"to get one: {installed.HOW_TO_INSTALL}"
        return [Finding("ok", key, f"off: pages that need JavaScript are not rendered ({has})")]
    if not installed.has_library():
        return [Finding("error", key, installed.LIBRARY_MISSING)]
    if settings.browser_url is not None:
        url = settings.browser_url.reveal()
        if (failure := await _answers(url)) is not None:
            return [Finding("error", key, f"{masked(url).partition('?')[0]} {failure}")]
        return [Finding("ok", key, masked(url).partition("?")[0])]
    program = installed.chromium(settings.browser)
    if program is None:
        what = "found no Chromium" if settings.browser == "auto" else f"{settings.browser} is not a program"
        return [Finding("error", key, f"{what}; to get one: {installed.HOW_TO_INSTALL}")]
    return [Finding("ok", key, program), *_sandbox(settings)]


def _sandbox(settings: Settings) -> list[Finding]:
    from foliot.features.fetching.render import installed

    key = "FOLIOT_BROWSER_SANDBOX"
    if settings.browser_sandbox and installed.needs_no_sandbox():
        rule = "must be off for a Chromium that root starts (--no-sandbox), or run Foliot as another user"
        return [Finding("error", key, rule)]
    if not settings.browser_sandbox:
        return [Finding("warning", key, "off: only the limits of its process protect this machine from a page")]
    return []


async def _answers(url: str) -> str | None:
    """What is wrong; None when it accepts a connection."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme in {"https", "wss"} else 80)
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return f"does not answer within {SECONDS:g} s"
    except OSError as error:
        return f"cannot be reached: {error.strerror or error}"
    writer.close()
    return None
