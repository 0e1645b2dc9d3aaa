"""`foliot ping`: pings a monitor, or wraps a command and reports its start, its exit code and the end of its output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Annotated, BinaryIO
from urllib.parse import urlsplit

import typer

from foliot.terminal.client import Client, segment
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import usage
from foliot.terminal.output import Failure, note, one_line_errors

group = CommandGroup()

TAIL = 100_000
"""Bytes of the output that are sent: as many as a server keeps."""
TRIES = 3
PAUSE = 1.0
DRAIN = 2.0
"""Seconds that output is awaited after the command has ended: a child that it left behind may hold it open for ever."""
NOT_EXECUTABLE, NOT_FOUND, KILLED = 126, 127, 128
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
AS_WRITTEN = {"allow_interspersed_args": False, "ignore_unknown_options": True}


@dataclass(slots=True)
class OutputTail:
    """The end of what a command prints, of both its streams in the order in which they were read."""

    kept: bytearray = field(default_factory=bytearray)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def copy(self, source: IO[bytes], target: BinaryIO) -> None:
        """Pass everything on; when our own output is closed, the command may go on writing."""
        with contextlib.suppress(ValueError):
            while piece := source.read1():  # type: ignore[attr-defined]
                with self.lock:
                    self.kept += piece
                    del self.kept[:-TAIL]
                with contextlib.suppress(OSError, ValueError):
                    target.write(piece)
                    target.flush()


@dataclass(frozen=True, slots=True)
class PingTarget:
    """The server and the path of a monitor's address."""

    client: Client
    path: str

    @classmethod
    def of(cls, key_or_url: str) -> PingTarget:
        """A key belongs to the server of `FOLIOT_URL`. No token is sent: the key is the credential."""
        if "://" not in key_or_url:
            return cls(Client.from_environment({**os.environ, "FOLIOT_TOKEN": ""}), f"/ping/{segment(key_or_url)}")
        parts = urlsplit(key_or_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.strip("/"):
            raise usage("KEY_OR_URL must be a ping key, or an address such as https://foliot.example/ping/KEY")
        base = Client.from_environment({"FOLIOT_URL": f"{parts.scheme}://{parts.netloc}"})
        return cls(base, parts.path.rstrip("/"))

    def send(self, word: str, body: bytes = b"", rid: str = "", tries: int = TRIES) -> str | None:
        """Why the ping did not arrive; None when it did."""
        path = f"{self.path}/{word}" if word else self.path
        reason: str | None = "not tried"
        for attempt in range(tries):
            if attempt:
                threading.Event().wait(PAUSE)
            try:
                status = self.client.push(path + (f"?rid={rid}" if rid else ""), body)
            except Failure as failed:
                reason = str(failed).splitlines()[0]
                continue
            if status < 300:
                return None
            reason = f"{self.client.address} answered {status}"
            if status < 500 and status != 429:
                break
        return reason


@group.command(context_settings=AS_WRITTEN)
def ping(
    key_or_url: Annotated[
        str, typer.Argument(help="A monitor's ping key, or its whole address.", metavar="KEY_OR_URL")
    ],
    command: Annotated[
        list[str] | None, typer.Argument(help="The command to run, after --.", metavar="COMMAND")
    ] = None,
) -> None:
    """Ping a monitor; with a command, report its start, its exit code and the end of its output.

    The command runs even if the server cannot be reached, and foliot ping exits with its code.

    foliot ping https://foliot.example/ping/KEY -- /usr/local/bin/backup
    """
    with one_line_errors():
        target = PingTarget.of(key_or_url)
        # Everything after the key is the command's own, also the dashes that separate the two.
        command = command[1:] if command and command[0] == "--" else command
        if not command:
            reason = target.send("")
            if reason is not None:
                raise Failure(f"the ping did not arrive: {reason}")
            return
    raise typer.Exit(_wrapped(target, command))


def _wrapped(target: PingTarget, command: Sequence[str]) -> int:
    rid = os.urandom(16).hex()
    # Beside the command, which must not wait for a server that does not answer.
    start = threading.Thread(target=target.send, args=("start", b"", rid, 1), daemon=True)
    start.start()
    code, output = _run(command)
    start.join()
    reason = target.send(str(code), output, rid)
    if reason is not None:
        note(f"the ping did not arrive: {reason}")
    return code


def _run(command: Sequence[str]) -> tuple[int, bytes]:
    """The exit code as a shell has it, and the end of the output."""
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603 -- the user's own
    except OSError as error:
        message = f"{command[0]}: {error.strerror or error}"
        note(message)
        return (NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE), message.encode()
    tail = OutputTail()
    streams = ((child.stdout, sys.stdout.buffer), (child.stderr, sys.stderr.buffer))
    copies = [
        threading.Thread(target=tail.copy, args=(source, target), daemon=True)
        for source, target in streams
        if source is not None
    ]
    for copy in copies:
        copy.start()
    with _signals_to(child):
        code = child.wait()
    for copy in copies:
        copy.join(DRAIN)
    with tail.lock:
        return (KILLED - code if code < 0 else code), bytes(tail.kept)


@contextlib.contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """The command decides what a signal means; Ctrl-C reaches it by itself, from the terminal."""
    before = {number: signal.signal(number, lambda got, _: child.send_signal(got)) for number in FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
