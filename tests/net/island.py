"""A network that holds nothing but itself: every address there is leads to one listener, and its name server lies.

`island()` makes it and takes it away. Run as a program inside it, this module sends requests to the names it is given
on standard input, and says what became of each and which addresses were dialled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from foliot.core.egress import EgressFailed, EgressRefused, OutgoingRequest
from foliot.net import allow
from foliot.net.allow import Interfaces
from foliot.net.client import HttpEgress

A, CNAME, AAAA = 1, 5, 28
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
NEVER = "never"
"""Instead of addresses: the name server keeps silent."""


class Unavailable(Exception):
    """No island can be made here; `permitted` says whether one could be, if the tools were there."""

    def __init__(self, reason: str, *, permitted: bool) -> None:
        super().__init__(reason)
        self.permitted = permitted


@contextmanager
def island() -> Iterator[str]:
    """The name of a network namespace in which all addresses are local, with ourselves as its name server."""
    if shutil.which("ip") is None:
        raise Unavailable("network namespaces are made with `ip` (iproute2)", permitted=os.geteuid() == 0)
    name = f"foliot-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        raise Unavailable(f"no network namespace may be made here: {made.stderr.strip()}", permitted=False)
    settings = Path("/etc/netns") / name
    try:
        settings.mkdir(parents=True)
        (settings / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        for command in (
            ["link", "set", "lo", "up"],
            ["route", "add", "local", "0.0.0.0/0", "dev", "lo"],
            ["-6", "route", "add", "local", "::/0", "dev", "lo"],
        ):
            subprocess.run(["ip", "-n", name, *command], check=True)
        yield name
    finally:
        shutil.rmtree(settings, ignore_errors=True)
        with contextlib.suppress(OSError):
            settings.parent.rmdir()
        subprocess.run(["ip", "netns", "delete", name], check=True)


def visit(name: str, *, guarded: bool, cases: dict[str, list[Any]]) -> dict[str, Any]:
    """What a process inside found: `cases` are names with their answers, one list of addresses per request."""
    found = subprocess.run(
        ["ip", "netns", "exec", name, sys.executable, "-m", "tests.net.island", "on" if guarded else "off"],
        input=json.dumps(cases),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=50,
    )
    report: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return report


# --- inside -----------------------------------------------------------------------------------------------------------


class NameServer(asyncio.DatagramProtocol):
    """Gives each name its answers in turn, the last one for ever. A text instead of a list is an alias."""

    def __init__(self, cases: dict[str, list[Any]]) -> None:
        self._cases = cases
        self._asked: Counter[tuple[str, int]] = Counter()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, place = [], 12
        while size := data[place]:
            labels.append(data[place + 1 : place + 1 + size].decode().lower())
            place += size + 1
        (kind,) = struct.unpack_from("!H", data, place + 1)
        question = data[12 : place + 5]
        answers = self._answers(".".join(labels), kind)
        if answers is None:
            return
        head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, len(answers), 0, 0)
        self._transport.sendto(head + question + b"".join(answers), addr)

    def _answers(self, name: str, kind: int) -> list[bytes] | None:
        turns = self._cases.get(name, [[]])
        addresses = turns[min(self._asked[name, kind], len(turns) - 1)]
        self._asked[name, kind] += 1
        if addresses == NEVER:
            return None
        records, owner = [], b"\xc0\x0c"
        if isinstance(addresses, str):
            alias = b"".join(bytes([len(label)]) + label.encode() for label in addresses.split(".")) + b"\0"
            records.append(record(owner, CNAME, alias))
            owner, addresses = alias, self._cases[addresses][0]
        packed = [ip_address(address).packed for address in addresses]
        return records + [record(owner, kind, raw) for raw in packed if len(raw) == {A: 4, AAAA: 16}.get(kind)]


def record(owner: bytes, kind: int, raw: bytes) -> bytes:
    """Valid for no time at all."""
    return owner + struct.pack("!HHIH", kind, 1, 0, len(raw)) + raw


class Recorder:
    """Answers every request to this machine, and remembers by which of its addresses it was called."""

    def __init__(self) -> None:
        self.dialled: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.dialled.append(writer.get_extra_info("sockname")[0])
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(OK)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def send(egress: HttpEgress, host: str) -> str:
    try:
        reply = await egress.send(OutgoingRequest(method="GET", url=f"http://{host}/", timeout=timedelta(seconds=3)))
    except EgressRefused:
        return "refused"
    except EgressFailed as failure:
        return failure.code
    return str(reply.status)


async def stay(cases: dict[str, list[Any]]) -> dict[str, Any]:
    """Asks for every name as often as it has answers, all names at once."""
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: NameServer(cases), ("127.0.0.1", 53))
    recorder = Recorder()
    for family, everywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        await asyncio.start_server(recorder, everywhere, 80, family=family)

    async def ask(host: str, answers: Sequence[Any]) -> dict[str, Any]:
        began = loop.time()
        told = [await send(egress, host) for _ in answers]
        return {"told": told, "seconds": loop.time() - began}

    async with HttpEgress() as egress:
        told = await asyncio.gather(*(ask(host, answers) for host, answers in cases.items()))
    return {"told": dict(zip(cases, told, strict=True)), "dialled": recorder.dialled}


def main() -> None:
    assert [name for _, name in socket.if_nameindex()] == ["lo"], "this is no island: requests could leave it"
    if sys.argv[1] == "off":
        vars(allow).update(is_public=lambda _: True, is_forbidden=lambda _: False)
        setattr(Interfaces, "__call__", lambda _: frozenset())  # noqa: B010 -- a type checker forbids the plain way
    print(json.dumps(asyncio.run(stay(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
