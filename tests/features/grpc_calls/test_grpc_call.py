"""The action `grpc`, against a real service in another process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.core.errors import Invalid, InvalidMany
from foliot.engine.model.run import Failed, Succeeded
from foliot.net.grpc_call import AnswerTooLarge, GrpcRequest
from tests.features.grpc_calls.grpc_calls import METHOD, RUN, Caller, caller_of, noted
from tests.scraper_service import Running, running, started
from tests.services import free_port, wait_until


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grpc") / "calls"


@pytest.fixture(scope="module")
def service(calls: Path) -> Iterator[Running]:
    """One for all tests that do not hurt it."""
    with running("--calls", str(calls)) as found:
        yield found


@pytest.fixture(scope="module")
def hostile() -> Iterator[dict[str, int]]:
    """The port of each way to be hostile."""
    with running("--hostile") as found:
        yield found.hostile


@pytest.fixture
async def caller(service: Running) -> AsyncIterator[Caller]:
    caller = caller_of(f"scraper-service={service.place},nobody=127.0.0.1:{free_port()}")
    yield caller
    await caller.egress.close()


# --- what the service gets, and what becomes of its answer ------------------------------------------------------------


async def test_parameters_deadline_and_metadata_arrive(caller: Caller) -> None:
    outcome = await caller.call({"mode": "echo", "competitor_ids": ["amazon"], "product_limit": 5})

    assert isinstance(outcome, Succeeded)
    got = outcome.result["got"]
    assert (got["mode"], got["competitor_ids"], got["product_limit"]) == ("echo", ["amazon"], 5)
    assert 15 < outcome.result["seconds_left"] < 30.5
    agent = outcome.result["metadata"].pop("user-agent")
    assert agent.startswith("Foliot/")
    assert outcome.result["metadata"] == {
        "foliot-run-id": RUN,
        "foliot-attempt": "2",
        "foliot-tenant-id": "acme",
        "foliot-schedule-id": "sch_1",
        "foliot-scheduled-for": "2027-01-04T12:00:00Z",
        "idempotency-key": RUN,
    }
    assert outcome.response is not None
    assert outcome.response["status"] == "OK"
    assert caller.lines.written[0] == f"info: /shop.v1.ScraperService/{METHOD} of scraper-service, attempt 2 of 4"


async def test_every_kind_of_field_goes_there_and_comes_back_and_whole_numbers_stay_whole(caller: Caller) -> None:
    sent: dict[str, Any] = {
        "mode": "å",
        "competitor_ids": ["a", "b"],
        "product_limit": -(2**31),
        "since_id": 2**53 + 1,
        "urgent": True,
        "threshold": 0.25,
        "token": "aGk=",
        "depth": "DEEP",
        "options": {"n": 3, "f": 1.5, "deep": [{"x": None}, True, 2**40]},
        "since": "2027-01-01T09:00:00.000001Z",
        "pause": "3.500s",
        "most": 2**62,
        "extra": {"@type": "type.googleapis.com/shop.v1.Price", "product": "p", "cents": 2**60},
        "weights": {"a": 1, "b": -1},
        "filters": {"x": {"brand": "b", "bounds": [1.5]}},
        "either": [{"brand": "c", "bounds": []}],
        "only": {"brand": "", "bounds": []},
        "days": 0,
    }

    outcome = await caller.call(sent)

    assert isinstance(outcome, Succeeded), outcome
    got = outcome.result["got"]
    assert got == sent
    assert [type(got[name]) for name in ("since_id", "most", "product_limit")] == [int, int, int]
    assert [type(got["options"][name]) for name in ("n", "f")] == [int, float]
    assert outcome.result["big"] == 2**64 - 1
    # No database keeps U+0000 in text.
    assert outcome.result["prices"] == [{"product": "p1", "cents": 2**53 + 1}]
    assert outcome.result["complete"] is False


async def test_numbers_that_came_as_fractions_and_names_in_camel_case_are_understood(caller: Caller) -> None:
    outcome = await caller.call({"productLimit": 5.0, "competitorIds": ["a"], "only": None})

    assert outcome.result["got"]["product_limit"] == 5
    assert outcome.result["got"]["competitor_ids"] == ["a"]


async def test_a_stream_of_answers_is_a_list(caller: Caller) -> None:
    assert (await caller.mode("3", method="WatchPrices")).result == [{"product": str(n), "cents": n} for n in range(3)]
    assert (await caller.mode("0", method="WatchPrices")).result == []


@pytest.mark.parametrize(
    "method",
    [f"ScraperService/{METHOD}", f"shop.v1.ScraperService/{METHOD}", f"/shop.v1.ScraperService/{METHOD}",
     f"shop.v1.ScraperService.{METHOD}", f"v1.ScraperService/{METHOD}"],
)  # fmt: skip
async def test_a_method_may_be_named_with_its_service(method: str, caller: Caller) -> None:
    assert isinstance(await caller.call(method=method), Succeeded)


# --- how calls fail ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "permanent"),
    [
        ("UNAVAILABLE", False),
        ("DEADLINE_EXCEEDED", False),
        ("RESOURCE_EXHAUSTED", False),
        ("ABORTED", False),
        ("CANCELLED", False),
        ("INTERNAL", False),
        ("UNKNOWN", False),
        ("INVALID_ARGUMENT", True),
        ("NOT_FOUND", True),
        ("ALREADY_EXISTS", True),
        ("PERMISSION_DENIED", True),
        ("UNAUTHENTICATED", True),
        ("FAILED_PRECONDITION", True),
        ("OUT_OF_RANGE", True),
        ("UNIMPLEMENTED", True),
        ("DATA_LOSS", True),
    ],
)
async def test_the_status_decides_whether_it_is_tried_again(status: str, permanent: bool, caller: Caller) -> None:
    outcome = await caller.mode(f"abort:{status}")

    assert isinstance(outcome, Failed)
    assert (outcome.problem.code, outcome.permanent) == (f"grpc_{status.lower()}", permanent)
    assert status in outcome.problem.message
    # Neither line breaks nor addresses of the house reach people.
    assert "10.1.2.3" not in outcome.problem.message
    assert "\n" not in outcome.problem.message
    assert caller.lines.written[-1].startswith("error: " if permanent else "warning: ")


async def test_a_service_says_when_to_try_again_and_what_is_wrong(caller: Caller) -> None:
    outcome = await caller.mode("rich:7")

    assert isinstance(outcome, Failed)
    assert outcome.retry_after == timedelta(seconds=7.5)
    assert "too busy; mode: is odd" in outcome.problem.message
    assert outcome.response is not None
    assert outcome.response["violations"] == [{"field": "mode", "message": "is odd"}]


async def test_a_service_that_raises_is_tried_again(caller: Caller) -> None:
    outcome = await caller.mode("crash")

    assert (outcome.problem.code, outcome.permanent) == ("grpc_unknown", False)


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("garbage", "bad_answer"),
        ("large:2000000", "answer_too_large"),
        ("large:5000000", "answer_too_large"),
        ("large:104857600", "answer_too_large"),
        ("bomb:104857600", "answer_too_large"),
    ],
)
async def test_garbage_and_floods_fail_the_run_for_good_and_the_next_call_succeeds(
    mode: str, code: str, caller: Caller
) -> None:
    outcome = await caller.mode(mode)

    assert isinstance(outcome, Failed), outcome
    assert (outcome.problem.code, outcome.permanent) == (code, True)
    assert isinstance(await caller.mode("ok"), Succeeded)


async def test_a_large_message_is_refused_before_it_is_read_whole(caller: Caller) -> None:
    request = b"\x0a\x0dlarge:5000000"
    path = f"/shop.v1.ScraperService/{METHOD}"

    with pytest.raises(AnswerTooLarge):
        await caller.egress.call(GrpcRequest(service="scraper-service", path=path, messages=[request], most=10**9))


async def test_a_connection_that_is_closed_fails_the_call_and_not_the_caller(caller: Caller, calls: Path) -> None:
    await caller.mode("ok")
    before = len(noted(calls))
    task = asyncio.create_task(caller.mode("slow:30"))
    assert await asyncio.to_thread(wait_until, lambda: len(noted(calls)) > before, seconds=20)

    await caller.egress.close()

    outcome = await task
    assert (outcome.problem.code, outcome.permanent) == ("grpc_cancelled", False)


async def test_a_stream_without_an_end_is_cut(caller: Caller) -> None:
    outcome = await caller.mode("20000", method="WatchPrices")

    assert (outcome.problem.code, outcome.permanent) == ("answer_too_large", True)


async def test_nobody_there_is_tried_again_and_names_no_address(caller: Caller) -> None:
    outcome = await caller.call(service="nobody")

    assert (outcome.problem.code, outcome.permanent) == ("grpc_unavailable", False)
    assert "127.0.0.1" not in outcome.problem.message


async def test_a_slow_service_is_late_and_is_told_to_stop(caller: Caller, calls: Path) -> None:
    await caller.mode("ok")
    before = len(noted(calls))

    outcome = await caller.mode("slow:30", timeout=timedelta(seconds=0.5))

    assert (outcome.problem.code, outcome.permanent) == ("grpc_deadline_exceeded", False)
    assert wait_until(lambda: {"mode": "cancelled"} in noted(calls)[before:], seconds=20)


async def test_cancelling_a_run_cancels_the_call(caller: Caller, calls: Path) -> None:
    await caller.mode("ok")
    before = len(noted(calls))
    task = asyncio.create_task(caller.mode("slow:30"))
    assert await asyncio.to_thread(wait_until, lambda: len(noted(calls)) > before, seconds=20)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(wait_until, lambda: {"mode": "cancelled"} in noted(calls)[before:], seconds=20)
    assert isinstance(await caller.mode("ok"), Succeeded)


# --- what the service does not know -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "field", "words"),
    [
        ({"competitors": []}, "parameters.competitors", "is not a field of shop.v1.ScrapeRequest; did you mean"),
        ({"only": {"brnd": "x"}}, "parameters.only.brnd", "is not a field of shop.v1.Filter"),
        ({"either": [{}, {"x": 1}]}, "parameters.either[1].x", "is not a field of shop.v1.Filter"),
        ({"filters": {"k": {"x": 1}}}, "parameters.filters.k.x", "is not a field of shop.v1.Filter"),
        ({"competitor_ids": "amazon"}, "parameters.competitor_ids", "must be a list; each entry must be text"),
        ({"competitor_ids": ["a", 1]}, "parameters.competitor_ids[1]", "must be text"),
        ({"competitor_ids": [None]}, "parameters.competitor_ids[0]", "must be text"),
        ({"product_limit": "many"}, "parameters.product_limit", "must be a whole number from -2147483648 to"),
        ({"product_limit": 2**31}, "parameters.product_limit", "must be a whole number"),
        ({"product_limit": 1.5}, "parameters.product_limit", "must be a whole number"),
        ({"product_limit": True}, "parameters.product_limit", "must be a whole number"),
        ({"since_id": 2**63}, "parameters.since_id", "must be a whole number"),
        ({"urgent": 1}, "parameters.urgent", "must be true or false"),
        ({"threshold": "much"}, "parameters.threshold", "must be a number"),
        ({"depth": "ABYSS"}, "parameters.depth", "must be one of DEPTH_UNSPECIFIED, SHALLOW, DEEP"),
        ({"options": []}, "parameters.options", "must be an object"),
        ({"since": "yesterday"}, "parameters.since", "must be a time such as"),
        ({"pause": 3}, "parameters.pause", "must be a duration"),
        ({"most": "x"}, "parameters.most", "must be a whole number of 64 bits"),
        ({"extra": {"@type": "x/no.Such"}}, "parameters.extra", "whose @type names a message"),
        ({"extra": 1}, "parameters.extra", "whose @type names a message"),
        ({"weights": {"a": "x"}}, "parameters.weights.a", "must be a whole number"),
        ({"weights": [1]}, "parameters.weights", "must be an object"),
        ({"filters": {"k": 1}}, "parameters.filters.k", "must be an object"),
        ({"only": []}, "parameters.only", "must be an object"),
        ({"either": [[1]]}, "parameters.either[0]", "must be an object"),
        ({"hours": 1, "days": 2}, "parameters", "must fit the message shop.v1.ScrapeRequest"),
        ({"competitor_ids": [], "competitorIds": []}, "parameters.competitorIds", "is the same as competitor_ids"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_parameter_is_said_by_its_place_before_and_at_the_run(
    parameters: dict[str, Any], field: str, words: str, caller: Caller
) -> None:
    with pytest.raises(Invalid) as refused:
        await caller.examine(parameters)

    assert refused.value.field == field
    assert words in refused.value.message
    outcome = await caller.call(parameters)
    assert isinstance(outcome, Failed)
    assert (outcome.problem.code, outcome.permanent) == ("invalid_call", True)
    assert f"{field}: " in outcome.problem.message


async def test_all_that_is_wrong_is_said_at_once_up_to_a_limit(caller: Caller) -> None:
    with pytest.raises(InvalidMany) as refused:
        await caller.examine({"urgent": 1, "depth": "ABYSS", "x": 1})
    assert {each.field for each in refused.value.errors} == {"parameters.urgent", "parameters.depth", "parameters.x"}

    with pytest.raises(InvalidMany) as refused:
        await caller.examine({f"x{n}": 1 for n in range(5000)})
    assert len(refused.value.errors) == 20


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("ScrapeCompetitorPrice", "did you mean ScrapeCompetitorPrices? It has shop.v1.AuditService/Ping, "),
        ("OtherService/ScrapeCompetitorPrices", "must be a method of the service"),
        ("Ping", "must name the service too: shop.v1.AuditService/Ping, shop.v1.ScraperService/Ping"),
        ("Upload", "must be a method that takes one message"),
        ("ServerReflectionInfo", "must be a method of the service"),
    ],
)
async def test_a_method_that_cannot_be_called_is_refused_before_and_at_the_run(
    method: str, words: str, caller: Caller
) -> None:
    with pytest.raises(Invalid) as refused:
        await caller.examine(method=method)

    assert refused.value.field == "target_method"
    assert words in refused.value.message
    assert (await caller.call(method=method)).problem.code == "invalid_call"


async def test_what_fits_passes_and_who_cannot_be_asked_is_accepted_with_the_reason(caller: Caller) -> None:
    assert await caller.examine({"competitor_ids": ["amazon"]}) is None
    assert "UNAVAILABLE" in await caller.examine(service="nobody")


# --- services that are otherwise --------------------------------------------------------------------------------------


async def test_a_service_without_reflection_is_said_to_have_none() -> None:
    with running("--reflection", "off") as service:
        caller = caller_of(f"scraper-service={service.place}")
        outcome = await caller.call()
        with pytest.raises(Invalid, match="has no server reflection"):
            await caller.examine()
        await caller.egress.close()

    assert (outcome.problem.code, outcome.permanent) == ("no_reflection", True)


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("mute", "bad_descriptors", "0 answers to 1 questions"),
        ("noise", "bad_descriptors", "is not valid"),
        ("crowd", "bad_descriptors", "300 services"),
        ("missing", "bad_descriptors", "does not provide a file"),
        ("circle", "bad_descriptors", "in a circle"),
        ("endless", "bad_descriptors", "in an endless chain"),
        ("contradiction", "bad_descriptors", "contradicts itself"),
        ("flood", "answer_too_large", "4 MiB"),
        ("garbage", "bad_descriptors", "is not a file descriptor"),
        ("liar", "bad_descriptors", "do not contain its service"),
    ],
)
async def test_a_service_that_describes_itself_badly_fails_the_run_with_a_reason(
    how: str, code: str, words: str, hostile: dict[str, int]
) -> None:
    caller = caller_of(f"scraper-service=127.0.0.1:{hostile[how]}")
    outcome = await caller.call()
    await caller.egress.close()

    assert isinstance(outcome, Failed)
    assert (outcome.problem.code, outcome.permanent) == (code, True)
    assert words in outcome.problem.message


async def test_a_service_that_stalls_holds_up_neither_a_schedule_nor_a_run(
    monkeypatch: pytest.MonkeyPatch, hostile: dict[str, int]
) -> None:
    monkeypatch.setattr("foliot.features.grpc_calls.action.PATIENCE", timedelta(seconds=0.2))
    monkeypatch.setattr("foliot.features.grpc_calls.service_catalogue.PATIENCE", timedelta(seconds=0.5))
    caller = caller_of(f"scraper-service=127.0.0.1:{hostile['stalled']}")
    assert await caller.examine() == "scraper-service did not answer reflection in time"
    outcome = await caller.call()
    await caller.egress.close()

    assert (outcome.problem.code, outcome.permanent) == ("grpc_deadline_exceeded", False)


async def test_the_newer_reflection_is_understood_too() -> None:
    with running("--reflection", "v1") as service:
        caller = caller_of(f"scraper-service={service.place}")
        outcome = await caller.mode("ok")
        await caller.egress.close()

    assert isinstance(outcome, Succeeded)


async def test_a_service_that_is_killed_is_called_again_when_it_returns_changed() -> None:
    service = started()
    caller = caller_of(f"scraper-service={service.place}")
    try:
        assert isinstance(await caller.call({"product_limit": 7}), Succeeded)

        service.stop()
        assert (await caller.call({"product_limit": 7})).problem.code == "grpc_unavailable"

        service = started("--changed", port=service.port)
        # The field and its number are others now: calling by the old description would put the value elsewhere.
        assert (await caller.call({"product_limit": 7})).problem.code == "invalid_call"
        assert (await caller.call({"most_products": 7})).result["got"]["most_products"] == 7
        assert isinstance(await caller.call(method="NewService/Count"), Succeeded)
    finally:
        service.stop()
        await caller.egress.close()


async def test_a_restart_that_nobody_saw_is_noticed_by_the_connection() -> None:
    service = started()
    caller = caller_of(f"scraper-service={service.place}")
    try:
        assert isinstance(await caller.call({"product_limit": 7}), Succeeded)
        first = caller.egress.line_of("scraper-service")

        service.stop()
        service = started("--changed", port=service.port)
        assert await gone(caller)

        assert (await caller.call({"product_limit": 7})).problem.code == "invalid_call"
        assert caller.egress.line_of("scraper-service") not in (None, first)
    finally:
        service.stop()
        await caller.egress.close()


async def test_a_service_that_changes_in_place_is_asked_again_when_something_does_not_fit() -> None:
    service = started()
    caller = caller_of(f"scraper-service={service.place}")
    try:
        assert isinstance(await caller.call({"product_limit": 7}), Succeeded)
        assert isinstance(await caller.call(method="Count"), Succeeded)
        line = caller.egress.line_of("scraper-service")
        await caller.mode("turn")

        # A method that moved: nobody knows the old one, and the new one has its name.
        assert isinstance(await caller.call(method="Count"), Succeeded)
        assert any("NewService/Count" in said for said in caller.lines.written)
        assert caller.egress.line_of("scraper-service") == line
    finally:
        service.stop()
        await caller.egress.close()


async def test_an_answer_that_does_not_fit_the_old_description_is_read_by_the_new_one() -> None:
    service = started()
    caller = caller_of(f"scraper-service={service.place}")
    try:
        assert (await caller.mode("latin")).problem.code == "bad_answer"
        await caller.mode("turn")

        assert (await caller.mode("latin")).result["note"] == "5Q=="
    finally:
        service.stop()
        await caller.egress.close()


async def test_a_new_field_is_known_a_second_later_at_the_latest() -> None:
    service = started()
    caller = caller_of(f"scraper-service={service.place}")
    try:
        await caller.mode("turn")
        assert (await caller.call({"most_products": 7})).problem.code == "invalid_call"
        caller.clock.advance(1)

        assert (await caller.call({"most_products": 7})).result["got"]["most_products"] == 7
    finally:
        service.stop()
        await caller.egress.close()


async def gone(caller: Caller) -> bool:
    """Whether the connection was seen to break."""
    for _ in range(500):
        if caller.egress.line_of("scraper-service") is None:
            return True
        await asyncio.sleep(0.01)
    return False


async def test_descriptions_are_asked_for_once_and_again_when_they_are_old(caller: Caller) -> None:
    asked: list[str] = []
    real = caller.egress.call

    async def counted(call: Any) -> Any:
        asked.append(call.path)
        return await real(call)

    caller.egress.call = counted  # type: ignore[method-assign]
    await asyncio.gather(*(caller.mode("ok") for _ in range(5)))
    at_first = sum("reflection" in path for path in asked)
    await caller.mode("ok")
    assert sum("reflection" in path for path in asked) == at_first
    # Five at once, and the sixth: one description between them, in a few questions.
    assert at_first <= 4

    caller.clock.advance(timedelta(minutes=6))
    await caller.mode("ok")
    assert sum("reflection" in path for path in asked) > at_first
