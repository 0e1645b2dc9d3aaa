"""Webhooks that use secrets: what arrives, what is kept, and what is never sent."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import text
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError
from structlog.testing import capture_logs

from foliot.app.use_cases import use_cases
from foliot.auth.keyring import Keyring
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.secrets import OVERLAP
from foliot.db.clock import wall
from foliot.db.database import Database
from foliot.engine.model.run import Outcome, RunState
from foliot.engine.ports import Action, ActionContext
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import SecretCache
from foliot.features.secrets.usecases import Secrets
from foliot.features.webhooks.action import WebhookAction
from foliot.net.client import HttpEgress
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed

OLD, NEW = "old-" * 8, "new-" * 8
VALUE = "the-value-of-the-token"
KEYS = ["whsec_" + base64.b64encode(letter * 24).decode() for letter in (b"a", b"b", b"c")]
OTHER = Caller("other", "eve", Role.ADMIN)


@dataclass
class House:
    """A Foliot with secrets, and a receiver that sends back what it got."""

    store: Database
    clock: StoppedClock
    egress: HttpEgress
    url: str = ""
    got: list[tuple[dict[str, str], str]] = field(default_factory=list)
    master: tuple[str, ...] = (NEW,)

    @property
    def cases(self) -> UseCases:
        actions = GivenActions.of(self.action)
        return use_cases(self.store, self.clock, MemoryFeed(), actions, vault=Keyring.of(self.master))

    @property
    def action(self) -> WebhookAction:
        wallet = SecretCache(store=self.store, clock=self.clock, vault=Keyring.of(self.master))
        return WebhookAction(egress=self.egress, secrets=wallet)

    async def echo(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append((headers, await request.text()))
        return web.json_response(headers, headers={"X-Echo": headers.get("x-token", "")})

    async def put(self, name: str, value: str) -> None:
        await self.cases[Secrets].put(LOCAL, name, {"value": value})

    async def run(self, headers: Mapping[str, str] | None = None, *, action: Action | None = None) -> Any:
        """One attempt of a webhook with these headers."""
        config = {"kind": "webhook", "url": self.url, "headers": headers or {}}
        raw = {"name": "x", "type": "oneoff", "run_at": "2999-01-01T00:00:00Z", "action": config}
        schedule = await self.cases[Schedules].create(LOCAL, raw)
        run = await self.cases[Schedules].run_now(LOCAL, schedule.id, {})
        await drain(self.store, self.clock, action or self.action)
        return await self.cases[Runs].get(LOCAL, run.id)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    clock = StoppedClock(wall())
    async with open_store() as store, HttpEgress(loopback=True) as egress:
        house = House(store, clock, egress)
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", house.echo)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        house.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        yield house
        await runner.cleanup()


async def test_the_target_gets_the_secret_and_the_record_stars(house: House) -> None:
    await house.put("TOKEN", VALUE)
    run = await house.run({"X-Token": "Bearer {{ secret.TOKEN }}, twice {{secret.TOKEN}}"})

    assert run.state is RunState.SUCCESS
    assert house.got[0][0]["x-token"] == f"Bearer {VALUE}, twice {VALUE}"
    (attempt,) = run.attempts
    assert attempt.response["headers"]["x-echo"] == "Bearer ***, twice ***"
    assert "***" in attempt.response["body"]
    assert VALUE not in repr(run)


async def test_a_literal_credential_arrives_and_no_echo_of_it_is_kept(house: House) -> None:
    house.url += f"?page=1&token={VALUE}"
    run = await house.run({"X-Token": f"Bearer {VALUE}", "Cookie": f"session={VALUE}; theme=dark"})

    headers = house.got[0][0]
    assert (headers["x-token"], headers["cookie"]) == (f"Bearer {VALUE}", f"session={VALUE}; theme=dark")
    assert run.state is RunState.SUCCESS
    (attempt,) = run.attempts
    assert attempt.response["headers"]["x-echo"] == "***"
    assert VALUE not in repr(run)
    async with house.store.read() as tx:
        for table in ("schedules", "versions", "runs", "attempts", "trail"):
            assert VALUE not in repr((await tx.conn.execute(text(f"SELECT * FROM {table}"))).all())


async def test_a_secret_for_another_host_is_not_sent_and_the_run_says_so(house: House) -> None:
    await house.cases[Secrets].put(LOCAL, "BOUND", {"value": VALUE, "hosts": ["api.partner.com"]})
    await house.cases[Secrets].put(LOCAL, "MINE", {"value": VALUE, "hosts": ["127.0.0.1"]})
    refused = await house.run({"X-Token": "{{ secret.BOUND }}"})
    sent = await house.run({"X-Token": "{{ secret.MINE }}"})

    assert (refused.state, refused.error["code"]) == (RunState.DEAD_LETTER, "secret_not_for_host")
    assert refused.error["message"] == "The secret BOUND may not be sent to 127.0.0.1: it is for api.partner.com."
    assert sent.state is RunState.SUCCESS
    assert [headers["x-token"] for headers, _ in house.got] == [VALUE]


async def test_a_value_is_not_read_as_a_template_again(house: House) -> None:
    await house.put("TOKEN", "{{ secret.OTHER }}")
    await house.put("OTHER", VALUE)
    await house.run({"X-Token": "{{ secret.TOKEN }}"})

    assert house.got[0][0]["x-token"] == "{{ secret.OTHER }}"


async def test_a_missing_secret_fails_for_good_names_it_and_sends_nothing(house: House) -> None:
    await house.put("TOKEN", VALUE)
    run = await house.run({"X-Token": "{{ secret.TOKEN }}", "X-Other": "{{ secret.OTHER }}"})

    assert run.state is RunState.DEAD_LETTER
    assert run.error == {
        "code": "secret_missing",
        "message": "There is no secret OTHER: set it with foliot secret set OTHER.",
    }
    assert len(run.attempts) == 1
    assert house.got == []


async def test_another_tenants_secret_is_a_missing_one(house: House) -> None:
    await house.cases[Secrets].put(OTHER, "TOKEN", {"value": VALUE})
    run = await house.run({"X-Token": "{{ secret.TOKEN }}"})

    assert run.error["code"] == "secret_missing"
    assert house.got == []


async def test_seals_that_were_swapped_in_the_database_send_nothing_and_are_tried_again(house: House) -> None:
    await house.put("TOKEN", VALUE)
    await house.cases[Secrets].put(OTHER, "TOKEN", {"value": "eve's own value"})
    async with house.store.begin() as tx:
        rows = {row.tenant_id: row.sealed for row in await tx.conn.execute(text("SELECT * FROM secrets"))}
        for tenant, other in (("default", "other"), ("other", "default")):
            change = text("UPDATE secrets SET sealed = :sealed WHERE tenant_id = :tenant")
            await tx.conn.execute(change, {"sealed": rows[other], "tenant": tenant})
    run = await house.run({"X-Token": "{{ secret.TOKEN }}"})

    assert run.state is RunState.RETRYING
    assert run.attempts[0].error["code"] == "secret_unavailable"
    assert house.got == []


async def test_a_lost_master_key_sends_nothing_until_it_is_back(house: House) -> None:
    await house.put("TOKEN", VALUE)
    await house.put("webhook_signing", KEYS[0])
    house.master = (OLD,)
    for headers in ({"X-Token": "{{ secret.TOKEN }}"}, None):
        run = await house.run(headers)
        assert (run.state, run.attempts[0].error["code"]) == (RunState.RETRYING, "secret_unavailable")
    assert house.got == []

    house.master = (OLD, NEW)
    house.clock.advance(timedelta(minutes=5))
    await drain(house.store, house.clock, house.action)
    assert len(house.got) == 2


async def test_both_secrets_of_a_rotation_verify_for_a_day(house: House) -> None:
    await house.put("webhook_signing", KEYS[0])
    await house.put("webhook_signing", KEYS[1])
    await house.run()
    headers, body = house.got[0]
    for key in KEYS[:2]:
        Verifier(key).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(KEYS[2]).verify(body, headers)

    async with house.store.begin() as tx:
        before = house.clock.now() - OVERLAP - timedelta(seconds=1)
        moved = text("UPDATE secrets SET retired_at = :before WHERE retired_at IS NOT NULL")
        await tx.conn.execute(moved, {"before": f"{before:%Y-%m-%d %H:%M:%S.%f}"})
    await house.run()
    headers, body = house.got[1]
    Verifier(KEYS[1]).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(KEYS[0]).verify(body, headers)


async def test_headers_that_grew_beyond_measure_are_not_sent(house: House) -> None:
    await house.put("LONG", "x" * 8192)
    run = await house.run({"X-A": "{{ secret.LONG }}", "X-B": "{{ secret.LONG }}"})

    assert (run.state, run.error["code"]) == (RunState.DEAD_LETTER, "headers_too_large")
    assert house.got == []


async def test_an_action_that_crashes_with_the_secret_on_its_lips_is_not_quoted(house: House) -> None:
    class Blurting:
        kind = "webhook"
        timeout = timedelta(seconds=5)

        def check(self, config: Any) -> Any:
            return dict(config)

        async def perform(self, ctx: ActionContext) -> Outcome:
            ctx.hide(VALUE)
            ctx.log(f"about to use {VALUE}")
            ctx.progress(token=VALUE)
            raise RuntimeError(f"could not send {'x' * 960} {VALUE}")

    with capture_logs() as logged:
        run = await house.run(action=Blurting())
    _, events = await house.cases[Runs].events(LOCAL, run.id, 0, 100)

    assert run.attempts[0].error["code"] == "action_crashed"
    said = repr(run) + repr(events) + repr(logged)
    assert "Traceback" in said
    assert "about to use ***" in said
    assert VALUE not in said
    assert VALUE[:8] not in said
