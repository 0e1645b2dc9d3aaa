"""Who changed what, and the chain that shows when somebody changed that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

EDITS = ("patch", "replace", "tag", "revert")
"""Changes of a schedule's settings: those that can be taken back."""
GENESIS = "0" * 64
"""What stands before the first entry of every chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change, as it is remembered. `seq` and `digest` are its place in the tenant's chain, once it has one."""

    id: str
    tenant_id: str
    at: datetime
    user_id: str
    key_id: str | None
    door: str
    verb: str
    thing: str
    thing_id: str
    was: Mapping[str, Any] | None
    became: Mapping[str, Any] | None
    seq: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A chained entry as its row holds it: its place, its seal, and everything else, word for word."""

    entry_id: str
    seq: int
    digest: str
    content: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last link of a tenant's chain, kept apart from it."""

    tenant_id: str
    seq: int
    digest: str


def seal(previous: str, seq: int, content: Iterable[str | None]) -> str:
    """The digest of a link: SHA-256 over the one before it, its number and every value, each led by its length.

    Lengths keep neighbours apart, and nothing is not the same as an empty text.
    """
    made = hashlib.sha256()
    for value in (previous, str(seq), *content):
        if value is None:
            made.update(b"-")
        else:
            told = value.encode("utf-8", "surrogatepass")
            made.update(b"%d:" % len(told))
            made.update(told)
    return made.hexdigest()
