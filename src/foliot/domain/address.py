"""Where the services of the house are: the operator's address book. Schedules name services, never addresses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LONGEST_NAME = 100
NAME = r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
_NAME = re.compile(NAME)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Scheme(StrEnum):
    """How a service is spoken to."""

    GRPC = "grpc"
    GRPCS = "grpcs"
    HTTP = "http"
    HTTPS = "https"

    @property
    def secure(self) -> bool:
        return self in (Scheme.GRPCS, Scheme.HTTPS)

    @property
    def speaks_grpc(self) -> bool:
        return self in (Scheme.GRPC, Scheme.GRPCS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAddress:
    """One entry of the address book."""

    name: str
    scheme: Scheme
    host: str
    port: int
    path: str = ""
    """Only of http and https; begins with a slash, or is empty."""

    @property
    def place(self) -> str:
        """`host:port`, with an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}"


@dataclass(frozen=True, slots=True)
class AddressBook:
    """Every service that the operator has named, by its name in its one spelling."""

    entries: Mapping[str, ServiceAddress] = field(default_factory=dict)

    def address_of(self, name: str) -> ServiceAddress | None:
        """`ScraperService`, `scraper_service` and `scraper-service` are one name."""
        spelled = service_name(name)
        return None if spelled is None else self.entries.get(spelled)

    def nearest(self, name: str) -> str | None:
        """What somebody who wrote this name may have meant."""
        found = difflib.get_close_matches(service_name(name) or name[:LONGEST_NAME], self.entries, n=1)
        return found[0] if found else None


def service_name(text: str) -> str | None:
    """A service's name in its one spelling, such as `scraper-service`; None when it can be no name."""
    if len(text) > LONGEST_NAME or _NAME.fullmatch(text) is None:
        return None
    words = _HUMP.sub("-", text) if not text.isupper() else text
    return words.replace("_", "-").lower()
