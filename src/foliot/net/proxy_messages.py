"""Heads of HTTP/1.1 messages as the egress proxy reads and forwards them: strict, one request per connection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foliot.core.errors import Invalid
from foliot.net.url import read_url

HEAD_BYTES = 16 * 1024
"""Largest head of a request."""
ANSWER_HEAD_BYTES = 128 * 1024
"""Largest head of an answer."""
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade"})
_OURS = frozenset({b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-connection", b"upgrade"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(r"[0-9]{1,15}")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?")


class ProxyRefused(Exception):
    """The request is answered by the proxy itself."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def _bad(message: str) -> ProxyRefused:
    return ProxyRefused("400 Bad Request", message)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request: its line, and its headers as they came."""

    method: str
    target: str
    headers: list[tuple[str, str]]

    def get(self, name: str) -> str:
        return next((value for each, value in self.headers if each.lower() == name), "")

    def all(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each.lower() == name]

    @property
    def length(self) -> int:
        """Bytes of the body. Only a length is accepted, so that the end of the request is never in doubt."""
        if self.all("transfer-encoding"):
            raise ProxyRefused("411 Length Required", "a body needs a Content-Length here")
        lengths = set(self.all("content-length"))
        if not lengths:
            return 0
        if len(lengths) > 1 or not _LENGTH.fullmatch(length := lengths.pop()):
            raise _bad("Content-Length must be one number")
        return int(length)


def read_request(raw: bytes) -> RequestHead:
    """The head of a request, with the blank line that ends it."""
    if len(raw) > HEAD_BYTES:
        raise ProxyRefused("431 Request Header Fields Too Large", f"at most {HEAD_BYTES} bytes")
    line, *lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or _UNSAFE.search(line):
        raise _bad("the request line must be: METHOD target HTTP/1.1")
    if not parts[2].startswith("HTTP/1."):
        raise _bad("only HTTP/1.1 is supported")
    headers = []
    for each in lines:
        name, colon, value = each.partition(":")
        if not colon or not _TOKEN.fullmatch(name) or _UNSAFE.search(value):
            raise _bad("a header contains characters that are not allowed")
        headers.append((name, value.strip()))
    return RequestHead(parts[0], parts[1], headers)


def tunnel_target(head: RequestHead) -> tuple[str, int]:
    """Host and port of a CONNECT request."""
    host, _, port = head.target.rpartition(":")
    if not port.isascii() or not port.isdigit() or len(port) > 5:
        raise _bad("CONNECT names host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def plain_request(head: RequestHead) -> tuple[str, int, bytes]:
    """Host and port of a request for an http URL, and its head as the origin server expects it."""
    try:
        target = read_url(head.target)
    except Invalid as fault:
        raise _bad(f"the URL {fault.message}") from None
    if target.url.scheme != "http":
        raise _bad("https needs CONNECT")
    kept = [(name, value) for name, value in head.headers if name.lower() not in {*_HOP_BY_HOP, "host"}]
    lines = [
        f"{head.method} {target.url.raw_path_qs} HTTP/1.1",
        f"Host: {target.authority}",
        *(f"{name}: {value}" for name, value in kept),
        "Connection: close",
    ]
    return target.host, target.port, "\r\n".join([*lines, "", ""]).encode("latin-1")


def answer_head(raw: bytes) -> tuple[int, bytes]:
    """The status of an answer, and its head as the program gets it: the connection ends with the answer.

    A program that kept the connection would send its next request, for another host, to this one.
    """
    line, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = _STATUS.fullmatch(line)
    if match is None:
        raise ProxyRefused("502 Bad Gateway", "The target's answer was not valid HTTP.")
    status = int(match[1])
    if status == 101:
        raise ProxyRefused("502 Bad Gateway", "The target requires a protocol other than HTTP.")
    kept = [each for each in lines if each.partition(b":")[0].strip().lower() not in _OURS]
    closing = [b"Connection: close"] if status >= 200 else []
    return status, b"\r\n".join([line, *kept, *closing, b"", b""])
