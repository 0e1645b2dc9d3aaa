"""The addresses of this machine's own interfaces, public ones too: they are refused as targets."""

from __future__ import annotations

import re
import socket
import time
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from foliot.net.addresses import Address

FRESH = 30.0
"""Seconds until an added or removed address is noticed."""
_PROC = Path("/proc/net")
_LOCAL_V4 = re.compile(r"\|-- (?P<address>[0-9.]+)\n\s+/32 host LOCAL")


class Interfaces:
    """Reads them from the kernel periodically; without `/proc`, from the resolver by this machine's name."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._proc = proc
        self._read_at = float("-inf")
        self._addresses: frozenset[Address] = frozenset()

    def __call__(self) -> frozenset[Address]:
        now = time.monotonic()
        if now - self._read_at > FRESH:
            self._read_at, self._addresses = now, self._read()
        return self._addresses

    def _read(self) -> frozenset[Address]:
        try:
            return frozenset({*self._v4(), *self._v6()}) or _by_name()
        except (OSError, ValueError):
            return _by_name()

    def _v4(self) -> list[Address]:
        text = (self._proc / "fib_trie").read_text(encoding="ascii")
        return [ip_address(found["address"]) for found in _LOCAL_V4.finditer(text)]

    def _v6(self) -> list[Address]:
        try:
            text = (self._proc / "if_inet6").read_text(encoding="ascii")
        except FileNotFoundError:
            return []
        return [IPv6Address(bytes.fromhex(line.split()[0])) for line in text.splitlines() if line.strip()]


def _by_name() -> frozenset[Address]:
    try:
        infos = socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset(ip_address(str(where[0]).partition("%")[0]) for *_, where in infos)


OWN = Interfaces()
