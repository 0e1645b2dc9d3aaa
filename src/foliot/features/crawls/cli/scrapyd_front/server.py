"""The HTTP server of the front: paths, forms, basic authentication; bounded in connections, bytes and time."""

from __future__ import annotations

import json
import re
import threading
from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass, replace
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from foliot.features.crawls.cli.scrapyd_front.pages import home_page, jobs_page
from foliot.features.crawls.cli.scrapyd_front.web_services import (
    FrontRefusal,
    FrontRequest,
    SignInNeeded,
    WebServices,
)
from foliot.terminal.client import Client, segment
from foliot.terminal.output import Failure

MOST_BYTES = 64 * 1024 * 1024
MOST_FORM = 1024 * 1024
"""Bytes of a request that uploads no egg."""
FOREIGN = {"status": "error", "message": "a browser may not send this from another site"}
"""Of an egg, and of any other request."""
MOST_OPEN = 64
PATIENCE = 60.0
REALM = 'Basic realm="Foliot: any user, and an API key as password"'
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})
_FILE = re.compile(r"/(?P<sort>logs|items)/[^/]+/[^/]+/(?P<job>[A-Za-z0-9_-]{1,80})\.(?:log|jl)")


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """What the requests are passed on to."""

    client: Client
    """Of the Foliot server, without a token."""
    services: WebServices


class ScrapydFront(ThreadingHTTPServer):
    """One thread for each connection, and at most `MOST_OPEN`."""

    daemon_threads = True

    def __init__(self, host: str, port: int, settings: FrontSettings) -> None:
        self.settings = settings
        self.hosts = LOOPBACK | {host}
        self.rooms = threading.BoundedSemaphore(MOST_OPEN)
        super().__init__((host, port), _FrontHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.rooms.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.rooms.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours."""


class _FrontHandler(BaseHTTPRequestHandler):
    server: ScrapydFront
    timeout = PATIENCE
    server_version = "foliot-scrapyd"
    sys_version = ""
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._answered(b"")

    do_HEAD = do_GET  # noqa: N815 -- as http.server calls it

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdecimal()) or int(length) > MOST_BYTES:
            self._send(413, {"status": "error", "message": f"a request has at most {MOST_BYTES >> 20} MiB"})
            return
        if int(length) > MOST_FORM and urlsplit(self.path).path != "/addversion.json":
            self._send(413, {"status": "error", "message": f"this request has at most {MOST_FORM >> 20} MiB"})
            return
        if self._is_foreign():
            self._send(403, FOREIGN)
            return
        self._answered(self.rfile.read(int(length)))

    def _answered(self, body: bytes) -> None:
        try:
            if self._is_foreign():
                self._send(403, FOREIGN)
                return
            self._route(body)
        except SignInNeeded:
            self._send(401, {"status": "error", "message": "sign in with an API key as password"}, REALM)
        except FrontRefusal as refused:
            self._send(404, {"status": "error", "message": str(refused)})
        except Failure as failed:
            self._send(502, {"status": "error", "message": str(failed).splitlines()[0]})

    def _is_foreign(self) -> bool:
        """Pages of other sites, whose requests a browser sends with the credentials that it keeps.

        Without credentials a local server is open to every page that a browser of this machine shows.
        """
        given, shown = self.headers.get("Origin"), self.headers.get("Host", "")
        if given is not None and given.lower() not in {f"http://{shown}".lower(), f"https://{shown}".lower()}:
            return True
        if self.command == "POST" and self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return True
        if "Authorization" in self.headers:
            return False
        host = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        return host not in self.server.hosts or (origin is not None and urlsplit(origin).hostname not in LOOPBACK)

    def _route(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        services, client = self.server.settings.services, self._client()
        service = parts.path.strip("/").removesuffix(".json")
        if parts.path.endswith(".json") and service in services.READS | services.WRITES:
            writes = service in services.WRITES
            if writes != (self.command == "POST"):
                self._send(405, {"status": "error", "message": f"use {'POST' if writes else 'GET'}"})
                return
            kind = self.headers.get("Content-Type", "")
            fields = _form(body, kind) if writes else parse_qs(parts.query, keep_blank_values=True)
            self._send(200, services.answer(service, FrontRequest(client, fields, body, kind)))
        elif self.command != "POST" and (file := _FILE.fullmatch(parts.path)):
            self._file(client, file["sort"], file["job"])
        elif self.command != "POST" and parts.path in {"/", "/jobs", "/jobs/"}:
            page = home_page() if parts.path == "/" else jobs_page(services.jobs(client))
            self._send(200, page.encode(), kind="text/html; charset=utf-8")
        else:
            self._send(404, {"status": "error", "message": f"there is no {parts.path[:100]}"})

    def _client(self) -> Client:
        """The server, asked with the key of this request; without one, as a stranger."""
        shown = self.headers.get("Authorization", "")
        scheme, _, given = shown.partition(" ")
        token = None
        if scheme.lower() == "bearer":
            token = given.strip()
        elif scheme.lower() == "basic":
            try:
                user, _, password = b64decode(given, validate=True).decode().partition(":")
            except (NotBase64, UnicodeDecodeError):
                raise SignInNeeded from None
            token = password or user
        if token is not None and not (token.isascii() and token.isprintable()):
            raise SignInNeeded
        return replace(self.server.settings.client, token=token or None)

    def _file(self, client: Client, sort: str, job: str) -> None:
        """A log as text, or items as lines of JSON, as they are now."""
        path = f"/jobs/{segment(job)}/" + ("logs" if sort == "logs" else "results")
        accept = "text/plain" if sort == "logs" else "application/x-ndjson"
        query = {"format": "text"} if sort == "logs" else {}
        try:
            pieces = client.download(path, accept, **query)
            first = next(pieces, b"")
        except Failure as failed:
            if failed.details.get("status") == 401:
                raise SignInNeeded from None
            raise FrontRefusal(f"job {job} not found") from None
        self.send_response(200)
        self.send_header("Content-Type", f"{accept}; charset=utf-8")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(first)
            for piece in pieces:
                self.wfile.write(piece)

    def _send(
        self, status: int, answer: dict[str, Any] | bytes, realm: str | None = None, kind: str = "application/json"
    ) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if realm is not None:
            self.send_header("WWW-Authenticate", realm)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The Foliot server records what was asked of it."""


def _form(body: bytes, kind: str) -> dict[str, list[str]]:
    """The text fields of a form; a file (an egg) stays in the body."""
    if not kind.lower().startswith("multipart/form-data"):
        return parse_qs(body.decode(errors="replace"), keep_blank_values=True)
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    fields: dict[str, list[str]] = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str) and part.get_filename() is None:
            fields.setdefault(name, []).append(str(part.get_content()).strip())
    return fields
