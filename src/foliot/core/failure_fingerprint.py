"""Groups failures: a digest of kind, code, host and message, with ids and numbers taken out of the message."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

DIGITS = 12
"""Length of a fingerprint: short enough to read aloud, long enough that two groups of one tenant never collide."""
MOST = 500
"""Characters of a message that count; the rest is most often a copy of the request."""

_HOST = re.compile(r"(?:\w[\w+.-]{0,30}://)(?:[^\s/@'\"]{1,200}@)?(\[[0-9a-f:.]{2,45}\]|[\w.-]{1,253})", re.IGNORECASE)
_NAMED = re.compile(
    r"\b((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}|localhost)(?=:\d{1,5}\b)", re.IGNORECASE
)
# From the most specific to the most general: what an earlier pattern replaced, a later one does not see.
_PARTICULARS = (
    (re.compile(r", retry after \d+ s(?=\.)| to [\w.:-]+(?=; redirects are not followed)"), ""),
    (re.compile(r"\w[\w+.-]{0,30}://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b[a-z]{2,5}_[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`"), "<text>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)

_GENERAL = {
    "target_unreachable": "The target could not be reached.",
    "target_timeout": "The target did not answer in time.",
    "tls_failed": "No secure connection to the target could be made.",
}
"""By code, where the message names a cause: a target that fails now by one, now by the other is one group."""


def fingerprint(kind: str, error: Mapping[str, Any] | None, host: str | None = None) -> str:
    """The same short text for failures that a person would call the same. `host`: where the action was sent."""
    code, message = told(error)
    if isinstance(error, Mapping) and "cause" in error and code in _GENERAL:
        error = {"code": code, "message": _GENERAL[code]}
        message = _GENERAL[code]
    alike = "\n".join((kind, code, host_of(error) or host or "", normalised(message)))
    return hashlib.blake2b(alike.encode("utf-8", "replace"), digest_size=DIGITS // 2).hexdigest()


def told(error: object) -> tuple[str, str]:
    """Code and message, whatever shape the stored error has."""
    document = error if isinstance(error, Mapping) else {}
    return str(document.get("code", "")), str(document.get("message", ""))


def normalised(message: str) -> str:
    """A message with numbers, ids, quoted text and addresses replaced by placeholders."""
    kept = message[:MOST]
    for pattern, word in _PARTICULARS:
        kept = pattern.sub(word, kept)
    return kept.strip().lower()


def host_of(error: object) -> str | None:
    """The host that the failure names, if it names one."""
    _, message = told(error)
    return host_in(message)


def host_in(text: str) -> str | None:
    """The first host that a text names: in an address, or with a port."""
    found = _HOST.search(text[:MOST]) or _NAMED.search(text[:MOST])
    return found[1].lower() if found else None
