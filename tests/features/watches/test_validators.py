"""Conditional requests: hosts whose 304 hides changes are found out, and no longer asked conditionally."""

from __future__ import annotations

from foliot.features.watches.visitor import CHECK_EVERY
from tests.asgi import Client
from tests.features.watches.test_watches import Watched, product
from tests.world import World


async def test_a_304_that_hides_changes_is_found_out(world: World, client: Client) -> None:
    watched = Watched(world, client)
    world.site.write("/1", product("1.00 €"), etag='"always"')
    world.site.write("/2", product("1.00 €"), etag='"0"')
    await watched.create()
    await watched.pass_time()
    for visit in range(1, CHECK_EVERY):
        world.site.write("/1", product(f"{visit}.50 €"), etag='"always"')
        world.site.write("/2", product(f"{visit}.50 €"), etag=f'"{visit}"')
        await watched.pass_time()
    first, second = await watched.pages()
    assert (first["changes"], second["changes"]) == (1, CHECK_EVERY - 1), "seen by the visit without conditions"
    for visit in range(3):
        world.site.write("/1", product(f"{visit}.70 €"), etag='"always"')
        await watched.pass_time()
    (first, _), asked = await watched.pages(), world.site.requests[-1].headers
    assert first["changes"] == 4
    assert "If-None-Match" not in asked


async def test_honest_validators_are_used_in_all_but_every_tenth_visit(world: World, client: Client) -> None:
    watched = Watched(world, client)
    await watched.create(urls=["https://shop.example/1"])
    for visit in range(2 * CHECK_EVERY):
        world.site.write("/1", product(f"{visit // 3}.50 €"), etag=f'"{visit // 3}"')
        await watched.pass_time()
    (page,) = await watched.pages()
    assert page["changes"] == (2 * CHECK_EVERY - 1) // 3
    plain = [request for request in world.site.requests if "If-None-Match" not in request.headers]
    assert len(plain) == 3, "the first visit, and two that check"
