"""Validates the configuration of a gRPC call, as far as possible without contacting the service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foliot.core.access import KEEPER
from foliot.core.document import Complaints, Fields
from foliot.core.egress import AddressBook, ServiceAddress, service_name
from foliot.core.errors import Invalid
from foliot.core.json_values import check_plain
from foliot.core.parent_template import check_parent_templates

LONGEST_METHOD = 300
_NAMED = 20
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_METHOD = re.compile(rf"/?(?:(?P<service>{_WORD}(?:\.{_WORD})*)[./])?(?P<method>{_WORD})")


@dataclass(frozen=True, slots=True)
class MethodName:
    """A method as written by a user: alone, or with its service, fully qualified or without the package."""

    service: str | None
    method: str

    @classmethod
    def read(cls, text: str) -> MethodName:
        match = _METHOD.fullmatch(text) if len(text) <= LONGEST_METHOD else None
        if match is None:
            rule = "must be a method such as ScrapePrices or shop.v1.ScraperService/ScrapePrices"
            raise Invalid("target_method", rule, got=text[:100])
        return cls(match["service"], match["method"])

    def is_of(self, service: str) -> bool:
        """Whether it may name a method of this fully qualified service."""
        return self.service is None or service == self.service or service.endswith(f".{self.service}")


def read_config(config: Mapping[str, Any], book: AddressBook, tenant_id: str = KEEPER) -> dict[str, Any]:
    """The stored form: `target_service` in its canonical spelling, `target_method`, `parameters`.

    A service of another tenant is reported like one that does not exist.
    """
    fields = Fields.of("", config)
    # Unknown keys first: for `method`, the error suggests `target_method` rather than only reporting it missing.
    fields.asked |= {"target_service", "target_method", "parameters"}
    fields.finish()
    wrong = Complaints()
    service = wrong.attempt(lambda: _service(fields, book, tenant_id))
    method = wrong.attempt(lambda: _method(fields, book.seen_by(tenant_id).address_of(str(service))))
    parameters = wrong.attempt(lambda: _parameters(fields.value("parameters")))
    wrong.speak()
    return {"target_service": service, "target_method": method, "parameters": parameters}


def _service(fields: Fields, book: AddressBook, tenant_id: str) -> str:
    got = fields.value("target_service")
    if got is None:
        raise Invalid("target_service", "is required")
    if not isinstance(got, str):
        raise Invalid("target_service", "must be the name of a service", got=got)
    seen = book.seen_by(tenant_id)
    address = seen.address_of(got.strip())
    if address is None and not book.entries and (named := service_name(got.strip())) is not None:
        # The address book is empty: until it has services, each run reports what is missing.
        return named
    if address is None:
        raise Invalid("target_service", _unknown(got, seen), got=got[:100])
    if not address.scheme.speaks_grpc:
        raise Invalid(
            "target_service", f"must be a gRPC service; {address.name} speaks {address.scheme}", got=got[:100]
        )
    return address.name


def _unknown(got: str, book: AddressBook) -> str:
    names = sorted(name for name, entry in book.entries.items() if entry.scheme.speaks_grpc)
    if not names:
        return (
            "must be a gRPC service in the address book, which has none for this tenant: the operator fills it with "
            "FOLIOT_SERVICES or variables such as SCRAPER_SERVICE_URL"
        )
    near = book.nearest(got)
    hint = f"did you mean {near}? Known are" if near else "known are"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"must be the name of a service in the address book (not an address); {hint} {', '.join(names[:_NAMED])}{more}"
    )


def _method(fields: Fields, of: ServiceAddress | None) -> str:
    got = fields.value("target_method")
    if got is None:
        raise Invalid("target_method", "is required")
    if not isinstance(got, str):
        raise Invalid("target_method", "must be the name of a method", got=got)
    named = MethodName.read(got.strip())
    if of is not None and of.methods is not None and named.method not in {one.rpartition("/")[2] for one in of.methods}:
        raise Invalid("target_method", f"must be one of {', '.join(sorted(of.methods))}", got=got[:100])
    return got.strip()


def _parameters(got: object) -> dict[str, Any]:
    if got is None:
        return {}
    if not isinstance(got, Mapping):
        raise Invalid("parameters", "must be an object", got=got)
    check_plain("parameters", got)
    check_parent_templates("parameters", got)
    return dict(got)
