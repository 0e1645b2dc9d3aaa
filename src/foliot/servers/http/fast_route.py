"""Routes with many requests: their dependencies are resolved once, when the route is created, not per request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class FastRoute(APIRoute):
    """Behaves as any route; a request without a query skips FastAPI's parsing of parameters.

    With a query, or where a dependency is of a kind not known here, FastAPI resolves everything itself.
    """

    def get_route_handler(self) -> Handler:
        searching = super().get_route_handler()
        try:
            needs = RouteDependencies()
            wanted = needs.of(self.dependant)
        except LookupError:
            return searching
        endpoint = self.endpoint

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                return await searching(request)
            found: list[Any] = []
            for call, given in needs.steps:
                found.append(await call(**given.values(request, found)))
            answer: Response = await endpoint(**wanted.values(request, found))
            return answer

        return handle


@dataclass(slots=True)
class _ArgumentSource:
    """Where a function's arguments come from."""

    request: str | None = None
    constant: dict[str, Any] = field(default_factory=dict)
    path: dict[str, str] = field(default_factory=dict)
    headers: dict[str, tuple[str, Any]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)

    def values(self, request: Request, found: list[Any]) -> dict[str, Any]:
        made = self.constant.copy()
        if self.request is not None:
            made[self.request] = request
        for name, part in self.path.items():
            made[name] = request.scope["path_params"][part]
        for name, (header, otherwise) in self.headers.items():
            made[name] = request.headers.get(header, otherwise)
        for name, step in self.steps.items():
            made[name] = found[step]
        return made


@dataclass(slots=True)
class RouteDependencies:
    """The functions that a route depends on, each once and in FastAPI's order."""

    steps: list[tuple[Callable[..., Coroutine[Any, Any, Any]], _ArgumentSource]] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def of(self, dependant: Dependant) -> _ArgumentSource:
        """The arguments of the function; `LookupError` when it needs what is not known here."""
        if _strange(dependant):
            raise LookupError(dependant.call)
        given = _ArgumentSource(dependant.request_param_name)
        for each in dependant.dependencies:
            step = self._step(each)
            if each.name is not None:
                given.steps[each.name] = step
        for one in dependant.query_params:
            given.constant[one.name] = one.get_default()
        given.path = {one.name: one.alias for one in dependant.path_params}
        given.headers = {one.name: (one.alias, one.get_default()) for one in dependant.header_params}
        return given

    def _step(self, dependant: Dependant) -> int:
        call = dependant.call
        if call not in self._known:
            if call is None or not iscoroutinefunction(call) or not dependant.use_cache:
                raise LookupError(call)
            given = self.of(dependant)
            self._known[call] = len(self.steps)
            self.steps.append((call, given))
        return self._known[call]


def _strange(dependant: Dependant) -> bool:
    """Whether it needs more than the request, strings of the path and of headers, and other dependencies."""
    return bool(
        dependant.body_params
        or dependant.cookie_params
        or dependant.http_connection_param_name
        or dependant.response_param_name
        or dependant.background_tasks_param_name
        or dependant.security_scopes_param_name
        or dependant.own_oauth_scopes
        or any(_strange_fields(dependant))
    )


def _strange_fields(dependant: Dependant) -> Iterator[bool]:
    # A query parameter's default may be of any immutable type: it is shared by all requests.
    yield from (
        one.field_info.is_required() or not isinstance(one.get_default(), bool | int | str | None)
        for one in dependant.query_params
    )
    yield from (one.field_info.annotation is not str or bool(one.field_info.metadata) for one in dependant.path_params)
    yield from (
        one.field_info.is_required() or one.field_info.annotation != str | None or bool(one.field_info.metadata)
        for one in dependant.header_params
    )
