"""A small client of the HTTP API, on the standard library alone: a command must start quickly.

Error responses (RFC 9457) as the message and the exit code of a command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import foliot
from foliot.core.errors import underlined
from foliot.terminal.output import Exit, Failure, one_line_errors

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_HINTS = {
    401: "set FOLIOT_TOKEN to a valid token of this server, or to one of its API keys; foliot token creates tokens",
    403: "the role of your token does not allow this",
    412: "it was changed in the meantime: look at it again and repeat your change",
}
_NAMES = {
    "cron_expr": "cron expression",
    "interval_seconds": "interval",
    "run_at": "time",
    "timezone": "time zone",
    "url": "URL",
    "q": "filter",
    "words": "time in words",
    "start_urls": "URLs",
    "max_retries": "number of retries",
    "schedule_id": "schedule",
}
"""What people call a field; others are called by their own name."""
_MISSING = ("is required", "is missing", "must be given")
_REFUSED = range(400, 500)


def failure(status: int, body: Any) -> Failure:
    """What an error response means for the user and for the exit code."""
    code = Exit.NOT_FOUND if status == 404 else Exit.REFUSED if status in _REFUSED else Exit.FAILED
    if not isinstance(body, dict):
        reason = f"the server answered {status} without a reason: is FOLIOT_URL the address of a Foliot server?"
        return Failure(reason, code, {"status": status})
    errors = body.get("errors") or []
    # With fields to name, the detail only repeats the first of them.
    lines = [_summary(errors) if errors else body.get("detail") or body.get("title") or "the server refused"]
    lines += [line for error in errors for line in field_lines(error)]
    hint = body.get("hint") or _HINTS.get(status)
    if hint:
        lines.append(f"  hint: {hint}")
    kept = {name: body[name] for name in ("code", "detail", "errors") if body.get(name)}
    return Failure("\n".join(lines), code, {"status": status, **kept, **({"hint": hint} if hint else {})})


def _summary(errors: Sequence[Mapping[str, Any]]) -> str:
    """`invalid cron expression`, `missing name`, `invalid request: 3 fields`."""
    fields = {str(error.get("field", "")) for error in errors}
    if len(fields) > 1:
        return f"invalid request: {len(fields)} fields"
    missing = str(errors[0].get("message", "")).startswith(_MISSING)
    return f"{'missing' if missing else 'invalid'} {_name(fields.pop())}"


def _name(field: str) -> str:
    last = field.rpartition(".")[2] or "request"
    return _NAMES.get(last, last.replace("_", " "))


def field_lines(error: Mapping[str, Any]) -> list[str]:
    """What is wrong with one field, and where in its value."""
    got = f", got {json.dumps(error['got'], ensure_ascii=False)}" if error.get("got") is not None else ""
    pointed = underlined(error.get("got"), error.get("position"), error.get("suggestion"))
    return [f"  {error.get('field', '?')}: {error.get('message', '')}{got}", *(f"    {line}" for line in pointed)]


DEFAULT_PORT = "8000"
TIMEOUT = 30
PUSH_TIMEOUT = 10
# The server sends a comment every 15 s: a stream that is silent for longer is cut.
STREAM_TIMEOUT = 45
PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    id: str | None
    name: str
    data: Any


class Cut(Exception):
    """A stream ended before its end."""


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one server."""

    scheme: str
    host: str
    port: int | None
    prefix: str
    token: str | None
    source: str = ""
    """The variable that gave the address, for error messages; empty for the default."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Client:
        """The server of `FOLIOT_URL`, else the local one."""
        environ = os.environ if environ is None else environ
        token = environ.get("FOLIOT_TOKEN") or None
        url = environ.get("FOLIOT_URL")
        if not url:
            return _local(environ, token)
        try:
            parts = urlsplit(url)
            number = parts.port
        except ValueError:
            parts, number = urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise Failure("FOLIOT_URL: must be the address of a server, such as http://127.0.0.1:8000", Exit.USAGE)
        return cls(parts.scheme, parts.hostname, number, parts.path.rstrip("/"), token, "FOLIOT_URL")

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "") + self.prefix

    def request(self, method: str, path: str, given: Mapping[str, object] | None = None) -> Any:
        """The decoded answer. What is given is the query of a GET, else the body; values that are None are left out."""
        if method == "GET":
            return self.get(path, **(given or {}))
        body = None if given is None else {name: value for name, value in given.items() if value is not None}
        return self._checked(self.send(method, path, body=body))

    def get(self, path: str, **query: object) -> Any:
        return self._checked(self.send("GET", path, query=query))

    def post(self, path: str, body: object = None) -> Any:
        return self._checked(self.send("POST", path, body=body))

    def put(self, path: str, body: object, *, version: object = None) -> Any:
        """With a version, refused if another client has changed it since."""
        return self._checked(self.send("PUT", path, body=body, version=version))

    def patch(self, path: str, body: object, *, version: object = None) -> Any:
        return self._checked(self.send("PATCH", path, body=body, version=version))

    def delete(self, path: str) -> Any:
        return self._checked(self.send("DELETE", path))

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        version: object = None,
    ) -> tuple[int, Any]:
        """Status and decoded body, whatever the status."""
        from http.client import HTTPException

        headers = self._headers()
        data = None
        if method == "POST":
            # The same key on the second try: an answer that was lost does not cause a second effect.
            headers["Idempotency-Key"] = os.urandom(16).hex()
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        target = self._target(path, query)
        try:
            try:
                return self._exchange(method, target, data, headers)
            except (ConnectionResetError, BrokenPipeError):
                return self._exchange(method, target, data, headers)
        except (OSError, HTTPException) as failed:
            raise self._unreachable(_reason(failed)) from None

    def push(self, path: str, body: bytes) -> int:
        """The status of one POST of plain text, tried once; `Failure` when no answer came."""
        from http.client import HTTPException

        try:
            headers = self._headers() | {"Content-Type": "text/plain"}
            return self._exchange("POST", self.prefix + path, body, headers, PUSH_TIMEOUT)[0]
        except (OSError, HTTPException) as failed:
            raise self._unreachable(_reason(failed)) from None

    def stream(self, path: str, last_id: str | None) -> Iterator[StreamEvent]:
        """Events after `last_id` until the `end` event; `Cut` when the connection ends before it."""
        from http.client import HTTPException

        headers = self._headers() | {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        connection = self._connection(STREAM_TIMEOUT)
        try:
            connection.request("GET", self._target(path, None), headers=headers)
            with connection.getresponse() as response:
                if response.status in (502, 503, 504):
                    raise Cut(f"the server answered {response.status}")
                if response.status != 200:
                    raise failure(response.status, _decoded(response.read()))
                yield from _events(response)
        except (OSError, HTTPException) as failed:
            raise Cut(_reason(failed)) from None
        finally:
            connection.close()
        raise Cut("the server closed the stream")

    def download(self, path: str, accept: str, **query: object) -> Iterator[bytes]:
        """A long answer, piece by piece. A connection that ends early is a failure: half of it is no answer."""
        from http.client import HTTPException

        connection = self._connection(STREAM_TIMEOUT)
        try:
            connection.request("GET", self._target(path, query), headers=self._headers() | {"Accept": accept})
            with connection.getresponse() as response:
                if response.status != 200:
                    raise failure(response.status, _decoded(response.read()))
                while piece := response.read1(PIECE):
                    yield piece
        except (OSError, HTTPException) as failed:
            raise self._unreachable(_reason(failed)) from None
        finally:
            connection.close()

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str], timeout: float = TIMEOUT
    ) -> tuple[int, Any]:
        connection = self._connection(timeout)
        try:
            connection.request(method, target, body=data, headers=headers)
            response = connection.getresponse()
            return response.status, _decoded(response.read())
        finally:
            connection.close()

    def _connection(self, timeout: float) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection

        if self.scheme == "https":
            import ssl

            return HTTPSConnection(self.host, self.port, timeout=timeout, context=ssl.create_default_context())
        return HTTPConnection(self.host, self.port, timeout=timeout)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"foliot-cli/{foliot.__version__}"}
        return headers | ({"Authorization": f"Bearer {self.token}"} if self.token else {})

    def _target(self, path: str, query: Mapping[str, object] | None) -> str:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self.prefix + path + (f"?{urlencode(given)}" if given else "")

    def _checked(self, answer: tuple[int, Any]) -> Any:
        status, body = answer
        if 200 <= status < 300:
            return body
        raise failure(status, body)

    def _unreachable(self, reason: str) -> Failure:
        if self.source == "FOLIOT_URL":
            tried = "FOLIOT_URL names this server"
            hint = "check that it runs and the address is right; for a local one, unset FOLIOT_URL and run foliot up"
        else:
            why = f"port from {self.source}" if self.source else "default port"
            tried = f"FOLIOT_URL is not set, so a local server was tried ({why})"
            hint = (
                "start one with foliot up, or set FOLIOT_URL (or FOLIOT_PORT for a local one) to the address of yours"
            )
        return Failure(
            f"no answer from {self.address}: {reason}\n  {tried}\n  hint: {hint}",
            Exit.UNREACHABLE,
        )


def _local(environ: Mapping[str, str], token: str | None) -> Client:
    key = next((key for key in ("FOLIOT_PORT", "API_PORT") if environ.get(key)), "")
    port = environ[key] if key else DEFAULT_PORT
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
        raise Failure(f"{key}: must be the port of a running server, 1 to 65535, got {port!r}", Exit.USAGE)
    return Client("http", "127.0.0.1", int(port), "", token, key)


@contextmanager
def connect() -> Iterator[Client]:
    """A client of the server that the environment names; expected errors are printed in a line each."""
    with one_line_errors():
        yield Client.from_environment()


def segment(text: str) -> str:
    """An id as part of a path, whatever was typed."""
    return quote(text, safe="")


def _events(response: HTTPResponse) -> Iterator[StreamEvent]:
    fields: dict[str, str] = {}
    for raw in response:
        line = raw.decode(errors="replace").rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            if name == "data" and "data" in fields:
                value = f"{fields['data']}\n{value.removeprefix(' ')}"
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield StreamEvent(fields.get("id"), fields.get("event", "message"), _decoded(fields["data"].encode()))
            fields = {}


def _decoded(raw: bytes) -> Any:
    """JSON as its value; anything else as text."""
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return raw.decode(errors="replace")


def _reason(failed: Exception) -> str:
    return getattr(failed, "strerror", None) or str(failed) or type(failed).__name__
