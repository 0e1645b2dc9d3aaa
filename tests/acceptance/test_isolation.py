"""A hostile tenant beside a good one, on a real `foliot up`: `make chaos ARGS=isolation` at small size."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chaos import isolation
from chaos.attacks import ATTACKS
from tests.acceptance.house import SECONDS, House


@pytest.mark.timeout(240)
def test_a_hostile_tenant_delays_a_good_one_by_nothing_and_refuses_it_nothing(tmp_path: Path) -> None:
    plan = isolation.Plan(work=tmp_path, seconds=4, quiet=3, size=0.15, patience=2)

    report = isolation.run(plan)

    assert report.violations == [], isolation.told(report)
    assert [one.name for one in report.stretches] == ["quiet", *(attack.__name__ for attack in ATTACKS)]


@dataclass
class Asking:
    """One tenant's way to a running server."""

    url: str
    token: str

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        raw = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", raw, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return response.status, json.loads(response.read() or "null")
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read() or "null")

    def schedule(self, action: dict[str, Any], name: str = "one") -> tuple[int, Any]:
        once = {"type": "oneoff", "run_at": "2999-01-01T00:00:00Z"}
        return self.ask("POST", "/api/schedules", {"name": name, **once, "action": action})


@pytest.mark.timeout(120)
def test_what_is_the_operators_does_not_exist_for_a_hostile_tenant_and_its_tricks_are_refused(house: House) -> None:
    house.environ |= {
        "FOLIOT_JWT_SECRET": isolation.SECRET,
        "FOLIOT_TASKS": "chaos.operator_tasks",
        "FOLIOT_SERVICES": "billing=127.0.0.1:9",
    }
    house.start("up", "--port", "0", lines=3)
    hostile, good = (Asking(house.environ["FOLIOT_URL"], isolation.token(name)) for name in ("hostile", "good"))

    tasks = [hostile.ask("POST", f"/api/tasks/{name}/run", {}) for name in ("operators_own", "no_such_task")]
    calls = [
        hostile.schedule({"kind": "grpc", "target_service": name, "target_method": "Charge", "parameters": {}})
        for name in ("billing", "nothing")
    ]
    secret = {"Authorization": "Bearer hush-hush-hush"}
    made, kept = hostile.schedule({"kind": "webhook", "url": "https://example.com/", "headers": secret})
    shown = hostile.ask("GET", f"/api/schedules/{kept['id']}")[1]["action"]["headers"]
    tricks = [
        hostile.ask("POST", "/api/bulk", {"action": []})[0],
        hostile.schedule({"kind": "webhook", "url": "https://example.com/"}, name="exe.\u202etxt")[0],
        hostile.ask("GET", "/api/schedules", Host="127.0.0.1#.evil.com")[0],
        Asking(hostile.url, isolation.token("hostile", aud=["foliot", "other"])).ask("GET", "/api/schedules")[0],
    ]

    assert [status for status, _ in tasks] == [404, 404]
    assert str(tasks[0][1]).replace("operators_own", "no_such_task") == str(tasks[1][1])
    assert [status for status, _ in calls] == [422, 422]
    assert str(calls[0][1]).replace("billing", "nothing") == str(calls[1][1])
    assert (made, shown) == (201, {"Authorization": "***"})
    assert tricks == [422, 422, 400, 401]
    assert good.ask("GET", "/api/schedules") == (200, {"items": [], "next_cursor": None})
    assert "hush-hush-hush" not in house.log.read_text()
