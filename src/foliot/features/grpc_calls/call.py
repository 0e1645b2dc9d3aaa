"""Calls a method by its service's descriptors: parameters from JSON, answers to JSON."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError, SerializeToJsonError
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.message_factory import GetMessageClass

from foliot.core.document import MOST_COMPLAINTS, Complaints, rfc3339
from foliot.core.errors import Invalid
from foliot.core.threads import WORK
from foliot.engine.ports import ActionContext
from foliot.features.grpc_calls.config import MethodName
from foliot.features.grpc_calls.service_catalogue import (
    BadAnswer,
    ServiceAnswerTooLarge,
    ServiceCatalogue,
    ServiceCatalogues,
    ServiceMethod,
)
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcAnswers, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress


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
        raise BadAnswer(f"{len(answers)} messages were received; expected one")
    try:
        read = [_read(method, answer) for answer in answers]
    except (DecodeError, SerializeToJsonError, TypeError, ValueError, RecursionError):
        raise BadAnswer("the response is not a valid message") from None
    result = read if method.streams else read[0]
    size = len(orjson.dumps(result))
    if size > MOST_RESULT:
        raise ServiceAnswerTooLarge(f"its answer is {size} bytes as JSON; at most {MOST_RESULT} are kept")
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
    "google.protobuf.FieldMask": "must be field names, separated by commas",
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


_SHORTEST = timedelta(milliseconds=10)
_BULKY = 64 * 1024
"""From this many bytes on, an answer is decoded in a thread."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was encoded by the service's own descriptors."""

    catalogue: ServiceCatalogue
    method: ServiceMethod
    request: bytes


@dataclass(frozen=True, slots=True)
class GrpcCaller:
    """Encodes, sends and decodes calls."""

    calls: GrpcEgress
    catalogues: ServiceCatalogues

    async def prepare(self, config: Mapping[str, Any]) -> PreparedCall:
        """`Invalid` when the service does not have the method or a field."""
        service = str(config["target_service"])
        catalogue = await self.catalogues.of(service)
        try:
            return self._prepared(catalogue, config)
        except Invalid:
            newer = await self.catalogues.newer(service, catalogue)
            if newer is None:
                raise
        return self._prepared(newer, config)

    def _prepared(self, catalogue: ServiceCatalogue, config: Mapping[str, Any]) -> PreparedCall:
        entry = self.calls.book.address_of(str(config["target_service"]))
        seen = catalogue if entry is None or entry.methods is None else catalogue.only(entry.allows)
        method = seen.find(MethodName.read(str(config["target_method"])))
        return PreparedCall(catalogue, method, encode(method, config.get("parameters") or {}))

    async def perform(self, ctx: ActionContext) -> tuple[Any, GrpcAnswers]:
        """The result, and the raw answers."""
        ends = asyncio.get_running_loop().time() + ctx.timeout.total_seconds()
        prepared = await self.prepare(ctx.config)
        try:
            answers = await self._call(ctx, prepared, ends)
        except CallFailed as failed:
            if failed.status is not CallStatus.UNIMPLEMENTED:
                raise
            newer = await self._changed(ctx, prepared)
            if newer is None:
                raise
            # A service that answers UNIMPLEMENTED has not begun: calling again repeats no effect.
            prepared = newer
            answers = await self._call(ctx, prepared, ends)
        return await self._result(ctx, prepared, answers.messages), answers

    async def _call(self, ctx: ActionContext, prepared: PreparedCall, ends: float) -> GrpcAnswers:
        service, path = str(ctx.config["target_service"]), prepared.method.path
        ctx.log(f"{path} of {service}, attempt {ctx.attempt} of {ctx.max_attempts}")
        left = timedelta(seconds=ends - asyncio.get_running_loop().time())
        return await self.calls.call(
            GrpcRequest(
                service=service,
                path=path,
                messages=[prepared.request],
                metadata=metadata(ctx),
                timeout=max(_SHORTEST, left),
                tenant_id=ctx.tenant_id,
            )
        )

    async def _result(self, ctx: ActionContext, prepared: PreparedCall, messages: Sequence[bytes]) -> Any:
        try:
            return await _decoded(prepared.method, messages)
        except BadAnswer:
            newer = await self._changed(ctx, prepared)
            if newer is None:
                raise
        return await _decoded(newer.method, messages)

    async def _changed(self, ctx: ActionContext, prepared: PreparedCall) -> PreparedCall | None:
        """The call by new descriptors, if the service has changed since they were fetched."""
        newer = await self.catalogues.anew(str(ctx.config["target_service"]))
        return None if newer is prepared.catalogue else self._prepared(newer, ctx.config)


async def _decoded(method: ServiceMethod, messages: Sequence[bytes]) -> Any:
    if sum(map(len, messages)) < _BULKY:
        return decode(method, messages)
    return await WORK.run(decode, method, messages)


def metadata(ctx: ActionContext) -> dict[str, str]:
    """Identifies the run and the attempt: the service can tell a retry from a new run."""
    headers = {
        "foliot-run-id": ctx.run_id,
        "foliot-attempt": str(ctx.attempt),
        "foliot-tenant-id": ctx.tenant_id,
        "foliot-schedule-id": ctx.schedule_id,
        "foliot-scheduled-for": rfc3339(ctx.scheduled_for),
        "idempotency-key": ctx.run_id,
    }
    return {name: value for name, value in headers.items() if value and value.isascii() and value.isprintable()}
