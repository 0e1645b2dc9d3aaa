"""The gRPC server as programs use it: found by reflection, called without our stubs, started and stopped."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.acceptance.house import SECONDS, House, Target
from tests.tokens import SECRET

pytestmark = pytest.mark.timeout(240)
Codes = grpc.StatusCode
EXAMPLE = Path(__file__).parents[2] / "examples" / "grpc_client.py"
SERVICE = "foliot.v1.SchedulerService"


class Stranger:
    """Knows nothing of Foliot: what there is, and what it takes, the server says itself. JSON in, JSON out."""

    def __init__(self, address: str, token: str | None = None, knows: str | None = None) -> None:
        self.channel = grpc.insecure_channel(address)
        self.metadata = [] if token is None else [("authorization", f"Bearer {token}")]
        with grpc.insecure_channel(knows or address) as channel:
            found = ProtoReflectionDescriptorDatabase(channel)
            pool = DescriptorPool(found)
            self.services = list(found.get_services())
            service = pool.FindServiceByName(SERVICE)
            # Everything is looked at now: the pool asks its server, which need not live as long as this.
            self.methods = {method.name: method for method in service.methods}
            for method in service.methods:
                GetMessageClass(method.input_type), GetMessageClass(method.output_type)

    def ask(self, name: str, said: dict[str, Any]) -> Any:
        """The answer; of a stream, all of it."""
        method = self.methods[name]
        request = ParseDict(said, GetMessageClass(method.input_type)())
        read = GetMessageClass(method.output_type).FromString
        kind = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        call = kind(f"/{SERVICE}/{name}", request_serializer=bytes, response_deserializer=read)
        answer = call(request.SerializeToString(), timeout=SECONDS, metadata=self.metadata)
        if method.server_streaming:
            return [_json(one) for one in answer]
        return _json(answer)


def _json(message: Any) -> dict[str, Any]:
    return MessageToDict(message, preserving_proto_field_name=True)


def address(house: House) -> str:
    found = re.search(r"gRPC (?:on )? *(127\.0\.0\.1:\d+)", house.said)
    assert found, house.said
    return found[1]


def up(house: House, *flags: str, **environ: str) -> subprocess.Popen[str]:
    return house.start("up", "--port", "0", "--grpc-port", "0", *flags, lines=4, **environ)


def test_a_program_that_knows_nothing_can_use_every_method(house: House, target: Target) -> None:
    up(house)
    target.answer.set()
    stranger = Stranger(address(house))
    assert SERVICE in stranger.services

    job = stranger.ask(
        "CreateScheduledJob",
        {
            "name": "Found by reflection",
            "schedule_config": {"type": "interval", "config": {"hours": "4"}},
            "action": {"kind": "webhook", "url": target.url},
        },
    )
    this = {"job_id": job["job_id"]}
    assert stranger.ask("GetScheduledJob", this) == job
    changed = stranger.ask("UpdateScheduledJob", {**this, "priority": 1, "expected_version": job["version"]})
    assert changed["priority"] == 1
    assert stranger.ask("PauseScheduledJob", {**this, "reason": "for a moment"})["status"] == "paused"
    assert stranger.ask("ResumeScheduledJob", this)["status"] == "active"
    assert [one["name"] for one in stranger.ask("ListScheduledJobs", {})["jobs"]] == ["Found by reflection"]
    run = stranger.ask("ExecuteJobNow", this)
    events = stranger.ask("WatchJob", {"job_id": run["run_id"]})
    assert [int(event["seq"]) for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["state"] == "success"
    assert stranger.ask("WatchJob", {"job_id": run["run_id"], "after": events[-2]["seq"]}) == events[-1:]
    status = stranger.ask("GetJobStatus", this)
    assert (status["run_id"], status["status"]) == (run["run_id"], "success")
    assert stranger.ask("DeleteScheduledJob", this)["status"] == "deleted"
    asked = {
        "CreateScheduledJob", "GetScheduledJob", "UpdateScheduledJob", "PauseScheduledJob", "ResumeScheduledJob",
        "ListScheduledJobs", "ExecuteJobNow", "WatchJob", "GetJobStatus", "DeleteScheduledJob",
    }  # fmt: skip
    assert asked == set(stranger.methods)
    assert house.foliot("audit")["ok"]


SAID = (
    r"created   sch_\w+  .*, next \d{4}-\d\d-\d\dT10:00:00Z",
    r"listed    sch_\w+  Custom Scraping Job \(SCRAPING\): active",
    r"executed  run_\w+  queued",
    r"status    run_\w+  \w+",
)


# That nobody has named the service yet, or that it is down, hinders nobody from making a schedule for it.
@pytest.mark.parametrize("book", [{}, {"SCRAPER_SERVICE_URL": "127.0.0.1:9"}], ids=["unnamed", "down"])
def test_the_example_does_what_it_says(house: House, book: dict[str, str]) -> None:
    up(house, **book)
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=house.environ | {"FOLIOT_GRPC": address(house)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    for line in SAID:
        assert re.search(line, done.stdout), done.stdout
    (job,) = house.foliot("schedule", "list")["items"]
    assert job["action"]["parameters"] == {"competitor_ids": ["amazon"]}
    assert (job["action"]["kind"], job["queue"]) == ("grpc", "scraping")


def test_with_accounts_nobody_comes_in_without_a_token(house: House) -> None:
    up(house)
    knows = address(house)
    secured = House(house.home.parent / "secured")
    try:
        up(secured, FOLIOT_JWT_SECRET=SECRET)
        token = _token(secured)
        nobody = Stranger(address(secured), knows=knows)
        for name in nobody.methods:
            with pytest.raises(grpc.RpcError) as caught:
                nobody.ask(name, {})
            assert caught.value.code() is Codes.UNAUTHENTICATED, name
        with pytest.raises(grpc.RpcError) as caught:
            list(ProtoReflectionDescriptorDatabase(nobody.channel).get_services())
        assert caught.value.code() is Codes.UNIMPLEMENTED
        somebody = Stranger(address(secured), token, knows=knows)
        assert somebody.ask("ListScheduledJobs", {}) == {}
        secured.processes[-1].send_signal(signal.SIGTERM)
        assert secured.processes[-1].wait(SECONDS) == 0

        up(secured, FOLIOT_JWT_SECRET=SECRET, FOLIOT_GRPC_REFLECTION="1")
        told = Stranger(address(secured))
        assert set(told.methods) == set(nobody.methods)
        with pytest.raises(grpc.RpcError) as caught:
            told.ask("ListScheduledJobs", {})
        assert caught.value.code() is Codes.UNAUTHENTICATED
    finally:
        secured.clear()


def _token(house: House) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "foliot", "token", "--tenant", "acme", "--user", "ada", "--role", "operator"],
        env=house.environ | {"FOLIOT_JWT_SECRET": SECRET}, capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_it_ends_well_with_somebody_watching(house: House, target: Target) -> None:
    process = up(house, FOLIOT_SHUTDOWN_SECONDS="0")
    run = house.run_now(target)
    stranger = Stranger(address(house))
    watch = stranger.channel.unary_stream(f"/{SERVICE}/WatchJob")(b"\x0a" + bytes([len(run)]) + run.encode())
    next(watch)

    process.send_signal(signal.SIGTERM)
    with pytest.raises(grpc.RpcError) as caught:
        list(watch)
    assert caught.value.code() in {Codes.UNAVAILABLE, Codes.CANCELLED}
    assert process.wait(SECONDS) == 0
    target.answer.set()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_that_was_chosen_and_is_taken_stops_the_start(house: House, taken: int) -> None:
    done = house.run("up", "--port", "0", "--grpc-port", str(taken))

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: port {taken} of 127.0.0.1 is taken by another program")
    assert line.endswith("(--grpc-port, FOLIOT_GRPC_PORT)")


def test_the_usual_port_being_taken_stops_nobody(house: House) -> None:
    house.environ.pop("FOLIOT_GRPC_PORT", None)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 50054))
            other.listen()
        except OSError:
            """Somebody has it already, which is as good."""
        house.start("up", "--port", "0", lines=4)

    assert "gRPC off: port 50054 of 127.0.0.1 is taken" in " ".join(house.said.split())
    assert house.foliot("health")["status"] in {"ok", "degraded"}


def test_no_door_is_opened_where_none_is_wanted(house: House) -> None:
    house.start("up", "--port", "0", "--grpc-port", "off", lines=4)

    assert " ".join(house.said.split()).endswith("gRPC off")


def test_alone_it_needs_a_database_to_share(house: House) -> None:
    done = house.run("grpc", "--port", "0")

    assert done.returncode == 1
    assert "DATABASE_URL" in done.stderr


@pytest.mark.services
def test_alone_it_serves_what_the_others_see(house: House, server_database_url: str) -> None:
    house.environ["DATABASE_URL"] = server_database_url
    assert house.run("migrate").returncode == 0
    process = house.start("grpc", "--port", "0")
    stranger = Stranger(address(house))
    job = stranger.ask(
        "CreateScheduledJob",
        {
            "name": "Shared",
            "schedule_config": {"type": "cron", "config": {"hour": "10"}},
            "action": {"kind": "webhook", "url": "http://127.0.0.1:9/"},
        },
    )
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0

    house.start("api", "--port", "0")
    assert [one["id"] for one in house.foliot("schedule", "list")["items"]] == [job["job_id"]]
