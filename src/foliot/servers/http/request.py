"""Dependencies of the routes: caller, body, idempotency key, If-Match and ids of the path."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import Depends, Header, Path, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from foliot.commands.envelope import UseCases
from foliot.commands.idempotency import MAX_KEY, IdempotentRequest
from foliot.core.document import MOST_COMPLAINTS
from foliot.core.errors import Invalid, InvalidMany, NotFound
from foliot.core.json_values import check_depth
from foliot.servers.http.encode import dumps
from foliot.servers.http.problems import BadBody

MAX_BODY = 1024 * 1024
MAX_BATCH = 16 * MAX_BODY
"""Bytes of a request body that holds a batch."""
MAX_MESSAGE = 64 * 1024
"""Bytes of one message from a WebSocket client."""
MAX_LIMIT = 500

_SCHEDULE_ID = re.compile(r"sch_[0-9a-f]{32}")
_RUN_ID = re.compile(r"run_[0-9a-f]{32}")
_KEY_ID = re.compile(r"key_[0-9a-f]{32}")
_VISIBLE = re.compile(r"[\x20-\x7e]+")


async def _cases(request: Request) -> UseCases:
    cases: UseCases = request.app.state.cases
    return cases


Cases = Annotated[UseCases, Depends(_cases)]


@dataclass(frozen=True, slots=True)
class RequestBodyRead:
    """A request body, with the idempotency key and fingerprint of its request."""

    document: Any
    fingerprint: str
    """A digest of the whole request; empty without a key, for it is not compared then."""
    key: str | None

    def once(
        self,
        status: int,
        render: Callable[[Any], object],
        headers: Callable[[Any], Mapping[str, str]] = lambda _: {},
        *,
        secret: bool = False,
    ) -> IdempotentRequest:
        """The request as an idempotent one; `render` turns the result into the declared response."""
        return IdempotentRequest(
            self.key, self.fingerprint, status, lambda made: dumps(render(made)).decode(), headers, secret
        )


async def _read(request: Request, most: int = MAX_BODY) -> bytes:
    """The body, refused as soon as it is known to be too large."""
    declared = request.headers.get("content-length", "")
    refusal = BadBody("too_large", f"a request body may be at most {most // MAX_BODY} MiB")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > most:
        raise refusal
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise refusal
    return bytes(body)


Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description=(
            "A request that is repeated with the same key and body takes effect "
            "once and gets the same answer, for 24 hours."
        ),
    ),
]


async def _asked(request: Request, key: Key = None) -> RequestBodyRead:
    return await _ask(request, key, MAX_BODY)


async def _batch_asked(request: Request, key: Key = None) -> RequestBodyRead:
    return await _ask(request, key, MAX_BATCH)


async def _ask(request: Request, key: str | None, most: int) -> RequestBodyRead:
    if key is not None and not (len(key) <= MAX_KEY and _VISIBLE.fullmatch(key)):
        raise Invalid("Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters", got=key)
    body = await _read(request, most)
    return RequestBodyRead(_parse(body), "" if key is None else _recognised(request, body), key)


def _recognised(request: Request, body: bytes) -> str:
    digest = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\n".encode())
    digest.update(body)
    return digest.hexdigest()


def _parse(body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadBody("malformed", f"the body is not JSON: {error}") from None
    check_depth("body", document)
    return document


def wants_stream(request: Request) -> bool:
    """Whether the client accepts server-sent events; JSON otherwise."""
    return "text/event-stream" in request.headers.get("accept", "").lower()


async def _edited(request: Request) -> Any:
    """The body of a PUT or PATCH, which need no key: repeating them changes nothing more."""
    return _parse(await _read(request))


Body = Annotated[RequestBodyRead, Depends(_asked)]
Batch = Annotated[RequestBodyRead, Depends(_batch_asked)]
Document = Annotated[Any, Depends(_edited)]


async def _match(
    if_match: Annotated[str | None, Header(description='The version this change is for, as in `"3"`.')] = None,
) -> str | None:
    if if_match is None:
        return None
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")]
    return ",".join(tags)


Match = Annotated[str | None, Depends(_match)]


async def _schedule_id(schedule_id: Annotated[str, Path(description="A schedule's id, `sch_…`.")]) -> str:
    if not _SCHEDULE_ID.fullmatch(schedule_id):
        raise NotFound("schedule", schedule_id[:64])
    return schedule_id


async def _run_id(run_id: Annotated[str, Path(description="A run's id, `run_…`.")]) -> str:
    if not _RUN_ID.fullmatch(run_id):
        raise NotFound("run", run_id[:64])
    return run_id


async def _key_id(key_id: Annotated[str, Path(description="An API key's id, `key_…`.")]) -> str:
    if not _KEY_ID.fullmatch(key_id):
        raise NotFound("key", key_id[:64])
    return key_id


ScheduleId = Annotated[str, Depends(_schedule_id)]
RunId = Annotated[str, Depends(_run_id)]
KeyId = Annotated[str, Depends(_key_id)]


Text = Annotated[str | None, Query(max_length=200)]


def plain_texts(**values: str | None) -> dict[str, str | None]:
    """Filters without NUL characters, which PostgreSQL refuses."""
    for name, value in values.items():
        if value is not None and "\x00" in value:
            raise Invalid(name, "must not contain the character U+0000")
    return {name: value or None for name, value in values.items()}


_KNOWN: dict[tuple[str, Callable[..., Any]], frozenset[str]] = {}
"""The query parameters of each route, by its function, which all apps share."""


def _parameters(route: APIRoute) -> frozenset[str]:
    named = route.path_format, route.endpoint
    if named not in _KNOWN:
        _KNOWN[named] = frozenset(_queried(route.dependant))
    return _KNOWN[named]


def _queried(dependant: Dependant) -> Iterator[str]:
    """The query parameters of a dependency and of those it depends on."""
    yield from (one.alias for one in dependant.query_params)
    for each in dependant.dependencies:
        yield from _queried(each)


def only_known(request: Request) -> None:
    """`Invalid` for unknown query parameters: a misspelt filter must not be ignored."""
    if not request.scope["query_string"]:
        return
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.include_in_schema:
        return
    known = _parameters(route)
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        listed = f"known are {', '.join(sorted(known))}" if known else "this route takes none"
        named = unknown[:MOST_COMPLAINTS]
        raise InvalidMany(Invalid(name[:100], f"is not a known parameter; {listed}") for name in named)
