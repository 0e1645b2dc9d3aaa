"""Where gRPC calls may go, and TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from foliot.core.errors import Invalid
from foliot.engine.model.run import Succeeded
from tests.features.grpc_calls.grpc_calls import METHOD, Caller, caller_of, noted
from tests.scraper_service import Running, running
from tests.services import free_port


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grpc") / "calls"


@pytest.fixture(scope="module")
def service(calls: Path) -> Iterator[Running]:
    """One for all tests that do not hurt it."""
    with running("--calls", str(calls)) as found:
        yield found


@pytest.fixture
async def caller(service: Running) -> AsyncIterator[Caller]:
    caller = caller_of(f"scraper-service={service.place},nobody=127.0.0.1:{free_port()}")
    yield caller
    await caller.egress.close()


# --- where calls may go -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["127.0.0.1:50053", "localhost", "grpc://127.0.0.1:1", "scraper.internal", "other", ""]
)
def test_a_schedule_names_a_service_of_the_book_and_never_an_address(name: str) -> None:
    caller = caller_of("scraper-service=127.0.0.1:1")

    with pytest.raises(Invalid) as refused:
        caller.action.check({"target_service": name, "target_method": METHOD})

    assert refused.value.field == "target_service"
    assert "must be the name of a service in the address book (not an address)" in refused.value.message


async def test_a_name_is_resolved_once_per_connection_and_pinned(service: Running) -> None:
    looked_up: list[str] = []

    async def resolve(host: str) -> Sequence[str]:
        looked_up.append(host)
        return ["127.0.0.1"]

    caller = caller_of(f"scraper-service=scraper.test:{service.port}", resolver=resolve)
    for _ in range(3):
        outcome = await caller.mode("ok")
        assert isinstance(outcome, Succeeded)
    await caller.egress.close()

    assert looked_up == ["scraper.test"]


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"])
async def test_a_name_that_leads_to_no_host_is_not_dialled(address: str, service: Running) -> None:
    async def resolve(host: str) -> Sequence[str]:
        return ["127.0.0.1", address]

    caller = caller_of(f"scraper-service=scraper.test:{service.port}", resolver=resolve)
    outcome = await caller.mode("ok")
    await caller.egress.close()

    assert (outcome.problem.code, outcome.permanent) == ("grpc_unavailable", False)
    assert address not in outcome.problem.message


async def test_a_tenants_own_list_narrows_the_book(service: Running) -> None:
    listed = {"acme": ["hooks.example.com"], "open": [], "local": ["127.0.0.0/8"]}

    async def limits(tenant_id: str) -> Sequence[str]:
        return listed[tenant_id]

    caller = caller_of(f"scraper-service={service.place}", limits=limits)
    refused = await caller.mode("ok")
    outcomes = [await caller.mode("ok", tenant_id=tenant) for tenant in ("open", "local")]
    with pytest.raises(Invalid, match="not on the tenant's list"):
        await caller.examine()
    await caller.egress.close()

    assert (refused.problem.code, refused.permanent) == ("address_refused", True)
    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)


async def test_a_tenants_own_list_is_about_the_addresses_of_names_too(service: Running) -> None:
    async def resolve(host: str) -> Sequence[str]:
        return ["127.0.0.1"]

    async def limits(tenant_id: str) -> Sequence[str]:
        return {"acme": ["10.0.0.0/8"], "open": [], "named": [f"scraper.test:{service.port}"]}[tenant_id]

    caller = caller_of(f"scraper-service=scraper.test:{service.port}", resolver=resolve, limits=limits)
    outcomes = {tenant: await caller.mode("ok", tenant_id=tenant) for tenant in ("open", "acme", "named")}
    await caller.egress.close()

    assert isinstance(outcomes["open"], Succeeded)
    assert isinstance(outcomes["named"], Succeeded)
    assert outcomes["acme"].problem.code == "address_refused"


async def test_proxies_of_the_environment_are_not_used(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)
    caller = caller_of(f"scraper-service={service.place}")
    outcome = await caller.mode("ok")
    await caller.egress.close()

    assert isinstance(outcome, Succeeded)


async def test_few_calls_go_at_once_and_the_others_wait_their_turn(service: Running, calls: Path) -> None:
    before = len(noted(calls))
    caller = caller_of(f"scraper-service={service.place}", per_service=1)
    outcomes = await asyncio.gather(*(caller.mode("slow:0.05") for _ in range(4)))
    await caller.egress.close()

    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)
    assert [each["mode"] for each in noted(calls)[before:]] == ["slow:0.05", "waited"] * 4


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for scraper.test that vouches for itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    place = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "scraper.test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("scraper.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (place / "certificate.pem").write_bytes(made.public_bytes(pem))
    (place / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return place / "certificate.pem", place / "key.pem"


# --- TLS --------------------------------------------------------------------------------------------------------------


async def test_a_secure_service_is_known_by_its_certificate(certificate: tuple[Path, Path]) -> None:
    async def resolve(host: str) -> Sequence[str]:
        return ["127.0.0.1"]

    public, key = certificate
    with running("--certificate", str(public), "--key", str(key)) as service:
        answers = {}
        for host, ca_file in (("scraper.test", public), ("other.test", public), ("scraper.test", None)):
            caller = caller_of(f"scraper-service=grpcs://{host}:{service.port}", resolver=resolve, ca_file=ca_file)
            answers[host, ca_file is not None] = await caller.mode("ok")
            await caller.egress.close()
        plain = caller_of(f"scraper-service=scraper.test:{service.port}", resolver=resolve)
        in_clear = await plain.mode("ok")
        await plain.egress.close()

    assert isinstance(answers["scraper.test", True], Succeeded)
    for refused in (answers["other.test", True], answers["scraper.test", False], in_clear):
        assert refused.problem.code == "grpc_unavailable"
