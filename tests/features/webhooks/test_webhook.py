"""The webhook action, against a real receiver on this machine."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from foliot import __version__
from foliot.core.errors import Unavailable
from foliot.db.clock import wall
from foliot.engine.model.run import Failed, Succeeded
from foliot.engine.ports import ActionContext
from foliot.features.webhooks.action import WebhookAction
from foliot.net.client import HttpEgress
from foliot.net.failures import HIDDEN

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
RUN = "run_0001"
SECRET = "whsec_" + base64.b64encode(b"a-secret-of-24-bytes-or-").decode()
OTHER = "whsec_" + base64.b64encode(b"another-secret-of-bytes-").decode()


@dataclass
class Keys:
    """Signing secrets by tenant."""

    by_tenant: dict[str, Sequence[str]] = field(default_factory=dict)

    async def signing(self, tenant_id: str) -> Sequence[str]:
        return self.by_tenant.get(tenant_id, ())

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        return {}


@dataclass
class Receiver:
    """Answers what it was told to, and remembers what it got."""

    url: str = ""
    status: int = 200
    answer: bytes = b'{"ok": true}'
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        self.got.append((request.method, {k.lower(): v for k, v in request.headers.items()}, await request.read()))
        return web.Response(status=self.status, body=self.answer, headers=self.headers)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application(client_max_size=2**20)
    app.router.add_route("*", "/{rest:.*}", receiver.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield receiver
    await runner.cleanup()


@pytest.fixture
async def egress() -> AsyncIterator[HttpEgress]:
    async with HttpEgress(loopback=True) as egress:
        yield egress


@dataclass
class Lines:
    """The run's log."""

    written: list[str] = field(default_factory=list)

    def __call__(self, message: str, *, level: str = "info") -> None:
        self.written.append(f"{level}: {message}")


def context(config: dict[str, Any], **changes: Any) -> ActionContext:
    values: dict[str, Any] = {
        "run_id": RUN,
        "tenant_id": "acme",
        "schedule_id": "sch_1",
        "kind": "webhook",
        "attempt": 2,
        "max_attempts": 4,
        "scheduled_for": datetime(2027, 1, 1, 9, tzinfo=UTC),
        "config": config,
        "timeout": timedelta(seconds=5),
        "now": NOW,
        "log": Lines(),
    }
    return ActionContext(**values | changes)


async def perform(egress: HttpEgress, config: dict[str, Any], *secrets: str, **changes: Any) -> Any:
    action = WebhookAction(egress=egress, secrets=Keys({"acme": secrets}))
    return await action.perform(context(action.check(config), **changes))


# --- what the target gets ---------------------------------------------------------------------------------------------


async def test_every_header_of_the_contract_arrives(receiver: Receiver, egress: HttpEgress) -> None:
    outcome = await perform(egress, {"url": receiver.url, "headers": {"X-Mine": "yes"}, "body": {"a": "å"}}, SECRET)

    assert isinstance(outcome, Succeeded)
    method, headers, body = receiver.got[0]
    assert (method, body) == ("POST", '{"a":"å"}'.encode())
    assert headers.pop("webhook-signature").startswith("v1,")
    assert headers == {
        "host": receiver.url.split("/")[2],
        "x-mine": "yes",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "user-agent": f"Foliot/{__version__}",
        "idempotency-key": RUN,
        "webhook-id": RUN,
        "webhook-timestamp": str(int(NOW.timestamp())),
        "x-foliot-attempt": "2",
        "x-foliot-scheduled-for": "2027-01-01T09:00:00Z",
    }


async def test_all_attempts_carry_one_id_and_their_own_number_and_time(receiver: Receiver, egress: HttpEgress) -> None:
    for attempt in (1, 2):
        await perform(egress, {"url": receiver.url}, attempt=attempt, now=NOW + timedelta(seconds=attempt))

    first, second = (headers for _, headers, _ in receiver.got)
    assert first["webhook-id"] == second["webhook-id"] == first["idempotency-key"] == second["idempotency-key"] == RUN
    assert (first["x-foliot-attempt"], second["x-foliot-attempt"]) == ("1", "2")
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 1


async def test_a_run_without_an_instant_names_none_and_a_tenant_without_a_secret_signs_nothing(
    receiver: Receiver, egress: HttpEgress
) -> None:
    await perform(egress, {"url": receiver.url}, scheduled_for=None)

    headers = receiver.got[0][1]
    assert "x-foliot-scheduled-for" not in headers
    assert "webhook-signature" not in headers
    assert "webhook-timestamp" in headers


@pytest.mark.parametrize(
    ("method", "given", "sent"),
    [
        ("POST", None, b"{}"),
        ("PUT", None, b"{}"),
        ("PATCH", None, b"{}"),
        ("GET", None, b""),
        ("DELETE", None, b""),
        ("OPTIONS", None, b""),
        ("HEAD", None, b""),
        ("GET", {"q": 1}, b'{"q":1}'),
        ("DELETE", [], b"[]"),
        ("POST", False, b"false"),
        ("POST", "text", b'"text"'),
    ],
)
async def test_each_method_sends_its_body_as_json(
    method: str, given: Any, sent: bytes, receiver: Receiver, egress: HttpEgress
) -> None:
    outcome = await perform(egress, {"url": receiver.url, "method": method, "body": given}, SECRET, now=wall())

    assert isinstance(outcome, Succeeded)
    got, headers, body = receiver.got[0]
    assert (got, body) == (method, sent)
    assert headers.get("content-type") == ("application/json" if sent else None)
    Verifier(SECRET).verify(body, headers, json_parse=False)


async def test_a_content_type_of_the_users_is_kept(receiver: Receiver, egress: HttpEgress) -> None:
    await perform(egress, {"url": receiver.url, "headers": {"content-Type": "application/cloudevents+json"}})

    assert receiver.got[0][1]["content-type"] == "application/cloudevents+json"


# --- signatures -------------------------------------------------------------------------------------------------------


async def signed(receiver: Receiver, egress: HttpEgress, *secrets: str, **changes: Any) -> tuple[dict[str, str], bytes]:
    # The verifier reads the wall clock, and refuses what is five minutes away from it.
    await perform(egress, {"url": receiver.url, "body": {"n": 1}}, *secrets, **{"now": wall(), **changes})
    _, headers, body = receiver.got[-1]
    return headers, body


async def test_the_target_can_verify_the_signature(receiver: Receiver, egress: HttpEgress) -> None:
    headers, body = await signed(receiver, egress, SECRET)

    assert Verifier(SECRET).verify(body, headers) == {"n": 1}
    with pytest.raises(WebhookVerificationError):
        Verifier(OTHER).verify(body, headers)


async def test_a_single_changed_byte_is_noticed(receiver: Receiver, egress: HttpEgress) -> None:
    headers, body = await signed(receiver, egress, SECRET)

    forged = [(headers, body[:n] + bytes([body[n] ^ 1]) + body[n + 1 :]) for n in range(len(body))]
    for name in ("webhook-id", "webhook-timestamp"):
        text = headers[name]
        for n in range(len(text)):
            changed = text[:n] + ("1" if text[n] != "1" else "2") + text[n + 1 :]
            forged.append(({**headers, name: changed}, body))
    digest = base64.b64decode(headers["webhook-signature"].removeprefix("v1,"))
    for n in range(len(digest)):
        wrong = base64.b64encode(digest[:n] + bytes([digest[n] ^ 1]) + digest[n + 1 :]).decode()
        forged.append(({**headers, "webhook-signature": f"v1,{wrong}"}, body))
    for false_headers, false_body in forged:
        with pytest.raises(WebhookVerificationError):
            Verifier(SECRET).verify(false_body, false_headers)


@pytest.mark.parametrize("minutes", [-6, 6])
async def test_a_signature_of_another_time_is_refused(minutes: int, receiver: Receiver, egress: HttpEgress) -> None:
    headers, body = await signed(receiver, egress, SECRET, now=wall() + timedelta(minutes=minutes))

    with pytest.raises(WebhookVerificationError):
        Verifier(SECRET).verify(body, headers)


async def test_during_a_rotation_both_secrets_verify(receiver: Receiver, egress: HttpEgress) -> None:
    headers, body = await signed(receiver, egress, SECRET, OTHER)

    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (SECRET, OTHER):
        assert Verifier(secret).verify(body, headers) == {"n": 1}


async def test_a_secret_may_come_without_its_prefix_and_padding(receiver: Receiver, egress: HttpEgress) -> None:
    bare = base64.b64encode(b"x" * 25).decode().rstrip("=")
    headers, body = await signed(receiver, egress, bare)

    assert Verifier(bare).verify(body, headers) == {"n": 1}


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "whsec_",
        "whsec_!!!not base64!!!",
        "whsec_c2hvcnQ=",
        SECRET[:20] + "!-?!" + SECRET[20:],
        "whsec_" + "å" * 40,
        "hunter2",
    ],
)
async def test_an_unusable_secret_stops_the_request(bad: str, receiver: Receiver, egress: HttpEgress) -> None:
    log = Lines()
    for secrets in ((bad,), (SECRET, bad)):
        outcome = await perform(egress, {"url": receiver.url}, *secrets, log=log)

        assert isinstance(outcome, Failed)
        assert (outcome.problem.code, outcome.permanent) == ("signing_key_invalid", True)
        assert len(bad) < 7 or bad not in outcome.problem.message + "".join(log.written)
    assert receiver.got == []


async def test_secrets_that_cannot_be_read_stop_the_request(receiver: Receiver, egress: HttpEgress) -> None:
    class Broken(Keys):
        async def signing(self, tenant_id: str) -> Sequence[str]:
            raise Unavailable("the store is away")

    outcome = await WebhookAction(egress=egress, secrets=Broken()).perform(
        context({"url": receiver.url, "method": "POST"})
    )

    assert isinstance(outcome, Failed)
    assert (outcome.problem.code, outcome.permanent) == ("secret_unavailable", False)
    assert receiver.got == []


async def test_a_secret_belongs_to_its_tenant(receiver: Receiver, egress: HttpEgress) -> None:
    action = WebhookAction(egress=egress, secrets=Keys({"acme": [SECRET]}))
    await action.perform(context({"url": receiver.url, "method": "POST"}, tenant_id="other"))

    assert "webhook-signature" not in receiver.got[0][1]


# --- the verdict ------------------------------------------------------------------------------------------------------

SUCCEED = (200, 201, 202, 204, 206, 299)
RETRY = (408, 425, 429, 500, 501, 502, 503, 504, 599)
PERMANENT = (300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 410, 418, 422, 451, 499, 600, 999)


async def test_the_status_decides(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.answer = b""
    for status in (*SUCCEED, *RETRY, *PERMANENT):
        receiver.status = status
        outcome = await perform(egress, {"url": receiver.url})

        assert outcome.response["status"] == status
        if status in SUCCEED:
            assert isinstance(outcome, Succeeded)
            assert outcome.result == {"status": status}
        else:
            assert isinstance(outcome, Failed)
            assert outcome.permanent == (status in PERMANENT), status
            assert str(status) in outcome.problem.message


async def test_a_redirect_says_that_it_is_not_followed(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.status, receiver.headers = 307, {"Location": receiver.url + "/elsewhere"}
    outcome = await perform(egress, {"url": receiver.url})

    assert outcome.problem.code == "redirected"
    said = "The target answered 307 Temporary Redirect to 127.0.0.1; redirects are not followed."
    assert (outcome.problem.message, outcome.problem.cause) == (said, "redirect")
    assert len(receiver.got) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        (format_datetime(NOW - timedelta(hours=1), usegmt=True), 0),
        ("99999999999999999999", 7 * 24 * 3600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 7 * 24 * 3600),
        (format_datetime((NOW + timedelta(seconds=90)).replace(tzinfo=None)), 90),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("1.5", None),
        ("²", None),
        ("Fri, 99 Xxx 20000 99:99:99", None),
    ],
)
async def test_retry_after_is_understood_in_both_forms(
    text: str, seconds: int | None, receiver: Receiver, egress: HttpEgress
) -> None:
    receiver.status, receiver.headers = 503, {"Retry-After": text}
    outcome = await perform(egress, {"url": receiver.url})

    if seconds is None:
        assert outcome.retry_after is None
    else:
        assert abs(outcome.retry_after.total_seconds() - seconds) <= 2


async def test_a_target_that_is_away_is_tried_again(receiver: Receiver, egress: HttpEgress) -> None:
    async def gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...

    server = await asyncio.start_server(gone, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    outcome = await perform(egress, {"url": f"http://127.0.0.1:{port}/"})

    assert isinstance(outcome, Failed)
    assert not outcome.permanent
    assert (outcome.problem.code, outcome.problem.cause) == ("target_unreachable", "connect_refused")
    assert re.fullmatch(rf"connect: connection refused, 127.0.0.1:{port}, after \d+ ms", outcome.problem.message)


async def test_a_name_that_leads_inside_reads_like_a_target_that_is_away(receiver: Receiver) -> None:
    async def inside(host: str) -> Sequence[str]:
        return ["127.0.0.1"]

    port = int(receiver.url.split(":")[2].split("/")[0])
    async with HttpEgress(ports=[port], resolver=inside) as guarded:
        outcome = await perform(guarded, {"url": f"http://inside.test:{port}/"})

    assert isinstance(outcome, Failed)
    assert not outcome.permanent
    assert outcome.problem.as_dict() == {
        "code": "target_unreachable",
        "message": f"The target could not be reached. {HIDDEN}",
        "cause": "target_unreachable",
    }
    assert outcome.response is not None
    assert list(outcome.response["exchange"]["timing"]) == ["total_ms"]
    assert receiver.got == []


# --- what is kept -----------------------------------------------------------------------------------------------------


async def test_the_answer_is_kept_with_the_attempt(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.headers = {"X-Answer": "42"}
    response = (await perform(egress, {"url": receiver.url})).response

    assert response["headers"]["x-answer"] == "42"
    assert (response["status"], response["body"], response["truncated"]) == (200, '{"ok": true}', False)
    assert 0 <= response["duration_ms"] < 5000
    assert json.loads(json.dumps(response)) == response


async def test_64_kib_of_the_body_are_kept(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.answer = b"x" * (64 * 1024 + 1)
    response = (await perform(egress, {"url": receiver.url})).response

    assert (len(response["body"]), response["truncated"]) == (64 * 1024, True)


async def test_a_body_that_is_no_text_is_kept_as_far_as_a_database_can(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.answer = b"a\x00b\xff\xc3"
    response = (await perform(egress, {"url": receiver.url})).response

    assert response["body"] == "ab\ufffd\ufffd"


async def test_at_most_64_headers_and_16_kib_of_them_are_kept(receiver: Receiver, egress: HttpEgress) -> None:
    receiver.headers = {f"X-{n}": "v" for n in range(100)}
    assert len((await perform(egress, {"url": receiver.url})).response["headers"]) == 64

    receiver.headers = {f"X-{n}": "v" * 7000 for n in range(5)}
    kept = (await perform(egress, {"url": receiver.url})).response["headers"]
    assert sum(len(name) + len(value) for name, value in kept.items()) <= 16 * 1024


async def test_the_log_tells_the_story_without_secrets(receiver: Receiver, egress: HttpEgress) -> None:
    log = Lines()
    receiver.status = 503
    config = {"url": receiver.url + "?token=in-the-url", "headers": {"Authorization": "Bearer hush"}}
    await perform(egress, config, SECRET, log=log)

    assert log.written[0] == "info: POST to 127.0.0.1, attempt 2 of 4"
    assert log.written[1].startswith("warning: The target answered 503 Service Unavailable after ")
    assert not any(word in line for line in log.written for word in ("hush", "in-the-url", SECRET, "v1,"))
