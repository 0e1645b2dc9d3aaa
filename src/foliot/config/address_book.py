"""Settings of the address book: services that actions call by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from foliot.config import parse as reading
from foliot.config.parse import about
from foliot.core.access import TenantAllowList
from foliot.core.egress import AddressBook, Scheme, ServiceAddress, service_name
from foliot.core.errors import Invalid

ENDING = "_SERVICE_URL"
"""Every variable with this suffix names a service."""

MOST_SERVICES = 1000
_USUAL_PORT = {Scheme.HTTP: 80, Scheme.HTTPS: 443}
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*" + ENDING)
_PATH = re.compile(r"[!-~]*")
_RULE = (
    "must be the address of a service, such as scraper:50053 or grpc://scraper:50053 (gRPC), grpcs://scraper:443 "
    "(gRPC with TLS), http://scraper:8080/path or https://scraper, without user, password or query"
)
_LIST_RULE = "must be a comma-separated list of name=address, such as scraper-service=scraper:50053"
_GRANT_RULE = (
    "must name, after the address, nothing but the tenants and the methods that may be called, such as "
    "billing=host:9000;tenants=acme,beta;methods=Charge,Refund"
)
_NEXT = re.compile(r",(?=\s*(?:[^,;=\s]+\s*=|,|$))")
"""The comma between entries; a comma before a further tenant or method is not followed by a name and `=`."""
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_METHOD = re.compile(rf"(?:{_WORD}(?:\.{_WORD})*/)?{_WORD}")


def address(text: str) -> ServiceAddress:
    """An address without a scheme is gRPC; `;tenants=…` and `;methods=…` may follow."""
    text, *grants = (part.strip() for part in text.split(";"))
    try:
        parts = urlsplit(text if "://" in text else f"{Scheme.GRPC}://{text}")
        scheme, port = Scheme(parts.scheme), parts.port
        host = reading.address(parts.hostname or "")
    except ValueError:
        raise ValueError(_RULE) from None
    port = _USUAL_PORT.get(scheme) if port is None else port
    if not port or _has_too_much(parts) or (scheme.speaks_grpc and parts.path not in ("", "/")):
        raise ValueError(_RULE)
    path = "" if parts.path == "/" else parts.path
    entry = ServiceAddress(name="", scheme=scheme, host=_spelled(host), port=port, path=path)
    return replace(entry, **_grants(grants)) if grants else entry


def _grants(grants: Sequence[str]) -> dict[str, Any]:
    """The tenants and methods of an entry."""
    found: dict[str, Any] = {}
    for part in grants:
        word, _, listed = part.partition("=")
        word, names = word.strip(), reading.entries(listed)
        if word not in ("tenants", "methods") or word in found or not names:
            raise ValueError(_GRANT_RULE)
        if word == "methods" and not all(map(_METHOD.fullmatch, names)):
            raise ValueError(_GRANT_RULE)
        found[word] = TenantAllowList.of(names) if word == "tenants" else frozenset(names)
    return found


def _has_too_much(parts: SplitResult) -> bool:
    return "@" in parts.netloc or bool(parts.query or parts.fragment) or _PATH.fullmatch(parts.path) is None


def _spelled(host: str) -> str:
    """Normalises IPv6 addresses."""
    return str(ip_address(host)) if ":" in host else host


def addresses(text: str) -> AddressBook:
    """`name=address, name=address`."""
    book: dict[str, ServiceAddress] = {}
    for entry in _NEXT.split(text):
        name, sign, url = entry.partition("=")
        if not entry.strip():
            continue
        spelled = service_name(name.strip())
        if not sign or spelled is None:
            raise ValueError(_LIST_RULE)
        named = _named(spelled, address(url.strip()))
        if book.setdefault(spelled, named) != named:
            raise ValueError(f"must name each service once; {spelled} has two addresses")
    if len(book) > MOST_SERVICES:
        raise ValueError(f"must name at most {MOST_SERVICES} services")
    return AddressBook(book)


def _named(name: str, found: ServiceAddress) -> ServiceAddress:
    return replace(found, name=name)


@dataclass(frozen=True, kw_only=True, repr=False)
class ServiceSettings:
    """Settings of the address book."""

    services: AddressBook = field(
        metadata=about(
            "The address book: services that actions call by name, as `name=address`, separated by commas. An address "
            "is `host:port` or `grpc://host:port` (gRPC), `grpcs://host:port` (gRPC with TLS) or an http or https URL. "
            "`;tenants=acme,beta` (or `all`) after it names who may call it, `;methods=Charge,Refund` what they may "
            "call; without, that is the tenant `default`, and every method. "
            f"Every other variable whose name ends with `{ENDING}` adds an entry too: `BILLING_SERVICE_URL` the "
            "service `billing-service`.",
            "FOLIOT_SERVICES",
            read=addresses,
        ),
    )
    scraper_service: ServiceAddress | None = field(
        default=None,
        metadata=about("Address of `scraper-service`.", "SCRAPER_SERVICE_URL", read=address),
    )
    pricing_service: ServiceAddress | None = field(
        default=None,
        metadata=about("Address of `pricing-service`.", "PRICING_SERVICE_URL", read=address),
    )
    services_ca: Path | None = field(
        default=None,
        metadata=about(
            "File with the CA certificates (PEM) that verify `grpcs` services. Default: those bundled with gRPC.",
            "FOLIOT_SERVICES_CA",
            read=reading.file,
        ),
    )


_DECLARED = {"SCRAPER_SERVICE_URL": "scraper_service", "PRICING_SERVICE_URL": "pricing_service"}


def joined(values: Mapping[str, Any], environ: Mapping[str, str]) -> AddressBook:
    """The whole address book; its errors were reported by `complaints`."""
    book = _listed(values)
    for key, found in _variables(values, environ).items():
        name = named_by(key)
        book[name] = _named(name, found)
    return AddressBook(book)


def complaints(values: Mapping[str, Any], environ: Mapping[str, str]) -> list[Invalid]:
    """Conflict: one service with two addresses."""
    book = _listed(values)
    return [
        Invalid(key, f"must not differ from FOLIOT_SERVICES, which says {book[name].url}; keep one", got=found.url)
        for key, found in _variables(values, environ).items()
        if (name := named_by(key)) in book and book[name] != _named(name, found)
    ]


def unread(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like entries of the address book but are none: another program's, and so no error."""
    return [key for key in _others(environ) if _address_or_none(environ[key].strip()) is None]


def named_by(key: str) -> str:
    """`SCRAPER_SERVICE_URL` names `scraper-service`."""
    return key.removesuffix("_URL").replace("_", "-").lower()


def _listed(values: Mapping[str, Any]) -> dict[str, ServiceAddress]:
    return {} if values["services"] is None else dict(values["services"].entries)


def _variables(values: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, ServiceAddress]:
    declared = {key: values[name] for key, name in _DECLARED.items() if values[name] is not None}
    others = {key: _address_or_none(environ[key].strip()) for key in _others(environ)}
    return declared | {key: found for key, found in others.items() if found is not None}


def _others(environ: Mapping[str, str]) -> list[str]:
    return [
        key
        for key in sorted(environ)
        if key not in _DECLARED and _VARIABLE.fullmatch(key) and service_name(named_by(key)) and environ[key].strip()
    ]


def _address_or_none(text: str) -> ServiceAddress | None:
    try:
        return address(text)
    except ValueError:
        return None
