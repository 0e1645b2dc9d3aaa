"""The tutorial on crawls works as it is printed: each of its commands is run, in its order."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.house import SECONDS
from tests.services import free_port, wait_until

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "crawl-a-site-every-morning.md"

pytestmark = pytest.mark.timeout(300)


class Shell:
    """Runs the blocks of a page one after the other; what a block sets, the next one knows."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.ports = {"6800": free_port(), "8000": free_port(), "8080": free_port()}
        """What the page says, and what is free here."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FOLIOT_", "DATABASE_URL"))}
        self.environ = kept | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "FOLIOT_HOME": str(home / "foliot"),
            "FOLIOT_PORT": str(self.ports["8000"]),
            "FOLIOT_GRPC_PORT": "off",
            "FOLIOT_CRAWL_POLL_SECONDS": "0.2",
        }
        self.servers: list[subprocess.Popen[bytes]] = []
        self.state = home / "state"
        self.state.touch()

    def run(self, block: str) -> str:
        for said, free in self.ports.items():
            block = re.sub(rf"\b{said}\b", str(free), block)
        if block.rstrip().endswith("&"):
            return self.serve(block.rstrip().removesuffix("&"))
        # Every variable of the page is remembered for the next block.
        script = f"set -eo pipefail\n. {self.state}\nset -a\n{block}\nset +a\n"
        script += f"{{ declare -px | grep -E ' (SCRAPYD_URL|job|plan)=' || true; }} > {self.state}\n"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.home, env=self.environ, capture_output=True, text=True,
            timeout=SECONDS * 2, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def serve(self, command: str) -> str:
        silent = [port for port in self.ports.values() if not listens(port)]
        with (self.home / "servers.log").open("ab") as log:
            self.servers.append(
                subprocess.Popen(
                    ["bash", "-c", f". {self.state}; {command}"], cwd=self.home, env=self.environ,
                    stdout=log, stderr=log, start_new_session=True,
                )
            )  # fmt: skip
        assert wait_until(lambda: any(map(listens, silent)), seconds=SECONDS), (self.home / "servers.log").read_text()
        return ""

    def clear(self) -> None:
        for server in self.servers:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    made = Shell(tmp_path)
    yield made
    made.clear()


def test_the_tutorial_works_as_it_is_printed(shell: Shell) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    said = {block.split("\n")[0]: shell.run(block) for block in blocks}
    told = "\n".join(said.values())

    assert "DiscoveryBot" in told
    assert "Spider closed (finished)" in told
    assert '"title":"Prices"' in told.replace('": "', '":"')
    pages = (shell.home / "pages.csv").read_text()
    assert len(pages.splitlines()) == 5
    assert "404" in pages
    assert "07:00" in told
    assert "it failed, as it should" in told
    assert "fewer than min_items 5" in told
