"""Ids from what a person types: an id, the beginning of one, or a name. The server looks it up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from foliot.terminal.client import Client
from foliot.terminal.output import Exit, Failure, note

_WHOLE = re.compile(r"[a-z]{3}_[0-9a-f]{32}")
_LISTS = {
    "schedule": "foliot schedule list",
    "run": "foliot run list",
    "job": "foliot crawl list, foliot articles list",
    "dead_letter": "foliot run list --state dead_letter",
    "bulk": "foliot bulk list",
    "key": "foliot apikey list",
    "view": "foliot view list",
    "monitor": "foliot monitor list",
    "watch": "foliot watches list",
    "calendar": "foliot calendars list",
    "channel": "foliot channel list",
    "alert_rule": "foliot alert rules",
    "alert": "foliot alert list",
}
_WORDS = {"dead_letter": "dead letter", "bulk": "bulk action", "key": "API key", "alert_rule": "alert rule"}


@dataclass(frozen=True, slots=True)
class Reference:
    """Marks an argument or a flag that takes an id, the beginning of one, or a name."""

    kind: str


def references(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The kinds of those parameters that are marked, by name."""
    marked = {
        name: [mark for mark in get_args(parameter.annotation) if isinstance(mark, Reference)]
        for name, parameter in parameters.items()
    }
    return {name: marks[0].kind for name, marks in marked.items() if marks}


def resolve(client: Client, kind: str, text: str) -> str:
    """The id that is meant; a failure when nothing matches, with similar names, or several do, with all of them."""
    if _WHOLE.fullmatch(text):
        return text
    status, answer = client.send("GET", "/api/resolve", query={"kind": kind, "ref": text})
    if status != 200:
        # An older server, or a key that may not read names: what was typed may still be an id.
        return text
    word = _WORDS.get(kind, kind)
    matches = answer["matches"]
    if len(matches) > 1:
        lines = [f"several match {text!r}: give one of these ids, or a longer part of it"]
        lines += [f"  {one['id']}  {one['name']}  {one['hint']}".rstrip() for one in matches]
        lines += ["  and more"] if answer["more"] else []
        raise Failure("\n".join(lines), Exit.REFUSED, {"code": "ambiguous", "matches": matches})
    if not matches:
        lines = [f"no {word} {text!r}"]
        lines += [f"  did you mean: {', '.join(answer['suggestions'])}"] if answer["suggestions"] else []
        lines += [f"  hint: {_LISTS[kind]} shows what there is"]
        details = {"code": "not_found", "suggestions": answer["suggestions"]}
        raise Failure("\n".join(lines), Exit.NOT_FOUND, details)
    (found,) = matches
    if kind == "run" and found["name"]:
        note(f"the newest run of {found['name']}: {found['id']}")
    return str(found["id"])
