"""Tasks and services that the operator adds: known to the tenants they name, to others as unknown as nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import grpc
import grpc.aio
import pytest

from foliot import task
from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.config.address_book import addresses
from foliot.core.access import Caller, Role
from foliot.engine.model.run import Failed, RunState
from foliot.engine.ports import ActionContext
from foliot.features.grpc_calls.action import GrpcCall
from foliot.features.presets.model import all_presets
from foliot.net.grpc_client import GrpcEgress
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.server import GrpcServer
from foliot.testing import GivenActions, StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.asgi import Answer, Client
from tests.callers import Names
from tests.rpc import client, opened, violations
from tests.services import free_port
from tests.taskbook import catalogue, run_task
from tests.world import KEYRING, Webhook, World

MINE, LENT, THEIRS = "default", "acme", "other"
TIMED = {"type": "cron", "cron_expr": "0 * * * *"}
HOOK = {**TIMED, "name": "x", "action": {"kind": "webhook", "url": "https://example.com/"}}
NAMES = {
    "task": ("operators_own", "lent_to_acme", "never_was_one"),
    "grpc": ("operators-own", "lent-to-acme", "never-was-one"),
}
"""The operator's own, one that is lent to a tenant, and none at all."""


@task("operators_own", queue="private", retries=7, timeout=99)
def operators_own(path: str = "/proc/self/environ") -> str:
    raise AssertionError(path)


@task("lent_to_acme", tenants=["default", "acme"])
def lent_to_acme(path: str = "") -> str:
    return path


def action(kind: str, name: str) -> dict[str, Any]:
    if kind == "task":
        return {"kind": kind, "task": name, "parameters": {"path": "/etc/passwd"}}
    return {"kind": kind, "target_service": name, "target_method": "Charge"}


@dataclass
class Place:
    """A server of three tenants."""

    world: World
    client: Client
    calls: GrpcEgress
    action: GrpcCall

    async def ask(self, tenant: str, method: str, path: str, body: object = None) -> Answer:
        return await self.client.send(method, path, body, Authorization=f"Bearer {tenant}")

    async def made(self, tenant: str, document: dict[str, Any]) -> str:
        answer = await self.ask(tenant, "POST", "/api/schedules", document)
        assert answer.status == 201, answer.text
        return str(answer.json["id"])


def caller(tenant: str) -> Caller:
    return Caller(tenant, f"admin@{tenant}", Role.ADMIN)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with open_store() as store:
        clock, feed = StoppedClock(), MemoryFeed()
        nowhere = f"127.0.0.1:{free_port()}"
        book = addresses(f"operators-own={nowhere}, lent-to-acme={nowhere};tenants=default,acme;methods=Charge,Refund")
        calls = GrpcEgress(book=book)
        calling = GrpcCall(calls=calls, clock=clock)
        known = catalogue(store, clock, operators_own, lent_to_acme)
        actions = GivenActions.of(run_task(known), calling, Webhook())
        cases = use_cases(
            store, clock, feed, actions, pepper=KEYRING, vault=KEYRING, tasks=known, presets=all_presets()
        )
        callers = {tenant: caller(tenant) for tenant in (MINE, LENT, THEIRS)}
        client = Client(create_app(cases, identity=Names(callers)))
        yield Place(World(store, clock, cases, feed), client, calls, calling)
        await calls.close()


def anonymous(answer: Answer, name: str) -> tuple[int, str]:
    return answer.status, answer.text.replace(name, "<name>")


async def asked(place: Place, tenant: str, kind: str, name: str) -> dict[str, Answer]:
    """Every request of a tenant that can name a task or a service."""
    own = await place.made(tenant, HOOK)
    document = {**HOOK, "action": action(kind, name)}
    found = {
        "create": await place.ask(tenant, "POST", "/api/schedules", document),
        "asleep": await place.ask(tenant, "POST", "/api/schedules", {**document, "status": "paused"}),
        "wrong besides": await place.ask(tenant, "POST", "/api/schedules", {**document, "retry_policy": {"x": 1}}),
        "replace": await place.ask(tenant, "PUT", f"/api/schedules/{own}", document),
        "patch": await place.ask(tenant, "PATCH", f"/api/schedules/{own}", {"action": action(kind, name)}),
        "list": await place.ask(tenant, "GET", "/api/tasks"),
        "presets": await place.ask(tenant, "GET", "/api/presets"),
    }
    if kind == "task":
        found["show"] = await place.ask(tenant, "GET", f"/api/tasks/{name}")
        found["run"] = await place.ask(tenant, "POST", f"/api/tasks/{name}/run", {"parameters": {"path": "/x"}})
    return found


@pytest.mark.parametrize("kind", sorted(NAMES))
async def test_a_name_of_other_tenants_is_answered_like_one_that_never_was(place: Place, kind: str) -> None:
    private, lent, unknown = NAMES[kind]

    nothing = {key: anonymous(one, unknown) for key, one in (await asked(place, THEIRS, kind, unknown)).items()}

    for name in (private, lent):
        answers = await asked(place, THEIRS, kind, name)
        assert {key: anonymous(one, name) for key, one in answers.items()} == nothing
        others = set(NAMES[kind]) - {name}
        assert not [key for key, one in answers.items() if any(other in one.text for other in others)]
        assert answers["create"].status == 422
        assert "Charge" not in answers["create"].text, "which methods there are is not theirs to know either"
    if kind == "task":
        assert nothing["show"][0] == nothing["run"][0] == 404


@pytest.mark.parametrize("kind", sorted(NAMES))
async def test_the_tenants_that_are_named_may(place: Place, kind: str) -> None:
    private, lent, unknown = NAMES[kind]

    answers = await asked(place, LENT, kind, lent)
    refused = await asked(place, LENT, kind, private)

    del answers["wrong besides"]
    assert {one.status for one in answers.values()} <= {200, 201, 202}, answers
    assert anonymous(refused["create"], private)[0] == 422
    assert lent in refused["create"].text, "what they may use instead is said"
    assert unknown not in refused["create"].text
    assert (await asked(place, MINE, kind, private))["create"].status == 201


async def test_only_the_methods_that_are_named_may_be_called(place: Place) -> None:
    document = {**HOOK, "action": {**action("grpc", "lent-to-acme"), "target_method": "Drop"}}

    answer = await place.ask(LENT, "POST", "/api/schedules", document)

    assert answer.status == 422
    assert "must be one of Charge, Refund" in answer.text
    schedule = await place.made(LENT, {**HOOK, "action": action("grpc", "lent-to-acme")})
    override = {"payload": {"target_method": "Drop"}}
    assert (await place.ask(LENT, "POST", f"/api/schedules/{schedule}/run-now", override)).status == 422


@pytest.mark.parametrize("kind", sorted(NAMES))
async def test_a_run_cannot_be_given_a_name_of_others(place: Place, kind: str) -> None:
    """Neither when a schedule is run now nor when a dead letter is sent again with a patch."""
    private, lent, unknown = NAMES[kind]
    field = "task" if kind == "task" else "target_service"
    schedule = await place.made(LENT, {**HOOK, "action": action(kind, lent)})
    run = (await place.ask(LENT, "POST", f"/api/schedules/{schedule}/run-now")).json["id"]
    await place.world.end(run, RunState.DEAD_LETTER, {"code": "x", "message": "no"})

    def told(name: str) -> dict[str, dict[str, Any]]:
        changed = {field: name}
        return {
            f"/api/schedules/{schedule}/run-now": {"payload": changed},
            "/api/dead-letters/replay": {"ids": [run], "patch": changed},
            "/api/bulk": {"action": "replay", "ids": [run], "patch": changed, "dry_run": True},
        }

    for path, good in told(lent).items():
        bad = await place.ask(LENT, "POST", path, told(private)[path])
        none = await place.ask(LENT, "POST", path, told(unknown)[path])
        assert anonymous(bad, private) == anonymous(none, unknown), path
        assert bad.status == 422 or '"refused":1' in bad.text, bad.text
        assert (await place.ask(LENT, "POST", path, good)).status in {200, 202}


@pytest.mark.parametrize("kind", sorted(NAMES))
async def test_a_name_of_others_is_unknown_at_the_grpc_door_too(place: Place, kind: str) -> None:
    private, _, unknown = NAMES[kind]
    async with opened(place.world, identity=Names({THEIRS: caller(THEIRS), MINE: caller(MINE)})) as door:
        bad = await refused(door, THEIRS, kind, private)
        none = await refused(door, THEIRS, kind, unknown)
        async with client(door, MINE) as mine:
            made = await mine.ask("CreateScheduledJob", job(kind, private))

    assert bad.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert {field: text.replace(private, "<name>") for field, text in violations(bad).items()} == {
        field: text.replace(unknown, "<name>") for field, text in violations(none).items()
    }
    assert made.job_id


def job(kind: str, name: str) -> pb.CreateScheduledJobRequest:
    hourly = pb.ScheduleConfig(type="interval", config={"hours": "1"})
    return pb.CreateScheduledJobRequest(name="x", schedule_config=hourly, action=action(kind, name))


async def refused(door: GrpcServer, tenant: str, kind: str, name: str) -> grpc.aio.AioRpcError:
    async with client(door, tenant) as asking:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await asking.ask("CreateScheduledJob", job(kind, name))
    return error.value


async def test_a_call_that_was_made_before_the_book_changed_fails_for_good(place: Place) -> None:
    """And in the words for a service that is gone."""
    said = {}
    for tenant, service in ((THEIRS, "lent-to-acme"), (THEIRS, "never-was-one"), (LENT, "operators-own")):
        ctx = ActionContext(
            run_id="run_1",
            tenant_id=tenant,
            schedule_id=None,
            kind="grpc",
            attempt=1,
            max_attempts=3,
            scheduled_for=None,
            config={"target_service": service, "target_method": "Charge", "parameters": {}},
            timeout=timedelta(seconds=5),
            now=place.world.clock.now(),
            log=lambda *_, **__: None,
        )
        ended = await place.action.perform(ctx)
        assert isinstance(ended, Failed)
        assert ended.permanent
        said[service] = ended.problem.code, ended.problem.message.replace(service, "<name>")

    assert len(set(said.values())) == 1
    assert said["never-was-one"][0] == "address_refused"


async def test_a_preset_gives_other_tenants_what_they_may_run(place: Place) -> None:
    shown = await place.ask(THEIRS, "GET", "/api/presets/price-monitoring")
    loaded = await place.ask(THEIRS, "POST", "/api/presets/price-monitoring/load", {})

    planned = [one["name"] for one in shown.json["schedules"]]
    assert len(planned) == 4
    assert "health-check" not in planned
    assert [one["name"] for one in loaded.json["items"]] == planned
