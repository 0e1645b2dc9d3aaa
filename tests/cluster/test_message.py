"""What workers make of messages: anybody who reaches the broker can write one."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.cluster.celery import message as envelope
from foliot.cluster.celery.app import make_app, step
from foliot.cluster.celery.message import MalformedMessage
from foliot.cluster.frames import BrokerMessage

NOON = datetime(2027, 1, 4, 12, 0, 0, 123456, tzinfo=UTC)
PARCEL = BrokerMessage("scraping", 3, ["run_1", "run_2"], NOON)
FOUR: list[Any] = [["run_1"], NOON.isoformat(), "default", 5]


def test_a_parcel_arrives_as_it_was_sent() -> None:
    arguments, named, _ = json.loads(envelope.body(PARCEL))

    assert envelope.opened(arguments, named) == PARCEL


def test_a_parcel_on_a_list_is_the_same_parcel() -> None:
    message = json.loads(envelope.on_list(PARCEL, 2))
    arguments, named, _ = json.loads(base64.b64decode(message["body"]))

    assert envelope.opened(arguments, named) == PARCEL
    assert message["properties"]["priority"] == 2
    assert message["headers"]["task"] == "foliot.run"


def test_a_run_that_is_named_twice_is_taken_once() -> None:
    assert envelope.opened([["run_1", "run_1"], *FOUR[1:]], {}).run_ids == ["run_1"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        FOUR[:3],
        [*FOUR, 1],
        ["run_1", *FOUR[1:]],
        [[], *FOUR[1:]],
        [["run_1"] * 51, *FOUR[1:]],
        [["sch_1"], *FOUR[1:]],
        [[1], *FOUR[1:]],
        [["run_" + "x" * 40], *FOUR[1:]],
        [["run_ü"], *FOUR[1:]],
        [FOUR[0], "yesterday", "default", 5],
        [FOUR[0], None, "default", 5],
        [FOUR[0], "2027-01-04T12:00:00", "default", 5],
        [FOUR[0], FOUR[1], None, 5],
        [FOUR[0], FOUR[1], "default", 0],
        [FOUR[0], FOUR[1], "default", "5"],
    ],
)
def test_what_no_scheduler_sent_is_refused(arguments: list[Any]) -> None:
    with pytest.raises(MalformedMessage):
        envelope.opened(arguments, {})


def test_arguments_by_name_are_refused() -> None:
    with pytest.raises(MalformedMessage):
        envelope.opened(FOUR, {"token": "x"})


def test_the_most_urgent_is_what_each_broker_takes_first() -> None:
    assert [step("amqp://h", priority) for priority in (1, 10)] == [9, 0]
    assert [step("redis://h", priority) for priority in (1, 10)] == [0, 9]


def test_no_thread_of_a_worker_waits_for_a_word_of_the_broker() -> None:
    """Celery's would, to take more again after a broken connection; the loop hears the answer, and they hang."""
    assert make_app("amqp://", ["default"]).conf.worker_enable_prefetch_count_reduction is False
