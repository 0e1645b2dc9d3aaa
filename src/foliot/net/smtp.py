"""Submits mail to an SMTP server through a connection that the SSRF guard has checked."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage

import aiosmtplib

from foliot.net.tcp import TcpEgress

SECONDS = 20.0


class SmtpFailed(Exception):
    """The server did not take the mail. A permanent refusal is not worth another try."""

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.permanent = permanent


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """Where mail is submitted, and how: `tls` from the first byte, `start_tls` after the greeting."""

    host: str
    port: int
    tls: bool = False
    start_tls: bool = True
    username: str | None = None
    password: str = field(default="", repr=False)


async def submit(
    tcp: TcpEgress, server: SmtpServer, mail: EmailMessage, tenant_id: str, trust: ssl.SSLContext | None = None
) -> None:
    """Hand the mail over; `SmtpFailed` unless the server accepts it for every recipient."""
    sock = await tcp.open(server.host, server.port, tenant_id)
    client = aiosmtplib.SMTP(
        hostname=None,
        sock=sock,
        use_tls=server.tls,
        start_tls=server.start_tls,
        tls_context=trust or ssl.create_default_context(),
        timeout=SECONDS,
        local_hostname="localhost",
    )
    # With a socket of ours the library takes no host, but checks the certificate against this name.
    client.hostname = server.host
    try:
        async with client:
            if server.username:
                await client.login(server.username, server.password)
            refused, _ = await client.send_message(mail)
    except aiosmtplib.SMTPAuthenticationError:
        raise SmtpFailed("The mail server refused the user name or password.", permanent=True) from None
    except aiosmtplib.SMTPRecipientsRefused as error:
        refusals = ", ".join(f"{each.recipient} ({each.code})" for each in error.recipients)
        permanent = all(each.code >= 500 for each in error.recipients)
        raise SmtpFailed(f"The mail server refused {refusals}.", permanent=permanent) from None
    except aiosmtplib.SMTPResponseException as error:
        reason = f"The mail server answered {error.code}: {_line(error.message)}"
        raise SmtpFailed(reason, permanent=500 <= error.code < 600) from None
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        raise SmtpFailed(f"The mail server did not accept the message: {_line(str(error))}") from None
    finally:
        sock.close()
    if refused:
        raise SmtpFailed(f"The mail server refused {', '.join(sorted(refused))}.", permanent=True)


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
