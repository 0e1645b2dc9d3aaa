"""Decodes a method's answers to JSON, the result of a run: field names as in the proto file, integers as integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, SerializeToJsonError
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from foliot.features.grpc_calls.errors import BadAnswer, ServiceAnswerTooLarge
from foliot.features.grpc_calls.service_catalogue import ServiceMethod

MOST_RESULT = 1024 * 1024
"""Bytes of a result, as JSON."""
_BIG = (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
_BIG_WRAPPERS = frozenset({"google.protobuf.Int64Value", "google.protobuf.UInt64Value"})
_FREE = frozenset({"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"})
_EXACT = 2**53
"""Beyond this, a double cannot represent every integer."""


def decode(method: ServiceMethod, answers: Sequence[bytes]) -> Any:
    """The result: one object, or a list of them where the method streams."""
    if not method.streams and len(answers) != 1:
        raise BadAnswer(f"{len(answers)} messages came where one was due")
    try:
        read = [_read(method, answer) for answer in answers]
    except (DecodeError, SerializeToJsonError, TypeError, ValueError, RecursionError):
        raise BadAnswer("the bytes that came are no such message") from None
    result = read if method.streams else read[0]
    size = len(orjson.dumps(result))
    if size > MOST_RESULT:
        raise ServiceAnswerTooLarge(f"its answer has {size} bytes as JSON; at most {MOST_RESULT} are kept")
    return result


def _read(method: ServiceMethod, answer: bytes) -> Any:
    written = MessageToDict(
        GetMessageClass(method.gives).FromString(answer),
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
        descriptor_pool=method.pool,
    )
    return _message(method.gives, written, method.pool)


def _message(kind: Descriptor, written: Any, pool: DescriptorPool) -> Any:
    """JSON writes 64-bit integers as strings, and a Struct has only doubles: both become integers again."""
    if kind.full_name in _FREE:
        return _free(written)
    if kind.full_name in _BIG_WRAPPERS:
        return int(written)
    if kind.full_name == "google.protobuf.Any":
        return _any(written, pool)
    if not isinstance(written, dict):
        return _clean(written)
    return {name: _field(kind.fields_by_name.get(name), value, pool) for name, value in written.items()}


def _field(field: FieldDescriptor | None, written: Any, pool: DescriptorPool) -> Any:
    if field is None or written is None:
        return _free(written)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        kept = field.message_type.fields_by_name["value"]
        return {_clean(key): _value(kept, inner, pool) for key, inner in written.items()}
    if field.is_repeated:
        return [_value(field, inner, pool) for inner in written]
    return _value(field, written, pool)


def _value(field: FieldDescriptor, written: Any, pool: DescriptorPool) -> Any:
    if field.message_type is not None:
        return _message(field.message_type, written, pool)
    return int(written) if field.cpp_type in _BIG else _clean(written)


def _any(written: Any, pool: DescriptorPool) -> Any:
    name = str(written.get("@type", "")).rpartition("/")[2]
    try:
        kind = pool.FindMessageTypeByName(name)
    except KeyError:
        return _free(written)
    if set(written) == {"@type", "value"} and "value" not in kind.fields_by_name:
        return {**written, "value": _message(kind, written["value"], pool)}
    return _message(kind, written, pool)


def _free(written: Any) -> Any:
    match written:
        case dict():
            return {_clean(key): _free(inner) for key, inner in written.items()}
        case list():
            return [_free(inner) for inner in written]
        case float() if written.is_integer() and abs(written) <= _EXACT:
            return int(written)
        case _:
            return _clean(written)


def _clean(written: Any) -> Any:
    # PostgreSQL text cannot hold U+0000.
    return written.replace("\x00", "") if isinstance(written, str) else written
