"""What every call of the client does: where it goes, what it repeats, and what its errors carry."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from foliot.client import (
    Conflict,
    Foliot,
    FoliotError,
    Forbidden,
    Invalid,
    NotFound,
    TooMany,
    Unauthenticated,
    Unavailable,
)

URL = "http://foliot.test:8000"
Answer = Callable[[httpx2.Request], httpx2.Response] | httpx2.Response | Exception


class Server:
    """Answers one after the other, then the last one again, and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        # An answer is read once: each request gets its own.
        found = answer(request) if callable(answer) else answer
        return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

    def client(self, **options: Any) -> Foliot:
        return Foliot(URL, "secret-token", http=httpx2.Client(transport=httpx2.MockTransport(self)), **options)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) if request.content else None for request in self.asked]


def problem(status: int, code: str, **more: Any) -> httpx2.Response:
    headers = {"Retry-After": str(more.pop("retry_after"))} if "retry_after" in more else {}
    return httpx2.Response(status, headers=headers, json={"status": status, "code": code, "title": "No", **more})


OK = httpx2.Response(200, json={"id": "run_1"})


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of the blocking client, which are not waited for."""
    waited: list[float] = []
    monkeypatch.setattr("foliot.client.session.time.sleep", waited.append)
    return waited


def test_a_call_names_the_path_the_query_the_body_and_the_token() -> None:
    server = Server(OK)
    with server.client() as client:
        client.runs.points(q="state:failed tag:a&b", from_=datetime(2026, 1, 1, tzinfo=UTC), limit=5)
        client.secrets.put("webhook signing/1", value="hidden")
        client.schedules.update("sch_1", name="New", if_match=7)

    points, secret, update = server.asked
    assert str(points.url) == (
        f"{URL}/api/runs/points?q=state%3Afailed+tag%3Aa%26b&from=2026-01-01T00%3A00%3A00%2B00%3A00&limit=5"
    )
    assert points.headers["authorization"] == "Bearer secret-token"
    assert points.headers["user-agent"].startswith("foliot-python/")
    assert "idempotency-key" not in points.headers
    assert secret.url.raw_path == b"/api/secrets/webhook%20signing%2F1"
    assert (update.method, update.headers["if-match"], server.bodies[2]) == ("PATCH", '"7"', {"name": "New"})


def test_short_forms_of_a_schedule_are_written_out() -> None:
    server = Server(OK)
    client = server.client()
    client.schedules.create(name="A", cron="0 2 * * *", webhook="https://example.com/hook")
    client.schedules.create(name="B", every=timedelta(hours=4), webhook={"url": "https://example.com", "method": "GET"})
    client.schedules.create(name="C", at=datetime(2027, 1, 1, tzinfo=UTC), action={"kind": "task", "task": "greet"})

    hook = {"kind": "webhook", "url": "https://example.com/hook"}
    assert server.bodies == [
        {"name": "A", "type": "cron", "cron_expr": "0 2 * * *", "action": hook},
        {
            "name": "B",
            "type": "interval",
            "interval_seconds": 14_400,
            "action": {"kind": "webhook", "url": "https://example.com", "method": "GET"},
        },
        {
            "name": "C",
            "type": "oneoff",
            "run_at": "2027-01-01T00:00:00+00:00",
            "action": {"kind": "task", "task": "greet"},
        },
    ]


def test_what_cannot_be_meant_is_refused_before_it_is_sent() -> None:
    server = Server(OK)
    client = server.client()

    with pytest.raises(ValueError, match=r"cron and type say different things"):
        client.schedules.create(name="A", cron="0 2 * * *", type="oneoff")
    with pytest.raises(ValueError, match="whole seconds"):
        client.schedules.create(name="A", every=timedelta(milliseconds=1500))
    with pytest.raises(ValueError, match="no time zone"):
        client.schedules.create(name="A", at=datetime(2027, 1, 1))
    with pytest.raises(ValueError, match="address of a server"):
        Foliot("foliot.test")
    assert server.asked == []


def test_every_status_has_its_exception_with_the_fields_of_the_problem() -> None:
    expected = {
        (401, "unauthenticated"): Unauthenticated,
        (403, "forbidden"): Forbidden,
        (404, "not_found"): NotFound,
        (400, "conflict"): Conflict,
        (409, "conflict"): Conflict,
        (412, "version_mismatch"): Conflict,
        (413, "too_large"): Invalid,
        (422, "invalid"): Invalid,
        (429, "too_many"): TooMany,
        (500, "internal"): Unavailable,
        (503, "unavailable"): Unavailable,
    }
    for (status, code), kind in expected.items():
        with pytest.raises(FoliotError) as raised:
            Server(problem(status, code, detail="why")).client(retries=0).runs.get("run_1")
        error = raised.value
        assert type(error) is kind
        assert (error.status, error.code, error.title, error.detail) == (status, code, "No", "why")
        assert str(error) == f"why (GET /api/runs/run_1: {status})"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.status, again.code) == (kind, status, code)


def test_an_invalid_request_names_its_fields() -> None:
    errors = [{"field": "cron_expr", "message": "has no such minute", "got": "61 * * * *"}]
    with pytest.raises(Invalid) as raised:
        Server(problem(422, "invalid", detail="cron_expr", errors=errors)).client().schedules.create(
            name="A", cron="61 * * * *"
        )

    assert raised.value.errors == errors
    assert "cron_expr: has no such minute" in str(raised.value)


def test_an_answer_that_is_no_problem_document_is_an_error_too() -> None:
    page = httpx2.Response(502, text="<html>Bad gateway</html>")
    with pytest.raises(Unavailable, match="is the URL the address of a Foliot server"):
        Server(page).client(retries=0).runs.get("run_1")
    with pytest.raises(FoliotError, match="is the URL the address of a Foliot server"):
        Server(httpx2.Response(200, text="<html>Welcome</html>")).client().runs.get("run_1")
    with pytest.raises(FoliotError, match=r"redirects to 'https://elsewhere\.test/'"):
        Server(httpx2.Response(308, headers={"Location": "https://elsewhere.test/"})).client().runs.get("run_1")


def test_a_post_whose_answer_was_lost_is_repeated_with_the_same_key(waits: list[float]) -> None:
    server = Server(httpx2.ReadError("reset"), httpx2.ReadTimeout("late"), OK)
    server.client().runs.retry("run_1")

    keys = {request.headers["idempotency-key"] for request in server.asked}
    assert (len(server.asked), len(keys), len(waits)) == (3, 1, 2)
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0, "exponential, with jitter"


def test_two_calls_have_two_keys_unless_the_caller_chooses_one() -> None:
    server = Server(OK)
    client = server.client()
    client.runs.retry("run_1")
    client.runs.retry("run_1")
    client.runs.retry("run_1", idempotency_key="mine")

    first, second, mine = (request.headers["idempotency-key"] for request in server.asked)
    assert first != second
    assert mine == "mine"


def test_what_may_have_taken_effect_is_not_repeated() -> None:
    calls: list[Callable[[Foliot], object]] = [
        lambda client: client.schedules.update("sch_1", name="New"),
        lambda client: client.request("DELETE", "/api/schedules/sch_1"),
        lambda client: client.schedules.replace("sch_1", name="New", cron="* * * * *", if_match=3),
    ]
    for call in calls:
        server = Server(httpx2.ReadError("reset"), OK)
        with pytest.raises(Unavailable, match=r"no answer from .*: reset"):
            call(server.client())
        assert len(server.asked) == 1


def test_what_was_never_sent_is_repeated_whatever_it_is() -> None:
    server = Server(httpx2.ConnectError("refused"), OK)
    server.client().schedules.update("sch_1", name="New")

    assert len(server.asked) == 2


def test_a_server_that_asks_for_a_pause_gets_it(waits: list[float]) -> None:
    server = Server(problem(429, "too_many", retry_after=7), problem(503, "unavailable", retry_after=1), OK)
    server.client().schedules.update("sch_1", name="New")

    assert waits == [7, 1]


def test_a_long_pause_is_left_to_the_caller(waits: list[float]) -> None:
    server = Server(problem(429, "too_many", retry_after=3600), OK)
    with pytest.raises(TooMany) as raised:
        server.client().runs.get("run_1")

    assert (raised.value.retry_after, waits, len(server.asked)) == (3600, [], 1)


def test_retries_end() -> None:
    server = Server(problem(503, "unavailable", retry_after=1))
    with pytest.raises(Unavailable):
        server.client(retries=3).runs.get("run_1")
    assert len(server.asked) == 4

    other = Server(httpx2.ConnectError("refused"))
    with pytest.raises(Unavailable) as raised:
        other.client().with_options(retries=0).runs.get("run_1")
    assert (len(other.asked), raised.value.status) == (1, None)


def test_a_list_reads_its_pages_when_they_are_needed() -> None:
    pages = {
        None: {"items": [{"id": "run_1"}, {"id": "run_2"}], "next_cursor": "c1"},
        "c1": {"items": [{"id": "run_3"}], "next_cursor": None},
    }
    server = Server(lambda request: httpx2.Response(200, json=pages[request.url.params.get("cursor")]))
    runs = server.client().runs.list(q="state:failed", limit=2)

    assert server.asked == []
    first = runs.first()
    assert first is not None
    assert first["id"] == "run_1"
    assert len(server.asked) == 1
    assert [run["id"] for run in runs] == ["run_1", "run_2", "run_3"]
    assert [dict(request.url.params) for request in server.asked[1:]] == [
        {"q": "state:failed", "limit": "2"},
        {"q": "state:failed", "limit": "2", "cursor": "c1"},
    ]


def test_older_lists_are_read_by_how_many_were_seen() -> None:
    def jobs(request: httpx2.Request) -> httpx2.Response:
        skip = int(request.url.params.get("skip", 0))
        return httpx2.Response(
            200, json={"jobs": [{"job_id": str(skip)}, {"job_id": str(skip + 1)}][: 3 - skip], "total": 3}
        )

    server = Server(jobs)

    assert [job["job_id"] for job in server.client().jobs.list()] == ["0", "1", "2"]
    assert [request.url.params.get("skip") for request in server.asked] == [None, "2", "3"]


def test_any_route_can_be_asked() -> None:
    server = Server(OK)
    server.client().request("post", "/api/new", query={"a": True}, body={"b": 1})

    (request,) = server.asked
    assert (request.method, str(request.url), server.bodies) == ("POST", f"{URL}/api/new?a=true", [{"b": 1}])
    assert "idempotency-key" in request.headers


def test_the_environment_names_server_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FOLIOT_URL", "FOLIOT_TOKEN", "FOLIOT_PORT", "API_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert Foliot.from_env().url == "http://127.0.0.1:8000"
    monkeypatch.setenv("FOLIOT_PORT", "8123")
    assert Foliot.from_env().url == "http://127.0.0.1:8123"
    monkeypatch.setenv("FOLIOT_URL", "https://foliot.test/base/")
    assert Foliot.from_env().url == "https://foliot.test/base"


def test_the_token_is_in_no_text() -> None:
    client = Server(httpx2.ConnectError("refused")).client(retries=0)
    with pytest.raises(Unavailable) as raised:
        client.runs.get("run_1")

    assert "secret-token" not in f"{client._core!r} {raised.value} {raised.value.__dict__}"
