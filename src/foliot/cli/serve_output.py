"""What `foliot up` prints: its addresses, and, on a terminal, a key that opens the dashboard."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import foliot
from foliot.cli import discord as bot
from foliot.cli import grpc as rpc
from foliot.cli import process
from foliot.core.errors import Conflict

if TYPE_CHECKING:
    import socket

    from foliot.app.build import App
    from foliot.config.settings import Settings

OPEN = "o"
USUAL_PORT = 8000
NEXT = 20
"""How many ports above a taken one are tried for a demo."""


def block(app: App, address: str, remark: str, *, keys: bool = True) -> str:
    """The addresses, and the location of the data. `keys`: whether this process reads the terminal."""
    settings = app.settings
    hint = "press o to open the dashboard, " if keys and _terminal() is not None else ""
    lines = [
        f"Foliot {foliot.__version__} is up; {hint}Ctrl-C stops it.",
        f"  Dashboard  {address}/{_not_built()}",
        f"  API        {address}/api  (documentation: {address}/docs)",
        f"  gRPC       {rpc.shown(app.grpc, remark)}{bot.shown(app)}",
        f"  Data       {settings.sqlite_path or settings.database_shown}",
    ]
    if app.demo is not None:
        lines.append("  Demo       on; the dashboard removes it with one click, and nothing leaves this machine")
    return "\n".join(lines)


def _not_built() -> str:
    from foliot.web import DIST

    return "" if (DIST / "index.html").is_file() else "  (not built: make dashboard)"


def listen(settings: Settings, *, demo: bool) -> socket.socket:
    """Bind the port; for a demo without a given port, the next free one."""
    try:
        return process.listen(settings.host, settings.port)
    except Conflict:
        if not demo or settings.port != USUAL_PORT:
            raise
    for port in range(USUAL_PORT + 1, USUAL_PORT + NEXT):
        with contextlib.suppress(Conflict):
            return process.listen(settings.host, port)
    return process.listen(settings.host, 0)


@contextlib.contextmanager
def keys(address: str) -> Iterator[None]:
    """Meanwhile `o` on the terminal opens the dashboard; without a terminal in the foreground, nothing is read."""
    number = _terminal()
    if number is None:
        yield
        return
    import termios
    import tty

    loop, before = asyncio.get_running_loop(), termios.tcgetattr(number)
    # One key at a time; Ctrl-C still is one. What is typed is not shown.
    tty.setcbreak(number, termios.TCSANOW)
    loop.add_reader(number, _pressed, number, address)
    try:
        yield
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSANOW, before)


def _pressed(number: int, address: str) -> None:
    with contextlib.suppress(OSError):
        typed = os.read(number, 64)
        if not typed:
            # The terminal is gone; the reader would be called again and again.
            asyncio.get_running_loop().remove_reader(number)
        if OPEN.encode() in typed.lower():
            import webbrowser

            # A browser may take its time to come up.
            asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)


def _terminal() -> int | None:
    """The terminal if this process is in its foreground; a background process that reads from one is stopped."""
    try:
        number = sys.stdin.fileno()
        return number if os.isatty(number) and os.tcgetpgrp(number) == os.getpgrp() else None
    except (OSError, ValueError, AttributeError):
        return None
