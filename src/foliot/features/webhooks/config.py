"""Validates a webhook's configuration; every error names its field and the rule."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

from foliot.core.document import Fields
from foliot.core.egress import Egress
from foliot.core.errors import Invalid
from foliot.core.parent_template import check_parent_templates
from foliot.core.secret_template import check_header, refuse_secret

MOST_HEADERS = 64
MOST_HEADER_BYTES = 16 * 1024
MOST_BODY_BYTES = 256 * 1024
DEEPEST = 64
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_RESERVED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    }
)
_RESERVED_STARTS = ("webhook-", "x-foliot-", "proxy-")


class WebhookMethod(StrEnum):
    """The HTTP methods of a webhook."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"
    HEAD = "HEAD"
    OPTIONS = "OPTIONS"


def read_config(config: Mapping[str, Any], egress: Egress) -> dict[str, Any]:
    """The stored form: `url`, `method`, `headers`, `polite` where it is true, and `body` when there is one."""
    fields = Fields.of("", config)
    # Unknown keys first: for `uri`, the error suggests `url` rather than only reporting it missing.
    fields.asked |= {"url", "method", "headers", "body", "polite"}
    fields.finish()
    url = fields.value("url")
    if url is None:
        raise Invalid("url", "is required")
    if isinstance(url, str):
        refuse_secret("url", url)
    egress.check(url)
    stored: dict[str, Any] = {
        "url": url,
        "method": _method(fields).value,
        "headers": _headers(fields.value("headers")),
    }
    if fields.flag("polite", default=False):
        stored["polite"] = True
    body = fields.value("body")
    if body is not None:
        stored["body"] = _body(body)
        check_parent_templates("body", body)
    return stored


def _method(fields: Fields) -> WebhookMethod:
    got = fields.value("method")
    if isinstance(got, str) and got.upper() in WebhookMethod.__members__:
        return WebhookMethod[got.upper()]
    return fields.choice("method", WebhookMethod, WebhookMethod.POST)


def _headers(got: object) -> dict[str, str]:
    if got is None:
        return {}
    if not isinstance(got, Mapping):
        raise Invalid("headers", "must be an object", got=type(got).__name__)
    if len(got) > MOST_HEADERS:
        raise Invalid("headers", f"must be at most {MOST_HEADERS}", got=f"{len(got)} headers")
    headers: dict[str, str] = {}
    for name, value in got.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise Invalid("headers", "must have names such as X-Request-Source", got=str(name)[:100])
        _refuse_reserved(name)
        if name.lower() in map(str.lower, headers):
            raise Invalid(f"headers.{name}", "is given twice")
        headers[name] = _header_value(name, value)
    if sum(len(name) + len(value.encode()) for name, value in headers.items()) > MOST_HEADER_BYTES:
        raise Invalid("headers", "must be at most 16 KiB in total")
    return headers


def _refuse_reserved(name: str) -> None:
    lower = name.lower()
    if lower in _RESERVED or lower.startswith(_RESERVED_STARTS):
        raise Invalid(f"headers.{name[:100]}", "is set by Foliot and cannot be overridden")


def _header_value(name: str, value: object) -> str:
    """Values are often secrets, so an error never repeats them."""
    if not isinstance(value, str):
        raise Invalid(f"headers.{name[:100]}", "must be text")
    if _CONTROL.search(value) or not _encodable(value):
        raise Invalid(f"headers.{name[:100]}", "must not contain control characters")
    check_header(f"headers.{name[:100]}", value)
    return value.strip()


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _body(got: object) -> Any:
    """A copy of the body that is plain JSON, small and shallow enough."""
    _inspect(got)
    try:
        text = orjson.dumps(got)
    except (TypeError, ValueError) as error:
        # orjson's message names the rule: surrogates, integers beyond 64 bits, types that are not JSON.
        raise Invalid("body", f"must be JSON ({error})") from None
    if len(text) > MOST_BODY_BYTES:
        raise Invalid("body", "must be at most 256 KiB", got=f"{len(text)} bytes")
    return orjson.loads(text)


def _inspect(body: object) -> None:
    """Refuses what JSON or a database cannot store, without recursion: the user chooses how deep it nests."""
    waiting: list[tuple[object, int]] = [(body, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str):
            if "\x00" in value:
                raise Invalid("body", "must not contain the character U+0000")
            refuse_secret("body", value)
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid("body", "must not contain NaN or infinity", got=str(value))
        if isinstance(value, Mapping | list | tuple):
            if depth > DEEPEST:
                raise Invalid("body", f"must be nested at most {DEEPEST} deep")
            inner = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
            waiting.extend((item, depth + 1) for item in inner)
