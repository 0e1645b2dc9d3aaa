"""E-mail: a message as plain text with an HTML alternative, submitted to the channel's SMTP server."""

from __future__ import annotations

from email.message import EmailMessage
from email.utils import format_datetime
from html import escape

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.features.alerts.channels.http import DeliveryFailed
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.channel import Channel, SmtpTls
from foliot.net.smtp import SmtpFailed, SmtpServer, submit
from foliot.net.tcp import TcpEgress


async def send_mail(channel: Channel, message: Message, tcp: TcpEgress) -> None:
    """Send it; `DeliveryFailed` unless the server accepts it for every recipient."""
    mode = SmtpTls(channel.setting("tls"))
    server = SmtpServer(
        host=channel.setting("host"),
        port=channel.setting("port"),
        tls=mode is SmtpTls.TLS,
        start_tls=mode is SmtpTls.STARTTLS,
        username=channel.setting("username"),
        password=channel.setting("password") or "",
    )
    try:
        await submit(tcp, server, mail_of(channel, message), channel.tenant_id)
    except EgressRefused as refusal:
        raise DeliveryFailed(str(refusal), permanent=True) from None
    except EgressFailed as failure:
        raise DeliveryFailed(f"The mail server cannot be reached. {failure.message}") from None
    except SmtpFailed as failure:
        raise DeliveryFailed(str(failure), permanent=failure.permanent) from None


def mail_of(channel: Channel, message: Message) -> EmailMessage:
    """The mail; its id is the same for every attempt."""
    mail = EmailMessage()
    mail["Subject"] = message.title
    mail["From"] = channel.setting("from")
    mail["To"] = ", ".join(channel.setting("to"))
    mail["Date"] = format_datetime(message.now)
    mail["Message-ID"] = f"<{message.id}@foliot>"
    mail["Auto-Submitted"] = "auto-generated"
    if message.first is not None and len(message.alerts) == 1:
        # Opening, reminders and end of an alert are one thread.
        mail["References"] = f"<{message.first.id}@foliot>"
    mail.set_content(message.text)
    mail.add_alternative(_html(message), subtype="html")
    return mail


def _html(message: Message) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in message.lines)
    links = " · ".join(f'<a href="{escape(url)}">{escape(name)}</a>' for name, url in message.links.items())
    return f"<!doctype html><h3>{escape(message.title)}</h3>{lines}<p>{links}</p>"
