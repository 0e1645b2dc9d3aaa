"""Says in one line why a TLS connection was not made.

After a failed verification Python does not give the certificate away, so it is fetched by a second connection to the
same checked address, over which nothing is sent.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from datetime import UTC, datetime, timedelta

from cryptography import x509

from foliot.net.addresses import Address

_EXPIRED, _NOT_YET = 10, 9
_SELF_SIGNED = frozenset({18, 19})
_UNKNOWN_ISSUER = frozenset({2, 20, 21})
_OTHER_NAME = frozenset({62, 64})
_NAMES = 3
"""How many names of a certificate are listed."""
_PLAIN = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})


async def explain(error: ssl.SSLError | None, host: str, address: Address, port: int, seconds: float) -> str:
    """`TLS: certificate expired 3 days ago`, `TLS: certificate is for other.example, not shop.example`."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        reason = (error.reason if error is not None else None) or "handshake failed"
        if reason in _PLAIN:
            return f"TLS: port {port} of {host} does not speak TLS; is the URL's scheme http?"
        return f"TLS: {reason.replace('_', ' ').lower()}"
    code = error.verify_code
    if code in _SELF_SIGNED:
        return "TLS: certificate is self-signed"
    if code in _UNKNOWN_ISSUER:
        return "TLS: certificate is signed by an unknown authority, or an intermediate certificate is missing"
    if code in {_EXPIRED, _NOT_YET} | _OTHER_NAME:
        return f"TLS: {_fault(code, await _certificate(address, port, host, seconds), host)}"
    return f"TLS: {error.verify_message}"


def _fault(code: int, certificate: x509.Certificate | None, host: str) -> str:
    if code in _OTHER_NAME:
        names = [] if certificate is None else _names(certificate)
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        return f"certificate is for {', '.join(names[:_NAMES]) or 'another name'}{more}, not {host}"
    # The handshake used the system's clock too.
    now = datetime.fromtimestamp(time.time(), UTC)  # noqa: TID251
    if code == _NOT_YET:
        until = None if certificate is None else certificate.not_valid_before_utc - now
        return "certificate is not valid yet" + (f", but in {_rough(until)}" if until and until > timedelta() else "")
    since = None if certificate is None else now - certificate.not_valid_after_utc
    # Otherwise it is one of those that signed it.
    return f"certificate expired {_rough(since)} ago" if since and since > timedelta() else "certificate expired"


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return [*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))]


def _rough(span: timedelta) -> str:
    """In its largest unit."""
    seconds = int(span.total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if count := seconds // size:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"


async def _certificate(address: Address, port: int, host: str, seconds: float) -> x509.Certificate | None:
    """The certificate that the target presents, unverified: it is described, never trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.settimeout(0)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(max(seconds, 0)):
            await loop.sock_connect(sock, (str(address), port))
            transport, _ = await loop.create_connection(asyncio.Protocol, sock=sock, ssl=context, server_hostname=host)
        try:
            raw = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        finally:
            transport.abort()
        return x509.load_der_x509_certificate(raw) if raw else None
    except (OSError, ValueError):
        sock.close()
        return None
