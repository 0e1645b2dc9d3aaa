"""What test_cli.py and test_cli_answers.py share."""

from __future__ import annotations

import json
import queue
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from typer.testing import CliRunner

from foliot.cli.root import app


class Script(ThreadingHTTPServer):
    """A server that answers what a test wrote down, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[Any]] = {}
        self.asked: queue.Queue[tuple[str, str, Any, dict[str, str]]] = queue.Queue()
        super().__init__(("127.0.0.1", 0), Handler)

    def will(self, method: str, path: str, *answers: Any) -> None:
        """Give these answers one after the other, then the last one again: (status, body), or text of a stream."""
        self.answers[method, path] = list(answers)

    def request(self) -> tuple[str, str, Any, dict[str, str]]:
        return self.asked.get(timeout=5)

    def body(self) -> Any:
        return self.request()[2]


def complaints(written: str) -> list[str]:
    """The lines that a server wrote, without the warning that homes of tests are in memory."""
    return [line for line in written.splitlines() if "is in memory (tmpfs)" not in line]


class Handler(BaseHTTPRequestHandler):
    server: Script

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/api/resolve?") and ("GET", "/api/resolve") not in self.server.answers:
            # Every reference is an id, unless a test writes down what it is.
            ref = parse_qs(self.path.partition("?")[2])["ref"][0]
            answer = {"matches": [{"kind": "", "id": ref, "name": "", "hint": ""}], "more": False, "suggestions": []}
            self._send(200, "application/json", json.dumps(answer).encode())
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.put((self.command, self.path, json.loads(raw) if raw else None, headers))
        answers = self.server.answers.get((self.command, self.path.partition("?")[0]), [(404, {"detail": "no such"})])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "drop":
            self.connection.close()
        elif isinstance(answer, str):
            self._send(200, "text/event-stream", answer.encode())
        else:
            status, body = answer
            kind = "application/json" if status < 400 else "application/problem+json"
            self._send(status, kind, b"" if body is None else json.dumps(body).encode())

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 -- the names http.server calls

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if kind != "text/event-stream":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Answered:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


def invoke(*arguments: str, said: str | None = None) -> Answered:
    """`said` comes through standard input."""
    result = CliRunner().invoke(app, list(arguments), input=said)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answered(result.exit_code, result.stdout, result.stderr)
