"""Encodes parameters from JSON to a method's request message; every error names its field."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from foliot.core.document import MOST_COMPLAINTS, Complaints
from foliot.core.errors import Invalid
from foliot.features.grpc_calls.service_catalogue import ServiceMethod

WHERE = "parameters"
_NAMED = 20
_WHOLE = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_KNOWN_TYPES = {
    "google.protobuf.Any": "must be an object whose @type names a message of the service",
    "google.protobuf.BoolValue": "must be true or false",
    "google.protobuf.BytesValue": "must be text in base64",
    "google.protobuf.DoubleValue": "must be a number",
    "google.protobuf.Duration": "must be a duration in seconds, such as '3.5s'",
    "google.protobuf.FieldMask": "must be names of fields, separated by commas",
    "google.protobuf.FloatValue": "must be a number",
    "google.protobuf.Int32Value": "must be a whole number of 32 bits",
    "google.protobuf.Int64Value": "must be a whole number of 64 bits",
    "google.protobuf.ListValue": "must be a list",
    "google.protobuf.StringValue": "must be text",
    "google.protobuf.Struct": "must be an object",
    "google.protobuf.Timestamp": "must be a time such as 2027-01-01T09:00:00Z",
    "google.protobuf.UInt32Value": "must be a whole number of 32 bits, not below 0",
    "google.protobuf.UInt64Value": "must be a whole number of 64 bits, not below 0",
    "google.protobuf.Value": "must be plain JSON",
}
"""Well-known types with a JSON form of their own, and what that is."""


def encode(method: ServiceMethod, parameters: Mapping[str, Any]) -> bytes:
    """The request in wire format; `Invalid`, or several, when a field is unknown or has the wrong type."""
    complaints = islice(_complaints(method.takes, parameters, WHERE, method.pool), MOST_COMPLAINTS)
    Complaints(list(complaints)).speak()
    message = GetMessageClass(method.takes)()
    try:
        ParseDict(dict(parameters), message, descriptor_pool=method.pool)
        return message.SerializeToString()
    except (ParseError, EncodeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise Invalid(WHERE, f"must fit the message {method.takes.full_name}: {reason}") from None


def _complaints(kind: Descriptor, given: Mapping[str, Any], where: str, pool: DescriptorPool) -> Iterator[Invalid]:
    fields = {name: field for field in kind.fields for name in (field.name, field.json_name)}
    seen: set[str] = set()
    for name, value in given.items():
        place, field = f"{where}.{name[:100]}", fields.get(name)
        if field is None:
            yield Invalid(place, _unknown(name, kind))
        elif field.name in seen:
            yield Invalid(place, f"is the same as {field.name}; give one of the two")
        elif value is not None:
            seen.add(field.name)
            yield from _of_field(field, value, place, pool)


def _of_field(field: FieldDescriptor, value: Any, place: str, pool: DescriptorPool) -> Iterator[Invalid]:
    entry = _map_value(field)
    if entry is not None:
        if not isinstance(value, Mapping):
            yield Invalid(place, "must be an object", got=_got(value))
            return
        wrong = [each for key, inner in value.items() for each in _of_value(entry, inner, f"{place}.{key[:100]}", pool)]
        yield from wrong or _alone(field, value, place, pool, "must be an object with keys that fit")
    elif field.is_repeated:
        if not isinstance(value, list | tuple):
            yield Invalid(place, f"must be a list; each entry {_rule(field)}", got=_got(value))
            return
        for number, inner in enumerate(value):
            yield from _of_value(field, inner, f"{place}[{number}]", pool)
    else:
        yield from _of_value(field, value, place, pool)


def _of_value(field: FieldDescriptor, value: Any, place: str, pool: DescriptorPool) -> Iterator[Invalid]:
    if field.message_type is not None and field.message_type.full_name not in _KNOWN_TYPES:
        if isinstance(value, Mapping):
            yield from _complaints(field.message_type, value, place, pool)
        else:
            yield Invalid(place, f"must be an object (a {field.message_type.full_name})", got=_got(value))
    elif value is None and field.message_type is None:
        yield Invalid(place, _rule(field), got="null")
    else:
        yield from _alone(field, value, place, pool, _rule(field))


def _alone(field: FieldDescriptor, value: Any, place: str, pool: DescriptorPool, rule: str) -> Iterator[Invalid]:
    """Whether protobuf accepts the value for this field; its own error messages are not shown to users."""
    kind = field.containing_type
    if kind is None:
        return
    given = [value] if field.is_repeated and _map_value(field) is None else value
    try:
        ParseDict({field.name: given}, GetMessageClass(kind)(), descriptor_pool=pool)
    except (ParseError, ValueError, TypeError, AttributeError, KeyError, OverflowError):
        yield Invalid(place, rule, got=_got(value))


def _rule(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        name = field.message_type.full_name
        return _KNOWN_TYPES.get(name, f"must be an object (a {name})")
    if field.enum_type is not None:
        names = [value.name for value in field.enum_type.values]
        return f"must be one of {', '.join(names[:_NAMED])}" + (" …" if len(names) > _NAMED else "")
    if field.cpp_type in _WHOLE:
        low, high = _WHOLE[field.cpp_type]
        return f"must be a whole number from {low} to {high}"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return "must be text in base64"
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "must be text"
    return "must be true or false" if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else "must be a number"


def _unknown(name: str, kind: Descriptor) -> str:
    known = [field.name for field in kind.fields]
    if not known:
        return f"is not a field of {kind.full_name}, which has none"
    near = difflib.get_close_matches(name[:100], known, n=1)
    hint = f"did you mean {near[0]!r}? It has" if near else "it has"
    more = " …" if len(known) > _NAMED else ""
    return f"is not a field of {kind.full_name}; {hint} {', '.join(known[:_NAMED])}{more}"


def _map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    """The field of a map's values; None when the field is no map."""
    kind = field.message_type
    return kind.fields_by_name["value"] if kind is not None and kind.GetOptions().map_entry else None


def _got(value: object) -> object:
    if isinstance(value, int | float):
        return value
    return value[:100] if isinstance(value, str) else repr(value)[:100]
