"""Headers and a proxy that the operator sets for a host: for its own tenant's requests, by secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from foliot.core.access import Caller, Role
from foliot.core.errors import Forbidden, Invalid
from foliot.core.secrets import NotForHost
from foliot.db.database import Database
from foliot.features.fetching.model import FetchFailure, FetchRequest, Page
from foliot.features.fetching.tables import hosts
from foliot.features.fetching.usecases import Hosts
from tests.features.fetching.fetch_parts import FetchProcess, answer, processes
from tests.net.outside import serving
from tests.net.upstream_proxies import proxying
from tests.world import World

KEEPER = Caller("default", "kim", Role.ADMIN)
TENANT = Caller("acme", "ann", Role.ADMIN)


class Values:
    """The operator's secrets; BOUND may be sent to another host only."""

    def __init__(self, **values: str) -> None:
        self.values = values

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        assert tenant_id == "default"
        if "BOUND" in names and url is not None:
            raise NotForHost("BOUND", ["other.example"])
        return {name: self.values[name] for name in names if name in self.values}


def with_secrets(process: FetchProcess, **values: str) -> FetchProcess:
    pages = replace(process.fetcher.pages, secrets=Values(**values))
    return FetchProcess(replace(process.fetcher, pages=pages), process.turns)


async def fetched(process: FetchProcess, url: str, tenant: str = "default") -> Any:
    return await process.fetcher.fetch(FetchRequest(url=url, tenant_id=tenant, timeout=timedelta(seconds=10)))


async def put(world: World, host: str, **settings: Any) -> None:
    await world.cases[Hosts].put(KEEPER, host, settings)
    async with world.store.begin() as tx:
        # The clock of these use cases stands still, elsewhere than that of the processes.
        await tx.conn.execute(update(hosts).values(next_at=datetime(2020, 1, 1, tzinfo=UTC)))


async def test_headers_and_proxy_are_for_requests_of_the_operators_own_tenant(world: World) -> None:
    store: Database = world.store
    async with serving(answer()) as site, proxying("socks5", login="kim:hunter22") as proxy:
        host = f"127.0.0.1:{site.port}"
        await put(world, host, headers={"X-Key": "k {{ secret.KEY }}"}, proxy="{{ secret.PROXY }}")
        async with processes(store) as (plain,):
            process = with_secrets(plain, KEY="s3cr3t-k3y", PROXY=proxy.url())
            assert isinstance(await fetched(process, f"http://{host}/mine"), Page)
            assert set(proxy.asked) == {host}
            before = len(proxy.asked)
            assert isinstance(await fetched(process, f"http://{host}/theirs", "acme"), Page)
            assert len(proxy.asked) == before

    mine = [head for head in site.requests if b"/theirs" not in head]
    assert [head.split(b" ")[1] for head in mine] == [b"/robots.txt", b"/mine"]
    assert all(b"X-Key: k s3cr3t-k3y" in head for head in mine)
    assert b"X-Key" not in site.requests[-1]


async def test_a_redirect_to_another_host_leaves_the_headers_behind(world: World) -> None:
    async with serving(answer()) as other:
        away = answer(302, b"", Location=f"http://127.0.0.1:{other.port}/there")
        async with serving(away) as site, processes(world.store) as (plain,):
            await put(world, f"127.0.0.1:{site.port}", headers={"X-Key": "{{ secret.KEY }}"}, robots="ignore")
            page = await fetched(with_secrets(plain, KEY="s3cr3t-k3y"), f"http://127.0.0.1:{site.port}/")

    assert isinstance(page, Page)
    assert b"X-Key: s3cr3t-k3y" in site.requests[0]
    assert not any(b"X-Key" in head for head in other.requests)


@pytest.mark.parametrize(("name", "code"), [("NONE", "secret_missing"), ("BOUND", "secret_not_for_host")])
async def test_without_its_secret_a_request_is_not_sent(world: World, name: str, code: str) -> None:
    async with serving(answer()) as site, processes(world.store) as (plain,):
        host, process = f"127.0.0.1:{site.port}", with_secrets(plain, BOUND="for-another-host")
        await put(world, host, headers={"X-Key": f"{{{{ secret.{name} }}}}"}, robots="ignore")
        failure = await fetched(process, f"http://{host}/")

    assert isinstance(failure, FetchFailure)
    assert (failure.problem.code, failure.permanent) == (code, True)
    assert site.connections == 0


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"headers": {"Authorization": "Bearer abcdefgh"}}, "headers.Authorization"),
        ({"headers": {"Host": "other"}}, "headers.Host"),
        ({"headers": {"X-A": "a\r\nB: c"}}, "headers.X-A"),
        ({"headers": {"X-A": "{{ secrets.A }}"}}, "headers.X-A"),
        ({"headers": {"X-A": "{{ secret.webhook_signing }}"}}, "headers.X-A"),
        ({"headers": ["X-A"]}, "headers"),
        ({"proxy": "socks5://kim:hunter22@proxy.example:1080"}, "proxy"),
        ({"proxy": "{{ secret.PROXY }}:1080"}, "proxy"),
        ({"proxy": "https://proxy.example"}, "proxy"),
    ],
)
async def test_credentials_are_named_and_never_written(world: World, settings: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await put(world, "shop.example", **settings)
    assert refused.value.field == field
    assert "hunter22" not in str(refused.value)
    assert "abcdefgh" not in str(refused.value)


async def test_other_tenants_neither_set_nor_see_them(world: World) -> None:
    hosts = world.cases[Hosts]
    await put(world, "shop.example", headers={"X-Client": "us"}, proxy="http://proxy.example:3128")
    await hosts.put(TENANT, "shop.example", {"rate": 0.5})

    assert (await hosts.get(KEEPER, "shop.example")).settings.access.proxy == "http://proxy.example:3128"
    assert not (await hosts.get(TENANT, "shop.example")).settings.access
    for settings in ({"headers": {"X-A": "a"}}, {"proxy": "http://proxy.example:3128"}):
        with pytest.raises(Forbidden):
            await hosts.put(TENANT, "shop.example", settings)
