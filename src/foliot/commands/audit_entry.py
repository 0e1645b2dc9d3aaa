"""Audit entries and their hash chain, which makes a later change of an entry evident."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

EDITS = ("patch", "replace", "tag", "revert")
"""Changes of a schedule's settings: those that can be undone."""
GENESIS = "0" * 64
"""The digest that the first entry of every chain refers to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry of the audit log. `seq` and `digest` are its place in the tenant's chain, once it is chained."""

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
    """A chained entry as its row holds it: sequence number, digest, and every other value unchanged."""

    entry_id: str
    seq: int
    digest: str
    content: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last link of a tenant's chain, stored in a table of its own, so that a truncated chain is noticed."""

    tenant_id: str
    seq: int
    digest: str


def seal(previous: str, seq: int, content: Iterable[str | None]) -> str:
    """The digest of a link: SHA-256 over the one before it, its number and every value, each led by its length.

    Lengths keep adjacent values apart, and NULL differs from an empty text.
    """
    digest = hashlib.sha256()
    for value in (previous, str(seq), *content):
        if value is None:
            digest.update(b"-")
        else:
            encoded = value.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(encoded))
            digest.update(encoded)
    return digest.hexdigest()
