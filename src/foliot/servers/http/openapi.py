"""The OpenAPI document: FastAPI's, with the schemas of request bodies, which the routes read themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.routing import BaseRoute

from foliot import __version__
from foliot.servers.http.permission import public
from foliot.servers.http.schema import Problem, RequestBody

ABOUT = """Runs web work at its scheduled time, exactly once, and shows what happened and why.

Times are RFC 3339 in UTC. Errors are problem documents (RFC 9457) with a `code`. Every POST takes an `Idempotency-Key`.
Lists answer `{"items": […], "next_cursor": …}`."""


BEARER = {"type": "http", "scheme": "bearer", "description": "A token (JWT) or an API key (`flt_…`)."}


def describe(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The document of these routes; takes a second."""
    document = get_openapi(title="Foliot", version=__version__, description=ABOUT, routes=routes)
    bodies = [route.openapi_extra.model for route in _shown(routes) if isinstance(route.openapi_extra, RequestBody)]
    _, extra = TypeAdapter.json_schemas(
        [(model, "validation", TypeAdapter(model)) for model in dict.fromkeys([*bodies, Problem])],
        ref_template="#/components/schemas/{model}",
    )
    document["components"]["schemas"] = extra["$defs"] | document["components"]["schemas"]
    return document


def protected(document: dict[str, Any], routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The document of an app that wants tokens, for all but its public routes."""
    paths = {path: dict(methods) for path, methods in document["paths"].items()}
    for route in _shown(routes):
        if any(each.dependency is public for each in route.dependencies):
            for method in route.methods or ():
                operations = paths[route.path_format]
                operations[method.lower()] = operations[method.lower()] | {"security": []}
    components = document["components"] | {"securitySchemes": {"bearer": BEARER}}
    return document | {"paths": paths, "components": components, "security": [{"bearer": []}]}


def _shown(routes: Sequence[BaseRoute]) -> list[APIRoute]:
    return [route for route in routes if isinstance(route, APIRoute) and route.include_in_schema]
