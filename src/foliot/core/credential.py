"""Credentials inside headers, URLs and parameters: where they are, how they are masked and how they are stored.

A stored action holds encrypted text in place of each. Answers show `***`, and a document that is sent back with `***`
keeps the stored credential, as long as it goes to the same destination.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.mask import HIDDEN, CredentialSpot, decoded, rewritten

SEALED = re.compile(r"sealed\.v1\.(?P<key>[0-9a-f]{8})\.(?P<sealed>[A-Za-z0-9_-]{38,})")
"""The placeholder of a credential in a stored action; valid in headers and in URLs."""
SHORTEST = 4
"""Length from which a credential is removed from logs and answers: a shorter one would match ordinary text."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,30}\s+(?P<rest>\S.*)$")
_COOKIE = re.compile(r"[^=;\s]+=(?P<value>[^;]+)")


def is_kept(text: str) -> bool:
    """Whether it stands for a credential that is already known: masked, or stored."""
    return text == HIDDEN or SEALED.fullmatch(text) is not None


def kept(where: str, action: Mapping[str, Any], *before: Mapping[str, Any]) -> dict[str, Any]:
    """The action with the credential of `before` in place of each `***`; `Invalid` where there was none.

    A credential stays with its destination: a caller who may change where an action goes must not learn it that way.
    """
    known: dict[tuple[str, str], str] = {}
    parts: dict[tuple[str, str], set[str]] = {}

    def note(spot: CredentialSpot, text: str) -> str:
        known.setdefault((spot.place.lower(), spot.destination), text)
        parts.setdefault((spot.part, spot.destination), set()).add(text)
        return text

    for one in before:
        rewritten(one, note)

    def keep(spot: CredentialSpot, text: str) -> str:
        if not is_kept(text):
            return text
        alike = parts.get((spot.part, spot.destination), set())
        found = known.get((spot.place.lower(), spot.destination)) or (next(iter(alike)) if len(alike) == 1 else None)
        if text != HIDDEN and text in alike:
            return text
        if found is None or text != HIDDEN:
            place = f"{where}.{spot.place}" if where else spot.place
            raise Invalid(
                place, f"is {HIDDEN}, and {_why(spot, bool(known))}: write the credential itself, or a secret"
            )
        return found

    return rewritten(action, keep)


def _why(spot: CredentialSpot, some: bool) -> str:  # noqa: FBT001 -- a word of the sentence
    if not some:
        return "nothing is kept here that it could stand for"
    return f"no credential is kept here for {spot.destination or 'this'}; one stays with the host it was written for"


def hideable(credential: str) -> list[str]:
    """The parts of a credential that an answer or a log might repeat: the whole, and the part that is secret."""
    found = [credential]
    if scheme := _SCHEME.match(credential):
        found += [scheme["rest"], *_password(scheme["rest"])]
    found += [decoded(credential), *(one.strip() for one in _COOKIE.findall(credential))]
    if ":" in credential and not scheme:
        found.append(credential.partition(":")[2])
    return [one for one in dict.fromkeys(found) if len(one) >= SHORTEST]


def _password(encoded: str) -> list[str]:
    """Of `Basic …`: `user:password`, and the password."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [text, text.partition(":")[2]]
