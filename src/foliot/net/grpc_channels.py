"""gRPC channels. Each connects only to the addresses that were checked when it was created."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc import aio

from foliot import __version__
from foliot.core.address_book import ServiceAddress
from foliot.net.addresses import Address

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
