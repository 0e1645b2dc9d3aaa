"""A target that is tried out: what arrives there, and what becomes of the run."""

from __future__ import annotations

from typing import Any

from standardwebhooks import Webhook as Verifier

from foliot.core.access import LOCAL
from foliot.core.secrets import SIGNING
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.endpoints.usecases import Endpoints
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import drain
from tests.features.webhooks.test_webhook_secrets import KEYS, VALUE, House, house

__all__ = ["house"]


async def sent(house: House, url: str, **action: Any) -> Any:
    config = {"kind": "webhook", "url": url, "body": {"real": True}, **action}
    raw = {"name": "Orders", "type": "oneoff", "run_at": "2999-01-01T00:00:00Z", "action": config}
    await house.cases[Schedules].create(LOCAL, raw)
    run = await house.cases[Endpoints].test(LOCAL, {"url": url})
    await drain(house.store, house.clock, house.action)
    return await house.cases[Runs].get(LOCAL, run.id)


async def test_one_signed_request_arrives_and_says_that_it_is_a_test(house: House) -> None:
    await house.put(SIGNING, KEYS[0])
    await house.put("TOKEN", VALUE)

    run = await sent(house, house.url, headers={"X-Token": "{{ secret.TOKEN }}"})

    assert run.state is RunState.SUCCESS
    ((headers, body),) = house.got
    assert (headers["x-foliot-test"], headers["x-token"], headers["webhook-id"]) == ("true", VALUE, run.id)
    arrived = Verifier(KEYS[0]).verify(body, headers)
    assert (arrived["type"], arrived["test"], arrived["data"]["schedule"]) == ("foliot.test", True, "Orders")
    assert "real" not in body
    (attempt,) = run.attempts
    assert attempt.response["status"] == 200
    assert VALUE not in repr(run)


async def test_an_ordinary_run_is_not_marked(house: House) -> None:
    run = await house.run({"X-Token": "plain"})

    assert run.state is RunState.SUCCESS
    assert "x-foliot-test" not in house.got[0][0]


async def test_a_test_that_fails_is_tried_once_and_leaves_no_letter(house: House) -> None:
    run = await sent(house, "http://127.0.0.1:9/nobody-listens")

    assert (run.state, run.attempt, len(run.attempts)) == (RunState.FAILED, 1, 1)
    assert run.error["code"] == "target_unreachable"
    assert await house.cases[DeadLetters].groups(LOCAL, PageRequest()) == []


async def test_a_test_passes_the_same_guards(house: House) -> None:
    run = await sent(house, house.url)
    assert run.state is RunState.SUCCESS
    object.__setattr__(house, "egress", type(house.egress)(loopback=False))

    refused = await house.cases[Endpoints].test(LOCAL, {"url": house.url})
    async with house.egress:
        await drain(house.store, house.clock, house.action)

    ended = await house.cases[Runs].get(LOCAL, refused.id)
    assert (ended.state, (ended.error or {}).get("code")) == (RunState.FAILED, "address_refused")
    assert len(house.got) == 1
