"""Reads which articles are wanted: URLs, files of URLs, and files of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foliot.terminal.output import Exit, Failure

STDIN = "-"
_JSON = ("{", "[")
_OPTIONS = frozenset({"ignore_cache", "max_age_seconds"})


def read_wanted(places: Sequence[str], said: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request for all of them; `said` is what holds for those that say nothing else themselves."""
    body: dict[str, Any] = {"articles": []}
    for place in places:
        if place.lower().startswith(("http://", "https://")):
            body["articles"].append({"url": place})
            continue
        found = _parsed(place, _text(place))
        body["articles"] += found.pop("articles")
        body |= found
    if not body["articles"]:
        raise Failure(f"{', '.join(places)}: no article is named there", Exit.USAGE)
    body["articles"] = [_filled(one, said) for one in body["articles"]]
    return body


def _text(place: str) -> str:
    try:
        return sys.stdin.read() if place == STDIN else Path(place).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Failure(f"{place!r} is neither an http or https URL nor a file that exists", Exit.USAGE) from None
    except (OSError, UnicodeDecodeError) as failed:
        reason = getattr(failed, "strerror", None) or "it is no text in UTF-8"
        raise Failure(f"{place!r} cannot be read ({reason})", Exit.USAGE) from None


def _parsed(place: str, text: str) -> dict[str, Any]:
    """JSON as `POST /jobs/submit` takes it, or a list of articles or URLs; else a URL a line, `#` begins a remark."""
    if not text.lstrip().startswith(_JSON):
        lines = (line.strip() for line in text.splitlines())
        return {"articles": [{"url": line} for line in lines if line and not line.startswith("#")]}
    try:
        found = json.loads(text)
    except ValueError as wrong:
        raise Failure(f"{place!r} begins like JSON and is none: {wrong}", Exit.USAGE) from None
    document = {"articles": found} if isinstance(found, list) else found
    articles = document.get("articles")
    strange = sorted(set(document) - _OPTIONS - {"articles"})
    if not isinstance(articles, list) or strange:
        named = f", not {', '.join(map(repr, strange))}" if strange else ""
        raise Failure(
            f'{place!r} must be a list of articles, or {{"articles": […]}} with ignore_cache and max_age_seconds at '
            f"will{named}",
            Exit.USAGE,
        )
    return document


def _filled(one: Any, said: Mapping[str, Any]) -> Any:
    article = {"url": one} if isinstance(one, str) else one
    return {**said, **article} if isinstance(article, dict) else article
