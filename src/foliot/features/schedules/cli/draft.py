"""The document of a schedule, from the flags of `foliot schedule create`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foliot.terminal.flag_values import duration, json_or_file, usage


def trigger(cron: str | None, every: str | None, at: str | None, timezone: str | None) -> dict[str, Any]:
    """The trigger; empty when no flag gives one."""
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
    """The action; empty when no flag gives one."""
    if url is None:
        if method or headers or body:
            raise usage("--method, --header and --body need --url: they describe the request that is sent to it")
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
    """The document without absent values; a usage error when something required is missing."""
    document = {key: value for key, value in draft.items() if value is not None}
    if not document.get("name"):
        raise usage("a schedule needs a name: foliot schedule create NAME …, or one in --file")
    if "type" not in document:
        raise usage("a schedule needs a trigger: give --cron '0 2 * * *', --every 15m or --at 2027-01-01T09:00:00Z")
    if "action" not in document and "payload" not in document:
        raise usage("a schedule needs something to do: give --url, or an action in --file")
    return document
