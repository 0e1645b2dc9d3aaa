"""Settings of authentication, and the rules between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from foliot.config import parse as reading
from foliot.config.parse import SecretValue, about, entries, is_loopback
from foliot.core.errors import Invalid

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
        return "must be a secret, not a public key (FOLIOT_JWT_KEY_FILE takes public keys)"
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
        return "guest:guest, the default of a URL without a user" if scheme.startswith(("amqp", "pyamqp")) else None
    if not password:
        return f"the user {user} without a password" if user.lower() in _OPEN_USERS else None
    if password.lower() in _PASSWORDS or (user and password.lower() == user.lower()):
        return f"a well-known password for the user {user or '(none)'}"
    return None


def _here(host: str) -> bool:
    """This machine: loopback, or a socket in the file system."""
    return not host or host.startswith("/") or is_loopback(host.strip("[]"))


SOURCES = {
    "jwt_secret": "FOLIOT_JWT_SECRET",
    "jwks_url": "FOLIOT_JWKS_URL",
    "jwt_key_file": "FOLIOT_JWT_KEY_FILE",
}
"""Sources of the keys that verify tokens: exactly one of them, or none in local mode."""
_ONLY_WITH_SOURCE = {
    "jwt_issuer": "FOLIOT_JWT_ISSUER",
    "jwt_audience": "FOLIOT_JWT_AUDIENCE",
    "jwt_max_hours": "FOLIOT_JWT_MAX_HOURS",
    "metrics_token": "FOLIOT_METRICS_TOKEN",
}
_SERVERS = (
    "FOLIOT_DATABASE_URL",
    "DATABASE_URL",
    "SCHEDULER_DB_URL",
    "FOLIOT_BROKER_URL",
    "CELERY_BROKER_URL",
    "RABBITMQ_URL",
    "FOLIOT_REDIS_URL",
    "REDIS_URL",
    "FOLIOT_MONGO_URI",
    "MONGO_URI",
    "MONGO_URL",
    "MONGODB_URL",
)
_ONE_TENANT = (
    "applies in local mode only, so webhooks would be sent unsigned: give each tenant its secret webhook_signing "
    "(foliot secret set webhook_signing) and unset it"
)
_ANY_SOURCE = f"{SOURCES['jwt_secret']} (at least 32 bytes), {SOURCES['jwks_url']} or {SOURCES['jwt_key_file']}"


@dataclass(frozen=True, kw_only=True, repr=False)
class AccessSettings:
    """Settings of authentication."""

    jwt_secret: SecretValue | None = field(
        default=None,
        metadata=about(
            "Verifies and signs tokens (HS256): at least 32 random bytes. One of this, `FOLIOT_JWKS_URL` and "
            "`FOLIOT_JWT_KEY_FILE` turns local mode off.",
            "FOLIOT_JWT_SECRET",
            read=strong(32, "bytes"),
            secret=True,
        ),
    )
    jwks_url: str | None = field(
        default=None,
        metadata=about(
            "URL of your identity provider's public keys (a JWKS document), fetched at start-up and every "
            "60 s; https, or http on this machine.",
            "FOLIOT_JWKS_URL",
            read=reading.keys_url,
        ),
    )
    jwt_key_file: Path | None = field(
        default=None,
        metadata=about(
            "File with the public key that verifies tokens: PEM or JWKS; its type decides RS256, ES256 or EdDSA.",
            "FOLIOT_JWT_KEY_FILE",
            read=reading.file,
        ),
    )
    local_mode: bool | None = field(
        default=None,
        metadata=about(
            "`0` turns local mode off in a process that verifies no tokens, such as a worker or a scheduler, so that "
            "it needs none of the three; the API does not start with it. Default: on where none of the three is set.",
            "FOLIOT_LOCAL",
            read=reading.switch,
        ),
    )
    jwt_issuer: str | None = field(
        default=None,
        metadata=about("The `iss` that a token must have. Default: any.", "FOLIOT_JWT_ISSUER", read=reading.plain(500)),
    )
    jwt_audience: str = field(
        default="foliot",
        metadata=about(
            "The `aud` that a token must have, as its only one.", "FOLIOT_JWT_AUDIENCE", read=reading.plain(500)
        ),
    )
    jwt_max_hours: int = field(
        default=24 * 31,
        metadata=about(
            "The longest lifetime of a token, in hours; longer ones are refused.",
            "FOLIOT_JWT_MAX_HOURS",
            read=reading.whole(1, 24 * 3660),
        ),
    )
    metrics_token: SecretValue | None = field(
        default=None,
        metadata=about(
            "A bearer token that gives access to `/metrics` and nothing else: at least 16 characters. "
            "Default: only the role `system`.",
            "FOLIOT_METRICS_TOKEN",
            read=strong(16, "characters"),
            secret=True,
        ),
    )
    secret_key: tuple[SecretValue, ...] = field(
        default=(),
        metadata=about(
            "Master keys that encrypt secrets and pepper API keys, separated by commas, each at least 32 characters: "
            "the first encrypts, all decrypt. Default: derived from `FOLIOT_JWT_SECRET`; in local mode "
            "the file `secret.key` in `FOLIOT_HOME`.",
            "FOLIOT_SECRET_KEY",
            read=master_keys,
            secret=True,
        ),
    )

    public_url: str | None = field(
        default=None,
        metadata=about(
            "Public address of the dashboard, such as `https://foliot.example`: login links lead there, and with https "
            "its cookie is `__Host-foliot_session`. Default: links lead to the address that a request arrived at.",
            "FOLIOT_PUBLIC_URL",
            read=reading.public_url,
        ),
    )
    heartbeat_url: SecretValue | None = field(
        default=None,
        metadata=about(
            "An address of an outside service that expects regular pings, such as `https://hc-ping.com/…`: requested "
            "every minute, but only while instants are fired on time and a worker takes runs. When the pings stop, "
            "Foliot has stopped working.",
            "FOLIOT_HEARTBEAT_URL",
            read=reading.heartbeat_url,
            secret=True,
        ),
    )
    max_key_days: int = field(
        default=365,
        metadata=about(
            "How many days an API key may outlive the token that created it; also the default expiry of such a key.",
            "FOLIOT_MAX_KEY_DAYS",
            read=reading.whole(0, 3660),
        ),
    )
    secrets_require_hosts: bool = field(
        default=False,
        metadata=about(
            "Whether every secret except `webhook_signing` must name the hosts it may be sent to: 1 or 0. One "
            "that names none is then not sent. Default: 0.",
            "FOLIOT_SECRETS_REQUIRE_HOSTS",
            read=reading.switch,
        ),
    )

    @property
    def local(self) -> bool:
        """Local mode: no token is needed, and only loopback may connect."""
        return self.local_mode is not False and not self.checks_tokens

    @property
    def checks_tokens(self) -> bool:
        """Whether keys to verify tokens are configured."""
        return any(getattr(self, name) for name in SOURCES)


def complaints(
    values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]], environ: Mapping[str, str]
) -> list[Invalid]:
    """Checks rules between settings. `given`: the key under which a setting was given, and its text."""
    # An empty key is not an unset one: an operator who wrote it meant to require tokens, and must not be left open.
    errors = [Invalid(key, "must not be empty: give it a value, or unset it for local mode")
             for key in SOURCES.values() if key in environ and not environ[key].strip()]  # fmt: skip
    sources = [key for name in SOURCES for key in given(name)]
    if len(sources) > 1:
        errors.append(Invalid(sources[0], f"must not be set beside {', '.join(sources[1:])}: keep the one you mean"))
    if sources and values["local_mode"]:
        errors.append(Invalid("FOLIOT_LOCAL", f"must not be on beside {sources[0]}, which turns local mode off"))
    if not sources and values["local_mode"] is False and not values["secret_key"]:
        errors.append(Invalid("FOLIOT_SECRET_KEY", "must be given with FOLIOT_LOCAL=0: there is no other master key"))
    if not sources and values["local_mode"] is False:
        errors += [
            Invalid(key, f"must be set only for processes that verify tokens, by {_ANY_SOURCE}")
            for name, key in _ONLY_WITH_SOURCE.items()
            if given(name)
        ]
    if sources or errors or values["local_mode"] is False:
        errors += [Invalid(key, _ONE_TENANT) for key in given("webhook_secret")]
        return errors + _known_defaults(environ)
    host = values["host"]
    if not reading.is_loopback(host):
        rule = "must be a loopback address (127.0.0.1, ::1 or localhost) as long as no token is required"
        errors.append(Invalid(next(iter(given("host"))), f"{rule}; set {_ANY_SOURCE} to ask for one", got=host))
    for name, key in _ONLY_WITH_SOURCE.items():
        if given(name):
            errors.append(Invalid(key, f"has no effect as long as no token is required: set {_ANY_SOURCE}"))
    return errors


def _known_defaults(environ: Mapping[str, str]) -> list[Invalid]:
    """Passwords are not shown, not even weak ones."""
    return [
        Invalid(key, f"must not contain {what}, because that server is not on this machine: give it one of its own")
        for key in _SERVERS
        if (what := default_credentials(environ.get(key, "")))
    ]
