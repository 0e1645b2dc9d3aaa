"""Where the built dashboard lies: `ui/build.py` writes it, the wheel carries it, and no commit holds it."""

from __future__ import annotations

from pathlib import Path

DIST = Path(__file__).parent / "dist"
