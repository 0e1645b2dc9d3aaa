"""Every way to write or name an internal address, against a listener that must never get a connection."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.net import allow
from foliot.net.allow import Interfaces
from foliot.net.client import HttpEgress
from tests.net.island import NEVER, Unavailable, island, visit
from tests.net.outside import Server, get, names, serving
from tests.net.test_addresses import NOT_PUBLIC, PUBLIC

PLAIN = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
]
"""Spellings of this machine that the system's resolver understands, so that a naive client would arrive."""

ODD = [
    "127.000.000.001",
    "127.0.0.1.",
    "0x7f.0x0.0x0.0x1",
    "0X7F000001",
    "00000177.0.0.1",
    "127.0.0.0x1",
    "4294967297",
    "127.0.0.1%00",
    "127.0.0.1%2f",
    "%31%32%37.0.0.1",
    "%6c%6f%63%61%6c%68%6f%73%74",
    "１２７.0.0.1",
    "①②⑦.⓪.⓪.①",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1",
    "ｌｏｃａｌｈｏｓｔ",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "loc\u00adalhost",
    "loc\u200balhost",
    "local\u2060host",
    "127.0.0\u00ad.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost..",
    "a.localhost",
    "user@127.0.0.1",
    "user:pass@localhost",
    "hooks.test@127.0.0.1",
    "hooks.test#@127.0.0.1",
    "127.0.0.1#@hooks.test",
    "127.0.0.1\\@hooks.test",
    "hooks.test\\@127.0.0.1",
    "127.0.0.1\t",
    "127.0.\n0.1",
    "\r127.0.0.1",
    " 127.0.0.1",
    "127.0.0.1\u3000",
    "127.0.0.1\x00hooks.test",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::1%lo]",
    "[::1%25lo]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[127.0.0.1]",
    "[localhost]",
    "[v1.127.0.0.1]",
    "[[::1]]",
    "[::1]]",
    "::1",
]

INSIDE = ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0"]
"""What names may lead to; on every machine each of them is this one."""


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Server, Server]]:
    """One that records on both kinds of loopback."""
    async with serving() as four, serving(address="::1", port=four.port) as six:
        yield four, six


@pytest.mark.parametrize("host", PLAIN)
async def test_the_listener_records_who_spells_this_machine_and_is_not_guarded(host: str) -> None:
    async with serving() as listener:
        with socket.create_connection((host, listener.port), timeout=2) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
            caller.setblocking(False)
            await _until(lambda: listener.connections == 1)


@pytest.mark.parametrize("inside", INSIDE)
async def test_the_listener_records_a_name_that_leads_inside_when_the_guard_is_off(
    inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allow, "is_public", lambda _: True)
    monkeypatch.setattr(allow, "is_forbidden", lambda _: False)
    monkeypatch.setattr(Interfaces, "__call__", lambda _: frozenset())
    async with listening() as (four, six), HttpEgress(ports=[four.port], resolver=names([inside])) as egress:
        with contextlib.suppress(EgressFailed):
            await egress.send(get(f"http://hooks.test:{four.port}/"))
    assert four.connections + six.connections == 1


async def test_no_spelling_of_this_machine_arrives() -> None:
    async with listening() as (four, six), HttpEgress(ports=[four.port], resolver=names(["127.0.0.1"])) as egress:
        for host in PLAIN + ODD:
            for url in (f"http://{host}:{four.port}/", f"http://{host}:{four.port}/å", f"http:{host}:{four.port}"):
                with pytest.raises((EgressRefused, EgressFailed)):
                    await egress.send(get(url))
    assert (four.connections, six.connections) == (0, 0)


async def test_no_name_that_leads_inside_arrives() -> None:
    async with listening() as (four, six):
        for inside in INSIDE:
            async with HttpEgress(ports=[four.port], resolver=names([inside])) as egress:
                with pytest.raises(EgressFailed) as caught:
                    await egress.send(get(f"http://hooks.test:{four.port}/"))
                assert caught.value.code == "target_unreachable"
    assert (four.connections, six.connections) == (0, 0)


async def _until(condition: Any) -> None:
    import asyncio

    async with asyncio.timeout(2):
        while not condition():
            await asyncio.sleep(0.005)


# --- with a lying name server, in a network of its own ----------------------------------------------------------------

ZOO = [address for address in NOT_PUBLIC if "%" not in address]
UNDIALLED = {
    "224.0.0.1",
    "239.255.255.255",
    "255.255.255.255",
    "fe80::1",
    "ff02::1",
}
"""Nobody can open a connection to a group, to everybody, or to a link that is not named."""


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    try:
        with island() as name:
            yield name
    except Unavailable as reason:
        if reason.permitted and os.environ.get("REQUIRE_SERVICES", "") not in ("", "0"):
            pytest.fail(f"{reason} (REQUIRE_SERVICES is set)", pytrace=False)
        pytest.skip(str(reason))


def named(addresses: list[str]) -> dict[str, list[Any]]:
    return {f"n{number}.zoo.test": [[address]] for number, address in enumerate(addresses)}


def test_without_the_guard_every_special_address_would_be_called(place: str) -> None:
    report = visit(place, guarded=False, cases=named(ZOO))

    assert len(report["dialled"]) == len(ZOO) - len(UNDIALLED)


def test_no_special_address_is_called_whatever_the_name_server_says(place: str) -> None:
    report = visit(place, guarded=True, cases=named(ZOO))

    assert {tuple(case["told"]) for case in report["told"].values()} == {("target_unreachable",)}
    assert report["dialled"] == []


def test_every_public_address_is_called_and_no_other(place: str) -> None:
    report = visit(place, guarded=True, cases=named(PUBLIC))

    assert {tuple(case["told"]) for case in report["told"].values()} == {("200",)}
    assert sorted(map(ip_address, report["dialled"]), key=str) == sorted(map(ip_address, PUBLIC), key=str)


def test_one_bad_answer_spoils_the_name_also_in_the_other_family_and_behind_an_alias(place: str) -> None:
    report = visit(
        place,
        guarded=True,
        cases={
            "mixed.zoo.test": [["8.8.8.8", "10.0.0.1"]],
            "families.zoo.test": [["8.8.8.8", "fd00::1"]],
            "mapped.zoo.test": [["2606:4700::1", "::ffff:8.8.8.8"]],
            "alias.zoo.test": ["inside.zoo.test"],
            "inside.zoo.test": [["192.168.0.1"]],
            "empty.zoo.test": [[]],
        },
    )

    assert {tuple(case["told"]) for case in report["told"].values()} == {("target_unreachable",)}
    assert report["dialled"] == []


def test_a_name_that_flips_is_called_only_where_it_was_public(place: str) -> None:
    report = visit(
        place,
        guarded=True,
        cases={
            "flip.zoo.test": [["8.8.8.8"], ["127.0.0.1"], ["8.8.4.4"], ["169.254.169.254"]],
            "six.zoo.test": [["2606:4700::1"], ["::1"], ["fd00:ec2::254"]],
        },
    )

    assert report["told"]["flip.zoo.test"]["told"] == ["200", "target_unreachable", "200", "target_unreachable"]
    assert report["told"]["six.zoo.test"]["told"] == ["200", "target_unreachable", "target_unreachable"]
    assert sorted(report["dialled"]) == ["2606:4700::1", "8.8.4.4", "8.8.8.8"]


def test_names_that_are_never_answered_do_not_stall_the_others(place: str) -> None:
    silent: dict[str, list[Any]] = {f"s{n}.zoo.test": [NEVER] for n in range(12)}
    report = visit(place, guarded=True, cases=silent | {"quick.zoo.test": [["8.8.8.8"]] * 5})

    assert report["told"]["quick.zoo.test"]["told"] == ["200"] * 5
    assert report["told"]["quick.zoo.test"]["seconds"] < min(report["told"][name]["seconds"] for name in silent)
    assert {tuple(report["told"][name]["told"]) for name in silent} == {("target_unreachable",)}
    assert set(report["dialled"]) == {"8.8.8.8"}
