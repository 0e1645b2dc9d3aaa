"""Parsers from the text of an environment variable to a value; ValueError with the rule otherwise."""

from __future__ import annotations

import base64
import binascii
import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
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


def tenant(text: str) -> str:
    """A tenant's name, as in tokens."""
    if not 1 <= len(text) <= 64 or not text.isprintable():
        raise ValueError("must be the name of a tenant, 1 to 64 characters")
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


def heartbeat_url(text: str) -> SecretValue:
    """A secret: the address of such a service is its credential."""
    rule = "must be an http or https URL without user or password, such as https://hc-ping.com/your-key"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(rule) from None
    if parts.scheme not in {"http", "https"} or not host or "@" in parts.netloc or not text.isprintable():
        raise ValueError(rule)
    return SecretValue(text)


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


@dataclass(frozen=True, slots=True)
class SettingField:
    """The first key is the setting's own name, the others are aliases."""

    name: str
    keys: tuple[str, ...]
    read: Callable[[str], Any]
    doc: str
    default: Any
    secret: bool
    flag: str
    """The flag of a command that sets it."""


def about(doc: str, *names: str, read: Callable[[str], Any], secret: bool = False, flag: str = "") -> dict[str, Any]:
    """The metadata in the form that a dataclass field takes. `flag`: where it differs from the field's name."""
    return {"keys": names, "read": read, "doc": doc, "secret": secret, "flag": flag}


TOKEN = "FOLIOT_TOKEN"  # noqa: S105 -- the name of a variable
CLIENT = {
    "FOLIOT_URL": "Which server the client commands talk to (default http://127.0.0.1:8000).",
    TOKEN: "The token they present; none is needed by a server in local mode.",
}
"""Read by the command line as a client, not by the server."""

SPIDERS = {
    "FOLIOT_EGRESS_LOOPBACK": "Lets spiders visit this machine, for experiments; a server in local mode always may.",
    "FOLIOT_CACHE_URL": "The Redis that spiders cache pages in.",
    "FOLIOT_CACHE_COMPRESSION": "How cached pages are compressed.",
    "FOLIOT_CACHE_LARGEST": "Bytes of the largest page that is cached.",
    "FOLIOT_CACHE_PREFIX": "Prefix of the cache's keys in Redis.",
    "FOLIOT_CACHE_SCOPE": "Which spiders share a cache.",
    "FOLIOT_HOST_DELAY": "Seconds between a spider's requests to a host that it gets no turns for; set by each crawl.",
    "FOLIOT_IGNORE_CACHE": "Makes a spider fetch every page again.",
}
"""Read by spiders (`foliot.scrapy`) in their own process; a server accepts them, as both may share an environment."""

TESTS = "FOLIOT_TEST_"
"""Prefix of variables of the test suite."""

LATER: dict[tuple[str, ...], str] = {
    ("CELERY_RESULT_BACKEND",): "not needed: results are rows of the database",
}
"""Accepted and unused in this version: spellings of one key, and its purpose."""


def unused(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys that are set and have no effect on a server: (key, purpose)."""
    later = [(key, what) for keys, what in LATER.items() for key in keys if environ.get(key)]
    return later + [(key, "read by spiders, in their own process") for key in SPIDERS if environ.get(key)]


def unknown_keys(environ: Mapping[str, str], known: Iterable[str]) -> list[Invalid]:
    """Errors about unknown keys. Their values are never shown: many hold passwords."""
    errors = []
    for keys in LATER:
        given = [key for key in keys if environ.get(key)]
        if len({environ[key] for key in given}) > 1:
            errors.append(
                Invalid(given[0], f"must not differ from {', '.join(given[1:])}, which means the same; keep one")
            )
    expected = {*known, *CLIENT, *SPIDERS, *(key for keys in LATER for key in keys)}
    ours = [key for key in sorted(environ) if key.startswith("FOLIOT_")]
    errors += [_unknown(key, expected) for key in ours if _stray(key, expected)]
    return errors


def _stray(key: str, expected: set[str]) -> bool:
    return key not in expected and not key.startswith(TESTS)


def _unknown(key: str, expected: set[str]) -> Invalid:
    near = difflib.get_close_matches(key, expected, n=1, cutoff=0.6)
    return Invalid(key, "is not a setting of Foliot" + (f"; did you mean {near[0]}?" if near else "; unset it"))
