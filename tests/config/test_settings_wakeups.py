"""The settings of the Redis that wakes other processes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from foliot.app import build
from foliot.cli.root import app
from foliot.config.parse import SettingsError, unused
from foliot.config.settings import Settings
from foliot.wakeups.feed import MemoryFeed
from tests.services import free_port

POSTGRES = {"DATABASE_URL": "postgresql://foliot@127.0.0.1/house"}


def complaints(environ: dict[str, str]) -> list[str]:
    try:
        Settings.load(environ)
    except SettingsError as wrong:
        return str(wrong).splitlines()
    return []


def url_of(environ: dict[str, str]) -> str | None:
    found = Settings.load(environ).redis_url
    return None if found is None else found.reveal()


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, None),
        ({"REDIS_URL": "redis://cache"}, "redis://cache"),
        ({"FOLIOT_REDIS_URL": "rediss://u:p%40@cache:6380/2"}, "rediss://u:p%40@cache:6380/2"),
        ({"REDIS_URL": "unix:///run/redis.sock?db=1"}, "unix:///run/redis.sock?db=1"),
        ({"REDIS_URL": "redis://a/1", "FOLIOT_REDIS_URL": "redis://a/1"}, "redis://a/1"),
        ({"REDIS_HOST": "cache"}, "redis://cache:6379/0"),
        ({"REDIS_HOST": "::1", "REDIS_PORT": "6380", "REDIS_DB": "3"}, "redis://[::1]:6380/3"),
        ({"REDIS_URL": "redis://cache/3", "REDIS_HOST": "cache", "REDIS_PORT": "6379", "REDIS_DB": "3"}, "redis://cache/3"),
        ({"REDIS_PORT": "tcp://10.0.0.7:6379"}, None),
        ({"REDIS_HOST": "redis", "REDIS_PORT": "tcp://10.0.0.7:6379"}, "redis://redis:6379/0"),
        ({"REDIS_URL": "  "}, None),
    ],
)  # fmt: skip
def test_a_redis_is_named_by_its_url_or_by_its_parts(environ: dict[str, str], url: str | None) -> None:
    assert url_of(environ) == url
    assert unused(environ) == []


@pytest.mark.parametrize(
    ("environ", "key", "words"),
    [
        ({"REDIS_URL": "http://:hunter2@cache"}, "REDIS_URL", "must be the URL of a Redis"),
        ({"REDIS_URL": "redis://"}, "REDIS_URL", "must be the URL of a Redis"),
        ({"REDIS_URL": "redis://:hun#ter2@cache"}, "REDIS_URL", "must be the URL of a Redis"),
        ({"REDIS_URL": "redis://:hunter2@cache:x/0"}, "REDIS_URL", "must be the URL of a Redis"),
        ({"REDIS_URL": "redis://:hunter2@cache/zero"}, "REDIS_URL", "the number of a database"),
        ({"REDIS_URL": "redis://:hunter2@a", "FOLIOT_REDIS_URL": "redis://b"}, "FOLIOT_REDIS_URL", "must not differ"),
        ({"REDIS_URL": "redis://:hunter2@a", "REDIS_HOST": "b"}, "REDIS_HOST", "must not differ from REDIS_URL"),
        ({"REDIS_URL": "redis://:hunter2@a/1", "REDIS_DB": "2"}, "REDIS_DB", "must not differ from REDIS_URL"),
        ({"REDIS_URL": "redis://:hunter2@a:1/1", "REDIS_PORT": "2"}, "REDIS_PORT", "must not differ from REDIS_URL"),
        ({"REDIS_PORT": "6379"}, "REDIS_PORT", "needs REDIS_HOST"),
        ({"REDIS_DB": "0"}, "REDIS_DB", "needs REDIS_HOST"),
        ({"REDIS_HOST": "a b"}, "REDIS_HOST", "must be an address or a host name"),
        ({"REDIS_HOST": "a", "REDIS_PORT": "0"}, "REDIS_PORT", "from 1 to 65535"),
        ({"REDIS_HOST": "a", "REDIS_DB": "-1"}, "REDIS_DB", "from 0 to 65535"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_no_password_is_shown(
    environ: dict[str, str], key: str, words: str
) -> None:
    [said] = complaints(environ)

    assert said.startswith(f"{key}: ")
    assert words in said
    assert "hunter2" not in said


def test_settings_do_not_show_the_password() -> None:
    assert "hunter2" not in repr(Settings.load({"REDIS_URL": "redis://:hunter2@cache"}))


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, "memory"),
        ({"REDIS_URL": "redis://127.0.0.1"}, "memory"),
        (POSTGRES, "postgresql"),
        ({**POSTGRES, "REDIS_URL": "redis://127.0.0.1"}, "redis"),
        ({"DATABASE_URL": "mariadb://foliot@127.0.0.1/house"}, "memory"),
        ({"DATABASE_URL": "mariadb://foliot@127.0.0.1/house", "REDIS_HOST": "127.0.0.1"}, "redis"),
    ],
)
async def test_the_feed_is_redis_or_postgresql_or_this_process_alone(environ: dict[str, str], kind: str) -> None:
    built = build.build(Settings.load(environ), http=False, engine=True)
    assert built.feed.reach().kind == kind
    await built.store.close()


async def test_a_command_that_does_not_stay_wakes_nobody() -> None:
    built = build.build(Settings.load(POSTGRES), http=False, engine=False)
    assert isinstance(built.feed, MemoryFeed)
    await built.store.close()


@pytest.mark.parametrize(("prefix", "channel"), [(None, "house:wakes"), ("acme", "acme:wakes")])
async def test_two_foliots_that_share_a_redis_have_channels_of_their_own(prefix: str | None, channel: str) -> None:
    environ = {**POSTGRES, "REDIS_URL": "redis://127.0.0.1"} | ({"FOLIOT_REDIS_PREFIX": prefix} if prefix else {})
    built = build.build(Settings.load(environ), http=False, engine=True)
    line = getattr(built.feed, "_line")  # noqa: B009 -- it is only known by what it is
    assert line._channel == channel
    await built.store.close()


def test_check_says_that_sqlite_needs_no_redis(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path))
    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@cache")
    [found] = checked("REDIS_URL")

    assert found["level"] == "warning"
    assert "redis://:***@cache is not used" in found["message"]


def test_check_says_when_a_redis_is_away(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_HOME", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", f"postgresql://foliot@127.0.0.1:{free_port()}/house")
    monkeypatch.setenv("REDIS_URL", f"redis://:hunter2@127.0.0.1:{free_port()}/0")
    [found] = checked("REDIS_URL")

    assert found["level"] == "error"
    assert "must be reachable, got redis://:***@127.0.0.1" in found["message"]


def checked(key: str) -> list[dict[str, str]]:
    answered = CliRunner().invoke(app, ["check", "--json"])
    assert "hunter2" not in answered.output
    return [each for each in json.loads(answered.stdout)["findings"] if each["key"] == key]
