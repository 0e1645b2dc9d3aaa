"""Each kind of channel against a stand-in of its service, over HTTP: accepted, refused, and asked to wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.features.alerts.channels.http import DeliveryFailed, post
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.alert import DeliveryEvent
from foliot.features.alerts.model.channel import Channel, ChannelKind
from foliot.net.client import HttpEgress
from tests.features.alerts.test_channels import channel, message
from tests.notification_services import KEY, SECRET, SERVICES, NotificationServices, notification_services

KINDS = sorted(SERVICES)
WRONG = "key-2"
LONG = "é<b>&*_`[" * 500


@pytest.fixture(scope="module")
def services() -> Iterator[NotificationServices]:
    with notification_services() as server:
        yield server


def made(services: NotificationServices, kind: str, key: str = KEY) -> Channel:
    base = services.url(kind)
    configs: dict[str, dict[str, Any]] = {
        "slack": {"url": f"{base}/services/{key}"},
        "discord": {"url": f"{base}/api/webhooks/1/{key}"},
        "teams": {"url": f"{base}/workflows/{key}"},
        "telegram": {"token": f"1:{key}", "chat_id": "42", "base_url": base},
        "pagerduty": {"routing_key": key, "base_url": base},
        "opsgenie": {"api_key": key, "base_url": base},
        "ntfy": {"url": f"{base}/alerts", "token": key},
        "gotify": {"url": base, "token": key},
        "webhook": {"url": f"{base}/", "secret": SECRET if key == KEY else "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    }
    return channel(kind, configs[kind])


async def sent(channel: Channel, note: Message) -> None:
    async with HttpEgress(loopback=True) as egress:
        await post(channel, note, egress)


def now(event: DeliveryEvent = DeliveryEvent.OPENED, **changes: Any) -> Message:
    """Of this moment: signatures expire."""
    moment = datetime.now(UTC)  # noqa: TID251 -- the stand-in compares it with its clock
    found = message(event, **changes)
    return replace(found, now=moment)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("event", DeliveryEvent)
async def test_every_report_is_accepted(services: NotificationServices, kind: str, event: DeliveryEvent) -> None:
    alerts: dict[str, Any] = {"alerts": []} if event is DeliveryEvent.TEST else {}
    before = len(services.arrived[kind].documents)
    await sent(made(services, kind), now(event, **alerts))
    assert len(services.arrived[kind].documents) == before + 1


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
async def test_an_incident_is_open_as_long_as_the_alert(services: NotificationServices, kind: str) -> None:
    await sent(made(services, kind), now())
    assert "alr_1" in services.arrived[kind].open
    await sent(made(services, kind), now(DeliveryEvent.RESOLVED))
    assert "alr_1" not in services.arrived[kind].open


@pytest.mark.parametrize("kind", KINDS)
async def test_long_texts_stay_within_the_limits_of_the_service(services: NotificationServices, kind: str) -> None:
    (alert,) = message().alerts
    storm = [alert] * 25
    for alerts in ([_with(alert, LONG)], [_with(each, LONG) for each in storm]):
        await sent(made(services, kind), now(alerts=alerts))


def _with(alert: Any, text: str) -> Any:
    subject = replace(alert.subject, name=text[:200])
    return replace(alert, summary=text[:500], reason=text[:500], subject=subject)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_wrong_credential_fails_for_good(services: NotificationServices, kind: str) -> None:
    with pytest.raises(DeliveryFailed) as failure:
        await sent(made(services, kind, WRONG), now())
    assert failure.value.permanent
    assert WRONG not in failure.value.reason


@pytest.mark.parametrize("kind", KINDS)
async def test_a_service_that_is_busy_says_when_to_try_again(services: NotificationServices, kind: str) -> None:
    services.busy = kind
    try:
        with pytest.raises(DeliveryFailed) as failure:
            await sent(made(services, kind), now())
    finally:
        services.busy = ""
    assert (failure.value.permanent, failure.value.retry_after) == (False, timedelta(seconds=77))


@pytest.mark.parametrize("kind", ChannelKind)
def test_each_kind_has_a_page(kind: ChannelKind) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "channels" / f"{kind}.md"
    assert f"foliot channel create ops {kind}" in page.read_text()
