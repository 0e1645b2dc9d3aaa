"""What a wake looks like on its way."""

from __future__ import annotations

import pytest

from foliot.core.ids import RUN, new_id
from foliot.wakeups.across_processes import EVERYONE, MOST_BYTES, decode, encode, short, travels
from foliot.wakeups.feed import ENDINGS_TOPIC, RUNS_TOPIC, SCHEDULES_TOPIC, SLOTS_TOPIC, run_topic
from foliot.wakeups.postgres import dsn

SENDER = "a1b2c3d4e5f6"


def test_what_is_encoded_is_decoded() -> None:
    assert decode(encode(SENDER, [RUNS_TOPIC, "node:host:1:ab"])) == (SENDER, [RUNS_TOPIC, "node:host:1:ab"])
    assert decode(encode(SENDER, [])) == (SENDER, [])


def test_whatever_is_among_it_everyone_is_everyone() -> None:
    assert decode(encode(SENDER, {RUNS_TOPIC, EVERYONE})) == (SENDER, [EVERYONE])


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_payload_is_never_longer_than_postgresql_takes(letter: str) -> None:
    room = MOST_BYTES - len(SENDER) - 1
    exact = letter * (room // len(letter.encode()))

    assert decode(encode(SENDER, [exact])) == (SENDER, [exact])
    assert decode(encode(SENDER, [exact + letter])) == (SENDER, [EVERYONE])


def test_a_whole_group_of_runs_fits_into_one_payload() -> None:
    topics = {short(run_topic(new_id(RUN))) for _ in range(500)}

    assert len(topics) == 500
    assert decode(encode(SENDER, topics))[1] != [EVERYONE]


def test_only_runs_are_shortened() -> None:
    assert short(run_topic("run_0190c1de1b2c7d3e8f90a1b2c3d4e5f6")) == "run:c3d4e5f6"
    for topic in (RUNS_TOPIC, SCHEDULES_TOPIC, "queues", "node:a-long-host-name:12345:abcdef"):
        assert short(topic) == topic


def test_what_concerns_one_process_does_not_travel() -> None:
    assert not any(map(travels, (ENDINGS_TOPIC, SLOTS_TOPIC, "stop:140:ticker")))
    assert all(map(travels, (RUNS_TOPIC, SCHEDULES_TOPIC, "queues", run_topic("run_a"), "node:x")))


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("postgresql+asyncpg://u:p%40@h:5433/d", "postgresql://u:p%40@h:5433/d"),
        ("postgresql+asyncpg://h/d?ssl=require", "postgresql://h/d?sslmode=require"),
        ("postgresql+asyncpg:///d?host=%2Frun%2Fpg", "postgresql:///d?host=%2Frun%2Fpg"),
        ("postgresql+asyncpg://h/d?prepared_statement_cache_size=0", "postgresql://h/d"),
    ],
)
def test_the_driver_gets_the_url_as_it_reads_it(url: str, read: str) -> None:
    assert dsn(url) == read
