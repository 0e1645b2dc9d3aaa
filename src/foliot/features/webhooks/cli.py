"""`foliot listen`: a receiver of webhooks on this machine, to see what they bring and to try out retries."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any

import typer

from foliot.core.secrets import signing_key
from foliot.terminal import output
from foliot.terminal.access import needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import JsonLines, duration, read, usage
from foliot.terminal.output import Exit, Failure, count, note, now, one_line_errors, print_json, printable

group = CommandGroup()

HOST = "127.0.0.1"
MOST_BYTES = 1024 * 1024
"""Of a body; a longer one is answered 413."""
MOST_SHOWN = 4096
"""Characters of a body that are printed."""
MOST_OPEN = 64
"""Connections at the same time; further ones wait."""
PATIENCE = 15.0
"""Seconds a sender has for its request."""
CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key"})
_NOT_SHOWN = frozenset({"host", "connection", "accept", "accept-encoding", "content-length", "transfer-encoding"})


@dataclass(slots=True)
class Behaviour:
    """How the receiver answers, and how many requests it has had."""

    status: int = 200
    fail_first: int = 0
    delay: float = 0.0
    secret: str | None = None
    most: int | None = None
    as_json: bool = False
    received: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class WebhookReceiver(ThreadingHTTPServer):
    """Answers every request, and prints it; bounded in connections, bytes and time."""

    daemon_threads = True

    def __init__(self, port: int, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.rooms = threading.BoundedSemaphore(MOST_OPEN)
        super().__init__((HOST, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.rooms.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.rooms.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that hangs up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: WebhookReceiver
    timeout = PATIENCE
    server_version = "foliot-listen"
    sys_version = ""

    def answer(self) -> None:
        behaviour = self.server.behaviour
        body = self._body()
        with behaviour.lock:
            behaviour.received += 1
            number = behaviour.received
        signed = "" if body is None else signature(behaviour.secret, dict(self.headers.items()), body)
        status = self._status(behaviour, number, body, signed)
        if behaviour.delay:
            # An event that is never set: a pause that does not hold up the others.
            threading.Event().wait(behaviour.delay)
        # Printed before it is answered: what the sender knows is on the screen.
        with behaviour.lock:
            self._print(body, status, signed)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if behaviour.most is not None and number >= behaviour.most:
            threading.Thread(target=self.server.shutdown, daemon=True).start()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer  # noqa: N815 -- as http.server calls them

    def _body(self) -> bytes | None:
        """None when it is too long, or its length is not given."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            return None
        return self.rfile.read(int(length)) if int(length) <= MOST_BYTES else None

    @staticmethod
    def _status(behaviour: Behaviour, number: int, body: bytes | None, signed: str) -> int:
        if body is None:
            return 413
        if signed.startswith("invalid"):
            return 401
        return 500 if number <= behaviour.fail_first else behaviour.status

    def _print(self, body: bytes | None, status: int, signed: str) -> None:
        text = "" if body is None else body.decode(errors="replace")
        headers = {name: "***" if name.lower() in CREDENTIALS else value for name, value in self.headers.items()}
        at = now().astimezone()
        if self.server.behaviour.as_json:
            document = {"at": at.isoformat(), "method": self.command, "path": self.path, "headers": headers}
            print_json({**document, "body": text, "signature": signed or None, "answered": status}, indent=None)
            return
        answered = output.state("success" if status < 300 else "failed", str(status))
        typer.echo(f"{at:%H:%M:%S}  {output.heading(printable(f'{self.command} {self.path}'))}  answered {answered}")
        for name, value in headers.items():
            if name.lower() not in _NOT_SHOWN:
                typer.echo(f"  {output.faint(printable(name) + ':')} {printable(value)}")
        if signed:
            typer.echo(f"  signature {output.state('success' if signed == 'valid' else 'failed', signed)}")
        for line in _pretty(text).splitlines():
            typer.echo(f"  {printable(line)}")
        typer.echo("")

    def log_message(self, *_: object) -> None:
        """Requests are printed by `_print`."""


def _pretty(text: str) -> str:
    with contextlib.suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n… and {len(text) - MOST_SHOWN:,} more characters"


def signature(secret: str | None, headers: Mapping[str, str], body: bytes) -> str:
    """`valid`, `invalid: …` or `not checked: …`; empty when there is neither a signature nor a secret."""
    if secret is None:
        named = {name.lower() for name in headers}
        return "not checked: give --secret" if "webhook-signature" in named else ""
    # Imported when the first signature is checked: the command starts without it.
    from standardwebhooks import Webhook, WebhookVerificationError

    try:
        Webhook(signing_key(secret) or b"").verify(body, dict(headers), json_parse=False)
    except WebhookVerificationError as wrong:
        return f"invalid: {str(wrong)[:1].lower()}{str(wrong)[1:]}"
    except ValueError:
        return "invalid: malformed"
    return "valid"


@group.command()
@needs()
def listen(  # noqa: PLR0913 -- a command has as many arguments as flags
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free one.")] = 9009,
    *,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="FOLIOT_WEBHOOK_SECRET",
            help="Check signatures with this secret (whsec_…, or @FILE); a wrong one is answered 401.",
            show_default=False,
        ),
    ] = None,
    status: Annotated[int, typer.Option(min=200, max=599, help="The status to answer with.")] = 200,
    fail_first: Annotated[
        int, typer.Option(min=0, max=1000, help="Answer 500 to this many requests first, to see them retried.")
    ] = 0,
    delay: Annotated[str | None, typer.Option(help="Answer after this long: 2s, 1m.")] = None,
    most: Annotated[int | None, typer.Option("--count", min=1, help="Stop after this many requests.")] = None,
    as_json: JsonLines = False,
) -> None:
    """Receive webhooks on this machine and print them, until you press Ctrl-C.

    Prints method, path, headers, body and whether the signature is valid. Credentials in headers are shown as ***.

    foliot listen --fail-first 1
    """
    with one_line_errors():
        if secret is not None:
            secret = read("--secret", secret[1:]).strip() if secret.startswith("@") else secret
            if signing_key(secret) is None:
                raise usage("--secret: must be whsec_ and base64 of at least 16 bytes, as Foliot signs with")
        pause = 0.0 if delay is None else float(duration("--delay", delay))
        _serve(port, Behaviour(status, fail_first, pause, secret, most, as_json))


def _serve(port: int, behaviour: Behaviour) -> None:
    try:
        receiver = WebhookReceiver(port, behaviour)
    except OSError as failed:
        reason = failed.strerror or failed
        raise Failure(
            f"--port: cannot listen on {HOST}:{port} ({reason}); --port 0 picks a free one", Exit.FAILED
        ) from None
    with receiver:
        note(f"listening on http://{HOST}:{receiver.server_port}/ (Ctrl-C ends)")
        with contextlib.suppress(KeyboardInterrupt):
            receiver.serve_forever(0.1)
    note(f"{count(behaviour.received, 'request')} received")
