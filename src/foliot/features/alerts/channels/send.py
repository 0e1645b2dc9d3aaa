"""Sends a message to a channel of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from foliot.core.egress import Egress
from foliot.core.errors import Invalid
from foliot.features.alerts.channels.apprise import (
    MISSING,
    AppriseSlots,
    check_apprise_url,
    is_installed,
    send_by_apprise,
)
from foliot.features.alerts.channels.http import REQUESTS, DeliveryFailed, post
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.channels.smtp import send_mail
from foliot.features.alerts.model.channel import Channel, ChannelKind, ChannelSettings
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress

SMTP_PORTS = frozenset({25, 465, 587, 2525})
"""Ports that mail may go to besides those of `FOLIOT_EGRESS_PORTS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSender:
    """The ways out that channels use; each passes the SSRF guard."""

    egress: Egress
    mail: TcpEgress
    proxy: EgressProxy
    slots: AppriseSlots = field(default_factory=AppriseSlots)

    def check(self, settings: ChannelSettings) -> None:
        """`Invalid` when no message could ever be sent with these settings; looks up no names."""
        if settings.kind is ChannelKind.APPRISE and not is_installed():
            raise Invalid("kind", MISSING)
        config = {**settings.config, **settings.secrets}
        try:
            if settings.kind is ChannelKind.EMAIL:
                self.mail.check(config["host"], config["port"])
            elif settings.kind is ChannelKind.APPRISE:
                check_apprise_url(config["url"], self.proxy.tcp)
            elif url := config.get("base_url") or (settings.kind in REQUESTS and config.get("url")):
                self.egress.check(url)
        except Invalid as fault:
            # The URL itself is a credential of most kinds, and is not repeated.
            place = next(name for name in ("host", "base_url", "url") if name in config)
            raise Invalid(f"config.{place}", fault.message) from None

    async def send(self, channel: Channel, message: Message) -> None:
        """`DeliveryFailed` unless the service accepts it."""
        if missing := channel.missing():
            raise DeliveryFailed(
                f"The credentials of the channel cannot be decrypted: {', '.join(missing)}. Set them again.",
                permanent=True,
            )
        if channel.kind is ChannelKind.EMAIL:
            await send_mail(channel, message, self.mail)
        elif channel.kind is ChannelKind.APPRISE:
            async with self.slots.taken(channel.tenant_id):
                await send_by_apprise(channel, message, self.proxy)
        else:
            await post(channel, message, self.egress)
