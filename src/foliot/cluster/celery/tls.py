"""TLS to a broker with verified certificates, which Celery's clients do not check by default."""

from __future__ import annotations

import ssl
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

AUTHORITY = "ssl_ca_certs"
"""Parameter of the URL: a file with the authorities to trust instead of the system's."""


def bare(url: str) -> str:
    """The URL without the parameters that `checked` reads, which Celery's client for RabbitMQ does not know."""
    return ";".join(_without(part) for part in url.split(";")) if url.startswith("amqps://") else url


def checked(url: str) -> dict[str, Any] | None:
    """The TLS options of the client; None without TLS."""
    scheme = url.partition("://")[0]
    if scheme not in {"amqps", "rediss"}:
        return None
    first, *others = url.split(";")
    [authority, *_] = parse_qs(urlsplit(first).query).get(AUTHORITY, [None])
    if scheme == "rediss":
        options = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}
        return {**options, AUTHORITY: authority} if authority else options
    # The client verifies the name of the first of several machines, and keeps it for the others.
    named = {} if others else {"server_hostname": None}
    return {"cert_reqs": ssl.CERT_REQUIRED, "ca_certs": authority, **named}


def _without(url: str) -> str:
    parts = urlsplit(url)
    kept = [(name, value) for name, values in parse_qs(parts.query).items() for value in values if name != AUTHORITY]
    return urlunsplit(parts._replace(query=urlencode(kept)))
