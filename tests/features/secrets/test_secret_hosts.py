"""Secrets that name the hosts they go to, on each database."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foliot.core.access import Caller, Role
from foliot.core.errors import Invalid
from foliot.core.secrets import CannotUnseal, NotForHost, goes_to, read_hosts
from foliot.db.database import Database
from foliot.features.secrets.secret_cache import SecretCache
from foliot.features.secrets.sql import SqlSecrets
from foliot.features.secrets.usecases import Secrets
from foliot.testing import StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.world import KEYRING

ACME = Caller("acme", "ada", Role.ADMIN)
THERE, ELSEWHERE = "https://api.partner.com/hook", "https://evil.example/hook"
KEY = "whsec_" + 24 * "a"


def use(store: Database, *, require_hosts: bool = False) -> Secrets:
    return Secrets(store=store, clock=StoppedClock(), feed=MemoryFeed(), vault=KEYRING, require_hosts=require_hosts)


def wallet(store: Database, *, require_hosts: bool = False) -> SecretCache:
    return SecretCache(store=store, clock=StoppedClock(), vault=KEYRING, require_hosts=require_hosts)


async def test_a_bound_secret_goes_to_its_hosts_alone_and_another_goes_anywhere(store: Database) -> None:
    await use(store).put(ACME, "BOUND", {"value": "one-value", "hosts": ["API.partner.com"]})
    await use(store).put(ACME, "FREE", {"value": "two-value"})

    assert [(one.name, tuple(one.hosts)) for one in await use(store).list(ACME)] == [
        ("BOUND", ("api.partner.com",)),
        ("FREE", ()),
    ]
    assert await wallet(store).named("acme", {"BOUND", "FREE"}, THERE) == {"BOUND": "one-value", "FREE": "two-value"}
    assert await wallet(store).named("acme", {"FREE"}, ELSEWHERE) == {"FREE": "two-value"}
    with pytest.raises(NotForHost) as refused:
        await wallet(store).named("acme", {"BOUND", "FREE"}, ELSEWHERE)
    assert (refused.value.name, refused.value.hosts) == ("BOUND", ["api.partner.com"])


async def test_a_new_value_goes_where_the_one_before_went_until_something_else_is_said(store: Database) -> None:
    cases = use(store)
    await cases.put(ACME, "TOKEN", {"value": "one-value", "hosts": ["api.partner.com"]})
    await cases.put(ACME, "TOKEN", {"value": "two-value"})
    with pytest.raises(NotForHost):
        await wallet(store).named("acme", {"TOKEN"}, ELSEWHERE)
    await cases.put(ACME, "TOKEN", {"value": "two-value", "hosts": ["evil.example"]})
    assert await wallet(store).named("acme", {"TOKEN"}, ELSEWHERE) == {"TOKEN": "two-value"}
    await cases.put(ACME, "TOKEN", {"value": "two-value", "hosts": []})

    (seen,) = await cases.list(ACME)
    assert (seen.version, tuple(seen.hosts)) == (4, ())
    assert await wallet(store).named("acme", {"TOKEN"}, THERE) == {"TOKEN": "two-value"}


async def test_where_hosts_are_demanded_a_secret_without_is_neither_taken_nor_sent(store: Database) -> None:
    await use(store).put(ACME, "OLD", {"value": "one-value"})
    strict = use(store, require_hosts=True)

    with pytest.raises(Invalid, match="FOLIOT_SECRETS_REQUIRE_HOSTS"):
        await strict.put(ACME, "NEW", {"value": "one-value"})
    await strict.put(ACME, "NEW", {"value": "one-value", "hosts": ["api.partner.com"]})
    await strict.put(ACME, "webhook_signing", {"value": KEY})
    with pytest.raises(NotForHost):
        await wallet(store, require_hosts=True).named("acme", {"OLD"}, THERE)
    assert await wallet(store, require_hosts=True).named("acme", {"NEW"}, THERE) == {"NEW": "one-value"}
    assert await wallet(store, require_hosts=True).signing("acme") == [KEY]


async def test_whoever_writes_other_hosts_into_the_row_gets_nothing(store: Database) -> None:
    await use(store).put(ACME, "TOKEN", {"value": "one-value", "hosts": ["api.partner.com"]})
    async with store.begin() as tx:
        newest = await SqlSecrets(tx).newest("acme", "TOKEN")
        assert newest is not None
        await SqlSecrets(tx).put(replace(newest, version=2, hosts=["evil.example"]))

    with pytest.raises(CannotUnseal):
        await wallet(store).named("acme", {"TOKEN"}, ELSEWHERE)


@pytest.mark.parametrize("bad", ["https://a.example", "a.example/x", "", "a..example", "*", 7, "user@a.example", "a b"])
def test_a_host_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(Invalid, match=r"hosts\[0\]"):
        read_hosts({"value": "one-value", "hosts": [bad]})


def test_hosts_match_by_name_port_and_what_lies_below() -> None:
    assert goes_to(["*.partner.com"], "https://api.eu.partner.com/")
    assert not goes_to(["*.partner.com"], "https://partner.com/")
    assert not goes_to(["*.partner.com"], "https://evilpartner.com/")
    assert goes_to(["api.partner.com:8443"], "https://api.partner.com:8443/")
    assert not goes_to(["api.partner.com:8443"], THERE)
    assert goes_to(["api.partner.com:443"], "https://API.partner.com./x")
    assert goes_to(["[::1]:80"], "http://[::1]/")
    assert not goes_to(["api.partner.com"], "https://api.partner.com@evil.example/")
