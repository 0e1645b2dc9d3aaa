"""Channels: where notifications go, the settings of each kind, and which of them are credentials."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlsplit

from foliot.core.declaration import Missing, Name, Parsed, as_given, declared, read
from foliot.core.document import Complaints, Fields, check_object
from foliot.core.errors import Invalid

CHANNEL = "chn"
"""Prefix of the ids of channels."""
MOST_CHANNELS = 50
MOST_RECIPIENTS = 20
HIDDEN = "***"
_ADDRESS = re.compile(r"[^@\s<>,;]{1,64}@[^@\s<>,;]{1,255}")


class ChannelKind(StrEnum):
    """The services that a notification can be sent to."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    SLACK = "slack"
    DISCORD = "discord"
    TEAMS = "teams"
    TELEGRAM = "telegram"
    PAGERDUTY = "pagerduty"
    OPSGENIE = "opsgenie"
    NTFY = "ntfy"
    GOTIFY = "gotify"
    APPRISE = "apprise"


INCIDENT_KINDS = frozenset({ChannelKind.PAGERDUTY, ChannelKind.OPSGENIE})
"""Services that keep an incident open until they are told that it is over."""


class SmtpTls(StrEnum):
    """How a connection to an SMTP server is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One setting of a kind of channel."""

    name: str
    read: Callable[[Fields, str], Any]
    required: bool = True
    secret: bool = False
    """Whether it is a credential: encrypted at rest, and never shown again."""


def _text(fields: Fields, name: str) -> str | None:
    return fields.text(name, "", most=2048).strip() or None


def _url(fields: Fields, name: str) -> str | None:
    url = _text(fields, name)
    if url is not None and urlsplit(url).scheme not in {"http", "https"}:
        raise Invalid(fields.path(name), "must start with http:// or https://")
    return url


def _port(fields: Fields, name: str) -> int | None:
    return fields.integer(name, 587, low=1, high=65_535)


def _tls(fields: Fields, name: str) -> str:
    return fields.choice(name, SmtpTls, SmtpTls.STARTTLS).value


def _address(fields: Fields, name: str) -> str | None:
    text = _text(fields, name)
    if text is not None and not _ADDRESS.fullmatch(text):
        raise Invalid(fields.path(name), "must be an e-mail address such as ops@example.com", got=text)
    return text


def _addresses(fields: Fields, name: str) -> list[str] | None:
    value = fields.value(name)
    if value is None:
        return None
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_RECIPIENTS:
        raise Invalid(fields.path(name), f"must be a list of 1 to {MOST_RECIPIENTS} e-mail addresses", got=value)
    for each in listed:
        if not isinstance(each, str) or not _ADDRESS.fullmatch(each):
            raise Invalid(fields.path(name), "must be e-mail addresses such as ops@example.com", got=each)
    return listed


_HOOK = (ConfigField("url", _url, secret=True),)
"""The address of an incoming webhook is its credential."""
_BASE = ConfigField("base_url", _url, required=False)

CONFIG: Mapping[ChannelKind, Sequence[ConfigField]] = {
    ChannelKind.WEBHOOK: (ConfigField("url", _url), ConfigField("secret", _text, required=False, secret=True)),
    ChannelKind.EMAIL: (
        ConfigField("host", _text),
        ConfigField("port", _port),
        ConfigField("tls", _tls),
        ConfigField("username", _text, required=False),
        ConfigField("password", _text, required=False, secret=True),
        ConfigField("from", _address),
        ConfigField("to", _addresses),
    ),
    ChannelKind.SLACK: _HOOK,
    ChannelKind.DISCORD: _HOOK,
    ChannelKind.TEAMS: _HOOK,
    ChannelKind.TELEGRAM: (ConfigField("token", _text, secret=True), ConfigField("chat_id", _text), _BASE),
    ChannelKind.PAGERDUTY: (ConfigField("routing_key", _text, secret=True), _BASE),
    ChannelKind.OPSGENIE: (ConfigField("api_key", _text, secret=True), _BASE),
    ChannelKind.NTFY: (ConfigField("url", _url), ConfigField("token", _text, required=False, secret=True)),
    ChannelKind.GOTIFY: (ConfigField("url", _url), ConfigField("token", _text, secret=True)),
    ChannelKind.APPRISE: (ConfigField("url", _text, secret=True),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel of a tenant. `secrets` are its credentials, decrypted only to send."""

    id: str
    tenant_id: str
    name: str
    kind: ChannelKind
    config: Mapping[str, Any]
    created_by: str
    created_at: datetime
    updated_at: datetime
    failures: int = 0
    """Deliveries that failed in a row."""
    last_sent_at: datetime | None = None
    last_error: str | None = None
    last_error_at: datetime | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def shown(self) -> dict[str, Any]:
        """Its settings, with credentials masked."""
        names = [each.name for each in CONFIG[self.kind]]
        return {name: HIDDEN if name in self.secrets else self.config[name] for name in names if self._has(name)}

    def _has(self, name: str) -> bool:
        return name in self.secrets or self.config.get(name) is not None

    def setting(self, name: str) -> Any:
        """A setting for sending, credentials in plain text; None when it is not set."""
        return self.secrets.get(name, self.config.get(name))

    def missing(self) -> list[str]:
        """Required settings that it does not have: credentials that no present key decrypts."""
        return [each.name for each in CONFIG[self.kind] if each.required and self.setting(each.name) is None]

    @property
    def failing(self) -> bool:
        """Whether its last delivery failed for good."""
        return self.failures > 0


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """What a request says about a channel."""

    name: str
    kind: ChannelKind
    config: Mapping[str, Any]
    secrets: Mapping[str, str]


@declared
class ChannelRequest:
    """A channel: its kind, and the settings of that kind."""

    name: Name
    kind: Annotated[ChannelKind, Missing(f"is required: one of {', '.join(ChannelKind)}")]
    config: Annotated[dict[str, Any], Parsed(as_given)]
    """webhook `url, secret?`; email `host, port, tls, username?, password?, from, to`; slack, discord, teams `url`;
    telegram `token, chat_id`; pagerduty `routing_key`; opsgenie `api_key`; ntfy `url, token?`; gotify `url, token`;
    apprise `url`; `base_url` for self-hosted services."""


def read_channel(raw: object, known: Channel | None = None) -> ChannelSettings:
    """Parse a channel. With `known`, fields that are absent stay, and so does a credential that is `***`."""
    if known is not None:
        given = {} if raw is None else check_object("", raw)
        raw = {"name": known.name, "kind": known.kind.value, **given}
    asked = read(ChannelRequest, raw)
    if known is not None and asked.kind is not known.kind:
        raise Invalid("kind", "cannot be changed: create another channel", got=asked.kind.value)
    if asked.config is None and known is not None:
        return ChannelSettings(asked.name, asked.kind, known.config, known.secrets)
    config, secrets = _config(asked.kind, asked.config, known)
    return ChannelSettings(asked.name, asked.kind, config, secrets)


def _config(kind: ChannelKind, given: object, known: Channel | None) -> tuple[dict[str, Any], dict[str, str]]:
    if given is None:
        raise Invalid("config", f"is required: {', '.join(each.name for each in CONFIG[kind] if each.required)}")
    fields = Fields.of("config", given)
    complaints, config, secrets = Complaints(), dict[str, Any](), dict[str, str]()
    for each in CONFIG[kind]:
        if each.secret and known is not None and fields.value(each.name) == HIDDEN:
            value = known.secrets.get(each.name)
        else:
            value = complaints.attempt(partial(each.read, fields, each.name))
        if value is None:
            if each.required and not complaints.found:
                complaints.found.append(Invalid(fields.path(each.name), "is required"))
        elif each.secret:
            secrets[each.name] = value
        else:
            config[each.name] = value
    complaints.attempt(fields.finish)
    complaints.speak()
    return config, secrets
