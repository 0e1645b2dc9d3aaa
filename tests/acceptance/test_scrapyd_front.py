"""`foliot scrapyd` in front of a real Scrapyd: the unmodified scrapyd-client deploys, lists, schedules and cancels."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from scrapyd_client.exceptions import ErrorResponse
from scrapyd_client.pyclient import ScrapydClient

from foliot.features.crawls.cli.scrapyd_front.nodes import FrontNodes
from foliot.features.crawls.cli.scrapyd_front.server import FrontSettings, ScrapydFront
from foliot.features.crawls.cli.scrapyd_front.web_services import WebServices
from foliot.terminal.client import Client
from tests.acceptance.house import SECONDS, House
from tests.scrapyd_server import TESTBOT, ScrapydServer, a_scrapyd
from tests.services import free_port, wait_until
from tests.tokens import SECRET

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
QUICK = {"FOLIOT_CRAWL_POLL_SECONDS": "0.1", "FOLIOT_CRAWL_LOST_SECONDS": "5"}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ScrapydServer]:
    with a_scrapyd(tmp_path / "scrapyd") as server:
        yield server


@contextmanager
def front(house: House, node: ScrapydServer) -> Iterator[str]:
    """The address of a front in this process."""
    client = Client("http", "127.0.0.1", int(house.port), "", None)
    services = WebServices(FrontNodes.of([node.url]), "front")
    with ScrapydFront("127.0.0.1", 0, FrontSettings(client, services)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def up(house: House, node: ScrapydServer, **environ: str) -> None:
    house.environ |= {"SCRAPYD_URL": node.url} | QUICK
    house.up("--port", "0", "--grpc-port", "off", **environ)


def deploy(url: str, home: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """As its user types it: `scrapyd-deploy` beside scrapy.cfg."""
    project = home / "project"
    shutil.copytree(TESTBOT, project, dirs_exist_ok=True)
    (project / "scrapy.cfg").write_text(
        f"[settings]\ndefault = testbot.settings\n\n[deploy]\nurl = {url}/\nproject = TestBot\n" + "".join(flags)
    )
    program = Path(sys.executable).parent / "scrapyd-deploy"
    return subprocess.run([str(program)], cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False)


def refused(request: Request, user: str = "", password: str = "") -> tuple[int, Any]:
    """Status and headers of an answer that is an error."""
    if user:
        request.add_header("Authorization", f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}")
    try:
        urlopen(request, timeout=30).close()
    except HTTPError as error:
        error.close()
        return error.code, error.headers
    raise AssertionError("it was not refused")


def finished(client: ScrapydClient, job: str) -> dict[str, Any]:
    assert wait_until(lambda: client.status(job)["currstate"] == "finished", seconds=SECONDS)
    (found,) = [one for one in client.jobs("TestBot")["finished"] if one["id"] == job]
    return dict(found)


def test_scrapyd_client_deploys_lists_schedules_and_cancels(house: House, node: ScrapydServer, tmp_path: Path) -> None:
    up(house, node)
    with front(house, node) as url:
        done = deploy(url, tmp_path)
        assert '"status": "ok"' in done.stdout, done.stdout + done.stderr
        client = ScrapydClient(url)
        assert client.projects() == ["TestBot"]
        assert {"quiet", "finds", "dies"} <= set(client.spiders("TestBot"))
        assert len(client.versions("TestBot")) == 1

        found = client.schedule("TestBot", "finds", [("items", "3")])
        crashed = client.schedule("TestBot", "dies")
        with pytest.raises(ErrorResponse, match="spider 'nobody' not found"):
            client.schedule("TestBot", "nobody")
        with pytest.raises(ErrorResponse, match="'setting' is not passed on"):
            client.schedule("TestBot", "quiet", [("setting", "LOG_LEVEL=ERROR")])

        good, bad = finished(client, found), finished(client, crashed)
        # Scrapyd itself lists both in the same words.
        assert good["outcome"] == "success"
        assert bad["outcome"] != "success"
        assert bad["error"]
        with urlopen(url + good["log_url"], timeout=30) as log:
            assert b"Spider closed (finished)" in log.read()
        with urlopen(url + good["items_url"], timeout=30) as items:
            assert len([json.loads(line) for line in items.read().splitlines()]) == 3
        with urlopen(url + "/jobs", timeout=30) as page:
            assert found.encode() in page.read()

        deaf = client.schedule("TestBot", "talks", [("until", str(tmp_path / "never"))])
        assert client.cancel("TestBot", deaf)["prevstate"] in {"pending", "running"}
        assert finished(client, deaf)["outcome"] == "cancelled"
        assert client.daemonstatus()["finished"] == 3

    # The node forgets its jobs, and the front is another one: the list is the same.
    node.restart()
    with front(house, node) as url:
        again = {one["id"] for one in ScrapydClient(url).jobs("TestBot")["finished"]}
    assert again == {found, crashed, deaf}


def test_the_password_is_an_api_key(house: House, node: ScrapydServer, tmp_path: Path) -> None:
    house.environ |= {"FOLIOT_JWT_SECRET": SECRET}
    up(house, node)
    with front(house, node) as url:
        status, headers = refused(Request(f"{url}/listprojects.json"))
        assert (status, headers["WWW-Authenticate"][:5]) == (401, "Basic")
        assert refused(Request(f"{url}/listjobs.json"), "foliot", "no key")[0] == 401
        viewer = ScrapydClient(url, "anyone", house.run("token", "--role", "viewer").stdout.strip())
        assert viewer.projects() == []
        assert viewer.jobs("TestBot")["finished"] == []
        with pytest.raises(ErrorResponse, match="takes an admin of the operator"):
            viewer.delproject("TestBot")
        foreign = house.run("token", "--role", "admin", "--tenant", "acme").stdout.strip()
        with pytest.raises(ErrorResponse, match="takes an admin of the operator"):
            ScrapydClient(url, "anyone", foreign).delproject("TestBot")
        admin = ScrapydClient(url, "anyone", house.run("token", "--role", "admin").stdout.strip())
        with pytest.raises(ErrorResponse, match="project 'TestBot' not found"):
            admin.delproject("TestBot")


def test_a_page_of_another_site_cannot_send_requests(house: House, node: ScrapydServer) -> None:
    up(house, node)
    with front(house, node) as url:
        # A browser sends the credentials that it keeps with the requests of every page.
        kept = {"Origin": "https://evil.example", "Authorization": "Basic YWRtaW46eA=="}
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, kept):
            assert refused(Request(f"{url}/listjobs.json", headers=headers))[0] == 403
            assert refused(Request(f"{url}/addversion.json", b"egg", headers=headers))[0] == 403
        assert refused(Request(f"{url}/schedule.json", bytes(2_000_000)))[0] == 413


def test_the_command_serves(house: House, node: ScrapydServer) -> None:
    up(house, node)
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "foliot", "scrapyd", "--port", str(port)],
        env=house.environ | {"SCRAPYD_URL": node.url}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    house.processes.append(server)  # type: ignore[arg-type]

    def answers() -> bool:
        try:
            return bool(ScrapydClient(f"http://127.0.0.1:{port}").daemonstatus()["status"] == "ok")
        except OSError:
            return False

    assert wait_until(answers, seconds=SECONDS)
