"""Settings: every complaint names the key, the rule and what it got, and secrets stay secret."""

from __future__ import annotations

import base64
import re
import secrets
from pathlib import Path

import pytest

import foliot
from foliot.config.connections import masked
from foliot.config.parse import CLIENT, LATER, SPIDERS, SecretValue, SettingsError, unused
from foliot.config.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
SIGNING = "whsec_" + base64.b64encode(b"k" * 32).decode()


def complaints(environ: dict[str, str], **flags: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ, **flags)
    return [str(complaint) for complaint in caught.value.complaints]


def test_nothing_set_is_local_mode_in_the_users_data_directory() -> None:
    settings = Settings.load({"HOME": "/srv/ada"})

    assert settings.host == "127.0.0.1"
    assert settings.port == 8000
    assert settings.timezone == "UTC"
    assert settings.is_sqlite
    assert settings.sqlite_path == settings.home / "foliot.db"
    assert settings.home.is_relative_to("/srv/ada")


def test_the_data_directory_follows_the_xdg_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")

    assert Settings.load({"HOME": "/h", "XDG_DATA_HOME": "/data"}).home == Path("/data/foliot")
    assert Settings.load({"HOME": "/h", "XDG_DATA_HOME": "relative"}).home == Path("/h/.local/share/foliot")


def test_a_flag_wins_over_the_environment_and_none_is_no_flag() -> None:
    environ = {"FOLIOT_PORT": "9000", "FOLIOT_HOME": "/data"}

    assert Settings.load(environ, port=9001, home=None).port == 9001
    assert Settings.load(environ, port=None).port == 9000
    assert Settings.load(environ, home=Path("/elsewhere")).sqlite_path == Path("/elsewhere/foliot.db")


def test_an_empty_variable_is_an_unset_one() -> None:
    assert Settings.load({"FOLIOT_PORT": "", "DATABASE_URL": " ", "FOLIOT_METRICS_TOKEN": ""}).port == 8000


def test_every_complaint_comes_at_once_with_key_rule_and_value() -> None:
    said = complaints({"FOLIOT_PORT": "high", "LOG_LEVEL": "loud", "FOLIOT_CONCURRENCY": "0"})

    assert said == [
        "FOLIOT_PORT: must be a whole number from 0 to 65535, got 'high'",
        "FOLIOT_CONCURRENCY: must be a whole number from 1 to 10000, got '0'",
        "LOG_LEVEL: must be one of debug, info, warning, error, critical, got 'loud'",
    ]


def test_a_wrong_flag_is_named_as_a_flag() -> None:
    assert complaints({}, port=70_000) == ["--port: must be a whole number from 0 to 65535, got '70000'"]


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    assert complaints({"FOLIOT_CONCURENCY": "5"}) == [
        "FOLIOT_CONCURENCY: is not a setting of Foliot; did you mean FOLIOT_CONCURRENCY?"
    ]
    assert complaints({"FOLIOT_XYZZYPLUGH": "5"}) == ["FOLIOT_XYZZYPLUGH: is not a setting of Foliot; unset it"]


def test_keys_of_the_client_and_of_the_tests_are_no_strangers() -> None:
    Settings.load({"FOLIOT_URL": "http://x", "FOLIOT_TOKEN": "t", "FOLIOT_TEST_POSTGRES_URL": "postgres://x"})


def test_a_setting_that_does_not_exist_is_a_programming_error() -> None:
    with pytest.raises(TypeError, match="prot"):
        Settings.load({}, prot=1)


@pytest.mark.parametrize(
    "environ",
    [
        {"DATABASE_URL": "postgres://u:one@h/a", "SCHEDULER_DB_URL": "postgres://u:two@h/b"},
        {"API_PORT": "1", "FOLIOT_PORT": "2"},
        {"CELERY_BROKER_URL": "amqp://u:one@h", "RABBITMQ_URL": "amqp://u:two@h"},
        {"MONGO_URI": "mongodb://u:one@h", "MONGODB_URL": "mongodb://u:two@h"},
    ],
)
def test_two_aliases_with_different_values_are_refused_naming_both(environ: dict[str, str]) -> None:
    [said] = complaints(environ)

    assert all(key in said for key in environ)
    assert ":one@" not in said
    assert ":two@" not in said


def test_two_aliases_that_mean_the_same_are_fine() -> None:
    settings = Settings.load(
        {"DATABASE_URL": "postgres://u:p@h/db", "SCHEDULER_DB_URL": "postgresql+psycopg://u:p@h/db"}
    )

    assert settings.database_url == "postgresql+asyncpg://u:p@h/db"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("sqlite:////var/lib/foliot.db", "sqlite+aiosqlite:////var/lib/foliot.db"),
        ("sqlite+aiosqlite:////var/lib/foliot.db", "sqlite+aiosqlite:////var/lib/foliot.db"),
        ("sqlite://", "sqlite+aiosqlite:///:memory:"),
        ("sqlite:///:memory:", "sqlite+aiosqlite:///:memory:"),
        ("postgres://u:p@h:5433/db", "postgresql+asyncpg://u:p@h:5433/db"),
        ("postgresql+psycopg://u:p@h/db", "postgresql+asyncpg://u:p@h/db"),
        ("postgresql+asyncpg://u:p@h/db", "postgresql+asyncpg://u:p@h/db"),
        ("postgresql://h/db?sslmode=require", "postgresql+asyncpg://h/db?ssl=require"),
        ("mysql://u:p@h/db", "mysql+asyncmy://u:p@h/db"),
        ("mysql+pymysql://u:p@h:3306/scheduler", "mysql+asyncmy://u:p@h:3306/scheduler"),
        ("mariadb://u:p@h/db", "mysql+asyncmy://u:p@h/db"),
    ],
)
def test_every_spelling_of_a_database_becomes_the_one_with_our_driver(given: str, meant: str) -> None:
    assert Settings.load({"DATABASE_URL": given}).database_url == meant


def test_a_relative_sqlite_path_is_one_place_wherever_it_is_read() -> None:
    assert Settings.load({"DATABASE_URL": "sqlite:///data/x.db"}).sqlite_path == Path.cwd() / "data" / "x.db"


def test_databases_in_memory_and_on_servers_have_no_file() -> None:
    assert Settings.load({"DATABASE_URL": "sqlite://"}).sqlite_path is None
    assert Settings.load({"DATABASE_URL": "postgres://h/db"}).sqlite_path is None


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("oracle://u:p@h/db", "must be a database URL such as"),
        ("foliot.db", "must be a database URL such as"),
        ("postgresql+pg8000://u:p@h/db", "names an unsupported driver"),
        ("sqlite://foliot.db", "three slashes"),
        ("postgres://u:p@h", "must name a database"),
        ("postgres://u:p@h:port/db", "must have a port"),
        ("postgres://u:p#q@h/db", "percent-encoded"),
    ],
)
def test_a_database_url_that_cannot_be_meant_is_refused(given: str, rule: str) -> None:
    [said] = complaints({"DATABASE_URL": given})

    assert said.startswith("DATABASE_URL: ")
    assert rule in said
    assert ":p@" not in said
    assert "p#q" not in said


def test_a_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.config.connections.find_spec", lambda _name: None)

    [said] = complaints({"DATABASE_URL": "postgres://h/db"})

    assert "pip install 'foliot[postgres]'" in said


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LOCALHOST"])
def test_loopback_addresses_may_be_listened_on(host: str) -> None:
    assert Settings.load({"FOLIOT_HOST": host}).host == host.lower()


def test_keys_of_later_versions_are_accepted_and_reported() -> None:
    environ = {keys[0]: "1" for keys in LATER}

    Settings.load(environ)
    assert {key for key, _ in unused(environ)} == set(environ)
    assert unused({}) == []


def test_durations_stay_as_given_for_the_engine_to_scale() -> None:
    settings = Settings.load({"FOLIOT_TIME_SCALE": "0.1"})

    assert settings.time_scale == 0.1
    assert (settings.lease_seconds, settings.heartbeat_seconds, settings.sweep_seconds) == (30.0, 10.0, 5.0)


def test_a_heartbeat_must_fit_twice_into_its_lease() -> None:
    [said] = complaints({"FOLIOT_HEARTBEAT_SECONDS": "20"})

    assert said == "FOLIOT_HEARTBEAT_SECONDS: must be at most half of FOLIOT_LEASE_SECONDS, got 20.0"


@pytest.mark.parametrize(("text", "seconds"), [("5", 5.0), ("5s", 5.0), ("500ms", 0.5), ("1m", 60.0), ("0.25", 0.25)])
def test_durations_may_have_a_unit(text: str, seconds: float) -> None:
    assert Settings.load({"SCHEDULER_TICK_INTERVAL": text}).tick_interval == seconds


@pytest.mark.parametrize("text", ["-1", "soon", "5 days", "nan", "inf", "0", "2h"])
def test_other_durations_are_refused(text: str) -> None:
    assert "such as 5, 5s or 500ms" in complaints({"SCHEDULER_TICK_INTERVAL": text})[0]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("SCHEDULER_TIMEZONE", "Europe/Stokholm"),
        ("FOLIOT_QUEUES", "scraping,,no spaces"),
        ("FOLIOT_EGRESS_PORTS", "80,http"),
        ("FOLIOT_EGRESS_PORTS", "0"),
        ("FOLIOT_HOME", "/data\0"),
        ("FOLIOT_TIME_SCALE", "fast"),
        ("FOLIOT_TIME_SCALE", "2"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_each_setting_has_its_rule(key: str, text: str) -> None:
    [said] = complaints({key: text})

    assert said.startswith(f"{key}: ")


def test_lists_are_separated_by_commas() -> None:
    settings = Settings.load(
        {
            "FOLIOT_QUEUES": "scraping, manual,",
            "FOLIOT_EGRESS_PORTS": "80, 443",
            "FOLIOT_EGRESS_ALLOW": "10.0.0.0/8,h:1",
        }
    )

    assert settings.queues == ("scraping", "manual")
    assert settings.egress_ports == (80, 443)
    assert settings.egress_allow == ("10.0.0.0/8", "h:1")


def test_levels_have_synonyms_and_no_case() -> None:
    assert Settings.load({"LOG_LEVEL": "WARN"}).log_level == "warning"
    assert Settings.load({"LOG_LEVEL": "INFO"}).log_level == "info"


@pytest.mark.parametrize("secret", ["plain", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "x" + SIGNING])
def test_a_signing_secret_that_would_not_sign_is_refused_and_not_shown(secret: str) -> None:
    [said] = complaints({"FOLIOT_WEBHOOK_SECRET": secret})

    assert "must be 'whsec_' followed by base64" in said
    assert "got 'a secret that is not shown'" in said


def test_secrets_are_never_seen_by_accident() -> None:
    settings = Settings.load({"FOLIOT_WEBHOOK_SECRET": SIGNING, "DATABASE_URL": "postgres://u:hunter2@h/db"})

    shown = f"{settings} {settings!r} {settings.webhook_secret} {settings.database_shown}"
    assert SIGNING not in shown
    assert "hunter2" not in shown
    assert settings.webhook_secret == SecretValue(SIGNING)
    assert settings.webhook_secret is not None
    assert settings.webhook_secret.reveal() == SIGNING
    assert len({SecretValue("a"), SecretValue("a"), SecretValue("b")}) == 2


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://u:p@h/db", "postgres://u:***@h/db"),
        ("postgres://u:p@ss/wo#rd@h/db", "postgres://u:***@h/db"),
        ("postgres://h/db?user=u&password=p", "postgres://h/db?user=u&password=***"),
        ("postgres://h/db", "postgres://h/db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings.load({}).port = 1  # type: ignore[misc]


def test_every_setting_stands_in_the_reference_with_its_default_and_its_sentence() -> None:
    page = REFERENCE.read_text(encoding="utf-8")

    for declared in Settings.declared():
        row = next((line for line in page.splitlines() if line.startswith(f"| `{declared.keys[0]}`")), None)
        assert row is not None, f"docs/reference/settings.md has no row for {declared.keys[0]}"
        assert all(f"`{alias}`" in row for alias in declared.keys[1:])
        assert declared.doc in row
    for key in [*CLIENT, *(key for keys in LATER for key in keys)]:
        assert f"`{key}`" in page, f"docs/reference/settings.md does not mention {key}"


def test_the_reference_names_no_setting_that_does_not_exist() -> None:
    page = REFERENCE.read_text(encoding="utf-8")

    known = {key for declared in Settings.declared() for key in declared.keys} | {*CLIENT}
    known |= {*SPIDERS, *(key for keys in LATER for key in keys)}
    assert set(re.findall(r"FOLIOT_[A-Z_]+[A-Z]", page)) <= known


def test_a_signing_secret_of_local_mode_is_refused_where_tenants_have_their_own() -> None:
    [said] = complaints({"FOLIOT_WEBHOOK_SECRET": SIGNING, "FOLIOT_JWT_SECRET": secrets.token_urlsafe(48)})

    assert said.startswith("FOLIOT_WEBHOOK_SECRET: applies in local mode only")
    assert SIGNING not in said


def test_what_spiders_read_is_accepted_and_said_to_be_theirs() -> None:
    environ = {"FOLIOT_EGRESS_LOOPBACK": "1", "FOLIOT_CACHE_URL": "redis://r"}

    Settings.load(environ)

    assert unused(environ) == [(key, "read by spiders, in their own process") for key in environ]


def test_every_variable_that_spiders_read_is_known() -> None:
    folder = Path(foliot.__file__).parent / "scrapy"
    read = {key for module in folder.glob("*.py") for key in re.findall(r'"(FOLIOT_[A-Z_]+)"', module.read_text())}

    assert read - {key for declared in Settings.declared() for key in declared.keys} - set(CLIENT) == set(SPIDERS)
