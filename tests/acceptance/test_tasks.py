"""Tasks and presets as a person meets them: a module of one's own, a real server, the command line."""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House
from tests.scraper_service import running
from tests.services import wait_until

pytestmark = pytest.mark.timeout(300)

EXAMPLES = Path(__file__).parents[2] / "examples"


def up(house: House, folder: Path, *modules: str, **environ: str) -> Any:
    path = f"{folder}:{EXAMPLES}"
    named = ",".join(["tasks", *modules])
    environ = {"REPORTS": str(folder), **environ}
    return house.up("--port", "0", "--grpc-port", "0", FOLIOT_TASKS=named, PYTHONPATH=path, **environ)


def get(house: House, path: str) -> Any:
    """Asked without a command, which takes its time to start."""
    with urllib.request.urlopen(house.environ["FOLIOT_URL"] + path, timeout=SECONDS) as answer:
        return json.load(answer)


def events(house: House, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get(house, f"/api/runs/{run}/events")["items"]
    return found


def state(house: House, run: str) -> str:
    return str(get(house, f"/api/runs/{run}")["state"])


def test_a_module_of_ones_own(house: House, tmp_path: Path) -> None:
    (tmp_path / "broken_tasks.py").write_text("import os\n\nos.nowhere\n")
    process = up(house, tmp_path, "broken_tasks")

    # A broken module is named, with its line, and spoils no other.
    said = "FOLIOT_TASKS: module broken_tasks cannot be loaded: broken_tasks.py, line 3: AttributeError"
    found = house.foliot("task", "list")
    assert {"my_custom_task", "import_report", "count_primes", "health_check_services"} <= {
        one["name"] for one in found["items"]
    }
    assert found["faults"][0].startswith(said)
    assert said in house.log.read_text()
    assert any(problem.startswith(said) for problem in house.foliot("health")["problems"])

    # What the code declares is there.
    assert wait_until(lambda: bool(get(house, "/api/schedules")["items"]), seconds=SECONDS)
    (schedule,) = get(house, "/api/schedules")["items"]
    assert (schedule["name"], schedule["queue"], schedule["cron_expr"]) == ("my_custom_task", "custom", "30 14 * * *")
    assert schedule["next_run_at"].endswith("T14:30:00Z")
    assert schedule["retry_policy"]["max_retries"] == 3
    run = house.foliot("schedule", "run-now", schedule["id"])["id"]
    assert wait_until(lambda: state(house, run) == "success", seconds=SECONDS)
    assert get(house, f"/api/runs/{run}")["result"] == {"success": True, "data": "param_value 42"}

    # It is tried again after a second, until there is something to do; then it says how far it is.
    report = tmp_path / "report.txt"
    run = house.foliot("task", "run", "import_report", "--param", f"path={report}")["id"]
    assert wait_until(lambda: get(house, f"/api/runs/{run}")["attempt"] >= 2, seconds=SECONDS)
    report.write_text("one\ntwo\n")
    assert wait_until(lambda: state(house, run) == "success", seconds=SECONDS)
    told = events(house, run)
    assert [one["data"] for one in told if one["type"] == "progress"] == [
        {"done": 1, "total": 2},
        {"done": 2, "total": 2},
    ]
    assert [one["message"] for one in told if one["type"] == "log"] == ["one", "two"]
    assert "report.txt is not there yet" in {one["message"] for one in told if one["type"] == "state"}

    # A heavy one, followed to its end; wrong parameters never become a run.
    done = house.run("task", "run", "count_primes", "--param", "below=1000", "--follow", "--json")
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, 168), done.stderr
    wrong = house.run("task", "run", "count_primes", "--param", "below=1")
    assert wrong.returncode == 4
    assert "parameters.below: input should be greater than or equal to 2, got 1" in wrong.stderr

    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def test_a_preset_by_the_command_line(house: House, tmp_path: Path) -> None:
    up(house, tmp_path)
    products = tmp_path / "products.json"
    products.write_text('[{"competitor": "amazon", "product": "kettle", "url": "http://127.0.0.1:1/kettle"}]')

    assert [one["name"] for one in house.foliot("preset", "list")["items"]] == ["price-monitoring"]
    assert len(house.foliot("preset", "show", "price-monitoring")["schedules"]) == 5
    first = house.foliot("preset", "load", "price-monitoring")["items"]
    second = house.foliot("preset", "load", "price-monitoring", "--set", f"products=@{products}")["items"]

    assert [one["outcome"] for one in first] == ["created"] * 5
    assert [one["outcome"] for one in second] == ["updated", "updated", "unchanged", "unchanged", "unchanged"]
    assert [one["schedule_id"] for one in first] == [one["schedule_id"] for one in second]
    listed = get(house, "/api/schedules")["items"]
    assert len([one for one in listed if "price-monitoring" in one["tags"]]) == 5
    assert {one["next_run_at"][-1] for one in listed} == {"Z"}
    nothing = house.run("task", "run", "scrape_competitor_prices", "--follow")
    assert nothing.returncode == 1
    assert "there is nothing to scrape" in nothing.stdout
    gone = house.foliot("preset", "unload", "price-monitoring")["items"]
    assert [one["outcome"] for one in gone] == ["deleted"] * 5
    assert house.run("preset", "load", "no-such").returncode == 3


def test_prices_come_from_the_scraper_service_where_there_is_one(house: House, tmp_path: Path) -> None:
    with running() as service:
        up(house, tmp_path, SCRAPER_SERVICE_URL=service.place)
        done = house.run(
            "task", "run", "scrape_competitor_prices", "--param", 'competitor_ids=["amazon"]', "--follow", "--json"
        )
        looked = house.run("task", "run", "health_check_services", "--follow", "--json")

    ended = json.loads(done.stdout)
    assert ended["state"] == "success", done.stderr
    assert ended["result"]["by"] == "service"
    assert ended["result"]["answer"]["got"]["competitor_ids"] == ["amazon"]
    services = json.loads(looked.stdout)["result"]["services"]
    assert {name: one["error"] for name, one in services.items()} == {"database": None, "scraper-service": None}
