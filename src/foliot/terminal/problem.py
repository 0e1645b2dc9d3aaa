"""Error responses (RFC 9457) as the message and the exit code of a command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from foliot.core.error_pointer import underlined
from foliot.terminal.output import Exit, Failure

_HINTS = {
    401: "set FOLIOT_TOKEN to a valid token of this server, or to one of its API keys; foliot token creates tokens",
    403: "the role of your token does not allow this",
    412: "it was changed in the meantime: look at it again and repeat your change",
}
_NAMES = {
    "cron_expr": "cron expression",
    "interval_seconds": "interval",
    "run_at": "time",
    "timezone": "time zone",
    "url": "URL",
    "q": "filter",
    "words": "time in words",
    "start_urls": "URLs",
    "max_retries": "number of retries",
    "schedule_id": "schedule",
}
"""What people call a field; others are called by their own name."""
_MISSING = ("is required", "is missing", "must be given")
_REFUSED = range(400, 500)


def failure(status: int, body: Any) -> Failure:
    """What an error response means for the user and for the exit code."""
    code = Exit.NOT_FOUND if status == 404 else Exit.REFUSED if status in _REFUSED else Exit.FAILED
    if not isinstance(body, dict):
        reason = f"the server answered {status} without a reason: is FOLIOT_URL the address of a Foliot server?"
        return Failure(reason, code, {"status": status})
    errors = body.get("errors") or []
    # With fields to name, the detail only repeats the first of them.
    lines = [_summary(errors) if errors else body.get("detail") or body.get("title") or "the server refused"]
    lines += [line for error in errors for line in field_lines(error)]
    hint = body.get("hint") or _HINTS.get(status)
    if hint:
        lines.append(f"  hint: {hint}")
    kept = {name: body[name] for name in ("code", "detail", "errors") if body.get(name)}
    return Failure("\n".join(lines), code, {"status": status, **kept, **({"hint": hint} if hint else {})})


def _summary(errors: Sequence[Mapping[str, Any]]) -> str:
    """`invalid cron expression`, `missing name`, `invalid request: 3 fields`."""
    fields = {str(error.get("field", "")) for error in errors}
    if len(fields) > 1:
        return f"invalid request: {len(fields)} fields"
    missing = str(errors[0].get("message", "")).startswith(_MISSING)
    return f"{'missing' if missing else 'invalid'} {_name(fields.pop())}"


def _name(field: str) -> str:
    last = field.rpartition(".")[2] or "request"
    return _NAMES.get(last, last.replace("_", " "))


def field_lines(error: Mapping[str, Any]) -> list[str]:
    """What is wrong with one field, and where in its value."""
    got = f", got {json.dumps(error['got'], ensure_ascii=False)}" if error.get("got") is not None else ""
    pointed = underlined(error.get("got"), error.get("position"), error.get("suggestion"))
    return [f"  {error.get('field', '?')}: {error.get('message', '')}{got}", *(f"    {line}" for line in pointed)]
