"""What a feature passes to the gRPC server: methods with permissions, and running calls that outlive a disconnect.

The metadata of one call (caller, idempotency key), and google.protobuf.Struct as JSON values and back.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value

from foliot.auth.identity import Identity, Pepper
from foliot.commands.envelope import Permission, UseCases, permission_of
from foliot.commands.idempotency import MAX_KEY, IdempotentRequest
from foliot.core.access import Caller
from foliot.core.errors import Invalid, Unauthenticated

T = TypeVar("T")


@dataclass(slots=True)
class RunningCalls:
    """The handlers that are running."""

    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def finish(self, begun: Coroutine[Any, Any, T]) -> T:
        """Await the result; the handler runs to its end even when the awaiting task is cancelled."""
        task = asyncio.create_task(begun)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def rest(self, seconds: float) -> None:
        """Wait for the running handlers, at most this long."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            # Retrieve the exception: asyncio warns of one that is never retrieved, as when the client is gone.
            task.exception()


HEALTH = ("Check", "List", "Watch")
PUBLIC = frozenset(
    {
        *(f"/grpc.health.v1.Health/{name}" for name in HEALTH),
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    }
)
"""Methods without authentication: health and, where it is enabled, reflection."""


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """One method: the use case whose permission it needs, its request message, and its handler."""

    use_case: Callable[..., object]
    request: type[Message]
    answer: Callable[..., Any]
    streams: bool = False

    @property
    def permission(self) -> Permission:
        return permission_of(self.use_case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a starting server passes to the factories of its services."""

    cases: UseCases
    pepper: Pepper | None
    identity: Identity | None
    streams_of: Counter[str]
    work: RunningCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcService:
    """A service with its methods, by full name; a method that is not in the table is not served."""

    name: str
    methods: Mapping[str, RpcMethod]
    stopping: asyncio.Event
    """Set when the server stops: ends its streams."""


MAX_TOKEN = 8 * 1024
"""Bytes of a token or API key; a longer one is refused unread."""
KEY = "idempotency-key"
REPLAYED = "idempotent-replayed"
"""The trailing metadata that marks a stored answer of an idempotent call."""

Metadata = Sequence[tuple[str, str | bytes]]
_VISIBLE = re.compile(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class AuthorisedCall:
    """One call whose caller is authenticated and has the permission."""

    method: str
    caller: Caller
    metadata: Metadata

    def once(self, request: Message, render: Any) -> IdempotentRequest:
        """The call as an idempotent request; `render` turns the result into the response message."""
        digest = hashlib.sha256(f"grpc {self.method}\n".encode())
        digest.update(request.SerializeToString(deterministic=True))

        def written(result: Any) -> str:
            return b64encode(render(result).SerializeToString()).decode()

        return IdempotentRequest(self._key(), digest.hexdigest(), 200, written)

    def _key(self) -> str | None:
        given = [value for name, value in self.metadata if name == KEY]
        if not given:
            return None
        key = given[0]
        if len(given) > 1 or not isinstance(key, str) or len(key) > MAX_KEY or not _VISIBLE.fullmatch(key):
            raise Invalid(KEY, f"must be 1 to {MAX_KEY} visible ASCII characters, once", got=str(key)[:100])
        return key


def given_before(body: str) -> bytes:
    """A stored answer as the bytes of its message."""
    return b64decode(body)


def bearer_of(metadata: Metadata) -> str:
    """The bearer token or API key in the metadata; `Unauthenticated` unless there is exactly one."""
    shown = [value for name, value in metadata if name == "authorization"]
    text = shown[0] if len(shown) == 1 and isinstance(shown[0], str) else ""
    scheme, _, bearer = text.partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(bearer) <= MAX_TOKEN:
        raise Unauthenticated
    return bearer


def parse(kind: type[Message], raw: bytes) -> Message:
    """Parse the message; `Invalid` for bytes that are none: the caller's mistake, not an internal error."""
    try:
        return kind.FromString(raw)
    except (DecodeError, RecursionError):
        rule = "cannot be read: it is cut off, another message, nested too deeply, or holds text that is not UTF-8"
        raise Invalid(kind.DESCRIPTOR.name, rule) from None


EXACT = 2**53
"""Integers up to here are exact as doubles, which is what a Struct holds."""
DEEPEST = 28
"""Levels of nesting: protobuf parsers refuse 100 nested messages, and each JSON object takes three."""


def plain(struct: Struct) -> dict[str, Any]:
    """A Struct as JSON; integral doubles become integers again."""
    return {name: _plain(value) for name, value in struct.fields.items()}


def plain_list(values: ListValue) -> list[Any]:
    """A ListValue as JSON."""
    return [_plain(item) for item in values.values]


def _plain(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            return plain(value.struct_value)
        case "list_value":
            return [_plain(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= EXACT else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None


def struct(document: Mapping[str, Any]) -> Struct:
    """JSON as a Struct. Numbers that a double cannot hold, and values nested too deeply, become text."""
    message = Struct()
    message.update({str(name): _carried(value, 1) for name, value in document.items()})
    return message


def listed(values: Sequence[Any]) -> ListValue:
    """A JSON array as a ListValue."""
    return struct({"values": list(values)}).fields["values"].list_value


def whole(value: Any) -> Struct:
    """Any JSON as a Struct: a value that is not an object goes under the key `value`."""
    return struct(value if isinstance(value, Mapping) else {"value": value})


def _carried(value: Any, depth: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | Mapping | list | tuple):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    if depth >= DEEPEST:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return {str(name): _carried(inner, depth + 1) for name, inner in value.items()}
    return [_carried(inner, depth + 1) for inner in value]
