"""Finds the credentials in an action (headers, URLs, parameters), and masks them for display."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

HIDDEN = "***"
"""Shown in place of a credential."""
NAMED = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
TEMPLATE = re.compile(r"\{\{ *secret\.(" + NAMED + r") *\}\}")
"""The syntax of a secret in a header value."""

_NAMES = (
    r"auth(?!or(?!i[sz]))|cookie|token|secret|passw|passphrase|credential|bearer|jwt"
    r"|(?:api|access|account|app|auth|client|functions|licen[sc]e|master|private|service|subscription)[-_]?key"
)
_HEADER = re.compile(rf"(?i){_NAMES}|^(?:x[-_])?(?:key|sig|signature|session|session[-_]?id|pass|pwd)$")
_QUERY = re.compile(rf"(?i){_NAMES}|(?:^|[-_])(?:key|sig|signature|session|session[-_]?id|sid|pass|pwd)$")
_PARAMETER = re.compile(
    r"(?i)passw|passphrase|secret|credential|bearer|(?:api|access|private)[-_]?key"
    r"|^token$|(?:access|api|auth|bearer|refresh|session)[-_]?token|^authori[sz]ation$|^cookies?$|^pwd$"
)
_HEADERS = frozenset({"headers", "header", "metadata", "env"})
_COOKIES = frozenset({"cookies"})
_PARAMETERS = frozenset({"params", "parameters"})
_BODY = "body"
"""Fields of a webhook whose content belongs to the target and is shown unchanged."""
_URL = re.compile(
    r"(?i)^(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)(?P<place>[^/?#\s]*)(?P<path>[^?#]*)(?P<rest>[?#].*)?$", re.DOTALL
)
_PAIR = re.compile(r"(?P<before>[?&;#])(?P<name>[^=&;#?]{1,200})=(?P<value>[^&;#]*)")
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class CredentialSpot:
    """The location of a credential, and the destination that it is for."""

    place: str
    """As errors name it: `headers.Authorization`, `url?token`, `start_urls.0@`."""
    part: str
    """The part of its field, independent of where that field is: `?token`, `@`, `headers.authorization`."""
    destination: str
    """The host, service or program that receives it."""


Rewrite = Callable[[CredentialSpot, str], str]


def rewritten(action: Mapping[str, Any], change: Rewrite) -> dict[str, Any]:
    """The action with each credential replaced by the result of `change`. Templates of secrets are no credentials."""

    def edit(spot: CredentialSpot, text: str) -> str:
        return text if not text or TEMPLATE.search(text) else change(spot, text)

    whole = isinstance(action.get("url"), str)
    if _is_innocent({name: value for name, value in action.items() if name != _BODY} if whole else action):
        return dict(action)
    walk = _ActionWalk(action, edit)
    return {
        name: value if whole and name == _BODY else walk.value(value, str(name), str(name))
        for name, value in action.items()
    }


_SUSPECT = (
    *(b"auth", b"bearer", b"cookie", b"credential", b"jwt", b"key", b"pass", b"pwd", b"secret", b"session"),
    *(b"sid", b"sig", b"token", b"@", b"%"),
)
"""Every name of a credential contains one of these, unless it is escaped, and so does a URL with a user."""


def _is_innocent(action: Mapping[str, Any]) -> bool:
    """Whether its text alone shows that it holds no credential; most actions hold none, and walking them costs more."""
    try:
        text = orjson.dumps(action)
    except TypeError:
        return False
    # Other letters may mean one of these: the long s, for example.
    if not text.isascii():
        return False
    lower = text.lower()
    # No generator: lists of schedules and each attempt ask this, and one costs as much as the whole search.
    for word in _SUSPECT:  # noqa: SIM110
        if word in lower:
            return False
    return True


def destination(action: Mapping[str, Any]) -> str:
    """The destination of an action: the host that it calls, or the service, project or task that it names."""
    url = action.get("url")
    if isinstance(url, str) and (found := _URL.match(url)):
        return _host(found["place"])
    if isinstance(argv := action.get("argv"), list):
        return f"argv:{' '.join(map(str, argv))}"
    for name in ("target_service", "project", "task", "pipeline", "image"):
        if isinstance(action.get(name), str):
            return f"{name}:{action[name]}"
    return ""


@dataclass(frozen=True, slots=True)
class _ActionWalk:
    """Walks one action, with the names that the nearest keys around a value have."""

    action: Mapping[str, Any]
    change: Rewrite

    def value(self, value: Any, place: str, name: str, among: re.Pattern[str] | None = None) -> Any:
        """`among`: the names that mean a credential here."""
        match value:
            case str() if among is not None and _is_among(among, name):
                return self.change(CredentialSpot(place, place.lower(), destination(self.action)), value)
            case str():
                return self._url(value, place) if "://" in value else value
            case Mapping():
                inner = self._among(name, among)
                return {key: self.value(each, f"{place}.{key}", str(key), inner) for key, each in value.items()}
            case list() | tuple():
                return [self.value(each, f"{place}.{at}", name, among) for at, each in enumerate(value)]
            case _:
                return value

    @staticmethod
    def _among(name: str, among: re.Pattern[str] | None) -> re.Pattern[str] | None:
        lower = name.lower()
        if lower in _HEADERS:
            return _HEADER
        if lower in _COOKIES:
            return _ANY
        return _PARAMETER if lower in _PARAMETERS else among

    def _url(self, text: str, place: str) -> str:
        if "@" not in text and "?" not in text and "#" not in text:
            # Neither user nor query: there is nothing that could be a credential.
            return text
        found = _URL.match(text)
        if found is None:
            return text
        where, rest = found["place"], found["rest"] or ""
        host = _host(where)
        user, at, beyond = where.rpartition("@")
        if at:
            where = f"{self.change(CredentialSpot(f'{place}@', '@', host), user) if user else ''}@{beyond}"

        def pair(one: re.Match[str]) -> str:
            name = decoded(one["name"])
            if not _QUERY.search(name):
                return one[0]
            spot = CredentialSpot(f"{place}?{name}", f"?{name}", host)
            return f"{one['before']}{one['name']}={self.change(spot, one['value'])}"

        return f"{found['scheme']}{where}{found['path']}{_PAIR.sub(pair, rest)}"


_ANY = re.compile("")


_LONGEST_KEPT = 64


def _is_among(names: re.Pattern[str], name: str) -> bool:
    """Short names recur, and searching one costs more than the rest of its visit."""
    return _is_short_among(names, name) if len(name) <= _LONGEST_KEPT else names.search(name) is not None


@lru_cache(maxsize=4096)
def _is_short_among(names: re.Pattern[str], name: str) -> bool:
    return names.search(name) is not None


def decoded(text: str) -> str:
    """Without the escapes of URLs."""
    plain = text.replace("+", " ")
    if "%" not in plain:
        return plain
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), plain.encode())
    return raw.decode("utf-8", "replace")


def _host(place: str) -> str:
    """Without user and port, in lower case."""
    return re.sub(r":\d*$", "", place.rpartition("@")[2]).lower()


def shown(action: Mapping[str, Any]) -> dict[str, Any]:
    """The action with its credentials masked."""
    return rewritten(action, lambda _, __: HIDDEN)


def shown_text(text: str) -> str:
    """The text, with its credentials masked if it is a URL."""
    return text if "://" not in text else str(_ActionWalk({}, lambda _, __: HIDDEN).value(text, "", ""))
