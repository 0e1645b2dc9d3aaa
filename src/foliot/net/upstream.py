"""Upstream proxies: a tunnel through an HTTP or SOCKS5 proxy to an address that the SSRF guard has checked.

The proxy is given the address and never the name, so that it cannot resolve the name to another one.
"""

from __future__ import annotations

import asyncio
import base64
import re
import socket
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from foliot.core.egress import EgressFailed
from foliot.core.errors import Invalid
from foliot.net.addresses import Address
from foliot.net.url import UrlTarget, read_url

SCHEMES = ("http", "socks5")
_USUAL = {"http": 3128, "socks5": 1080}
_HEAD_BYTES = 8 * 1024
_LONGEST_WORD = 255
"""Bytes of a user name and of a password in SOCKS5."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: |\r\n)")
_VERSION, _CONNECT, _IPV4, _IPV6, _NAMED = 5, 1, 1, 4, 3
_NO_LOGIN, _LOGIN, _LOGIN_VERSION = 0, 2, 1
_REPLIES = {
    1: "it failed",
    2: "its rules do not allow the target",
    3: "the network cannot be reached",
    4: "the target cannot be reached",
    5: "the target refused the connection",
    6: "it took too long",
    7: "it does not support CONNECT",
    8: "it does not support this kind of address",
}


class UpstreamFailed(EgressFailed):
    """The upstream proxy gave no connection to the target."""

    def __init__(self, why: str) -> None:
        super().__init__("proxy_failed", "The upstream proxy of the host gave no connection.", detail=why)


@dataclass(frozen=True, slots=True)
class UpstreamProxy:
    """The address of a proxy, and how to sign in to it."""

    scheme: str
    target: UrlTarget
    """For the guard, which checks it like any other target."""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def read(cls, url: str) -> UpstreamProxy:
        """`Invalid` never repeats the URL, which may hold a password."""
        rule = "must be http://host:port or socks5://host:port, with user:password@ where the proxy asks for them"
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise Invalid("proxy", rule) from None
        if parts.scheme not in SCHEMES or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise Invalid("proxy", rule)
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        try:
            target = read_url(f"http://{name}:{port or _USUAL[parts.scheme]}/")
        except Invalid as wrong:
            raise Invalid("proxy", wrong.message) from None
        username, password = unquote(parts.username or ""), unquote(parts.password or "")
        if max(len(username.encode()), len(password.encode())) > _LONGEST_WORD:
            raise Invalid("proxy", f"must have a user name and a password of at most {_LONGEST_WORD} bytes")
        return cls(parts.scheme, target, username, password)


async def open_tunnel(sock: socket.socket, proxy: UpstreamProxy, address: Address, port: int) -> None:
    """Asks the proxy, on a connected socket, for a connection to this address; raises `UpstreamFailed` or `OSError`."""
    await (_connect if proxy.scheme == "http" else _socks)(sock, proxy, address, port)


async def _connect(sock: socket.socket, proxy: UpstreamProxy, address: Address, port: int) -> None:
    place = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.username or proxy.password:
        token = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {token}")
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, "\r\n".join(lines).encode() + b"\r\n\r\n")
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # One byte at a time: what follows the head belongs to the target.
        if len(head) >= _HEAD_BYTES or not (more := await loop.sock_recv(sock, 1)):
            raise UpstreamFailed("the proxy did not answer in HTTP")
        head += more
    status = _STATUS.match(head)
    if status is None:
        raise UpstreamFailed("the proxy did not answer in HTTP")
    if not status[1].startswith(b"2"):
        raise UpstreamFailed(f"the proxy answered {status[1].decode()}")


async def _socks(sock: socket.socket, proxy: UpstreamProxy, address: Address, port: int) -> None:
    loop = asyncio.get_running_loop()
    named = bool(proxy.username or proxy.password)
    await loop.sock_sendall(sock, bytes([_VERSION, 1, _LOGIN if named else _NO_LOGIN]))
    version, method = await _exactly(sock, 2)
    if version != _VERSION:
        raise UpstreamFailed("the proxy does not speak SOCKS5")
    if method != (_LOGIN if named else _NO_LOGIN):
        raise UpstreamFailed("the proxy wants another way of signing in" if named else "the proxy wants a password")
    if named:
        user, word = proxy.username.encode(), proxy.password.encode()
        await loop.sock_sendall(sock, bytes([_LOGIN_VERSION, len(user)]) + user + bytes([len(word)]) + word)
        if (await _exactly(sock, 2))[1] != 0:
            raise UpstreamFailed("the proxy refused the user name or the password")
    kind = _IPV4 if address.version == 4 else _IPV6
    await loop.sock_sendall(sock, bytes([_VERSION, _CONNECT, 0, kind]) + address.packed + port.to_bytes(2))
    _, reply, _, bound = await _exactly(sock, 4)
    if reply != 0:
        raise UpstreamFailed(f"the proxy answered: {_REPLIES.get(reply, f'error {reply}')}")
    length = (await _exactly(sock, 1))[0] if bound == _NAMED else 4 if bound == _IPV4 else 16
    await _exactly(sock, length + 2)


async def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (more := await asyncio.get_running_loop().sock_recv(sock, count - len(data))):
            raise UpstreamFailed("the proxy closed the connection")
        data += more
    return data
