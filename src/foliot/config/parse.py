"""Parsers from the text of an environment variable to a value; ValueError with the rule otherwise."""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from foliot.core.errors import FoliotError, Invalid
from foliot.core.queue_name import is_queue, same_queue
from foliot.core.time.zone import zone_info

LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("console", "json")

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*")
_SHORTEST_KEY = 16


class SettingsError(FoliotError):
    """The settings break rules; one line for each."""

    def __init__(self, complaints: Iterable[Invalid]) -> None:
        self.complaints = list(complaints)
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))


class SecretValue:
    """A secret value: shown only by `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretValue) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret('***')"

    def __str__(self) -> str:
        return "***"


# Each parser returns the value, or raises ValueError with the rule.


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        rule = f"must be a whole number from {least} to {most}"
        try:
            value = int(text)
        except ValueError:
            raise ValueError(rule) from None
        if not least <= value <= most:
            raise ValueError(rule)
        return value

    return read


def number(above: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        rule = f"must be a number above {above:g} and at most {most:g}"
        try:
            value = float(text)
        except ValueError:
            raise ValueError(rule) from None
        if not above < value <= most:
            raise ValueError(rule)
        return value

    return read


def seconds(least: float, most: float) -> Callable[[str], float]:
    """A duration: plain seconds, or with a unit as in `500ms`, `5s`, `2m`, `1h`."""

    def read(text: str) -> float:
        rule = f"must be a duration from {least:g} s to {most:g} s, such as 5, 5s or 500ms"
        found = _DURATION.fullmatch(text)
        if found is None:
            raise ValueError(rule)
        value = float(found[1]) * _UNITS[found[2] or "s"]
        if not least <= value <= most:
            raise ValueError(rule)
        return value

    return read


def choice(*words: str, **synonyms: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        word = synonyms.get(text.lower(), text.lower())
        if word not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return word

    return read


def switch(text: str) -> bool:
    """1, true, yes, on; 0, false, no, off."""
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError("must be 1 or 0")
    return known[text.lower()]


def directory(text: str) -> Path:
    if "\0" in text:
        raise ValueError("must be the path of a directory, without null bytes")
    return Path(text).expanduser().absolute()


def timezone(text: str) -> str:
    try:
        zone_info(text)
    except Invalid as wrong:
        raise ValueError(wrong.message) from None
    return text


def is_loopback(host: str) -> bool:
    """Whether the host is loopback."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address(text: str) -> str:
    """A host that a socket can be bound to."""
    host = text.lower().removeprefix("[").removesuffix("]")
    try:
        ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host):
            raise ValueError("must be an address or a host name, such as 127.0.0.1, :: or foliot.internal") from None
    return host


def file(text: str) -> Path:
    path = directory(text)
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ValueError("must be a file that this user can read")
    return path


def plain(most: int) -> Callable[[str], str]:
    """Printable text of at most `most` characters."""

    def read(text: str) -> str:
        if len(text) > most or not text.isprintable():
            raise ValueError(f"must be at most {most} printable characters")
        return text

    return read


def keys_url(text: str) -> str:
    """https only: an attacker who changes the response on its way could sign any token."""
    rule = "must be an https URL without user or password (http only on this machine), such as https://id.example/jwks"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(rule) from None
    if not host or parts.username is not None or not text.isprintable() or " " in text:
        raise ValueError(rule)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError(rule)
    return text


def public_url(text: str) -> str:
    rule = "must be the address of the dashboard without a path, such as https://foliot.example"
    try:
        parts = urlsplit(text)
        host, port = address(parts.hostname or ""), parts.port
    except ValueError:
        raise ValueError(rule) from None
    if parts.scheme not in {"http", "https"} or "@" in parts.netloc or parts.path not in {"", "/"}:
        raise ValueError(rule)
    if parts.query or parts.fragment:
        raise ValueError(rule)
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + (f":{port}" if port else "")


def entries(text: str) -> tuple[str, ...]:
    """A comma-separated list; surrounding spaces and empty entries are ignored."""
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def queues(text: str) -> tuple[str, ...]:
    names = entries(text)
    for name in names:
        if not is_queue(name):
            raise ValueError(
                "must be a comma-separated list of queue names (letters, digits, '.', '_', '-'; at most 64)"
            )
    return tuple(same_queue(name) for name in names)


def ports(text: str) -> tuple[int, ...]:
    rule = "must be a comma-separated list of ports from 1 to 65535"
    try:
        values = tuple(int(entry) for entry in entries(text))
    except ValueError:
        raise ValueError(rule) from None
    if not values or not all(1 <= value <= 65535 for value in values):
        raise ValueError(rule)
    return values


def signing_secret(text: str) -> SecretValue:
    rule = (
        f"must be 'whsec_' followed by base64 of at least {_SHORTEST_KEY} bytes; make one with: "
        "python3 -c \"import base64, secrets; print('whsec_' + base64.b64encode(secrets.token_bytes(32)).decode())\""
    )
    prefix, _, encoded = text.partition("whsec_")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(rule) from None
    if prefix or len(key) < _SHORTEST_KEY:
        raise ValueError(rule)
    return SecretValue(text)
