"""Detects weak keys and passwords: short, repeated, sequential or well-known ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import parse_qs, unquote, urlsplit

from foliot.config.parse import SecretValue, entries, is_loopback

LEAST_DISTINCT = 8
LEAST_OWN = 16
_WORDS = (
    "password", "passwd", "passphrase", "secret", "key", "token", "jwt", "hs256", "hmac", "sha256", "signing", "sign",
    "private", "super", "very", "my", "your", "the", "this", "that", "it", "is", "be", "a", "an", "of", "to", "with",
    "at", "least", "must", "should", "changeme", "change", "replace", "me", "in", "for", "production", "prod", "dev",
    "development", "test", "testing", "staging", "example", "sample", "placeholder", "default", "insecure", "unsafe",
    "do", "not", "use", "please", "long", "random", "string", "value", "here", "some", "enough", "characters",
    "character", "chars", "bytes", "byte", "bits", "bit", "256", "512", "128", "32", "64", "foliot", "admin", "root",
    "user", "guest", "app", "application", "server", "api", "auth", "django", "flask", "fastapi", "qwerty", "letmein",
    "123456789", "1234567890", "12345678", "123456", "12345", "1234", "123",
)  # fmt: skip
_KNOWN = re.compile("|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True)))
_DOCUMENTS = ("-----BEGIN", "ssh-", "{")
_SEPARATORS = re.compile(r"[\W_]+")

_PASSWORDS = frozenset(
    {
        "1234", "12345", "123456", "12345678", "123456789", "1234567890", "admin", "admin123", "changeit", "changeme",
        "default", "example", "foliot", "guest", "letmein", "mariadb", "mysql", "pass", "passw0rd", "password",
        "password1", "password123", "postgres", "postgresql", "qwerty", "rabbitmq", "redis", "root", "secret", "test",
        "toor", "user", "welcome",
    }
)  # fmt: skip
_OPEN_USERS = frozenset({"root", "admin", "guest", "sa"})
"""Users that have no password by default."""


_MAKE = 'make one with: python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


def strong(least: int, unit: str) -> Callable[[str], SecretValue]:
    """Parses a key of at least so many bytes or characters that cannot be guessed."""

    def read(text: str) -> SecretValue:
        if (len(text.encode()) if unit == "bytes" else len(text)) < least:
            raise ValueError(f"must have at least {least} {unit}; {_MAKE}")
        if found := weakness(text):
            raise ValueError(f"{found}; {_MAKE}")
        return SecretValue(text)

    return read


def master_keys(text: str) -> tuple[SecretValue, ...]:
    """A list of such keys: the first encrypts, all decrypt."""
    read = strong(32, "characters each")
    return tuple(read(entry) for entry in entries(text))


def weakness(key: str) -> str | None:
    """Why this text is no key, to be appended to the setting's name; None when no weakness is found."""
    if key.startswith(_DOCUMENTS):
        return "must be a secret, not a key that others have too (FOLIOT_JWT_KEY_FILE takes public keys)"
    if _repeats(key):
        return "must not repeat the same characters over and over"
    if len(set(key)) < LEAST_DISTINCT or _counts_up(key):
        return "must be random, not a sequence"
    own = _SEPARATORS.sub("", _KNOWN.sub("", _SEPARATORS.sub(" ", key.lower())))
    if len(own) < min(LEAST_OWN, len(key) // 2):
        return "must be random, not a placeholder"
    return None


def _repeats(text: str) -> bool:
    """Whether it is one piece, repeated."""
    return (text + text).find(text, 1) <= len(text) // 2


def _counts_up(text: str) -> bool:
    """Whether most characters continue a sequence: 123456…, abcdef…, zyxwvu…."""
    steps = [ord(after) - ord(before) for before, after in pairwise(text)]
    return max(steps.count(1), steps.count(-1)) * 2 > len(steps)


def default_credentials(url: str) -> str | None:
    """The weakness of the credentials for a remote server; None for a local server or for credentials of one's own.

    A broker's URL may list several servers, separated by semicolons.
    """
    for one in url.split(";"):
        if weak := _default_of(one.strip()):
            return weak
    return None


def _default_of(url: str) -> str | None:
    scheme, _, rest = url.partition("://")
    try:
        parts = urlsplit(f"//{rest}")
        query = parse_qs(parts.query)
        hosts = query.get("host", [parts.hostname or ""])[0].split(",")
    except ValueError:
        return None
    if all(_here(host) for host in hosts):
        return None
    user = unquote(parts.username or query.get("user", [""])[0])
    password = unquote(parts.password or query.get("password", [""])[0])
    if not user and not password:
        return (
            "guest:guest, which is what a URL without a user means" if scheme.startswith(("amqp", "pyamqp")) else None
        )
    if not password:
        return f"the user {user} without a password" if user.lower() in _OPEN_USERS else None
    if password.lower() in _PASSWORDS or (user and password.lower() == user.lower()):
        return f"a well-known password for the user {user or '(none)'}"
    return None


def _here(host: str) -> bool:
    """This machine: loopback, or a socket in the file system."""
    return not host or host.startswith("/") or is_loopback(host.strip("[]"))
