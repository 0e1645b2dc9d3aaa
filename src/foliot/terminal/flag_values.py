"""Values of flags: durations, JSON, files and `name=value` pairs; a bad one is a usage error."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from foliot.terminal.output import Exit, Failure

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (86_400, 3600, 60)


def usage(message: str) -> Failure:
    return Failure(message, Exit.USAGE)


def duration(flag: str, text: str) -> int | float:
    """Seconds: `90`, `90s`, `15m`, `4h`, `1h30m`, `1d`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise usage(f"{flag}: must be a duration such as 30s, 15m, 4h or 1h30m, got {text!r}")
    whole = sum(int(match[at]) * size for at, size in enumerate(_SECONDS, 1) if match[at])
    rest = float(match[4] or 0)
    return whole + (int(rest) if rest.is_integer() else rest)


def json_or_file(flag: str, text: str) -> Any:
    """JSON written out, or `@FILE` (`@-` for standard input) that holds it."""
    source = read(flag, text[1:]) if text.startswith("@") else text
    try:
        return json.loads(source)
    except ValueError as wrong:
        raise usage(f"{flag}: must be JSON or @FILE with JSON in it: {wrong}") from None


def parameter(flag: str, text: str) -> tuple[str, Any]:
    """`name=value`, the value JSON where it is JSON, else text; `name=@FILE` reads JSON."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise usage(f"{flag}: must be name=value, got {text!r}")
    if value.startswith("@"):
        return name.strip(), json_or_file(flag, value)
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def read(flag: str, name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        raise usage(f"{flag}: cannot read {name!r} ({getattr(failed, 'strerror', None) or failed})") from None


def document(flag: str, name: str) -> dict[str, Any]:
    """A file with a whole document in it."""
    value = json_or_file(flag, f"@{name}")
    if not isinstance(value, dict):
        raise usage(f"{flag}: must hold a JSON object, got {type(value).__name__}")
    return value
