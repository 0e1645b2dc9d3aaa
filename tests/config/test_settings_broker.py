"""The broker's settings."""

from __future__ import annotations

import pytest

from foliot.config.parse import SettingsError, unused
from foliot.config.settings import Settings

LONG = "dQw4w9-Zk3-nobody-guesses-this-0f93jf03jf0"


@pytest.mark.parametrize("key", ["FOLIOT_BROKER_URL", "CELERY_BROKER_URL", "RABBITMQ_URL"])
@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("amqp://u:p@mq:5672/foliot", "amqp://u:p@mq:5672/foliot"),
        ("pyamqp://u:p@mq//", "amqp://u:p@mq//"),
        ("amqps://u:p@mq/", "amqps://u:p@mq/"),
        ("redis://:p@r:6379/2", "redis://:p@r:6379/2"),
        ("rediss://r", "rediss://r"),
        ("amqp://u:p@one; amqp://u:p@two", "amqp://u:p@one;amqp://u:p@two"),
    ],
)
def test_a_broker_is_named_by_its_url(key: str, url: str, read: str) -> None:
    broker = Settings.load({key: url}).broker_url

    assert broker is not None
    assert broker.reveal() == read


@pytest.mark.parametrize(
    "url",
    ["http://mq", "mq:5672", "amqp://", "sqs://x", "redis://r/one", "amqp://mq:99999/", "amqp://u:p@mq;redis://r/0",
     "redis://a/0;redis://b/0", "amqp://u:p#q@mq/"],
)  # fmt: skip
def test_what_is_no_broker_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(SettingsError, match="CELERY_BROKER_URL: must") as refused:
        Settings.load({"CELERY_BROKER_URL": url})

    assert "p#q" not in str(refused.value)


def test_without_one_there_is_none() -> None:
    settings = Settings.load({})

    assert (settings.broker_url, settings.broker_shown, settings.max_runs) == (None, None, None)


def test_two_names_with_two_values_are_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"CELERY_BROKER_URL: must not differ from RABBITMQ_URL"):
        Settings.load({"CELERY_BROKER_URL": "amqp://u:one@h", "RABBITMQ_URL": "amqp://u:two@h"})


def test_its_password_is_never_shown() -> None:
    settings = Settings.load({"RABBITMQ_URL": "amqp://u:hunter22@one;amqp://u:hunter22@two/"})

    assert settings.broker_shown == "amqp://u:***@one;amqp://u:***@two/"
    assert "hunter22" not in repr(settings)


@pytest.mark.parametrize("key", ["FOLIOT_BROKER_URL", "CELERY_BROKER_URL", "RABBITMQ_URL"])
@pytest.mark.parametrize("url", ["amqp://guest:guest@mq.example/", "amqp://mq.example", "redis://:redis@r.example/0"])
def test_with_tokens_asked_for_a_password_that_everybody_knows_is_refused(key: str, url: str) -> None:
    with pytest.raises(SettingsError, match=f"{key}: must not contain"):
        Settings.load({"FOLIOT_JWT_SECRET": LONG, key: url})


def test_on_this_machine_the_usual_password_will_do() -> None:
    loaded = Settings.load({"FOLIOT_JWT_SECRET": LONG, "RABBITMQ_URL": "amqp://guest:guest@127.0.0.1//"})

    assert loaded.broker_url is not None


def test_a_result_backend_is_accepted_and_said_to_be_unneeded() -> None:
    assert unused({"CELERY_RESULT_BACKEND": "redis://r/1"}) == [
        ("CELERY_RESULT_BACKEND", "not needed: results are rows of the database")
    ]
