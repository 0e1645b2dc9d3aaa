"""This machine's own addresses are no targets, also where they are public."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from pathlib import Path

import pytest

from foliot.core.errors import Invalid
from foliot.net.allow import EgressRules, Interfaces
from foliot.net.guard import EgressGuard

MINE, MINE_V6, OTHER = ip_address("93.184.216.34"), ip_address("2a00:1450:4001::1"), ip_address("93.184.216.35")
FIB = """Main:
  +-- 0.0.0.0/0 3 0 4
     |-- 93.184.216.0
        /24 link UNICAST
     |-- 93.184.216.34
        /32 host LOCAL
     |-- 93.184.216.255
        /32 link BROADCAST
"""
INET6 = "2a001450400100000000000000000001 02 40 00 80     eth0\n"


@pytest.fixture
def interfaces(tmp_path: Path) -> Interfaces:
    (tmp_path / "fib_trie").write_text(FIB)
    (tmp_path / "if_inet6").write_text(INET6)
    return Interfaces(tmp_path)


def test_a_public_address_of_this_machine_is_no_target_and_its_neighbour_is(interfaces: Interfaces) -> None:
    assert interfaces() == {MINE, MINE_V6}
    rules = EgressRules(here=interfaces)

    assert [rules.allows_address("x.example", 443, one) for one in (MINE, MINE_V6, OTHER)] == [False, False, True]
    assert not EgressRules(here=interfaces, loopback=True).allows_address("x.example", 443, MINE)
    with pytest.raises(Invalid, match="public address"):
        EgressGuard(rules).admit(f"https://{MINE}/")
    EgressGuard(rules).admit(f"https://{OTHER}/")


def test_the_operator_may_name_it(interfaces: Interfaces) -> None:
    for allow in (f"{MINE}", f"{MINE}:443", f"{MINE}/32", "hook.example"):
        read = EgressRules.read(loopback=False, allow=allow, ports="443")
        rules = EgressRules(networks=read.networks, places=read.places, ports=read.ports, here=interfaces)
        assert rules.allows_address("hook.example" if "hook" in allow else str(MINE), 443, MINE), allow


def test_the_kernel_names_our_own_addresses() -> None:
    found = Interfaces()()

    assert ip_address("127.0.0.1") in found
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Sends nothing: the kernel only chooses the address that it would use.
        probe.connect(("127.0.0.1", 9))
        assert ip_address(probe.getsockname()[0]) in found


def test_without_a_proc_the_name_of_this_machine_is_asked(tmp_path: Path) -> None:
    assert isinstance(Interfaces(tmp_path / "none")(), frozenset)
