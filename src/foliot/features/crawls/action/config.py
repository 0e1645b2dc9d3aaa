"""Validates the configuration of a crawl; errors name the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from foliot.core.document import Complaints, Fields
from foliot.core.errors import Invalid
from foliot.core.json_values import check_depth
from foliot.features.expectations.model.facts import EXPECT
from foliot.features.expectations.model.read import read_expect

MOST_URLS = 1000
MOST_URL_BYTES = 64 * 1024
"""Of all start_urls together: they become one argument of a process, and systems allow 128 KiB for one."""
MOST_PARAMS = 100
MOST_PARAM_BYTES = 16 * 1024
MOST_PARAMS_BYTES = 64 * 1024
DEEPEST = 1000
MOST_COUNT = 1_000_000_000
CONDITIONS = ("min_items", "max_errors")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_NAMED = "a name of at most 100 letters, digits, '_', '.' and '-'"
_PARAM = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
RESERVED = frozenset(
    {
        "project",
        "spider",
        "jobid",
        "priority",
        "setting",
        "settings",
        "start_urls",
        "depth",
        "name",
        "spider_name",
        "self",
    }
)
"""Parameters of Scrapyd itself, or of other fields. A `setting` could switch off what guards a spider."""


class CrawlTargets(Protocol):
    """The SSRF guard of crawls."""

    def check(self, url: str) -> None:
        """`Invalid` when this URL could never be allowed; looks up no names."""
        ...

    async def admit(self, url: str, tenant_id: str) -> None:
        """Looks its name up now: `EgressRefused` or `EgressFailed` when the tenant's work may not go there."""
        ...


def read_config(config: Mapping[str, Any], targets: CrawlTargets, project: str) -> dict[str, Any]:
    """The stored form: `spider`, `project` and `start_urls`, and what else was given."""
    fields = Fields.of("", config)
    # First, so that a misspelt `urls` is reported as unknown, and not only `start_urls` as missing.
    fields.asked |= {"spider", "project", "start_urls", "depth", "params", EXPECT, *CONDITIONS}
    fields.finish()
    wrong = Complaints()
    stored: dict[str, Any] = {
        "spider": wrong.attempt(lambda: _spider(fields)),
        "project": wrong.attempt(lambda: _project(fields, project)),
        "start_urls": wrong.attempt(lambda: _start_urls(fields.value("start_urls"), targets)),
    }
    if fields.value("depth") is not None:
        stored["depth"] = wrong.attempt(lambda: fields.integer("depth", 0, low=0, high=DEEPEST))
    params = wrong.attempt(lambda: _params(fields.value("params"))) or {}
    for name in CONDITIONS:
        with wrong.collect():
            stored |= _condition(name, fields, params)
    if (expect := fields.value(EXPECT)) is not None:
        stored[EXPECT] = wrong.attempt(lambda: read_expect(expect))
    wrong.speak()
    if others := {name: value for name, value in params.items() if name not in CONDITIONS}:
        stored["params"] = others
    return stored


def _spider(fields: Fields) -> str:
    spider = fields.text("spider", "", most=100)
    if not spider:
        raise Invalid("spider", "is required")
    if not _NAME.fullmatch(spider):
        raise Invalid("spider", f"must be {_NAMED}", got=spider)
    return spider


def _project(fields: Fields, default: str) -> str:
    project = fields.text("project", default, most=100)
    if not _NAME.fullmatch(project):
        raise Invalid("project", f"must be {_NAMED}", got=project)
    return project


def _start_urls(got: object, targets: CrawlTargets) -> list[str]:
    """Without duplicates, in the order given. Without any, the spider uses its own."""
    if got is None:
        return []
    if isinstance(got, str) or not isinstance(got, list | tuple):
        raise Invalid("start_urls", "must be a list of URLs", got=got)
    if len(got) > MOST_URLS:
        raise Invalid("start_urls", f"must be at most {MOST_URLS} URLs", got=f"{len(got)} URLs")
    wrong = Complaints()
    for number, url in enumerate(got):
        with wrong.collect():
            _start_url(f"start_urls.{number}", url, targets)
    wrong.speak()
    urls = list(dict.fromkeys(got))
    if len(",".join(urls).encode()) > MOST_URL_BYTES:
        raise Invalid("start_urls", "must be at most 64 KiB in total")
    return urls


def _start_url(where: str, url: Any, targets: CrawlTargets) -> None:
    try:
        targets.check(url)
    except Invalid as refusal:
        raise Invalid(where, refusal.message, got=refusal.got) from None
    _encodable(where, url)


def _params(got: object) -> dict[str, Any]:
    """Arguments of the spider."""
    if got is None:
        return {}
    if not isinstance(got, Mapping):
        raise Invalid("params", "must be an object", got=type(got).__name__)
    if len(got) > MOST_PARAMS:
        raise Invalid("params", f"must be at most {MOST_PARAMS}", got=f"{len(got)} params")
    check_depth("params", got)
    size = 0
    for name, value in got.items():
        if not isinstance(name, str) or not _PARAM.fullmatch(name):
            rule = "must have names such as max_pages: a letter, then letters, digits and '_', at most 64"
            raise Invalid("params", rule, got=str(name)[:100])
        if name in RESERVED:
            raise Invalid(f"params.{name}", "is set by Foliot and cannot be given to a spider")
        length = len(argument(f"params.{name}", value).encode())
        if length > MOST_PARAM_BYTES:
            raise Invalid(f"params.{name}", "must be at most 16 KiB", got=f"{length} bytes")
        size += length
    if size > MOST_PARAMS_BYTES:
        raise Invalid("params", "must be at most 64 KiB in total", got=f"{size} bytes")
    return dict(got)


def argument(where: str, value: object) -> str:
    """A value as a spider gets it: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return _encodable(where, value)
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError) as error:
        raise Invalid(where, f"must be JSON ({error})") from None


def _condition(name: str, fields: Fields, params: Mapping[str, Any]) -> dict[str, int]:
    """Conditions of success are fields of their own or, for interfaces that have only `params`, among the params."""
    beside, among = fields.value(name), params.get(name)
    if beside is None and among is None:
        return {}
    if None not in (beside, among) and beside != among:
        raise Invalid(name, f"must not differ from params.{name}; keep one", got=beside)
    source = fields if among is None else Fields("params", params)
    return {name: source.integer(name, 0, low=0, high=MOST_COUNT)}


def _encodable(where: str, text: str) -> str:
    if "\x00" in text:
        raise Invalid(where, "must not contain the character U+0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(where, "must be text that can be written as UTF-8") from None
    return text
