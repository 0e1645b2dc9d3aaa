"""Finds what rendering needs: a Chromium, and the library that drives it."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
HOW_TO_INSTALL = "apt install chromium (Debian), or set FOLIOT_BROWSER_URL to a running browser"
LIBRARY_MISSING = "needs Playwright, which is not installed: pip install 'foliot[browser]'"
NO_BROWSER = "no browser is configured: see FOLIOT_BROWSER"


def has_library() -> bool:
    """Whether Playwright is installed; it is imported only by the process of a browser."""
    return find_spec("playwright") is not None


def chromium(named: str = "auto") -> str | None:
    """The program to start: the one that is named, or the first that is installed."""
    if named != "auto":
        return named if Path(named).is_file() and os.access(named, os.X_OK) else None
    return next(filter(None, map(shutil.which, NAMES)), None)


def needs_no_sandbox() -> bool:
    """Chromium refuses to run as root unless its sandbox is off."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
