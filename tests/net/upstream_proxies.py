"""An HTTP and a SOCKS5 proxy on this machine, which note what they were asked for."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address


@dataclass
class StandInProxy:
    """Forwards to what it is asked for, or refuses."""

    scheme: str
    login: str = ""
    """`user:password`; empty: no sign-in."""
    refuses: bool = False
    port: int = 0
    asked: list[str] = field(default_factory=list)
    """`host:port` of each tunnel."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def url(self, login: str | None = None) -> str:
        login = self.login if login is None else login
        return f"{self.scheme}://{login}@127.0.0.1:{self.port}" if login else f"{self.scheme}://127.0.0.1:{self.port}"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        writers = [writer]
        try:
            place = await (self._http if self.scheme == "http" else self._socks)(reader, writer)
            if place is not None:
                host, _, port = place.rpartition(":")
                there, out = await asyncio.open_connection(host.strip("[]"), int(port))
                writers.append(out)
                await asyncio.gather(_copy(reader, out), _copy(there, writer))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.tasks.discard(task)
            for each in writers:
                each.close()

    async def _http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, place, _ = head.split(" ", 2)
        assert method == "CONNECT"
        self.asked.append(place)
        token = base64.b64encode(self.login.encode()).decode()
        if self.login and f"Proxy-Authorization: Basic {token}" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return None
        writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n" if self.refuses else b"HTTP/1.1 200 Yes\r\nVia: me\r\n\r\n")
        return None if self.refuses else place

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str | None:
        _, count = await reader.readexactly(2)
        wanted = 2 if self.login else 0
        if wanted not in await reader.readexactly(count):
            writer.write(b"\x05\xff")
            return None
        writer.write(bytes([5, wanted]))
        if self.login:
            _, length = await reader.readexactly(2)
            user = await reader.readexactly(length)
            word = await reader.readexactly((await reader.readexactly(1))[0])
            good = f"{user.decode()}:{word.decode()}" == self.login
            writer.write(b"\x01\x00" if good else b"\x01\x01")
            if not good:
                return None
        _, _, _, kind = await reader.readexactly(4)
        assert kind in {1, 4}, "an address, and no name"
        address = ip_address(await reader.readexactly(4 if kind == 1 else 16))
        port = int.from_bytes(await reader.readexactly(2))
        place = f"[{address}]:{port}" if kind == 4 else f"{address}:{port}"
        self.asked.append(place)
        writer.write((b"\x05\x02" if self.refuses else b"\x05\x00") + b"\x00\x01" + bytes(6))
        return None if self.refuses else place


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
    sink.close()


@asynccontextmanager
async def proxying(scheme: str, *, login: str = "", refuses: bool = False) -> AsyncIterator[StandInProxy]:
    proxy = StandInProxy(scheme, login, refuses)
    server = await asyncio.start_server(proxy.talk, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        tasks = list(proxy.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
