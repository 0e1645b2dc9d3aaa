"""Projects are brought to real Scrapyd nodes."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from foliot.features.crawls.cli.deploy import deploy
from tests.scrapyd_server import DISCOVERYBOT, ScrapydServer, a_scrapyd

pytestmark = pytest.mark.timeout(180)

NOW = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)


def test_a_project_reaches_every_node_that_takes_it(scrapyd: ScrapydServer, tmp_path: Path) -> None:
    with a_scrapyd(tmp_path / "locked", user="bot", password="s3/cret") as locked:
        closed = f"http://127.0.0.1:{locked.port}"
        nodes = [f"{scrapyd.url}/", closed, "http://127.0.0.1:1", f"http://bot:s3%2Fcret@127.0.0.1:{locked.port}"]

        first, unknown, away, last = deploy(DISCOVERYBOT, nodes, now=NOW)

        assert (first.spiders, first.error, last.spiders, last.error) == (1, None, 1, None)
        assert unknown.error == "it requires a user and a password, as in http://user:password@host:6800"
        assert away.error is not None
        assert away.error.startswith("no answer:")
        assert (last.node, last.project, last.version) == (closed, "DiscoveryBot", "20261116070000")
        assert locked.ask("listspiders", project="DiscoveryBot")["spiders"] == ["seo"]


def test_the_last_version_is_the_one_that_runs(scrapyd: ScrapydServer, tmp_path: Path) -> None:
    project = tmp_path / "bot"
    (project / "evolving").mkdir(parents=True)
    (project / "scrapy.cfg").write_text("[settings]\ndefault = evolving.settings\n[deploy]\nproject = Evolving\n")
    (project / "evolving" / "__init__.py").write_text("")
    (project / "evolving" / "settings.py").write_text("SPIDER_MODULES = ['evolving.spiders']\n")
    spiders = project / "evolving" / "spiders.py"
    for age, name in enumerate(["early", "late"]):
        spiders.write_text(f"import scrapy\nclass One(scrapy.Spider):\n    name = '{name}'\n")
        [brought] = deploy(project, [scrapyd.url], now=NOW + timedelta(days=age))
        assert brought.error is None

    assert scrapyd.ask("listspiders", project="Evolving")["spiders"] == ["late"]

    spiders.write_text("raise RuntimeError('broken on purpose')\n")
    [brought] = deploy(project, [scrapyd.url], now=NOW + timedelta(days=2))
    assert brought.error is not None
    assert "broken on purpose" in brought.error
    scrapyd.tell("delproject", project="Evolving")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, "<html>Hello", "it answered 200, but not like a Scrapyd"),
        (502, json.dumps({"status": "fine"}), "it answered 502, but not like a Scrapyd"),
        (200, json.dumps({"status": "error"}), "it gave no reason"),
        (200, json.dumps({"status": "error", "message": "Traceback\n  x\nValueError: no"}), "ValueError: no"),
    ],
)
def test_an_answer_that_no_scrapyd_can_be_made_to_give(status: int, body: str, said: str) -> None:
    class Odd(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        [brought] = deploy(DISCOVERYBOT, [f"http://127.0.0.1:{server.server_port}"], now=NOW)
        thread.join()

    assert brought.error is not None
    assert said in brought.error
