"""What a tenant may use at most: read, merged, and kept to by the minute."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from foliot.commands.limits import Limiter
from foliot.config.limits import ORDINARY, LimitSettings
from foliot.core.errors import Invalid
from foliot.core.limits import LIMITS, MOST, UNLIMITED, TenantLimits, TokenBucket, read_own
from foliot.engine.sql.tenant_limits import ConcurrencyLimits
from foliot.features.tenants.usecases import Tenants


def test_what_a_tenant_does_not_state_follows_the_settings_and_a_null_lifts_a_limit() -> None:
    own = read_own("limits", {"schedules": 5, "streams": None})

    assert ORDINARY.but(own) == TenantLimits(
        requests_per_minute=6000, schedules=5, run_now_per_minute=600, streams=None, stored_bytes=1_000_000_000
    )


@pytest.mark.parametrize("raw", [None, {}])
def test_nothing_said_is_nothing_stated(raw: object) -> None:
    assert read_own("limits", raw) == {}


@pytest.mark.parametrize(
    ("raw", "field", "words"),
    [
        ([], "limits", "must be an object"),
        ({"schedules": "5"}, "limits.schedules", "whole number from 0"),
        ({"schedules": -1}, "limits.schedules", "whole number from 0"),
        ({"schedules": 1.5}, "limits.schedules", "whole number"),
        ({"schedules": True}, "limits.schedules", "whole number"),
        ({"schedules": MOST + 1}, "limits.schedules", "or null for no limit"),
        ({"schedules": math.nan}, "limits.schedules", "whole number"),
        ({"requests_per_minute": 0}, "limits.requests_per_minute", "whole number from 1"),
        ({"run_now_per_minute": 0}, "limits.run_now_per_minute", "whole number from 1"),
        ({"schedule": 5}, "limits.schedule", "did you mean 'schedules'?"),
    ],
)
def test_a_wrong_limit_is_refused_by_name(raw: object, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refusal:
        read_own("limits", raw)

    assert refusal.value.field == field
    assert words in refusal.value.message


def test_a_minutes_worth_can_be_taken_at_once_and_then_one_by_one() -> None:
    bucket = TokenBucket.full(60, now=100.0)

    assert [bucket.take(100.0) for _ in range(60)] == [None] * 60
    assert bucket.take(100.0) == pytest.approx(1.0)
    assert bucket.take(101.0) is None
    assert bucket.take(101.0) == pytest.approx(1.0)


def test_what_is_refused_costs_nothing() -> None:
    bucket = TokenBucket.full(60, now=0.0)
    bucket.take(0.0, 60)

    for _ in range(1000):
        assert bucket.take(0.5) is not None
    assert bucket.take(1.0) is None


def test_an_unused_hour_saves_no_more_than_a_minute() -> None:
    bucket = TokenBucket.full(60, now=0.0)

    assert [bucket.take(3600.0) for _ in range(61)][:60] == [None] * 60
    assert bucket.take(3600.0) is not None


def test_what_is_larger_than_the_bucket_passes_when_it_is_full_and_is_paid_for_afterwards() -> None:
    bucket = TokenBucket.full(60, now=0.0)

    assert bucket.take(0.0, 120) is None
    assert bucket.take(0.0) == pytest.approx(61.0)
    assert bucket.take(61.0) is None


def test_a_limit_that_changes_forgets_nothing_that_was_taken() -> None:
    bucket = TokenBucket.full(60, now=0.0)
    bucket.take(0.0, 50)

    bucket.resize(40, 0.0)
    assert bucket.take(0.0) is not None
    bucket.resize(60, 0.0)
    assert [bucket.take(0.0) for _ in range(11)] == [*[None] * 10, pytest.approx(1.0)]


def test_a_clock_that_stands_or_goes_back_gives_nothing() -> None:
    bucket = TokenBucket.full(1, now=10.0)
    bucket.take(10.0)

    assert bucket.take(9.0) == pytest.approx(60.0)
    assert bucket.take(69.0) is not None
    assert bucket.take(70.0) is None


@given(
    per_minute=some.integers(1, 10_000),
    waits=some.lists(some.floats(0, 30), min_size=1, max_size=60),
    cost=some.integers(1, 20),
)
def test_the_wait_it_names_is_honest_and_no_stretch_gives_more_than_it_may(
    per_minute: int, waits: list[float], cost: int
) -> None:
    bucket, now, taken = TokenBucket.full(per_minute, 0.0), 0.0, 0
    cost = min(cost, per_minute)
    for wait in waits:
        now += wait
        refused = bucket.take(now, cost)
        if refused is None:
            taken += cost
        else:
            assert refused > 0
            assert TokenBucket(bucket.per_minute, bucket.level, bucket.at).take(now + math.ceil(refused), cost) is None
    assert taken <= per_minute + now * per_minute / 60 + 1e-6


# --- settings ---------------------------------------------------------------------------------------------------------


def chosen(**values: Any) -> LimitSettings:
    return LimitSettings(**{f"limit_{name}": value for name, value in values.items()})


def test_local_mode_has_no_limits_and_everybody_else_has_sane_ones() -> None:
    assert chosen().limits(local=True) == UNLIMITED
    assert chosen().limits(local=False) == ORDINARY


def test_what_is_chosen_holds_in_either_mode_and_none_is_no_limit() -> None:
    settings = chosen(schedules=7, streams="none")

    assert settings.limits(local=True) == TenantLimits(schedules=7)
    assert settings.limits(local=False) == ORDINARY.but({"schedules": 7, "streams": None})


def test_every_limit_has_its_setting() -> None:
    from foliot.config.settings import Settings

    keys = {key for declared in Settings.declared() for key in declared.keys}
    named = {"catchup_rate": "FOLIOT_CATCHUP_RATE"}
    assert {named.get(name, f"FOLIOT_LIMIT_{name.upper()}") for name in LIMITS} <= keys


def test_a_wrong_setting_is_refused_by_its_key() -> None:
    from foliot.config.parse import SettingsError
    from foliot.config.settings import Settings

    with pytest.raises(SettingsError) as refusal:
        Settings.load({"FOLIOT_LIMIT_STREAMS": "many", "FOLIOT_LIMIT_REQUESTS_PER_MINUTE": "0"})

    assert "FOLIOT_LIMIT_STREAMS: must be a whole number from 0" in str(refusal.value)
    assert "FOLIOT_LIMIT_REQUESTS_PER_MINUTE: must be a whole number from 1" in str(refusal.value)


async def test_the_settings_reach_everybody_who_asks_for_limits(tmp_path: Path) -> None:
    from foliot.app import build
    from foliot.config.settings import Settings

    environ = {"FOLIOT_LIMIT_CONCURRENT_RUNS": "7", "FOLIOT_HOME": str(tmp_path)}
    app = build.build(Settings.load(environ), http=False, engine=False)

    assert app.store.caches[ConcurrencyLimits].default == 7
    assert app.usecases[Limiter].default == TenantLimits(concurrent_runs=7)
    assert app.egress.limits == app.usecases[Limiter].egress_allow
    with pytest.raises(Invalid, match="egress_allow"):
        app.usecases[Tenants].check_allow(["http://example.com/"])
    await app.store.close()
