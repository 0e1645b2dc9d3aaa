"""Where else results are written, and how a wrong address is refused."""

from __future__ import annotations

import pytest

from foliot.config.parse import SettingsError
from foliot.config.settings import Settings


@pytest.mark.parametrize("key", ["FOLIOT_MONGO_URI", "MONGO_URI", "MONGO_URL", "MONGODB_URL"])
def test_a_mongodb_has_many_names(key: str) -> None:
    settings = Settings.load({key: "mongodb://ada:s%40fe@h1,h2:27018/x?authSource=admin"})

    assert settings.mongo_uri is not None
    assert settings.mongo_uri.reveal() == "mongodb://ada:s%40fe@h1,h2:27018/x?authSource=admin"
    assert settings.mongo_db_name == "job_scheduler"
    assert "s%40fe" not in repr(settings)


def test_there_is_none_unless_it_is_named() -> None:
    assert Settings.load({}).mongo_uri is None
    assert Settings.load({"MONGO_DB_NAME": "scraped-2"}).mongo_db_name == "scraped-2"


@pytest.mark.parametrize(
    "uri",
    [
        "mongo.example.com",
        "http://h",
        "mongodb://",
        "mongodb://:hunter2@h",
        "mongodb://ada:hunter2:x@h",
        "mongodb://ada:hunter2@x@h",
        "mongodb://ada:hunter2@h1,,h2",
        "mongodb://ada:hunter2@h h",
    ],
)
def test_what_is_no_mongodb_is_refused_and_never_shown(uri: str) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.load({"MONGO_URI": uri})

    assert "MONGO_URI: must be the URL of a MongoDB" in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["a b", "a.b", "a/b", "$x", "x" * 64])
def test_a_database_has_a_plain_name(name: str) -> None:
    with pytest.raises(SettingsError, match="MONGO_DB_NAME: must be the name of a database"):
        Settings.load({"MONGO_DB_NAME": name})
