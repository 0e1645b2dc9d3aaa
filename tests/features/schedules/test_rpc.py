"""The gRPC server: requests, answers and errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from foliot.core.access import LOCAL
from foliot.engine.model.run import RunState
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb
from foliot.testing import open_store
from tests.rpc import Client, client, opened, seeds_job, violations, world_on
from tests.world import World

Codes = grpc.StatusCode
WEBHOOK = {"kind": "webhook", "url": "https://example.com/hook"}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_store() as store:
        yield world_on(store)


@pytest.fixture
async def ask(world: World) -> AsyncIterator[Client]:
    async with opened(world) as door, client(door) as made:
        yield made


async def refused(ask: Client, method: str, request: object, **metadata: str) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.ask(method, request, **metadata)
    return caught.value


def config(kind: str, **said: str) -> pb.ScheduleConfig:
    return pb.ScheduleConfig(type=kind, config=said)


# --- creating ---------------------------------------------------------------------------------------------------------


async def test_the_usual_job_is_created_as_written(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())

    assert job.job_id.startswith("sch_")
    assert (job.name, job.job_type, job.status) == ("Custom Scraping Job", "SCRAPING", "active")
    assert (job.kind, job.queue, job.description) == ("grpc", "scraping", "Custom job description")
    assert (job.target_service, job.target_method) == ("scraper-service", "ScrapeCompetitorPrices")
    assert dict(job.parameters) == {"competitor_ids": ["amazon"]}
    assert job.next_run_at.ToDatetime(UTC) == datetime(2027, 1, 5, 10, tzinfo=UTC)
    stored = await world.cases[Schedules].get(LOCAL, job.job_id)
    assert stored.action["parameters"] == {"competitor_ids": ["amazon"]}
    assert await ask.ask("GetScheduledJob", pb.GetScheduledJobRequest(job_id=job.job_id)) == job


CRON = [
    ({"hour": "10", "minute": "0"}, "0 10 * * *"),
    ({"hour": "10"}, "0 10 * * *"),
    ({"minute": "*/5"}, "*/5 * * * *"),
    ({"day": "1"}, "0 0 1 * *"),
    ({"day": "1", "minute": "20"}, "20 * 1 * *"),
    ({"month": "1"}, "0 0 1 1 *"),
    ({"day_of_week": "sun", "hour": "2"}, "0 2 * * SUN"),
    ({"day_of_week": "mon"}, "0 0 * * MON"),
    ({"second": "30", "minute": "5"}, "30 5 * * * *"),
    ({"expression": "@daily"}, "0 0 * * *"),
    ({"expression": "*/10 * * * *"}, "*/10 * * * *"),
]


async def test_what_is_finer_than_all_that_is_said_stands_at_its_least(ask: Client) -> None:
    for said, expression in CRON:
        job = await ask.ask("CreateScheduledJob", seeds_job(schedule_config=config("cron", **said)))

        assert job.schedule_config.config["expression"] == expression, said


async def test_intervals_and_moments(ask: Client) -> None:
    async def made(when: pb.ScheduleConfig) -> Any:
        job = await ask.ask("CreateScheduledJob", seeds_job(schedule_config=when))
        return next(iter(job.schedule_config.config.items()))

    assert await made(config("interval", hours="4")) == ("seconds", "14400")
    assert await made(config("interval", minutes="1", seconds="30")) == ("seconds", "90")
    assert await made(config("oneoff", run_at="2027-02-01T09:00:00+01:00")) == ("run_at", "2027-02-01T08:00:00Z")


async def test_a_job_follows_others_and_can_be_sent_back(ask: Client) -> None:
    first = await ask.ask("CreateScheduledJob", seeds_job(name="crawl"))
    second = await ask.ask("CreateScheduledJob", seeds_job(name="prices"))
    follow = config("after", schedule=f"crawl, {second.job_id}", outcome="any", all="true")
    job = await ask.ask("CreateScheduledJob", seeds_job(name="load", schedule_config=follow))
    said = {"schedule": f"{first.job_id},{second.job_id}", "outcome": "any", "all": "true"}
    assert (job.schedule_config.type, dict(job.schedule_config.config)) == ("after", said)
    again = await ask.ask("CreateScheduledJob", seeds_job(name="again", schedule_config=job.schedule_config))
    assert again.schedule_config == job.schedule_config

    async def named(**wrong: str) -> list[tuple[str, str]]:
        asked = seeds_job(schedule_config=config("after", **wrong))
        return list(violations(await refused(ask, "CreateScheduledJob", asked)).items())

    ((field, words),) = await named(schedule="crawll")
    assert field == "schedule_config.config.schedule"
    assert "crawl" in words
    assert [field for field, _ in await named(schedule="crawl", all="yes")] == ["schedule_config.config.all"]


async def test_everything_that_can_be_said_is_kept_and_can_be_sent_back(ask: Client) -> None:
    said = seeds_job(
        queue="fast",
        priority=2,
        timezone="Europe/Stockholm",
        retry_policy=pb.RetryPolicy(strategy="fixed", max_retries=1, delay_seconds=5, jitter=0, dead_letter=False),
        overlap="allow_all",
        catchup=pb.Catchup(mode="none"),
        timeout_seconds=60,
        jitter_seconds=3,
        max_runs=7,
        alert=pb.Alert(after=3, to=["ops", "team"]),
        start_at=Timestamp(seconds=1_800_000_000),
        end_at=Timestamp(seconds=1_900_000_000, nanos=500_000),
        tags=["prices", "daily"],
        parameters={"whole": 3, "half": 0.5, "no": None, "deep": {"list": [1, True, "x"]}},
    )
    job = await ask.ask("CreateScheduledJob", said)

    assert (job.job_type, job.queue, job.priority, job.timezone) == ("SCRAPING", "fast", 2, "Europe/Stockholm")
    assert (job.retry_policy.strategy, job.retry_policy.max_retries, job.retry_policy.dead_letter) == (
        "fixed",
        1,
        False,
    )
    assert (job.overlap, job.catchup.mode, job.timeout_seconds, job.jitter_seconds) == ("allow_all", "none", 60, 3)
    assert (job.max_runs, list(job.tags)) == (7, ["prices", "daily"])
    assert (job.alert.after, list(job.alert.to)) == (3, ["ops", "team"])
    assert (job.start_at, job.end_at) == (said.start_at, said.end_at)
    fields = {one.name for one in pb.CreateScheduledJobRequest.DESCRIPTOR.fields}
    again = pb.CreateScheduledJobRequest(**{one.name: value for one, value in job.ListFields() if one.name in fields})
    copy = await ask.ask("CreateScheduledJob", again)
    different = {"job_id", "created_at", "updated_at"}
    assert {k: v for k, v in MessageToDict(copy, preserving_proto_field_name=True).items() if k not in different} == {
        k: v for k, v in MessageToDict(job, preserving_proto_field_name=True).items() if k not in different
    }


async def test_whole_numbers_are_whole_again(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job(parameters={"n": 3, "big": 2**53, "half": 0.5, "neg": -1}))

    stored = (await world.cases[Schedules].get(LOCAL, job.job_id)).action["parameters"]
    assert stored == {"n": 3, "big": 2**53, "half": 0.5, "neg": -1}
    assert [type(stored[name]) for name in ("n", "big", "half")] == [int, int, float]


async def test_any_other_action_can_be_given_whole(ask: Client) -> None:
    said = pb.CreateScheduledJobRequest(name="Hook", schedule_config=config("interval", hours="1"), action=WEBHOOK)
    job = await ask.ask("CreateScheduledJob", said)

    assert (job.kind, job.queue, job.job_type) == ("webhook", "default", "DEFAULT")
    assert job.action["url"] == WEBHOOK["url"]
    assert not job.HasField("parameters")
    assert job.target_service == ""


BAD: list[tuple[str, dict[str, Any], set[str]]] = [
    ("nothing", {"name": "", "schedule_config": None, "target_service": "", "target_method": ""},
     {"name", "schedule_config.type", "target_service"}),
    ("an unknown type", {"schedule_config": config("sometimes")}, {"schedule_config.type"}),
    ("a cron of nothing", {"schedule_config": config("cron")}, {"schedule_config.config"}),
    ("an hour that is none", {"schedule_config": config("cron", hour="25", minute="0")},
     {"schedule_config.config.hour"}),
    ("a word for an hour", {"schedule_config": config("cron", hour="noon")}, {"schedule_config.config.hour"}),
    ("two fields in one", {"schedule_config": config("cron", minute="0 1", hour="2")},
     {"schedule_config.config.minute"}),
    ("an empty field", {"schedule_config": config("cron", minute="")}, {"schedule_config.config.minute"}),
    ("an unknown field", {"schedule_config": config("cron", hour="1", day_of_month="1")},
     {"schedule_config.config.day_of_month"}),
    ("only an unknown field", {"schedule_config": config("cron", hours="1")}, {"schedule_config.config.hours"}),
    ("both forms", {"schedule_config": config("cron", hour="1", expression="0 2 * * *")},
     {"schedule_config.config.expression"}),
    ("a bad expression", {"schedule_config": config("cron", expression="every day")},
     {"schedule_config.config.expression"}),
    ("a day that never comes", {"schedule_config": config("cron", day="31", month="2", hour="0")},
     {"schedule_config.config"}),
    ("words for seconds", {"schedule_config": config("interval", seconds="ten")}, {"schedule_config.config.seconds"}),
    ("half a second", {"schedule_config": config("interval", seconds="0.5")}, {"schedule_config.config.seconds"}),
    ("no time at all", {"schedule_config": config("interval", seconds="0")}, {"schedule_config.config"}),
    ("an empty interval", {"schedule_config": config("interval")}, {"schedule_config.config"}),
    ("too long", {"schedule_config": config("interval", hours="99999999")}, {"schedule_config.config.hours"}),
    ("digits without end", {"schedule_config": config("interval", hours="9" * 4000)}, {"schedule_config.config.hours"}),
    ("a cron's field in an interval", {"schedule_config": config("interval", hour="1")},
     {"schedule_config.config.hour"}),
    ("a moment without offset", {"schedule_config": config("oneoff", run_at="2028-01-01T00:00:00")},
     {"schedule_config.config.run_at"}),
    ("a moment that is past", {"schedule_config": config("oneoff", run_at="2020-01-01T00:00:00Z")},
     {"schedule_config.config.run_at"}),
    ("no moment", {"schedule_config": config("oneoff")}, {"schedule_config.config.run_at"}),
    ("an unknown zone", {"timezone": "Mars/Olympus"}, {"timezone"}),
    ("a queue that is none", {"queue": "a b"}, {"queue"}),
    ("a type that names no queue", {"job_type": "WEB SCRAPING"}, {"job_type"}),
    ("no priority", {"priority": 0}, {"priority"}),
    ("a policy that is none", {"retry_policy": pb.RetryPolicy(strategy="hope", max_retries=-1)},
     {"retry_policy.strategy", "retry_policy.max_retries"}),
    ("an overlap that is none", {"overlap": "maybe"}, {"overlap"}),
    ("the end before the start", {"start_at": Timestamp(seconds=1_900_000_000), "end_at": Timestamp(seconds=1)},
     {"end_at"}),
    ("a moment outside of time", {"start_at": Timestamp(seconds=2**62)}, {"start_at"}),
    ("both actions", {"action": WEBHOOK}, {"action"}),
    ("no method", {"target_method": ""}, {"target_method"}),
    ("an action of no kind", {"action": {"x": 1}, "target_service": "", "target_method": "", "parameters": None},
     {"action.kind"}),
    ("a webhook without its URL", {"action": {"kind": "webhook"}, "target_service": "", "target_method": "",
                                   "parameters": None}, {"action.url"}),
    ("no number", {"parameters": {"n": float("nan")}}, {"parameters"}),
    ("a character no database keeps", {"parameters": {"n": "a\x00b"}}, {"parameters"}),
    ("a name with a line break", {"name": "a\nb"}, {"name"}),
    ("three hundred tags", {"tags": [f"tag {n}" for n in range(300)]}, {"tags"}),
]  # fmt: skip


async def test_what_is_wrong_is_named(ask: Client) -> None:
    told = {name: await _complaints(ask, changes) for name, changes, _ in BAD}

    assert told == {name: (Codes.INVALID_ARGUMENT, fields) for name, _, fields in BAD}
    assert (await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())).jobs == []


async def test_a_mistake_in_an_expression_is_underlined(ask: Client) -> None:
    request = seeds_job(schedule_config=config("cron", expression="61 2 * * *"))

    error = await refused(ask, "CreateScheduledJob", request)

    (told,) = violations(error).values()
    assert told.splitlines()[1:] == ["61 2 * * *", "^^", "did you mean: 1 2 * * *"]


async def _complaints(ask: Client, changes: dict[str, Any]) -> tuple[Any, set[str]]:
    said = {name: value for name, value in changes.items() if value is not None}
    request = seeds_job(**said)
    for name in changes.keys() - said.keys():
        request.ClearField(name)
    error = await refused(ask, "CreateScheduledJob", request)
    return error.code(), set(violations(error))


# --- changing ---------------------------------------------------------------------------------------------------------


async def test_only_what_is_set_changes(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job(tags=["a"], priority=3))

    changed = await ask.ask(
        "UpdateScheduledJob",
        pb.UpdateScheduledJobRequest(
            job_id=job.job_id, name="Renamed", parameters={"top": 10}, schedule_config=config("interval", hours="2")
        ),
    )

    assert (changed.name, changed.priority, list(changed.tags), changed.job_type) == ("Renamed", 3, ["a"], "SCRAPING")
    assert dict(changed.parameters) == {"top": 10}
    assert (changed.target_service, changed.schedule_config.config["seconds"]) == ("scraper-service", "7200")
    assert changed.version == job.version + 1


async def test_a_mask_takes_fields_back_to_their_defaults(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job(tags=["a"], priority=3, timeout_seconds=9))
    mask = FieldMask(paths=["description", "tags", "priority", "timeout_seconds", "parameters", "name"])

    changed = await ask.ask(
        "UpdateScheduledJob",
        pb.UpdateScheduledJobRequest(job_id=job.job_id, name="Kept", overlap="allow_all", update_mask=mask),
    )

    assert (changed.description, list(changed.tags), changed.priority) == ("", [], 5)
    assert not changed.HasField("timeout_seconds")
    assert dict(changed.parameters) == {}
    assert (changed.name, changed.overlap) == ("Kept", "skip")
    assert (changed.job_type, changed.queue) == ("SCRAPING", "scraping")


WRONG_CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"update_mask": FieldMask(paths=["job_id"])}, "update_mask"),
    ({"update_mask": FieldMask(paths=["schedule_config"])}, "schedule_config"),
    ({"schedule_config": config("cron", minute="61")}, "schedule_config.config.minute"),
    ({"priority": 11}, "priority"),
    ({"name": ""}, "name"),
    ({"target_service": ""}, "target_service"),
]


async def test_a_wrong_change_is_named_and_nothing_changes(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    for change, field in WRONG_CHANGES:
        error = await refused(ask, "UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, **change))

        assert (error.code(), set(violations(error))) == (Codes.INVALID_ARGUMENT, {field})
    assert await ask.ask("GetScheduledJob", pb.GetScheduledJobRequest(job_id=job.job_id)) == job


async def test_type_and_tags_keep_out_of_each_others_way(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job(tags=["a"]))

    moved = await ask.ask("UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, queue="fast"))
    tagged = await ask.ask("UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, tags=["b"]))
    typed = await ask.ask("UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, job_type="ANALYSIS"))

    assert (moved.job_type, moved.queue, list(moved.tags)) == ("SCRAPING", "fast", ["a"])
    assert (tagged.job_type, list(tagged.tags)) == ("SCRAPING", ["b"])
    assert (typed.job_type, typed.queue, list(typed.tags)) == ("ANALYSIS", "analysis", ["b"])


async def test_another_action_can_take_the_place_of_a_call_and_back(ask: Client) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())

    hooked = await ask.ask("UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, action=WEBHOOK))
    back = await ask.ask(
        "UpdateScheduledJob",
        pb.UpdateScheduledJobRequest(job_id=job.job_id, target_service="pricing-service", target_method="Price"),
    )

    assert (hooked.kind, back.kind, back.target_service) == ("webhook", "grpc", "pricing-service")


@pytest.mark.parametrize("method", ["UpdateScheduledJob", "DeleteScheduledJob"])
async def test_a_change_for_another_version_is_refused(ask: Client, method: str) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    await ask.ask("UpdateScheduledJob", pb.UpdateScheduledJobRequest(job_id=job.job_id, name="First"))
    request = getattr(pb, f"{method}Request")(job_id=job.job_id, expected_version=job.version)

    error = await refused(ask, method, request)
    assert error.code() is Codes.FAILED_PRECONDITION
    assert "version 1 is not the current version 2" in error.details()

    request.expected_version = 2
    await ask.ask(method, request)


async def test_paused_resumed_deleted(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())

    paused = await ask.ask("PauseScheduledJob", pb.PauseScheduledJobRequest(job_id=job.job_id, reason="holiday"))
    assert (paused.status, paused.paused_reason, paused.HasField("next_run_at")) == ("paused", "holiday", False)
    resumed = await ask.ask("ResumeScheduledJob", pb.ResumeScheduledJobRequest(job_id=job.job_id))
    assert (resumed.status, resumed.paused_reason) == ("active", "")
    deleted = await ask.ask("DeleteScheduledJob", pb.DeleteScheduledJobRequest(job_id=job.job_id))
    assert (deleted.job_id, deleted.status) == (job.job_id, "deleted")

    shown = await ask.ask("GetScheduledJob", pb.GetScheduledJobRequest(job_id=job.job_id))
    assert shown.status == "deleted"
    error = await refused(ask, "PauseScheduledJob", pb.PauseScheduledJobRequest(job_id=job.job_id))
    assert error.code() is Codes.FAILED_PRECONDITION
    trail = await world.cases[AuditLog].list(LOCAL, _page())
    assert {entry.door for entry in trail} == {"grpc"}


def _page() -> Any:
    from foliot.engine.model.views import PageRequest

    return PageRequest()


# --- lists ------------------------------------------------------------------------------------------------------------


async def test_a_list_goes_on_where_it_ended(ask: Client) -> None:
    made = [(await ask.ask("CreateScheduledJob", seeds_job(name=f"Job {n}"))).job_id for n in range(5)]

    found, token = [], ""
    while True:
        page = await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest(page_size=2, page_token=token))
        assert len(page.jobs) <= 2
        found += [job.job_id for job in page.jobs]
        token = page.next_page_token
        if not token:
            break

    assert found == made[::-1]


async def test_filters(ask: Client) -> None:
    await ask.ask("CreateScheduledJob", seeds_job(name="Prices of Amazon", tags=["prices"]))
    hook = pb.CreateScheduledJobRequest(name="Hook", schedule_config=config("interval", hours="1"), action=WEBHOOK)
    other = await ask.ask("CreateScheduledJob", hook)
    await ask.ask("PauseScheduledJob", pb.PauseScheduledJobRequest(job_id=other.job_id))

    async def names(**filters: Any) -> list[str]:
        page = await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest(**filters))
        return [job.name for job in page.jobs]

    assert await names(status="paused") == ["Hook"]
    assert await names(type="cron") == ["Prices of Amazon"]
    assert await names(kind="webhook") == ["Hook"]
    assert await names(tag="prices") == ["Prices of Amazon"]
    assert await names(query="amazon") == ["Prices of Amazon"]


WRONG_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"page_size": -1}, "page_size"),
    ({"page_size": 501}, "page_size"),
    ({"page_token": "x"}, "page_token"),
    ({"status": "sleeping"}, "status"),
    ({"type": "never"}, "type"),
    ({"query": "a\x00"}, "query"),
    ({"tag": "x" * 1000}, "tag"),
]


async def test_a_wrong_question_is_named(ask: Client) -> None:
    for asked, field in WRONG_QUESTIONS:
        error = await refused(ask, "ListScheduledJobs", pb.ListScheduledJobsRequest(**asked))

        assert (error.code(), set(violations(error))) == (Codes.INVALID_ARGUMENT, {field})


async def test_a_page_is_never_larger_than_a_client_reads(ask: Client) -> None:
    heavy = {"items": ["x" * 1000] * 200}
    made = [(await ask.ask("CreateScheduledJob", seeds_job(parameters=heavy))).job_id for _ in range(25)]

    first = await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())
    rest = await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest(page_token=first.next_page_token))

    assert 0 < len(first.jobs) < 25
    assert first.ByteSize() < 4 * 1024 * 1024
    assert [job.job_id for job in (*first.jobs, *rest.jobs)] == made[::-1]


# --- running ----------------------------------------------------------------------------------------------------------


async def test_executing_makes_a_run_and_its_status_is_told(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    before = await ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=job.job_id))

    begun = await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
    queued = await ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=begun.run_id))
    await world.end(begun.run_id, RunState.SUCCESS)
    ended = await ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=job.job_id))

    assert (before.run_id, before.status, before.job_id) == ("", "active", job.job_id)
    assert (begun.status, begun.job_id) == ("queued", job.job_id)
    assert (queued.run_id, queued.status, queued.queue, queued.job_id) == (begun.run_id, "queued", "manual", job.job_id)
    assert (ended.run_id, ended.status, dict(ended.result)) == (begun.run_id, "success", {"ok": True})
    assert ended.HasField("started_at")
    assert ended.HasField("finished_at")
    assert ended.next_run_at == job.next_run_at


async def test_a_run_may_have_other_parameters(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())

    begun = await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id, parameters={"top": 1}))

    run = await world.cases[Runs].get(LOCAL, begun.run_id)
    assert run.action is not None
    assert (run.action["parameters"], run.action["target_service"]) == ({"top": 1}, "scraper-service")


async def test_why_a_run_failed(ask: Client, world: World) -> None:
    job = await ask.ask("CreateScheduledJob", seeds_job())
    begun = await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=job.job_id))
    await world.end(begun.run_id, RunState.DEAD_LETTER, {"code": "unavailable", "message": "nobody there"})

    status = await ask.ask("GetJobStatus", pb.GetJobStatusRequest(job_id=begun.run_id))

    assert (status.status, status.error, status.error_code) == ("dead_letter", "nobody there", "unavailable")


OF_A_JOB = {
    "GetScheduledJob": pb.GetScheduledJobRequest,
    "UpdateScheduledJob": pb.UpdateScheduledJobRequest,
    "PauseScheduledJob": pb.PauseScheduledJobRequest,
    "ResumeScheduledJob": pb.ResumeScheduledJobRequest,
    "DeleteScheduledJob": pb.DeleteScheduledJobRequest,
    "ExecuteJobNow": pb.ExecuteJobRequest,
    "GetJobStatus": pb.GetJobStatusRequest,
    "WatchJob": pb.WatchJobRequest,
}
NOBODYS = ["job-123", "", "sch_" + "0" * 32, "run_" + "0" * 32, "x" * 5000, "ü\x00"]


async def test_there_is_no_such_job(ask: Client) -> None:
    for method, request in OF_A_JOB.items():
        for job_id in NOBODYS:
            error = await refused(ask, method, request(job_id=job_id))

            assert (error.code(), error.details()[:7]) == (Codes.NOT_FOUND, "no job "), (method, job_id)


# --- twice ------------------------------------------------------------------------------------------------------------


async def test_the_same_key_has_one_effect_and_one_answer(ask: Client) -> None:
    first = await ask.ask("CreateScheduledJob", seeds_job(), idempotency_key="k1")
    call = ask.stub.CreateScheduledJob(seeds_job(), metadata=ask.metadata(idempotency_key="k1"))
    second = await call

    assert second == first
    assert ("idempotent-replayed", "true") in list(await call.trailing_metadata())
    assert len((await ask.ask("ListScheduledJobs", pb.ListScheduledJobsRequest())).jobs) == 1

    runs = {
        (await ask.ask("ExecuteJobNow", pb.ExecuteJobRequest(job_id=first.job_id), idempotency_key="k2")).run_id
        for _ in range(3)
    }
    assert len(runs) == 1


async def test_a_key_belongs_to_one_request(ask: Client) -> None:
    await ask.ask("CreateScheduledJob", seeds_job(), idempotency_key="k1")

    error = await refused(ask, "CreateScheduledJob", seeds_job(name="Other"), idempotency_key="k1")

    assert (error.code(), set(violations(error))) == (Codes.INVALID_ARGUMENT, {"idempotency-key"})


async def test_a_key_that_is_none(ask: Client) -> None:
    error = await refused(ask, "CreateScheduledJob", seeds_job(), idempotency_key="k" * 300)

    assert set(violations(error)) == {"idempotency-key"}
