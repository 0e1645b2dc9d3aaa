"""gRPC channels to checked addresses, and one call over one of them: sends messages, reads bounded answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from foliot import __version__
from foliot.core.egress import ServiceAddress
from foliot.net.addresses import Address
from foliot.net.grpc_call import AnswerTooLarge, CallFailed, CallStatus, GrpcRequest

_CONNECT_MS = 10_000


@dataclass(eq=False, slots=True)
class GrpcConnection:
    """A channel and the calls that use it; one that was replaced is closed when its last call has ended."""

    number: int
    channel: aio.Channel
    addresses: Sequence[Address]
    users: int = 0
    answered: bool = False
    given_up: bool = False

    @property
    def is_good(self) -> bool:
        """A channel that worked and is down now leads to a service that was restarted, or has moved."""
        if self.given_up:
            return False
        return not self.answered or self.channel.get_state() is grpc.ChannelConnectivity.READY


@dataclass(slots=True)
class GrpcConnections:
    """The open channels: one per service."""

    ca_file: Path | None = None
    most: int = 4 * 1024 * 1024
    """Maximum size of an answer, after decompression."""
    _lines: dict[str, GrpcConnection] = field(default_factory=dict)
    _made: int = 0
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    def current(self, service: str) -> GrpcConnection | None:
        """The current channel, unless it failed meanwhile."""
        line = self._lines.get(service)
        if line is None or line.is_good:
            return line
        self._retire(service, line)
        return None

    def open(self, address: ServiceAddress, checked: Sequence[Address]) -> GrpcConnection:
        """A new channel to these addresses and no others."""
        if (old := self._lines.get(address.name)) is not None:
            self._retire(address.name, old)
        self._made += 1
        line = GrpcConnection(self._made, self._channel(address, checked), checked)
        self._lines[address.name] = line
        return line

    @asynccontextmanager
    async def using(self, line: GrpcConnection) -> AsyncIterator[aio.Channel]:
        line.users += 1
        try:
            yield line.channel
        finally:
            line.users -= 1
            if line.given_up and not line.users:
                self._close(line)

    def give_up(self, service: str, line: GrpcConnection) -> None:
        """Let no further call use it."""
        if self._lines.get(service) is line:
            self._retire(service, line)

    async def close(self) -> None:
        for service, line in list(self._lines.items()):
            line.users = 0
            self._retire(service, line)
        if self._closing:
            await asyncio.wait(set(self._closing))

    def _retire(self, service: str, line: GrpcConnection) -> None:
        del self._lines[service]
        line.given_up = True
        if not line.users:
            self._close(line)

    def _close(self, line: GrpcConnection) -> None:
        closing = asyncio.create_task(line.channel.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def _channel(self, address: ServiceAddress, checked: Sequence[Address]) -> aio.Channel:
        family = "ipv4" if checked[0].version == 4 else "ipv6"
        same = [each for each in checked if each.version == checked[0].version]
        places = ",".join(f"{each}:{address.port}" if family == "ipv4" else f"[{each}]:{address.port}" for each in same)
        options = [
            # Also the name that a certificate must be for: gRPC itself sees only addresses.
            ("grpc.default_authority", address.place),
            ("grpc.primary_user_agent", f"Foliot/{__version__}"),
            # No proxy of the environment, no configuration from DNS, no retries but ours, no shared connection.
            ("grpc.enable_http_proxy", 0),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.enable_retries", 0),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", self.most),
            ("grpc.max_send_message_length", self.most),
            ("grpc.min_reconnect_backoff_ms", _CONNECT_MS),
        ]
        if not address.scheme.secure:
            return aio.insecure_channel(f"{family}:{places}", options=options)
        roots = None if self.ca_file is None else self.ca_file.read_bytes()
        return aio.secure_channel(f"{family}:{places}", grpc.ssl_channel_credentials(roots), options=options)


MOST_ANSWERS = 10_000
"""Messages of one stream of answers."""
_DETAILS = "grpc-status-details-bin"
_MOST_TEXT = 1000
_MOST_VIOLATIONS = 20
_LONGEST_WAIT = timedelta(days=7)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_ADDRESS = re.compile(r"(?:ipv4|ipv6|unix|dns):\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?")
_TOO_LARGE = re.compile(r"(?i)message (?:is )?larger than max|message length larger than|message exceeds maximum size")
_UNREACHABLE = "The service could not be reached, or is not ready."
_LATE = "The service did not answer in time."


async def exchange(channel: aio.Channel, call: GrpcRequest, seconds: float) -> list[bytes]:
    """Works for every kind of method: on the wire, one message is a stream of one."""
    metadata = [(name, value) for name, value in call.metadata.items()]
    patience = max(seconds, 0.001)
    if len(call.messages) == 1:
        # A refusal that arrives while a stream is being sent can be lost; a single message is sent whole.
        stream = channel.unary_stream(call.path)(call.messages[0], timeout=patience, metadata=metadata)
    else:
        stream = channel.stream_stream(call.path)(iter(call.messages), timeout=patience, metadata=metadata)
    answers: list[bytes] = []
    left = call.most
    try:
        async for answer in stream:
            answers.append(answer)
            left -= len(answer)
            if left < 0 or len(answers) > MOST_ANSWERS:
                raise AnswerTooLarge
    except aio.AioRpcError as error:
        raise failure(error) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # The caller was not cancelled: the connection was closed during the call.
        raise CallFailed(CallStatus.CANCELLED, "The connection was closed.") from None
    finally:
        stream.cancel()
    return answers


def failure(error: aio.AioRpcError) -> CallFailed | AnswerTooLarge:
    """The public part of a failed call. gRPC's messages about connections name addresses, and are not repeated."""
    status = CallStatus(error.code().name)
    details = error.details() or ""
    if status is CallStatus.RESOURCE_EXHAUSTED and _TOO_LARGE.search(details):
        return AnswerTooLarge()
    match status:
        case CallStatus.UNAVAILABLE:
            message = _UNREACHABLE
        case CallStatus.DEADLINE_EXCEEDED:
            message = _LATE
        case _:
            message = plain(details)
    retry_after, violations = _details(error.trailing_metadata())
    return CallFailed(status, message, retry_after=retry_after, violations=violations, said=details[:_MOST_TEXT])


def plain(text: str) -> str:
    """An external message on one line, shortened, without addresses."""
    return _ADDRESS.sub("…", _CONTROL.sub(" ", text[: 2 * _MOST_TEXT])).strip()[:_MOST_TEXT]


def _details(trailing: Any) -> tuple[timedelta | None, list[tuple[str, str]]]:
    """Retry delay and invalid fields, if the service sends them in the standard error details."""
    retry_after: timedelta | None = None
    violations: list[tuple[str, str]] = []
    for detail in _packed(trailing):
        retry, request = error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
        try:
            if detail.Unpack(retry):
                wait = timedelta(seconds=min(retry.retry_delay.seconds, _LONGEST_WAIT.total_seconds()))
                retry_after = max(timedelta(), wait + timedelta(microseconds=retry.retry_delay.nanos // 1000))
            elif detail.Unpack(request):
                violations += [(plain(each.field), plain(each.description)) for each in request.field_violations]
        except DecodeError:
            continue
    return retry_after, violations[:_MOST_VIOLATIONS]


def _packed(trailing: Any) -> list[Any]:
    for name, value in trailing or ():
        if name == _DETAILS and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []
