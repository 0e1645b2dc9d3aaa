"""Routes with many requests: their dependencies are resolved once, when the route is created, not per request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Request, Response
from fastapi._compat import ModelField, is_scalar_field
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

NO_QUERY: Mapping[str, Any] = {}
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class FastRoute(APIRoute):
    """Behaves as any route; of a query, only the parameters that it has are validated, by FastAPI's own fields.

    FastAPI resolves everything itself where one of them is invalid, and where a dependency is of a kind not known here.
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
            query = needs.read_query(request) if request.scope["query_string"] else NO_QUERY
            if query is None:
                return await searching(request)
            found: list[Any] = []
            for call, given in needs.steps:
                found.append(await call(**given.values(request, query, found)))
            answer: Response = await endpoint(**wanted.values(request, query, found))
            return answer

        return handle


@dataclass(slots=True)
class _ArgumentSource:
    """Where a function's arguments come from."""

    request: str | None = None
    query: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Parameters of the query, with their defaults."""
    path: dict[str, str] = field(default_factory=dict)
    headers: dict[str, tuple[str, Any]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)

    def values(self, request: Request, query: Mapping[str, Any], found: list[Any]) -> dict[str, Any]:
        made = {name: query.get(alias, otherwise) for name, (alias, otherwise) in self.query.items()}
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
    _query: dict[str, ModelField] = field(default_factory=dict)

    def read_query(self, request: Request) -> Mapping[str, Any] | None:
        """The validated parameters of the query; None when one is invalid. Unknown ones are left to `only_known`."""
        query: dict[str, Any] = {}
        for alias, text in request.query_params.items():
            one = self._query.get(alias)
            if one is not None:
                query[alias], errors = one.validate(text, loc=("query", alias))
                if errors:
                    return None
        return query

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
            given.query[one.name] = one.alias, one.get_default()
            if self._query.setdefault(one.alias, one).field_info.annotation != one.field_info.annotation:
                raise LookupError(one.alias)
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
    # A query parameter's default may be of any immutable type: it is shared by all requests. A list is read otherwise.
    yield from (
        one.field_info.is_required()
        or not isinstance(one.get_default(), bool | int | str | None)
        or not is_scalar_field(one)
        for one in dependant.query_params
    )
    yield from (one.field_info.annotation is not str or bool(one.field_info.metadata) for one in dependant.path_params)
    yield from (
        one.field_info.is_required() or one.field_info.annotation != str | None or bool(one.field_info.metadata)
        for one in dependant.header_params
    )
