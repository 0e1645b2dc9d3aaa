"""Documents of watches from a backup of changedetection.io, or from a list of URLs, and what does not carry over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foliot.features.watches.model.watch import MOST_PAGES

DEFAULT_SECONDS = 3 * 3600
"""The interval of changedetection.io where neither the watch nor its settings name one."""
LONGEST_NAME = 120
MOST_TEXT_TERMS = 10
_SECONDS = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}
_RENDER = {"html_requests": "never", "html_webdriver": "always"}
_TAG = re.compile(r"[^a-z0-9._-]+")
_REGEX = re.compile(r"/(.*)/([a-z]*)", re.DOTALL)
_LOST: Mapping[str, str] = {
    "headers": "request headers are not sent",
    "body": "it was a request with a body; pages are visited by GET",
    "browser_steps": "steps in a browser are not repeated",
    "webdriver_js_execute_code": "no script is executed on the page",
    "proxy": "its proxy is not used: set FOLIOT_EGRESS_PROXY",
    "extract_text": "extract_text is not applied: use a field with regex",
    "conditions": "its conditions are not translated: use when",
    "notification_urls": "its notifications are not copied: make a channel, and an alert rule with on: changed",
}


class UnreadableBackup(Exception):
    """It is no backup of changedetection.io, or no list of URLs; the message says what was expected."""


@dataclass(slots=True)
class ImportedWatches:
    """Documents of new watches, and a note for everything that does not carry over."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    """Names of those that were paused where they come from."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of a watch's name and a sentence."""


def read_urls(text: str, name: str, seconds: float) -> ImportedWatches:
    """One watch of all URLs, one a line; what follows a URL on its line is ignored, and so are lines with #."""
    urls = list(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip() and line.strip()[0] != "#"))
    wrong = next((url for url in urls if not url.startswith(("http://", "https://"))), None)
    if wrong is not None or not urls:
        said = f"{wrong[:100]} is not an http or https URL" if wrong else "it names no URL"
        raise UnreadableBackup(f"{said}: give one URL per line, or a backup of changedetection.io")
    found = ImportedWatches()
    parts = [urls[start : start + MOST_PAGES] for start in range(0, len(urls), MOST_PAGES)]
    for number, part in enumerate(parts, start=1):
        called = name if len(parts) == 1 else f"{name} {number}"
        found.documents.append({"name": called, "urls": part, "schedule": _every(seconds)})
    return found


def read_backup(index: object, watches: Mapping[str, object]) -> ImportedWatches:
    """`index`: `url-watches.json`, or `changedetection.json` of newer versions; `watches`: files of single watches."""
    if not isinstance(index, Mapping):
        raise UnreadableBackup("url-watches.json is not an object: make a new backup in changedetection.io")
    listed = {**_object(index.get("watching")), **watches}
    if not listed:
        raise UnreadableBackup("the backup has no watches")
    settings = _object(index.get("settings"))
    usual = _seconds(_object(settings.get("requests")).get("time_between_check")) or DEFAULT_SECONDS
    application = _object(settings.get("application"))
    tags = {name: str(_object(tag).get("title") or "") for name, tag in _object(application.get("tags")).items()}
    everywhere = {name: _texts(application.get(f"global_{name}")) for name in ("ignore_text", "subtractive_selectors")}
    found, taken = ImportedWatches(), set[str]()
    for raw in listed.values():
        one = _object(raw)
        if one.get("url"):
            _add(found, one, usual, tags, everywhere, taken)
    return found


def _add(
    found: ImportedWatches,
    one: Mapping[str, Any],
    usual: int,
    tags: Mapping[str, str],
    everywhere: Mapping[str, Sequence[str]],
    taken: set[str],
) -> None:
    url = str(one["url"])
    name = _free(str(one.get("title") or one.get("page_title") or url)[:LONGEST_NAME], taken)
    if "{{" in url or "{%" in url:
        found.notes.append((name, "left out: its URL is a template"))
        return
    own = None if one.get("time_between_check_use_default") else _seconds(one.get("time_between_check"))
    document: dict[str, Any] = {"name": name, "urls": [url], "schedule": _every(own or usual)}
    if one.get("paused"):
        found.paused.add(name)
    named = [tags.get(str(tag), str(tag)) for tag in one.get("tags") or ()]
    if words := [word for tag in named if (word := _TAG.sub("-", tag.lower()).strip("-"))]:
        document["tags"] = list(dict.fromkeys(words))
    if render := _RENDER.get(str(one.get("fetch_backend"))):
        document["render"] = render
    notes = list(_lost(one))
    _select(document, _texts(one.get("include_filters")), notes)
    _ignore(document, one, everywhere, notes)
    _when(document, one, notes)
    if one.get("processor") == "restock_diff":
        document["fields"] = {"price": {"type": "price"}}
        notes.append("its price is watched; whether it is in stock is not")
    found.documents.append(document)
    found.notes += [(name, note) for note in notes]


def _lost(one: Mapping[str, Any]) -> Iterator[str]:
    yield from (note for key, note in _LOST.items() if one.get(key))
    if str(one.get("method") or "GET").upper() != "GET":
        yield f"its method was {str(one['method'])[:10]}; pages are visited by GET"
    if _object(one.get("time_schedule_limit")).get("enabled"):
        yield "it is visited at all hours: give it a cron expression where that is not wanted"


def _select(document: dict[str, Any], filters: Sequence[str], notes: list[str]) -> None:
    read = [selector for each in filters if (selector := _selector(each)) is not None]
    if len(read) < len(filters):
        notes.append("filters by jq are not translated")
    plain = [each for each in read if not each.startswith(("/", "(", "$"))]
    if len(plain) == len(read) > 1:
        read = [", ".join(plain)]
    elif len(read) > 1:
        notes.append(f"only the first of its {len(read)} filters is used")
    if read:
        document["select"] = read[0]


def _selector(text: str) -> str | None:
    for prefix in ("xpath:", "xpath1:"):
        if text.startswith(prefix):
            return text.removeprefix(prefix).strip()
    if text.startswith("json:"):
        return text.removeprefix("json:").strip()
    return None if text.startswith(("jq:", "jqraw:")) else text.strip()


def _ignore(
    document: dict[str, Any], one: Mapping[str, Any], everywhere: Mapping[str, Sequence[str]], notes: list[str]
) -> None:
    ignored: list[Any] = []
    for text in [*everywhere["subtractive_selectors"], *_texts(one.get("subtractive_selectors"))]:
        selector = _selector(text)
        ignored += [] if selector is None else [{"xpath": selector} if selector.startswith(("/", "(")) else selector]
    for text in [*everywhere["ignore_text"], *_texts(one.get("ignore_text"))]:
        # It ignores the whole line in which the text stands.
        pattern = _REGEX.fullmatch(text)
        inner = re.escape(text) if pattern is None else pattern[1]
        flags = "(?im)" if pattern is None or "i" in pattern[2] else "(?m)"
        ignored.append({"regex": f"{flags}^.*(?:{inner}).*$"})
    if one.get("trim_text_whitespace"):
        ignored.append("whitespace")
    if len(ignored) > 50:
        notes.append(f"only 50 of the {len(ignored)} things that it ignores are taken over")
    if ignored:
        document["ignore"] = ignored[:50]


def _when(document: dict[str, Any], one: Mapping[str, Any], notes: list[str]) -> None:
    terms = []
    for key, form in (("trigger_text", "({})"), ("text_should_not_be_present", "not ({})")):
        texts = _texts(one.get(key))
        plain = [text for text in texts if _REGEX.fullmatch(text) is None and '"' not in text][:MOST_TEXT_TERMS]
        if len(plain) < len(texts):
            notes.append(f"{len(texts) - len(plain)} texts of {key} are not translated")
        if plain:
            terms.append(form.format(" or ".join(f'contains(text, "{text}")' for text in plain)))
    if terms:
        document["when"] = " and ".join(["changed()", *terms])


def _every(seconds: float) -> dict[str, Any]:
    return {"type": "interval", "interval_seconds": seconds}


def _seconds(raw: object) -> int:
    given = _object(raw)
    numbers = {unit: str(given.get(unit) or 0) for unit in _SECONDS}
    return sum(int(number) * _SECONDS[unit] for unit, number in numbers.items() if number.isdigit())


def _texts(raw: object) -> list[str]:
    if isinstance(raw, str):
        raw = raw.splitlines()
    return [str(each).strip() for each in raw if str(each).strip()] if isinstance(raw, list | tuple) else []


def _object(raw: object) -> Mapping[str, Any]:
    return raw if isinstance(raw, Mapping) else {}


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name} {number}", number + 1
    taken.add(found)
    return found
