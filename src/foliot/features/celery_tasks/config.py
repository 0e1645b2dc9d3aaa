"""Validates the configuration of a task of another Celery application."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.json_values import check_depth
from foliot.core.secrets import is_name

_TASK = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,254}")
_QUEUE = re.compile(r"[A-Za-z0-9_.:-]{1,127}")
MOST_ARGS = 1000
LONGEST_WAIT = 7 * 86_400


def read_task(config: Mapping[str, Any]) -> dict[str, Any]:
    """The stored form, with the fields that are given."""
    fields = Fields.of("", config)
    fields.asked |= {"broker", "backend", "task", "args", "kwargs", "queue", "priority", "expires_seconds", "wait"}
    fields.finish()
    stored: dict[str, Any] = {"broker": _secret(fields, "broker"), "task": _match(fields, "task", _TASK, "shop.sync")}
    if fields.value("backend") is not None:
        stored["backend"] = _secret(fields, "backend")
    wait = fields.flag("wait", default="backend" in stored)
    if wait and "backend" not in stored:
        raise Invalid(
            "wait", "needs the backend: without the results of the application nobody learns how a task ended"
        )
    stored["wait"] = wait
    args, kwargs = fields.value("args"), fields.value("kwargs")
    if args is not None:
        if not isinstance(args, list | tuple) or len(args) > MOST_ARGS:
            raise Invalid("args", f"must be a list of at most {MOST_ARGS} values", got=type(args).__name__)
        check_depth("args", {"args": list(args)})
        stored["args"] = list(args)
    if kwargs is not None:
        stored["kwargs"] = dict(Fields.of("kwargs", kwargs).raw)
        check_depth("kwargs", stored["kwargs"])
    if fields.value("queue") is not None:
        stored["queue"] = _match(fields, "queue", _QUEUE, "scraping")
    if fields.value("priority") is not None:
        stored["priority"] = fields.integer("priority", 0, low=0, high=255)
    if fields.value("expires_seconds") is not None:
        stored["expires_seconds"] = fields.integer("expires_seconds", 0, low=1, high=LONGEST_WAIT)
    return stored


def _secret(fields: Fields, name: str) -> str:
    got = fields.value(name)
    if got is None:
        raise Invalid(name, "is required")
    if not isinstance(got, str) or not is_name(got):
        # Not repeated: a URL in its place holds a password.
        raise Invalid(name, "must be the name of a secret that holds the URL: foliot secret set celery_broker")
    return got


def _match(fields: Fields, name: str, rule: re.Pattern[str], example: str) -> str:
    got = fields.value(name)
    if got is None:
        raise Invalid(name, "is required")
    if not isinstance(got, str) or not rule.fullmatch(got):
        raise Invalid(name, f"must be a name such as {example}", got=str(got)[:100])
    return got
