"""A renderer with a real Chromium, and sites on this machine for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.cluster.machine import ChildLimits, environment
from foliot.cluster.process_pool import ProcessPool
from foliot.cluster.process_tree import descendants
from foliot.features.fetching.browser_actions import read_actions
from foliot.features.fetching.model import FetchOptions, FetchRequest, KeepPage
from foliot.features.fetching.render import installed
from foliot.features.fetching.render.renderer import BrowserLaunch, BrowserRenderer
from foliot.features.fetching.render.screenshots import Screenshots
from foliot.net.allow import EgressRules
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress
from tests.services import absent

MEBIBYTE = 1024 * 1024
SCRIPTED = """<!doctype html><title>Shop</title><div id=app></div><script>
const html = "<h1>A price by script</h1><p class=price>9.90</p>"
setTimeout(() => { document.getElementById("app").innerHTML = html }, 200)
</script>"""
Document = str | tuple[str, bytes]
"""HTML, or a content type and a body."""


class NoChromium(Exception):
    """What these tests need, and how to get it."""


@dataclass
class Site:
    """Answers each path by its document, and remembers the requests."""

    pages: Mapping[str, Document]
    port: int = 0
    paths: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def site(pages: Mapping[str, Document]) -> AsyncIterator[Site]:
    made = Site(pages)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ")[1]
            made.paths.append(path)
            made.heads.append(head)
            given = made.pages.get(path.partition("?")[0])
            status = "200 OK" if given is not None else "404 Not Found"
            kind, body = given if isinstance(given, tuple) else ("text/html; charset=utf-8", (given or "").encode())
            lines = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(lines.encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def program() -> str:
    found = installed.chromium()
    if found is None or not installed.has_library():
        absent(NoChromium("needs Playwright and a Chromium: apt-get install chromium"))
    return str(found)


@asynccontextmanager
async def renderer(
    *,
    pages: int = 50,
    many: int = 1,
    memory: int = 900 * MEBIBYTE,
    seconds: float = 20,
    names: Callable[[str], Sequence[str]] | None = None,
    rules: EgressRules | None = None,
    secrets: Mapping[str, str] | None = None,
    url: str = "",
    keeper: KeepPage | None = None,
) -> AsyncIterator[BrowserRenderer]:
    async def resolve(host: str, tenant_id: str) -> Sequence[str]:
        return names(host) if names is not None else ["127.0.0.1"]

    guard = EgressGuard(rules or EgressRules.read(loopback=True, allow=[], ports=[]))
    tcp = TcpEgress(guard=guard, resolve=resolve)
    made = BrowserRenderer(
        pool=ProcessPool(
            size=many,
            grace=0.2,
            bounds=ChildLimits(cores=0, tree=memory),
            environment={**environment(("PATH", "LANG", "TMPDIR")), "HOME": "/nonexistent"},
        ),
        proxy=EgressProxy(tcp=tcp),
        guard=guard,
        launch=BrowserLaunch(
            program="" if url else program(),
            url=url,
            sandbox=not installed.needs_no_sandbox(),
            pages=pages,
            memory=600 * MEBIBYTE,
        ),
        many=many,
        timeout=timedelta(seconds=seconds),
        secrets=None if secrets is None else Secrets(secrets),
        shots=Screenshots(keeper=keeper),
    )
    try:
        yield made
    finally:
        await made.close()
        tcp.close()


def processes_of(browsers: BrowserRenderer) -> list[int]:
    """The browsers with what drives them; the servers that the suite has started are processes below ours too."""
    roots = [child.process.pid for child in browsers.pool._all]
    return roots + [pid for root in roots for pid in descendants(root)]


@dataclass
class Secrets:
    """Secrets of every tenant, for any host."""

    values: Mapping[str, str]

    async def named(self, tenant_id: str, names: Any, url: str | None = None) -> Mapping[str, str]:
        return {name: self.values[name] for name in names if name in self.values}


def wanted(
    url: str, *, tenant_id: str = "acme", headers: Mapping[str, str] | None = None, **actions: Any
) -> FetchRequest:
    options = FetchOptions(browser=read_actions("browser", actions) if actions else None)
    return FetchRequest(url=url, tenant_id=tenant_id, options=options, headers=headers or {})
