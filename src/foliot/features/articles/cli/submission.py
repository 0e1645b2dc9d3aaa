"""Reads the articles to submit from URLs, files of URLs, and JSON files."""

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


def read_submission(places: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `POST /jobs/submit`; `defaults` apply to articles that give no other value."""
    body: dict[str, Any] = {"articles": []}
    for place in places:
        if place.lower().startswith(("http://", "https://")):
            body["articles"].append({"url": place})
            continue
        document = _parsed(place, _text(place))
        body["articles"] += document.pop("articles")
        body |= document
    if not body["articles"]:
        raise Failure(f"{', '.join(places)}: contains no article", Exit.USAGE)
    body["articles"] = [_filled(article, defaults) for article in body["articles"]]
    return body


def _text(place: str) -> str:
    try:
        return sys.stdin.read() if place == STDIN else Path(place).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Failure(f"{place!r} is neither an http or https URL nor a file that exists", Exit.USAGE) from None
    except (OSError, UnicodeDecodeError) as failed:
        reason = getattr(failed, "strerror", None) or "it is not UTF-8 text"
        raise Failure(f"{place!r} cannot be read ({reason})", Exit.USAGE) from None


def _parsed(place: str, text: str) -> dict[str, Any]:
    """JSON as `POST /jobs/submit` takes it, or a list of articles or URLs; else a URL per line and `#` comments."""
    if not text.lstrip().startswith(_JSON):
        lines = (line.strip() for line in text.splitlines())
        return {"articles": [{"url": line} for line in lines if line and not line.startswith("#")]}
    try:
        parsed = json.loads(text)
    except ValueError as wrong:
        raise Failure(f"{place!r} starts like JSON but is not valid: {wrong}", Exit.USAGE) from None
    document = {"articles": parsed} if isinstance(parsed, list) else parsed
    articles = document.get("articles")
    unknown = sorted(set(document) - _OPTIONS - {"articles"})
    if not isinstance(articles, list) or unknown:
        named = f", not {', '.join(map(repr, unknown))}" if unknown else ""
        raise Failure(
            f'{place!r} must be a list of articles, or {{"articles": […]}} and optionally ignore_cache and '
            f"max_age_seconds{named}",
            Exit.USAGE,
        )
    return document


def _filled(given: Any, defaults: Mapping[str, Any]) -> Any:
    article = {"url": given} if isinstance(given, str) else given
    return {**defaults, **article} if isinstance(article, dict) else article
