"""Secrets: their names, values and hosts, and the port for encryption.

Credentials inside headers, URLs and parameters: where they are, how they are masked and how they are stored.

A stored action holds encrypted text in place of each. Answers show `***`, and a document that is sent back with `***`
keeps the stored credential, as long as it goes to the same destination.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, Protocol

from foliot.core.errors import Invalid
from foliot.core.mask import HIDDEN, NAMED, TEMPLATE, CredentialSpot, decoded, rewritten

SIGNING = "webhook_signing"
"""The secret that signs webhooks."""
OVERLAP = timedelta(hours=24)
"""How long the previous version still signs beside a new one."""
MOST = 100
"""Limit per tenant."""
SHORTEST = 8
"""Minimum length of a value: a shorter one could not be told from ordinary text when it is redacted."""
LONGEST = 8 * 1024
"""Bytes of a value."""
SHORTEST_KEY = 16
MOST_HOSTS = 50
LONGEST_HOST = 260
PREFIX = "whsec_"

_NAME = re.compile(NAMED)
# Lone surrogates count too: no header can carry them.
_URL = re.compile(
    r"(?i)(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^/?#]*@)?(?P<host>\[[^\]]*\]|[^/?#:@]*)(?::(?P<port>[0-9]*))?(?=[/?#]|$)"
)
_HOST = re.compile(
    r"(?i)(?:(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\.?"
    r"|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def names_in(headers: Mapping[str, str]) -> set[str]:
    """The secrets that these headers need."""
    return {name for value in headers.values() for name in TEMPLATE.findall(value)}


def is_name(text: str) -> bool:
    """Whether a secret could have this name."""
    return _NAME.fullmatch(text) is not None


def read_name(text: str) -> str:
    if not is_name(text):
        rule = "must be 1 to 64 letters, digits and underscores, and not begin with a digit"
        raise Invalid("name", rule, got=text[:100])
    return text


def read_hosts(raw: object) -> tuple[str, ...] | None:
    """The hosts of `{"value": …, "hosts": […]}`, without duplicates; None when the field is missing."""
    given = raw.get("hosts") if isinstance(raw, Mapping) else None
    if given is None:
        return None
    if not isinstance(given, list | tuple) or len(given) > MOST_HOSTS:
        raise Invalid("hosts", f"must be a list of at most {MOST_HOSTS} hosts such as api.partner.com")
    for place, host in enumerate(given):
        if not isinstance(host, str) or len(host) > LONGEST_HOST or not _HOST.fullmatch(host):
            rule = "must be a host such as api.partner.com, *.partner.com or api.partner.com:8443"
            raise Invalid(f"hosts[{place}]", rule, got=host[:100] if isinstance(host, str) else None)
    return tuple(dict.fromkeys(host.lower().removesuffix(".") for host in given))


def goes_to(hosts: Collection[str], url: str) -> bool:
    """Whether a secret for these hosts may be sent to this URL."""
    found = _URL.match(url)
    if found is None:
        return False
    name = found["host"].lower().removesuffix(".")
    port = found["port"] or {"http": "80", "https": "443"}.get(found["scheme"].lower(), "")
    names = {name, *(f"*.{name.split('.', at)[at]}" for at in range(1, name.count(".") + 1))}
    return any(each in hosts or f"{each}:{port}" in hosts for each in names)


def read_value(name: str, raw: object) -> str:
    """The value of `{"value": …}`, valid in a header. Errors never repeat anything that was sent."""
    if not isinstance(raw, Mapping) or not {"value"} <= set(raw) <= {"value", "hosts"}:
        raise Invalid(
            "body", 'must be an object with "value", and optionally "hosts", the only hosts that it may be sent to'
        )
    value = raw["value"]
    if not isinstance(value, str):
        raise Invalid("value", "must be text")
    if _CONTROL.search(value) or value != value.strip():
        raise Invalid("value", "must be one line, without control characters, and must not begin or end with a space")
    size = len(value.encode("utf-8", "replace"))
    if len(value) < SHORTEST or size > LONGEST:
        raise Invalid("value", f"must have {SHORTEST} characters to {LONGEST // 1024} KiB", got=f"{size} bytes")
    if name == SIGNING and not (value.startswith(PREFIX) and signing_key(value)):
        raise Invalid("value", SIGNING_RULE)
    return value


SIGNING_RULE = (
    f"must be '{PREFIX}' followed by base64 of at least {SHORTEST_KEY} bytes; make one with: "
    "python3 -c \"import base64, secrets; print('whsec_' + base64.b64encode(secrets.token_bytes(32)).decode())\""
)


def signing_key(secret: str) -> bytes | None:
    """The bytes that a Standard Webhooks secret stands for, with or without its prefix; None when it is none."""
    text = secret.strip().removeprefix(PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) >= SHORTEST_KEY else None


class CannotUnseal(Exception):
    """Decryption failed: another key, another place or a changed byte. Never says which."""

    def __init__(self) -> None:
        super().__init__("a sealed value cannot be decrypted")


class NotForHost(Exception):
    """A secret may not be sent to this host. Carries its name and the hosts that it is for."""

    def __init__(self, name: str, hosts: Sequence[str]) -> None:
        super().__init__(f"the secret {name} may not be sent to this host")
        self.name = name
        self.hosts = hosts


class NamedSecrets(Protocol):
    """A tenant's secrets by name."""

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        """The values of those that exist; `NotForHost` when one of them may not go to this URL.

        `CannotUnseal`, or `Unavailable`, when one that exists cannot be used.
        """
        ...


class Vault(Protocol):
    """Encrypts and digests with the current master key; decrypts and recognises with every known one."""

    @property
    def current(self) -> str:
        """The id of the key that encrypts and digests now."""
        ...

    @property
    def ids(self) -> list[str]:
        """The ids of all keys, the current one first."""
        ...

    def digest(self, purpose: str, text: str) -> tuple[str, str]:
        """(key id, keyed digest as hex) by the current key."""
        ...

    def digests(self, purpose: str, text: str) -> list[tuple[str, str]]:
        """The same by every key, the current one first."""
        ...

    def seal(self, plain: bytes, *aad: str) -> tuple[str, bytes]:
        """(key id, ciphertext); decrypts only with the same `aad`."""
        ...

    def open(self, key_id: str, sealed: bytes, *aad: str) -> bytes:
        """The plaintext; `CannotUnseal` when anything does not match."""
        ...


SEALED = re.compile(r"sealed\.v1\.(?P<key>[0-9a-f]{8})\.(?P<sealed>[A-Za-z0-9_-]{38,})")
"""The placeholder of a credential in a stored action; valid in headers and in URLs."""
SHORTEST_CREDENTIAL = 4
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
                place, f"is {HIDDEN}, and {_why(spot, bool(known))}: enter the credential itself, or name a secret"
            )
        return found

    return rewritten(action, keep)


def _why(spot: CredentialSpot, some: bool) -> str:  # noqa: FBT001 -- a word of the sentence
    if not some:
        return "there is no stored credential here"
    return (
        f"there is no stored credential for {spot.destination or 'this'}: a "
        "credential is kept only for the host that it was entered for"
    )


def hideable(credential: str) -> list[str]:
    """The parts of a credential that an answer or a log might repeat: the whole, and the part that is secret."""
    found = [credential]
    if scheme := _SCHEME.match(credential):
        found += [scheme["rest"], *_password(scheme["rest"])]
    found += [decoded(credential), *(one.strip() for one in _COOKIE.findall(credential))]
    if ":" in credential and not scheme:
        found.append(credential.partition(":")[2])
    return [one for one in dict.fromkeys(found) if len(one) >= SHORTEST_CREDENTIAL]


def _password(encoded: str) -> list[str]:
    """Of `Basic …`: `user:password`, and the password."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [text, text.partition(":")[2]]
