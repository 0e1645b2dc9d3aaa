"""From the flags of `foliot schedule create` to the document the API takes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foliot.terminal.output import Exit, Failure

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (86_400, 3600, 60)


def usage(message: str) -> Failure:
    return Failure(message, Exit.USAGE)


def duration(flag: str, text: str) -> int | float:
    """Seconds: `90`, `90s`, `15m`, `4h`, `1h30m`, `1d`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        raise usage(f"{flag}: must be a duration such as 30s, 15m, 4h or 1h30m, got {text!r}")
    whole = sum(int(found[at]) * size for at, size in enumerate(_SECONDS, 1) if found[at])
    rest = float(found[4] or 0)
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


def trigger(cron: str | None, every: str | None, at: str | None, timezone: str | None) -> dict[str, Any]:
    """The part of the document that says when; empty when no flag does."""
    given = [flag for flag, value in (("--cron", cron), ("--every", every), ("--at", at)) if value is not None]
    if len(given) > 1:
        raise usage(f"{' and '.join(given)} exclude each other: a schedule has one trigger")
    zone = {"timezone": timezone} if timezone is not None else {}
    if cron is not None:
        return {"type": "cron", "cron_expr": cron, **zone}
    if every is not None:
        return {"type": "interval", "interval_seconds": duration("--every", every), **zone}
    if at is not None:
        return {"type": "oneoff", "run_at": at, **zone}
    return zone


def webhook(url: str | None, method: str | None, headers: Sequence[str], body: str | None) -> dict[str, Any]:
    """The action; empty when no flag names one."""
    if url is None:
        if method or headers or body:
            raise usage("--method, --header and --body need --url: they describe the call that is made to it")
        return {}
    action: dict[str, Any] = {"kind": "webhook", "url": url}
    if method is not None:
        action["method"] = method.upper()
    if headers:
        action["headers"] = dict(_header(text) for text in headers)
    if body is not None:
        action["body"] = json_or_file("--body", body)
    return {"action": action}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise usage(f"--header: must be 'Name: value', got {text!r}")
    return name.strip(), value.strip()


def complete(draft: Mapping[str, Any]) -> dict[str, Any]:
    """The document without what was not given; usage errors for what a schedule cannot do without."""
    made = {key: value for key, value in draft.items() if value is not None}
    if not made.get("name"):
        raise usage("a schedule needs a name: foliot schedule create NAME …, or one in --file")
    if "type" not in made:
        raise usage("a schedule needs a trigger: give --cron '0 2 * * *', --every 15m or --at 2027-01-01T09:00:00Z")
    if "action" not in made and "payload" not in made:
        raise usage("a schedule needs something to do: give --url, or an action in --file")
    return made
