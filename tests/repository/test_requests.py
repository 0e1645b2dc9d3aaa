"""Every request body in OpenAPI is read by its declaration, or is listed here with a reason."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import cast

from fastapi.routing import APIRoute

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases
from foliot.servers.http.schema import RequestBody

SOURCE = Path(__file__).parents[2] / "src" / "foliot"
READERS = {"read", "read_fields"}

BY_HAND = {
    "SecretRequest": "an error repeats nothing that was sent, not even the name of a field: it may be the secret",
    "SessionRequest": "an error repeats nothing that was sent: it is a credential",
    "AlertRuleChange": "a merge patch: it is applied to the stored rule, and the result is read as AlertRuleRequest",
    "ChannelChange": "a merge patch: it is applied to the stored channel, and the result is read as ChannelRequest",
    "MonitorChange": "a merge patch: it is applied to the stored monitor, and the result is read as MonitorRequest",
    "WatchChange": "a merge patch: it is applied to the stored watch, and the result is read as WatchRequest",
    "WatchPreviewRequest": "a watch whose name and time may be missing: with both it is read as WatchRequest",
    "SchedulePatch": "a merge patch: it is applied to the stored document, and the result is read as ScheduleDocument",
}


def names_read() -> set[str]:
    """The classes that are given to a reader of `core/declaration`."""
    return {
        call.args[0].id
        for file in SOURCE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in READERS
        and call.args
        and isinstance(call.args[0], ast.Name)
    }


def bodies() -> list[type[object]]:
    routes = [route for route in create_app(cast("UseCases", None)).routes if isinstance(route, APIRoute)]
    return list(dict.fromkeys(one.openapi_extra.model for one in routes if isinstance(one.openapi_extra, RequestBody)))


def test_every_request_body_is_read_by_its_declaration() -> None:
    read = names_read()
    unread = {body.__name__ for body in bodies() if not read & {each.__name__ for each in body.__mro__}}

    assert len(bodies()) >= 20
    assert unread == set(BY_HAND), "read it by core/declaration, or list it here with the reason"
