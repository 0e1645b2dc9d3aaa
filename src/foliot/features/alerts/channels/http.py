"""Requests to the services that are called over HTTP: one function per kind, and how their answers are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import orjson

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.alert import clipped
from foliot.features.alerts.model.channel import Channel, ChannelKind
from foliot.features.webhooks.signature import BadSigningKey, sign

TIMEOUT = timedelta(seconds=15)
KEPT = 2048
COLORS = {"opened": 0xD92D20, "reminded": 0xF79009, "resolved": 0x12B76A, "test": 0x667085}


class DeliveryFailed(Exception):
    """The message was not accepted. A permanent failure is not retried: trying again would not help."""

    def __init__(self, reason: str, *, permanent: bool = False, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """One HTTP request of a channel."""

    url: str
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"


def webhook(channel: Channel, message: Message) -> ServiceRequest:
    """The documented JSON, signed by Standard Webhooks when the channel has a secret."""
    body = orjson.dumps(message.document())
    stamp = str(int(message.now.timestamp()))
    headers = {"webhook-id": message.id, "webhook-timestamp": stamp, "Idempotency-Key": message.id}
    if secret := channel.setting("secret"):
        try:
            signature = sign([secret], message.id, message.now, body)
        except BadSigningKey:
            raise DeliveryFailed("The channel's secret cannot be used to sign.", permanent=True) from None
        headers["webhook-signature"] = signature or ""
    return ServiceRequest(channel.setting("url"), body, headers)


def slack(channel: Channel, message: Message) -> ServiceRequest:
    """Blocks for the rich form, and a text for notifications."""
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": _bold(message, "*", _slack)}}
    ]
    if message.links:
        links = " · ".join(f"<{url}|{name}>" for name, url in message.links.items())
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": links}]})
    return ServiceRequest(channel.setting("url"), {"text": _slack(message.title), "blocks": blocks})


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def discord(channel: Channel, message: Message) -> ServiceRequest:
    """One embed; mentions in texts mention no one."""
    embed = {
        "title": message.title[:256],
        "description": "\n".join([*message.lines, *_markdown_links(message)])[:4000],
        "color": COLORS[message.event.value],
    }
    return ServiceRequest(channel.setting("url"), {"embeds": [embed], "allowed_mentions": {"parse": []}})


def teams(channel: Channel, message: Message) -> ServiceRequest:
    """An adaptive card, as workflows and incoming webhooks take it."""
    text = [{"type": "TextBlock", "text": line, "wrap": True} for line in message.lines]
    actions = [
        {"type": "Action.OpenUrl", "title": name.capitalize(), "url": url} for name, url in message.links.items()
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": message.title, "weight": "Bolder", "wrap": True}, *text],
        "actions": actions,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return ServiceRequest(channel.setting("url"), {"type": "message", "attachments": [attachment]})


def telegram(channel: Channel, message: Message) -> ServiceRequest:
    """Plain text: no character of a message can break its formatting."""
    base = channel.setting("base_url") or "https://api.telegram.org"
    url = f"{base.rstrip('/')}/bot{quote(channel.setting('token'), safe=':')}/sendMessage"
    body = {"chat_id": channel.setting("chat_id"), "text": message.text[:4000], "disable_web_page_preview": True}
    return ServiceRequest(url, body)


def pagerduty(channel: Channel, message: Message) -> ServiceRequest:
    """Events v2: the end of the alert, or of the last alert of a storm, resolves the incident by its key."""
    base = channel.setting("base_url") or "https://events.pagerduty.com"
    first = message.first
    body: dict[str, Any] = {
        "routing_key": channel.setting("routing_key"),
        "event_action": "resolve" if message.closes else "trigger",
        "dedup_key": message.incident or message.id,
        "client": "Foliot",
        "links": [{"href": url, "text": name} for name, url in message.links.items()],
        "payload": {
            "summary": message.title[:1024],
            "source": first.subject.name if first is not None else "foliot",
            "severity": "critical" if message.critical else "warning",
            "custom_details": {"text": "\n".join(message.lines)},
        },
    }
    return ServiceRequest(f"{base.rstrip('/')}/v2/enqueue", body)


def opsgenie(channel: Channel, message: Message) -> ServiceRequest:
    """Creates an alert under the incident's key as its alias, and closes it by the same."""
    base = (channel.setting("base_url") or "https://api.opsgenie.com").rstrip("/")
    headers = {"Authorization": f"GenieKey {channel.setting('api_key')}"}
    alias = message.incident or message.id
    if message.closes:
        url = f"{base}/v2/alerts/{quote(alias, safe='')}/close?identifierType=alias"
        return ServiceRequest(url, {"note": message.title[:1000], "source": "Foliot"}, headers)
    body = {
        "message": message.title[:130],
        "alias": alias,
        "description": message.text[:15_000],
        "priority": "P1" if message.critical else "P3",
        "source": "Foliot",
    }
    return ServiceRequest(f"{base}/v2/alerts", body, headers)


def ntfy(channel: Channel, message: Message) -> ServiceRequest:
    """Published as JSON to the server's root, with the topic from the channel's URL."""
    base, _, topic = channel.setting("url").rstrip("/").rpartition("/")
    token = channel.setting("token")
    body: dict[str, Any] = {
        "topic": topic,
        "title": message.title,
        "message": "\n".join(message.lines) or message.title,
        "priority": 5 if message.critical else 3,
        "tags": [{"resolved": "white_check_mark"}.get(message.event.value, "warning")],
    }
    if url := next(iter(message.links.values()), None):
        body["click"] = url
    return ServiceRequest(f"{base}/", body, {"Authorization": f"Bearer {token}"} if token else {})


def gotify(channel: Channel, message: Message) -> ServiceRequest:
    url = f"{channel.setting('url').rstrip('/')}/message"
    priority = 8 if message.critical else 5
    text = "\n".join([*message.lines, *(f"{name}: {link}" for name, link in message.links.items())])
    body = {"title": message.title, "message": text or message.title, "priority": priority}
    return ServiceRequest(url, body, {"X-Gotify-Key": channel.setting("token")})


REQUESTS: Mapping[ChannelKind, Callable[[Channel, Message], ServiceRequest]] = {
    ChannelKind.WEBHOOK: webhook,
    ChannelKind.SLACK: slack,
    ChannelKind.DISCORD: discord,
    ChannelKind.TEAMS: teams,
    ChannelKind.TELEGRAM: telegram,
    ChannelKind.PAGERDUTY: pagerduty,
    ChannelKind.OPSGENIE: opsgenie,
    ChannelKind.NTFY: ntfy,
    ChannelKind.GOTIFY: gotify,
}


async def post(channel: Channel, message: Message, egress: Egress) -> None:
    """Send it; `DeliveryFailed` unless the service accepts it."""
    request = REQUESTS[channel.kind](channel, message)
    body = request.body if isinstance(request.body, bytes) else orjson.dumps(request.body)
    headers = {"Content-Type": "application/json", "User-Agent": f"Foliot/{__version__}", **request.headers}
    try:
        answer = await egress.send(
            OutgoingRequest(
                method=request.method,
                url=request.url,
                headers=headers,
                body=body,
                timeout=TIMEOUT,
                keep=KEPT,
                tenant_id=channel.tenant_id,
            )
        )
    except EgressRefused as refusal:
        raise DeliveryFailed(str(refusal), permanent=True) from None
    except EgressFailed as failure:
        raise DeliveryFailed(failure.message) from None
    _judge(answer, message.now)


def _judge(answer: OutgoingResponse, now: datetime) -> None:
    if 200 <= answer.status < 300:
        return
    text = clipped(answer.body.decode(errors="replace"), 200)
    reason = f"The service answered {answer.status}{f': {text}' if text else '.'}"
    # A request that is wrong stays wrong; 408 and 429 ask for another try.
    permanent = 300 <= answer.status < 500 and answer.status not in {408, 425, 429}
    raise DeliveryFailed(reason, permanent=permanent, retry_after=_retry_after(answer, now))


def _retry_after(answer: OutgoingResponse, now: datetime) -> timedelta | None:
    value = next((value for name, value in answer.headers.items() if name.lower() == "retry-after"), "")
    if value.isascii() and value.isdigit() and len(value) < 10:
        return timedelta(seconds=int(value))
    try:
        return parsedate_to_datetime(value) - now if value else None
    except (ValueError, TypeError):
        return None


def _bold(message: Message, mark: str, escaped: Callable[[str], str]) -> str:
    return "\n".join([f"{mark}{escaped(message.title)}{mark}", *(escaped(line) for line in message.lines)])[:2900]


def _markdown_links(message: Message) -> list[str]:
    return [" · ".join(f"[{name}]({url})" for name, url in message.links.items())] if message.links else []
