"""The address zoo: every way to write an internal address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from foliot.core.errors import Invalid
from foliot.net.addresses import Address, is_forbidden, is_loopback, is_public
from foliot.net.allow import EgressRules
from foliot.net.client import HttpEgress
from foliot.net.url import read_url

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "3ffe::1",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1ff::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
]
REGISTRY = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/31",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::/128",
    "::1/128",
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]
"""The special-purpose registries, whatever they say about being reachable, with multicast and what was withdrawn."""

EDGES = [
    "1.0.0.0",
    "9.255.255.255",
    "11.0.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.255.0.0",
    "191.255.255.255",
    "192.0.3.0",
    "192.31.195.255",
    "192.31.197.0",
    "192.52.192.255",
    "192.52.194.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "192.175.47.255",
    "192.175.49.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "2000::",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2003::",
    "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
    "2620:4f:8001::",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
]
"""Right beside special blocks, and ordinary."""

NEVER = [
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::a00:1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::a00:1",
    "2001:0:a00:1::",
    "2002:a00:1::",
    "ff02::1",
    "fd00::1%eth0",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_an_ordinary_internet_host_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_a_special_address_is_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("block", REGISTRY)
def test_a_block_of_the_registry_is_closed_from_its_first_address_to_its_last(block: str) -> None:
    network = ip_network(block)
    first, last = int(network.network_address), int(network.broadcast_address)

    assert not any(is_public(type(network.network_address)(each)) for each in (first, (first + last) // 2, last))


@pytest.mark.parametrize("text", EDGES)
def test_the_neighbour_of_a_special_block_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@given(ip_addresses())
def test_what_is_public_here_is_global_in_pythons_eyes_too(address: Address) -> None:
    assert not is_public(address) or (address.is_global and not address.is_multicast)


@given(ip_addresses(v=4))
def test_no_ipv6_form_of_an_ipv4_address_is_public(four: IPv4Address) -> None:
    raw = int(four)
    forms = [
        raw,
        0xFFFF << 32 | raw,
        0xFFFF << 48 | raw,
        0x64FF9B << 96 | raw,
        0x64FF9B0001 << 80 | raw,
        0x2002 << 112 | raw << 80 | 1,
        0x20010000 << 96 | raw ^ 0xFFFFFFFF,
    ]

    assert [form for form in map(IPv6Address, forms) if is_public(form)] == []


@pytest.mark.parametrize("text", NEVER)
def test_no_setting_opens_an_address_that_hides_another(text: str) -> None:
    rules = EgressRules.read(loopback=True, allow="0.0.0.0/0, ::/0, hooks.internal", ports=[80])

    assert is_forbidden(ip_address(text))
    assert not rules.allows_address("hooks.internal", 80, ip_address(text))


def test_only_a_plain_loopback_address_counts_as_this_machine() -> None:
    assert is_loopback(ip_address("127.8.9.10"))
    assert is_loopback(ip_address("::1"))
    assert not is_loopback(ip_address("::ffff:127.0.0.1"))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.0x1/",
        "http://0/",
        "http://0x/",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://１２７.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://%31%32%37.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[v1.fe80::a]/",
        "http://[::1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://x.localhost/",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://@example.com/",
        "http://example.com@127.0.0.1/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com:22/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:80:80/",
        "http://example.com:+80/",
        "http://example.com:8_0/",
        "http://example.com:８０/",
        "http://[2606:4700::1]x:80/",
        "http://exa mple.com/",
        "http://example.com/\r\nX-Injected: 1",
        "http://example.com/\x00",
        " http://example.com/",
        "http:///path",
        "http://",
        "http:example.com",
        "//example.com/",
        "example.com",
        "",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "http://-bad.example/",
        "http://a..b/",
        "http://" + "a" * 64 + ".example/",
        "http://example.com/" + "a" * 8192,
    ],
)
def test_a_url_that_could_lead_inside_is_invalid_before_any_lookup(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        HttpEgress().check(url)

    assert caught.value.field == "url"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", [None, 7, [], {}, b"http://example.com/"])
def test_a_url_that_is_no_text_is_invalid(url: object) -> None:
    with pytest.raises(Invalid):
        read_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com/",
        "HTTPS://EXAMPLE.com:8443/a?b=c",
        "http://example.com./",
        "http://example.com:8080/path?x=%2F",
        "http://bücher.example/å",
        "http://8.8.8.8/",
        "http://[2606:4700:4700::1111]/",
        "http://under_score.example/",
        "http://a1.2b/",
        "http://example.com/" + "a" * (8192 - len("http://example.com/")),
    ],
)
def test_a_plain_public_url_is_accepted(url: str) -> None:
    HttpEgress().check(url)


def test_an_encoded_query_reaches_the_wire_as_it_was_written() -> None:
    target = read_url("https://example.com/a%7Eb?sig=%2fAb%3D#part")

    assert target.url.raw_path_qs == "/a%7Eb?sig=%2fAb%3D"
    assert target.authority == "example.com"


def test_the_host_header_names_an_unusual_port() -> None:
    assert read_url("https://Example.com:8443/").authority == "example.com:8443"
    assert read_url("http://[2606:4700:0::1]:8080/").authority == "[2606:4700::1]:8080"


def test_local_mode_opens_this_machine_and_every_port_and_nothing_else() -> None:
    egress = HttpEgress(loopback=True)

    egress.check("http://127.0.0.1:9999/")
    egress.check("http://localhost:1/")
    egress.check("http://[::1]:5000/")
    for url in ("http://10.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://0.0.0.0/"):
        with pytest.raises(Invalid):
            egress.check(url)


def test_an_allowed_network_opens_its_addresses_but_no_new_port() -> None:
    egress = HttpEgress(allow="10.1.0.0/16, fd00:1::/32")

    egress.check("http://10.1.2.3/")
    egress.check("http://[fd00:1::5]:8080/")
    for url in ("http://10.2.0.1/", "http://10.1.2.3:6379/", "http://[fd00:2::1]/"):
        with pytest.raises(Invalid):
            egress.check(url)


def test_localhost_is_named_by_its_network_by_its_name_or_not_at_all() -> None:
    for allow in ("127.0.0.0/8", "::1", "0.0.0.0/0", "localhost"):
        HttpEgress(allow=allow).check("http://localhost/")
    with pytest.raises(Invalid, match="this machine"):
        HttpEgress(allow="10.0.0.0/8, example.com").check("http://localhost/")


def test_an_allowed_host_may_have_a_private_address_and_others_may_not() -> None:
    rules = EgressRules.read(loopback=False, allow=["Hooks.Internal."], ports=[443])
    private = ip_address("10.0.0.9")

    assert rules.allows_address("hooks.internal", 443, private)
    assert not rules.allows_address("other.internal", 443, private)
    assert not rules.allows_port("hooks.internal", 9000)


def test_an_allowed_host_with_a_port_opens_that_port_alone() -> None:
    rules = EgressRules.read(loopback=False, allow="hooks.internal:9000,10.0.0.9:7000,[fd00::9]:7001", ports="80, 443")

    assert rules.allows_port("hooks.internal", 9000)
    assert rules.allows_address("hooks.internal", 9000, ip_address("10.0.0.1"))
    assert not rules.allows_port("hooks.internal", 9001)
    assert not rules.allows_address("hooks.internal", 443, ip_address("10.0.0.1"))
    assert rules.allows_port("10.0.0.9", 7000)
    assert rules.allows_address("fd00::9", 7001, ip_address("fd00::9"))


@pytest.mark.parametrize(
    "allow", ["10.0.0.1/8", "10.0.0.0/33", "*.internal", "host:port", "host:0", "a b", "http://x/", ":80"]
)
def test_a_wrong_allowance_is_refused_by_the_name_of_its_setting(allow: str) -> None:
    with pytest.raises(Invalid, match="FOLIOT_EGRESS_ALLOW"):
        HttpEgress(allow=allow)


@pytest.mark.parametrize("ports", ["http", "0", "65536", "-1", [0]])
def test_a_wrong_port_is_refused_by_the_name_of_its_setting(ports: str | list[int]) -> None:
    with pytest.raises(Invalid, match="FOLIOT_EGRESS_PORTS"):
        HttpEgress(ports=ports)
