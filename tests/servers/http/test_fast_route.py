"""Swift routes answer as FastAPI would have them answer, only sooner."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Annotated, Any, cast

import pytest
from fastapi import APIRouter, Body, Cookie, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases
from foliot.core.errors import NotFound
from foliot.servers.http import problems
from foliot.servers.http.fast_route import FastRoute, RouteDependencies
from tests.asgi import Client

calls: list[str] = []


async def _first() -> str:
    calls.append("first")
    return "one"


First = Annotated[str, Depends(_first)]


async def _permitted(first: First) -> None:
    calls.append("permitted")


async def _second(request: Request, first: First, key: Annotated[str | None, Header(alias="Some-Key")] = None) -> str:
    calls.append("second")
    return f"{first} {request.method} {key}"


async def _name(name: Annotated[str, Path()]) -> str:
    if name == "nobody":
        raise NotFound("name", name)
    return name.upper()


def _app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=route_class)

    @router.post("/things/{name}", dependencies=[Depends(_permitted)])
    async def thing(
        first: First,
        second: Annotated[str, Depends(_second)],
        name: Annotated[str, Depends(_name)],
        if_match: Annotated[str | None, Header()] = None,
        *,
        loud: Annotated[bool, Query()] = False,
        most: Annotated[int, Query(ge=1)] = 5,
    ) -> Response:
        return Response(f"{first} | {second} | {name} | {if_match} | {loud} | {most}")

    app = FastAPI()
    problems.install(app)
    app.include_router(router)
    return app


async def _ask(app: FastAPI, path: str, headers: dict[str, str]) -> tuple[int, str]:
    answer = await Client(app).post(path, **headers)
    return answer.status, answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/things/a",
        "/things/nobody",
        *(
            f"/things/a?{query}"
            for query in ("loud=true&most=7", "most=0", "loud=", "most=7&most=8", "most=x&y=1", "y=1")
        ),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Some_Key": "k"}, {"Some_Key": "", "If_Match": "3"}])
async def test_it_answers_as_fastapi_does_and_calls_the_same_functions_as_often(
    path: str, headers: dict[str, str]
) -> None:
    calls.clear()
    plain, called = await _ask(_app(APIRoute), path, headers), calls.copy()
    calls.clear()
    swift = await _ask(_app(FastRoute), path, headers)

    assert swift == plain
    assert calls == called
    assert calls.count("first") == 1


def _needs(route: Any) -> RouteDependencies:
    router = APIRouter(route_class=FastRoute)
    router.add_api_route("/{number}", route)
    needs = RouteDependencies()
    needs.of(cast("APIRoute", router.routes[0]).dependant)
    return needs


async def _a_number(number: int) -> None: ...


async def _a_rule(number: Annotated[str, Path(max_length=3)]) -> None: ...


async def _a_required_query(query: str) -> None: ...


async def _a_list(query: Annotated[list[str], Query(default_factory=list)]) -> None: ...


async def _a_required_header(some: Annotated[str, Header()]) -> None: ...


async def _a_header_with_a_rule(some_key: Annotated[str | None, Header(max_length=3)] = None) -> None: ...


async def _a_cookie(some: Annotated[str | None, Cookie()] = None) -> None: ...


async def _a_body(some: Annotated[dict[str, str], Body()]) -> None: ...


async def _an_answer_to_change(response: Response) -> None: ...


async def _one_of_a_thread(some: Annotated[str, Depends(lambda: "")]) -> None: ...


async def _one_made_each_time(some: Annotated[str, Depends(_first, use_cache=False)]) -> None: ...


@pytest.mark.parametrize(
    "route",
    [
        _a_number,
        _a_rule,
        _a_required_query,
        _a_list,
        _a_required_header,
        _a_header_with_a_rule,
        _a_cookie,
        _a_body,
        _an_answer_to_change,
        _one_of_a_thread,
        _one_made_each_time,
    ],
)
def test_what_it_does_not_know_is_left_to_fastapi(route: Any) -> None:
    with pytest.raises(LookupError):
        _needs(route)


def _routes() -> dict[str, APIRoute]:
    app = create_app(cast("UseCases", None))
    return {
        f"{method} {route.path_format}": route
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }


@pytest.mark.parametrize(
    "path",
    [
        *("POST /crawl", "POST /jobs/submit", "POST /api/runs/{run_id}/retry", "POST /api/schedules"),
        *("POST /api/schedules/{schedule_id}/run-now", "GET /api/runs", "GET /api/runs/{run_id}", "GET /api/schedules"),
    ],
)
def test_the_routes_that_are_asked_most_are_swift(path: str) -> None:
    route, needs = _routes()[path], RouteDependencies()

    assert isinstance(route, FastRoute)
    needs.of(route.dependant)
    assert "permitted" in {call.__name__ for call, _ in needs.steps}, "it still asks who asks"


def test_no_dependency_is_a_plain_function_which_would_cost_every_request_a_thread() -> None:
    plain = {
        f"{each.call.__module__}.{each.call.__qualname__}"
        for route in _routes().values()
        for each in _dependencies(route.dependant)
        if each.call is not None and not iscoroutinefunction(each.call)
    }

    assert plain == set()


def _dependencies(dependant: Dependant) -> Iterator[Dependant]:
    for each in dependant.dependencies:
        yield each
        yield from _dependencies(each)
