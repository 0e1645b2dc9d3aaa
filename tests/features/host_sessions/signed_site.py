"""A shop on this machine that shows its pages to those who are signed in, and processes that fetch with sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.features.fetching.model import FetchOptions, FetchRequest, Render, Renderer
from foliot.features.fetching.sign_in import SignIns
from foliot.features.host_sessions.store import HostSessionStore
from tests.features.fetching.fetch_parts import FetchProcess, processes
from tests.world import KEYRING

PASSWORD = "hunter22-hunter22"
LOGIN = """<!doctype html><title>Sign in</title><input id=word type=password><button id=go>Go</button><p id=out></p>
<script>
document.getElementById("go").onclick = async () => {
  const r = await fetch("/session", {method: "POST", body: document.getElementById("word").value});
  document.getElementById("out").textContent = r.ok ? "welcome" : "";
};
</script>"""
STEPS: list[dict[str, str]] = [
    {"do": "fill", "selector": "#word", "value": "{{ secret.SHOP_PASSWORD }}"},
    {"do": "click", "selector": "#go"},
    {"do": "wait_for", "selector": "#out:not(:empty)"},
]


@dataclass
class SignedSite:
    """Pages below /in need the cookie `sid` of a sign-in that still counts."""

    port: int = 0
    valid: set[str] = field(default_factory=set)
    sign_ins: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and cookies of each request."""
    redirects: bool = False
    """Whether pages lead to the sign-in instead of answering 401."""
    sets: str = ""
    """A further cookie that pages set."""

    def url(self, path: str = "/in") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cookies_of(self, path: str) -> list[str]:
        return [cookies for at, cookies in self.asked if at == path]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                named = {name.lower(): value for name, value in lines.items()}
                body = await reader.readexactly(int(named.get("content-length", 0)))
                path, cookies = head.split(" ")[1], named.get("cookie", "")
                self.asked.append((path, cookies))
                writer.write(self._answer(path, cookies, body.decode()))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, path: str, cookies: str, body: str) -> bytes:
        if path == "/session":
            if body != PASSWORD:
                return _http(403, "")
            self.sign_ins += 1
            self.valid.add(f"s{self.sign_ins}")
            return _http(200, "", f"Set-Cookie: sid=s{self.sign_ins}; Path=/; HttpOnly")
        if path == "/login":
            return _http(200, LOGIN)
        if not path.startswith("/in"):
            return _http(404, "")
        if not any(f"sid={each}" in cookies.split("; ") for each in self.valid):
            return _http(302, "", "Location: /login") if self.redirects else _http(401, "sign in")
        more = (f"Set-Cookie: {self.sets}",) if self.sets else ()
        return _http(200, f"<p>{'Prices for members. ' * 20}</p>", *more)


def _http(status: int, body: str, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: text/html", f"Content-Length: {len(body.encode())}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@asynccontextmanager
async def signed_site() -> AsyncIterator[SignedSite]:
    site = SignedSite()
    server = await asyncio.start_server(site.talk, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


@dataclass(frozen=True)
class SessionProcess:
    """A process that fetches with sessions."""

    process: FetchProcess
    sessions: HostSessionStore

    async def get(
        self, url: str, session: str | None = "shop", tenant: str = "default", render: Render | None = None
    ) -> Any:
        options = FetchOptions(session=session, render=render)
        asked = FetchRequest(url=url, tenant_id=tenant, options=options, timeout=timedelta(seconds=10))
        return await self.process.fetcher.fetch(asked)


@asynccontextmanager
async def session_processes(
    store: Database, count: int = 1, renderer: Renderer | None = None
) -> AsyncIterator[list[SessionProcess]]:
    async with processes(store, count) as made:
        found = []
        for each in made:
            sessions = HostSessionStore(store=store, clock=StoreClock(), vault=KEYRING)
            sign_ins = SignIns(sessions=sessions, renderer=renderer)
            pages = replace(each.fetcher.pages, sign_ins=sign_ins, renderer=renderer)
            found.append(SessionProcess(FetchProcess(replace(each.fetcher, pages=pages), each.turns), sessions))
        yield found
