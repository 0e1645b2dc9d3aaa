"""A tenant's own list of targets narrows what the operator allows, and never widens it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import pytest

from foliot.core.egress import EgressRefused
from foliot.core.errors import Invalid
from foliot.net.allow import MOST_ENTRIES, TenantTargets
from foliot.net.client import HttpEgress
from tests.net.outside import code_of, get, names, serving

NOT_LISTED = "The target is not on the tenant's list of allowed targets."


def listing(**lists: Sequence[str]) -> Callable[[str], Awaitable[Sequence[str]]]:
    async def limits(tenant_id: str) -> Sequence[str]:
        return lists.get(tenant_id, ())

    return limits


@pytest.mark.parametrize(
    ("entry", "on", "off"),
    [
        ("hooks.example", ["hooks.example 443", "hooks.example 80"], ["a.hooks.example 443", "xhooks.example 443"]),
        ("Hooks.Example.", ["hooks.example 443"], ["hooks.example.evil 443"]),
        ("*.example", ["a.example 443", "b.a.example 80"], ["example 443", "aexample 443", "example.evil 443"]),
        ("hooks.example:8443", ["hooks.example 8443"], ["hooks.example 443", "other.example 8443"]),
        ("*.example:8443", ["a.example 8443"], ["a.example 443", "example 8443"]),
        ("10.1.0.0/16", ["10.1.2.3 80", "10.1.0.0 443"], ["10.2.0.1 80", "fd00::1 80"]),
        ("10.1.2.3", ["10.1.2.3 80"], ["10.1.2.4 80"]),
        ("10.1.2.3:8080", ["10.1.2.3 8080"], ["10.1.2.3 80"]),
        ("fd00:0:0:1::/64", ["fd00:0:0:1::7 80"], ["fd00:0:0:2::7 80"]),
        ("[FD00::0:1]:80", ["fd00::1 80"], ["fd00::1 81", "fd00::2 80"]),
    ],
)
def test_an_entry_names_what_it_says_and_nothing_beside_it(entry: str, on: list[str], off: list[str]) -> None:
    limits = TenantTargets.read([entry])

    def included(place: str) -> bool:
        host, port = place.split()
        literal = ip_address(host) if host[0] == "f" or host[0].isdigit() else None
        excluded = limits.exclude(host, int(port), literal)
        included = limits.include(host, int(port), literal or ip_address("203.0.113.9"))
        assert not (excluded and included)
        return included

    assert [place for place in on if not included(place)] == []
    assert [place for place in off if included(place)] == []


def test_an_empty_list_does_not_narrow() -> None:
    assert not TenantTargets.read([]).exclude("hooks.example", 443, None)
    assert TenantTargets.read([" "]).include("hooks.example", 443, ip_address("203.0.113.9"))


@pytest.mark.parametrize(
    "entries",
    [
        ["*"],
        ["*."],
        ["*.*.example"],
        ["a.*.example"],
        ["*.10.0.0.1"],
        ["*.[::1]:80"],
        ["10.0.0.1/8"],
        ["0x7f.1"],
        ["http://hooks.example/"],
        ["hooks.example:0"],
        ["hooks.example:http"],
        ["user@hooks.example"],
        ["hooks.example/path"],
        ["fe80::1%eth0"],
        "hooks.example",
        [7],
        ["hooks.example"] * (MOST_ENTRIES + 1),
    ],
)
async def test_a_list_that_cannot_be_read_is_invalid_and_lets_nothing_out(entries: Any) -> None:
    with pytest.raises(Invalid, match="egress_allow"):
        HttpEgress.check_limits(entries)
    async with serving() as target, HttpEgress(loopback=True, limits=listing(acme=entries)) as egress:
        with pytest.raises(EgressRefused, match="cannot be read"):
            await egress.send(get(f"http://127.0.0.1:{target.port}/", tenant_id="acme"))
    assert target.connections == 0


async def test_a_tenant_reaches_what_its_list_names_and_others_keep_their_own() -> None:
    lists = listing(acme=["hooks.test"], other=["else.test"])
    async with (
        serving() as target,
        HttpEgress(loopback=True, resolver=names(["127.0.0.1"]), limits=lists) as egress,
    ):
        for tenant in ("acme", "free"):
            reply = await egress.send(get(f"http://hooks.test:{target.port}/", tenant_id=tenant))
            assert reply.status == 200
        with pytest.raises(EgressRefused, match=NOT_LISTED):
            await egress.send(get(f"http://hooks.test:{target.port}/", tenant_id="other"))
    assert target.connections == 2


async def test_what_the_list_leaves_out_is_refused_before_its_name_is_looked_up() -> None:
    resolver = names(["127.0.0.1"])
    async with HttpEgress(loopback=True, resolver=resolver, limits=listing(acme=["hooks.test"])) as egress:
        for host in ("other.test", "127.0.0.1"):
            with pytest.raises(EgressRefused, match=NOT_LISTED):
                await egress.send(get(f"http://{host}:9/", tenant_id="acme"))
    assert resolver.asked == 0


async def test_every_address_of_a_name_must_lie_in_the_networks_of_the_list() -> None:
    async with serving(address="127.0.0.2") as target, serving(port=target.port) as sink:
        for found, reached in ((["127.0.0.2"], True), (["127.0.0.2", "127.0.0.1"], False), (["127.0.0.1"], False)):
            async with HttpEgress(
                loopback=True, resolver=names(found), limits=listing(acme=["127.0.0.2/32"])
            ) as egress:
                request = get(f"http://hooks.test:{target.port}/", tenant_id="acme")
                if reached:
                    assert (await egress.send(request)).status == 200
                else:
                    # Not a class of its own: a list of networks would else be a way to ask where a name leads.
                    assert await code_of(egress, request) == "target_unreachable"
    assert (target.connections, sink.connections) == (1, 0)


@pytest.mark.parametrize("entry", ["127.0.0.0/8", "0.0.0.0/0", "hooks.test", "*.test", "127.0.0.1:{port}"])
async def test_a_tenants_list_opens_nothing_that_the_operator_closed(entry: str) -> None:
    async with serving() as sink:
        limits = listing(acme=[entry.format(port=sink.port)])
        async with HttpEgress(ports=[sink.port], resolver=names(["127.0.0.1"]), limits=limits) as egress:
            request = get(f"http://hooks.test:{sink.port}/", tenant_id="acme")
            assert await code_of(egress, request) == "target_unreachable"
            with pytest.raises(EgressRefused):
                await egress.send(get(f"http://127.0.0.1:{sink.port}/", tenant_id="acme"))
        async with HttpEgress(resolver=names(["127.0.0.1"]), limits=limits) as egress:
            with pytest.raises(EgressRefused, match="port"):
                await egress.send(get(f"http://hooks.test:{sink.port}/", tenant_id="acme"))
    assert sink.connections == 0


async def test_a_list_that_does_not_come_lets_nothing_out() -> None:
    async def broken(tenant_id: str) -> Sequence[str]:
        raise LookupError("the store is away")

    async def never(tenant_id: str) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with serving() as target:
        url = f"http://127.0.0.1:{target.port}/"
        async with HttpEgress(loopback=True, limits=broken) as egress:
            with pytest.raises(LookupError):
                await egress.send(get(url, tenant_id="acme"))
        async with HttpEgress(loopback=True, limits=never) as egress:
            request = get(url, tenant_id="acme", timeout=timedelta(seconds=0.1))
            assert await code_of(egress, request) == "target_unreachable"
    assert target.connections == 0
