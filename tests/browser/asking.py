"""What the API says itself, beside what a page shows of it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.acceptance.house import SECONDS, House

T = TypeVar("T")


def told(house: House, path: str, body: object = None, *, method: str | None = None, **query: object) -> Any:
    """GET, or POST when there is a body; asked over a connection of its own, not through the browser."""
    url = house.environ["FOLIOT_URL"] + path + (f"?{urlencode(query)}" if query else "")
    headers = {"Content-Type": "application/json"}
    if token := house.environ.get("FOLIOT_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, headers, method=method or ("GET" if data is None else "POST"))
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def webhook(house: House, name: str, url: str, **rest: object) -> str:
    """A schedule that fires when somebody says so; its id."""
    document = {
        "name": name,
        "type": "oneoff",
        "run_at": "2999-01-01T00:00:00Z",
        "action": {"kind": "webhook", "url": url},
        "retry_policy": {"max_retries": 0},
        **rest,
    }
    return str(told(house, "/api/schedules", document)["id"])


def run_now(house: House, schedule: str) -> str:
    return str(told(house, f"/api/schedules/{schedule}/run-now", {})["id"])


def ended(house: House, page: Page, run: str) -> dict[str, Any]:
    """The run, when it has ended."""
    return soon(page, lambda: told(house, f"/api/runs/{run}"), lambda one: one["finished_at"] is not None)


def soon(page: Page, ask: Callable[[], T], good: Callable[[T], bool]) -> T:
    """What is asked, as soon as it is good; the browser goes on meanwhile."""
    answer = ask()
    for _ in range(SECONDS * 5):
        if good(answer):
            return answer
        page.wait_for_timeout(200)
        answer = ask()
    raise AssertionError(f"it never came: {answer}")


def run_task(house: House, name: str, **parameters: object) -> str:
    return str(told(house, f"/api/tasks/{name}/run", {"parameters": parameters})["id"])
