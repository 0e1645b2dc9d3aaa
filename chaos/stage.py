"""The processes of a campaign: started, killed, frozen, thawed and ended, each by its own id."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BESIDE = frozenset({"receiver", "web"})
"""Processes that are no part of Foliot, and are left alone."""
SAID = "Ctrl-C stops it"
"""What a server says when it is up."""


@dataclass
class Player:
    """One process that comes back each time it is killed."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None
    tell: Callable[[Player, str], None] = lambda _player, _what: None
    """Hears of everything that happens to it."""
    frozen: bool = False
    said_before: int = 0
    ready_since: float | None = None

    def start(self) -> None:
        self.said_before, self.ready_since = self.said(), None
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.command, env=dict(self.environment), stdout=out, stderr=out, cwd=ROOT, start_new_session=True
            )
        self.tell(self, "starting")

    @property
    def pid(self) -> int:
        return 0 if self.process is None else self.process.pid

    def said(self) -> int:
        """How often this log says that a server is up."""
        return self.log.read_text(errors="replace").count(SAID) if self.log.exists() else 0

    def ready_for(self) -> float:
        """Seconds since it said that it is up, or came back from a freeze; 0 while it does neither."""
        if self.frozen:
            return 0.0
        if self.ready_since is None and self.said() > self.said_before:
            self.ready_since = time.monotonic()
            self.tell(self, "ready")
        return 0.0 if self.ready_since is None else time.monotonic() - self.ready_since

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.tell(self, "killed")
        self.frozen, self.ready_since = False, None

    def freeze(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        self.frozen = True
        self.tell(self, "frozen")

    def thaw(self) -> None:
        """Nothing, to one that was killed meanwhile."""
        if self.frozen and self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGCONT)
            self.frozen, self.ready_since = False, time.monotonic()
            self.tell(self, "thawed")

    def end(self, seconds: float = 15) -> int | None:
        """Ask politely, then insist; the exit code."""
        if self.process is None:
            return None
        self.thaw()
        self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


@dataclass
class Stage:
    """The processes around one database."""

    work: Path
    url: str
    settings: Mapping[str, str]
    tell: Callable[[Player, str], None] = lambda _player, _what: None
    players: dict[str, Player] = field(default_factory=dict)

    def player(self, name: str, *command: str, url: str | None = None) -> Player:
        """`url` is its own way to the database, where that is not everybody's."""
        environment = self._environment(url or self.url)
        made = Player(name, [sys.executable, *command], environment, self.work / f"{name}.log", tell=self.tell)
        self.players[name] = made
        return made

    def _environment(self, url: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FOLIOT_")}
        kept.pop("DATABASE_URL", None)
        return {**kept, "FOLIOT_DATABASE_URL": url, "FOLIOT_HOME": str(self.work / "home"), **self.settings}

    def run(self, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """A command that ends by itself."""
        return subprocess.run(
            [sys.executable, "-m", "foliot", *arguments],
            env=self._environment(self.url),
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=seconds,
            check=False,
        )

    def close(self) -> None:
        for player in self.players.values():
            player.thaw()
            player.kill()


def skewed(seconds: float) -> dict[str, str]:
    """Lets a process see a wall clock that is ahead by so much; its monotonic clock stays true."""
    library = fake_clock()
    if library is None:
        raise FileNotFoundError("libfaketime is not installed (Debian: apt-get install faketime), and --skew needs it")
    return {"LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+g}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def fake_clock() -> Path | None:
    """libfaketime, where it is installed."""
    return next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


def ask(
    port: int, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, timeout: float = 5
) -> tuple[int, Any]:
    """One request to a door; raises OSError (or HTTPException) when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        payload = None if body is None else json.dumps(body)
        connection.request(method, path, payload, {"Content-Type": "application/json", **(headers or {})})
        reply = connection.getresponse()
        text = reply.read()
    finally:
        connection.close()
    return reply.status, json.loads(text) if text else None


def wait_until(condition: Callable[[], bool], seconds: float, what: str, every: float = 0.05) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds:g} s")
        time.sleep(every)


def answers(port: int) -> bool:
    try:
        return ask(port, "GET", "/health", timeout=1)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
