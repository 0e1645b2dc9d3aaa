"""Credentials written into headers, URLs and parameters: where they stand, how they are shown, how they are kept.

A stored action holds a sealed text in place of each; whoever looks sees `***`, and a document that is put back with
`***` keeps what was there, as long as it goes to the same destination.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from foliot.domain.errors import Invalid
from foliot.domain.redact import HIDDEN
from foliot.domain.secret import TEMPLATE

SEALED = re.compile(r"sealed\.v1\.(?P<key>[0-9a-f]{8})\.(?P<sealed>[A-Za-z0-9_-]{38,})")
"""What stands in a stored action in place of a credential; fit for headers and URLs alike."""
SHORTEST = 4
"""Characters of a credential that is taken out of logs and answers: a shorter one would be found everywhere."""

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
_HEADERS = frozenset({"headers", "header", "metadata"})
_COOKIES = frozenset({"cookies"})
_PARAMETERS = frozenset({"params", "parameters"})
_BODY = "body"
"""Of a webhook: what it says is the target's own, and is shown as it was written."""
_URL = re.compile(
    r"(?i)^(?P<scheme>[a-z][a-z0-9+.-]{0,30}://)(?P<place>[^/?#\s]*)(?P<path>[^?#]*)(?P<rest>[?#].*)?$", re.DOTALL
)
_PAIR = re.compile(r"(?P<before>[?&;#])(?P<name>[^=&;#?]{1,200})=(?P<value>[^&;#]*)")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,30}\s+(?P<rest>\S.*)$")
_COOKIE = re.compile(r"[^=;\s]+=(?P<value>[^;]+)")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a credential stands, and whom it is for."""

    place: str
    """As a complaint names it: `headers.Authorization`, `url?token`, `start_urls.0@`."""
    part: str
    """What of its place it is, wherever that stands: `?token`, `@`, `headers.authorization`."""
    destination: str
    """The host, service or program that it goes to."""


Rewrite = Callable[[Spot, str], str]


def rewritten(action: Mapping[str, Any], change: Rewrite) -> dict[str, Any]:
    """The action with each credential replaced by what `change` says. Templates of secrets are no credentials."""
    goes_to = destination(action)

    def asked(spot: Spot, text: str) -> str:
        return text if not text or TEMPLATE.search(text) else change(spot, text)

    walk = _Walk(goes_to, asked)
    whole = isinstance(action.get("url"), str)
    return {
        name: value if whole and name == _BODY else walk.value(value, str(name), str(name))
        for name, value in action.items()
    }


def destination(action: Mapping[str, Any]) -> str:
    """Whom an action is for: the host it calls, or the service, project or task that it names."""
    url = action.get("url")
    if isinstance(url, str) and (found := _URL.match(url)):
        return _host(found["place"])
    for name in ("target_service", "project", "task", "pipeline"):
        if isinstance(action.get(name), str):
            return f"{name}:{action[name]}"
    return ""


@dataclass(frozen=True, slots=True)
class _Walk:
    """Through one action, knowing what the nearest names around a value mean."""

    goes_to: str
    change: Rewrite

    def value(self, value: Any, place: str, name: str, among: re.Pattern[str] | None = None) -> Any:
        """`among`: which names mean a credential here."""
        match value:
            case Mapping():
                inner = self._among(name, among)
                return {key: self.value(each, f"{place}.{key}", str(key), inner) for key, each in value.items()}
            case list() | tuple():
                return [self.value(each, f"{place}.{at}", name, among) for at, each in enumerate(value)]
            case str() if among is not None and among.search(name):
                return self.change(Spot(place, place.lower(), self.goes_to), value)
            case str() if "://" in value:
                return self._url(value, place)
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
        found = _URL.match(text)
        if found is None:
            return text
        where, rest = found["place"], found["rest"] or ""
        host = _host(where)
        user, at, beyond = where.rpartition("@")
        if at:
            where = f"{self.change(Spot(f'{place}@', '@', host), user) if user else ''}@{beyond}"

        def pair(one: re.Match[str]) -> str:
            name = unquote_plus(one["name"])
            if not _QUERY.search(name):
                return one[0]
            spot = Spot(f"{place}?{name}", f"?{name}", host)
            return f"{one['before']}{one['name']}={self.change(spot, one['value'])}"

        return f"{found['scheme']}{where}{found['path']}{_PAIR.sub(pair, rest)}"


_ANY = re.compile("")


def _host(place: str) -> str:
    """Without user and port, in lower case."""
    return re.sub(r":\d*$", "", place.rpartition("@")[2]).lower()


def shown(action: Mapping[str, Any]) -> dict[str, Any]:
    """The action as people may see it."""
    return rewritten(action, lambda _, __: HIDDEN)


def shown_text(text: str) -> str:
    """A text as people may see it: when it is a URL, without its credentials."""
    return text if "://" not in text else str(_Walk("", lambda _, __: HIDDEN).value(text, "", ""))


def is_kept(text: str) -> bool:
    """Whether it stands for a credential that was given before: what people see, or what is stored."""
    return text == HIDDEN or SEALED.fullmatch(text) is not None


def kept(where: str, action: Mapping[str, Any], *before: Mapping[str, Any]) -> dict[str, Any]:
    """The action with what stood there `before` in place of each `***`; `Invalid` where nothing did.

    A credential stays with its destination: whoever may change where an action goes must not learn it that way.
    """
    known: dict[tuple[str, str], str] = {}
    parts: dict[tuple[str, str], set[str]] = {}

    def note(spot: Spot, text: str) -> str:
        known.setdefault((spot.place.lower(), spot.destination), text)
        parts.setdefault((spot.part, spot.destination), set()).add(text)
        return text

    for one in before:
        rewritten(one, note)

    def keep(spot: Spot, text: str) -> str:
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


def _why(spot: Spot, some: bool) -> str:  # noqa: FBT001 -- a word of the sentence
    if not some:
        return "nothing is kept here that it could stand for"
    return f"no credential is kept here for {spot.destination or 'this'}; one stays with the host it was written for"


def hideable(credential: str) -> list[str]:
    """What of a credential an answer or a log might repeat: the whole, and the part that is secret."""
    found = [credential]
    if scheme := _SCHEME.match(credential):
        found += [scheme["rest"], *_password(scheme["rest"])]
    found += [unquote_plus(credential), *(one.strip() for one in _COOKIE.findall(credential))]
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
