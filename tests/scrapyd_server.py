"""A real Scrapyd for the tests: a process of its own on a free port, with directories of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from foliot.features.crawls.cli.deploy import deploy
from tests.services import absent, free_port, wait_until

ROOT = Path(__file__).parents[1]
DISCOVERYBOT = ROOT / "examples" / "discoverybot"
"""The example project, called DiscoveryBot there, with the spider `seo`."""
TESTBOT = ROOT / "tests" / "testbot"
"""The project TestBot, whose spiders go wrong, talk much, or wait, as they are told."""
MISSING = "needs Scrapyd: pip install 'foliot[dev]'"
SECONDS = 60


class NoScrapyd(Exception):
    """It is not installed."""


class ScrapydServer:
    """Goes away and comes back at the same address, as it is told. Spiders are its children, in its process group."""

    def __init__(self, home: Path, *, user: str = "", password: str = "", **options: object) -> None:
        """`options` are lines of scrapyd.conf, such as `max_proc=1` or a `jobstorage`."""
        self.home = home
        self.port = free_port()
        self.user = user
        self.password = password
        self.options = {
            "poll_interval": 0.1,
            "max_proc": 8,
            "jobs_to_keep": 1000,
            "finished_to_keep": 1000,
            "username": user,
            "password": password,
            "bind_address": "127.0.0.1",
            "http_port": self.port,
            **{f"{name}_dir": home / name for name in ("logs", "items", "eggs", "dbs")},
        } | options
        # What is set where the tests run says nothing here; sites on loopback may be crawled.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "REDIS_"))}
        self.environ = kept | {"HOME": str(home), "FOLIOT_EGRESS_LOOPBACK": "1"}
        """What Scrapyd and its spiders see."""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """With user and password when it wants them."""
        known = f"{self.user}:{self.password}@" if self.user else ""
        return f"http://{known}127.0.0.1:{self.port}"

    def start(self) -> None:
        if find_spec("scrapyd") is None:
            raise NoScrapyd(MISSING)
        self.home.mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {value}" for name, value in self.options.items()]
        (self.home / "scrapyd.conf").write_text("\n".join(["[scrapyd]", *lines, ""]))
        with (self.home / "scrapyd.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "scrapyd", "--pidfile=", "--nodaemon"],
                cwd=self.home, env=self.environ, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        if not wait_until(self.answers, seconds=SECONDS):
            self.kill()
            raise AssertionError((self.home / "scrapyd.log").read_text())

    def stop(self) -> None:
        """As an operator does; spiders that still run go with it."""
        if self.process is not None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            self.kill()

    def kill(self, *, spiders: bool = True) -> None:
        """At once, as the power would; without `spiders` they go on as orphans."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                if spiders:
                    os.killpg(self.process.pid, signal.SIGKILL)
                else:
                    self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        """It accepts connections and never answers, until `resume`."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def restart(self) -> None:
        """It forgets its jobs, unless its `jobstorage` says otherwise; logs, items and eggs stay."""
        self.stop()
        self.start()

    def deploy(self, directory: Path = DISCOVERYBOT, *, version: str | None = None) -> int:
        """How many spiders it found in the project."""
        [brought] = deploy(directory, [self.url], now=datetime.now(UTC), version=version)  # noqa: TID251
        assert brought.error is None, brought.error
        return brought.spiders

    def answers(self) -> bool:
        try:
            return bool(self.ask("daemonstatus")["status"] == "ok")
        except OSError:
            return False

    def ask(self, command: str, **query: str) -> Any:
        """GET, as Scrapyd's own `listjobs.json` and others are asked."""
        return json.loads(self.get(f"/{command}.json?{urlencode(query)}"))

    def tell(self, command: str, **form: str) -> Any:
        """POST, as `schedule.json` and `cancel.json` are."""
        return json.loads(self.get(f"/{command}.json", urlencode(form).encode()))

    def get(self, path: str, data: bytes | None = None) -> bytes:
        headers = {}
        if self.user:
            known = f"{self.user}:{self.password}".encode()
            headers["Authorization"] = f"Basic {b64encode(known).decode()}"
        with urlopen(Request(f"http://127.0.0.1:{self.port}{path}", data, headers), timeout=30) as answer:
            found: bytes = answer.read()
            return found

    def state(self, job: str) -> str | None:
        """`pending`, `running`, `finished`, or None when it knows of no such job."""
        found = self.ask("status", job=job).get("currstate")
        return None if found is None else str(found)

    def waits_for(self, job: str, *states: str) -> None:
        assert wait_until(lambda: self.state(job) in states, seconds=SECONDS), (job, self.state(job), states)

    def process_of(self, job: str) -> int:
        """The process of a running spider."""
        [found] = [one["pid"] for one in self.ask("listjobs")["running"] if one["id"] == job]
        return int(found)

    def log_of(self, project: str, spider: str, job: str) -> Path:
        return Path(str(self.options["logs_dir"])) / project / spider / f"{job}.log"

    def said(self, project: str, spider: str, job: str, words: str) -> bool:
        """Whether a crawl's log holds these words by now."""
        file = self.log_of(project, spider, job)
        return file.exists() and words in file.read_text()

    def items_of(self, project: str, spider: str, job: str) -> list[Any]:
        file = Path(str(self.options["items_dir"])) / project / spider / f"{job}.jl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def reset(self) -> None:
        """No job waits or runs: what an earlier test left behind does not count for the next."""
        for state in ("pending", "running"):
            for job in self.ask("listjobs")[state]:
                for _ in range(2):
                    self.tell("cancel", project=job["project"], job=job["id"], signal="KILL")
        idle = lambda: not any(self.ask("listjobs")[state] for state in ("pending", "running"))  # noqa: E731
        assert wait_until(idle, seconds=SECONDS)


@contextlib.contextmanager
def a_scrapyd(home: Path, *projects: Path, **options: Any) -> Iterator[ScrapydServer]:
    """A Scrapyd with these projects deployed; a test that needs it is skipped where it is not installed."""
    server = ScrapydServer(home, **options)
    try:
        server.start()
    except NoScrapyd as missing:
        absent(missing)
    try:
        for project in projects:
            server.deploy(project)
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def host_of(url: str) -> str:
    """Address and port, without user and password: what messages may show."""
    return urlsplit(url).netloc.rpartition("@")[2]
