"""Saved views through the HTTP API, on every database."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, NotFound
from foliot.features.views import schema
from foliot.features.views.model import MOST_VIEWS
from foliot.features.views.usecases import SavedViews
from tests.asgi import Client
from tests.declared import conforms
from tests.world import World

FAILED = {"list": "runs", "name": "Failed today", "q": "state:failed since:24h", "sort": "-duration"}


async def save(client: Client, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = await client.post("/api/views", {**FAILED, **body})
    assert answer.status == status, answer.json
    made: dict[str, Any] = answer.json
    return made


async def test_a_view_is_saved_listed_changed_and_deleted(client: Client) -> None:
    made = await save(client)
    conforms(schema.SavedView, made)
    await save(client, list="schedules", name="Paused", q="status:paused", sort="name")

    listed = (await client.get("/api/views?list=runs")).json["items"]
    assert [(view["name"], view["mine"], view["shared"]) for view in listed] == [("Failed today", True, False)]

    changed = await client.patch(f"/api/views/{made['id']}", {"name": "Failed", "shared": True, "sort": None})
    assert (changed.json["name"], changed.json["shared"], changed.json["sort"], changed.json["q"]) == (
        "Failed",
        True,
        None,
        FAILED["q"],
    )
    assert (await client.delete(f"/api/views/{made['id']}")).status == 204
    assert [view["name"] for view in (await client.get("/api/views")).json["items"]] == ["Paused"]


async def test_each_user_sees_own_and_shared_views_and_changes_own_ones(world: World) -> None:
    views = world.cases[SavedViews]
    ana, ben = (Caller(LOCAL.tenant_id, name, Role.VIEWER) for name in ("ana", "ben"))
    admin, other = Caller(LOCAL.tenant_id, "eve", Role.ADMIN), Caller("other", "ana", Role.ADMIN)
    own = await views.create(ana, FAILED)
    shared = await views.create(ana, {**FAILED, "name": "Shared", "shared": True})

    assert [view.id for view in await views.list(ana)] == [own.id, shared.id]
    assert [view.id for view in await views.list(ben)] == [shared.id]
    assert await views.list(other) == []
    with pytest.raises(NotFound):
        await views.delete(ben, own.id)
    with pytest.raises(Forbidden):
        await views.delete(ben, shared.id)
    with pytest.raises(NotFound):
        await views.delete(other, shared.id)
    await views.delete(admin, shared.id)
    assert await views.list(ben) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"list": "jobs"}, "list"),
        ({"q": "stat:failed"}, "q"),
        ({"sort": "urgency"}, "sort"),
        ({"name": ""}, "name"),
        ({"name": "x" * 41}, "name"),
    ],
)
async def test_what_could_not_be_opened_is_refused(client: Client, body: dict[str, Any], field: str) -> None:
    refused = await save(client, 422, **body)

    assert refused["errors"][0]["field"] == field


async def test_names_are_unique_and_their_number_is_bounded(client: Client) -> None:
    for place in range(MOST_VIEWS):
        await save(client, name=f"View {place}")

    assert "already exists" in (await save(client, 409, name="view 0"))["detail"]
    assert "at most 12" in (await save(client, 429, name="One more"))["detail"]
    await save(client, list="schedules", q="", sort=None)


async def test_a_view_is_resolved_by_its_name(client: Client) -> None:
    made = await save(client)

    answer = (await client.get("/api/resolve?kind=view&ref=failed%20TODAY")).json

    assert [match["id"] for match in answer["matches"]] == [made["id"]]
