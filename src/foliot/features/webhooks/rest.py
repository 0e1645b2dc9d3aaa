"""An echo endpoint for first tries, in local mode only: it answers with the request that it received."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from foliot.commands.limits import Limiter
from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.servers.http import encode
from foliot.servers.http.permission import PUBLIC
from foliot.servers.http.request import Cases
from foliot.servers.http.sse import OpenStreams

router = APIRouter()

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
KEPT = 64 * 1024
"""Bytes of a request body that are echoed."""
LONGEST = 60.0
_STATUS = re.compile(r"status/([2-5]\d\d)")
_DELAY = re.compile(r"delay/(\d{1,4}(?:\.\d{1,3})?)")


@router.api_route("/api/echo/{path:path}", methods=list(METHODS), dependencies=[PUBLIC], include_in_schema=False)
async def echo(request: Request, cases: Cases, path: str) -> Response:
    """`status/503` answers with that status, `delay/2` after so many seconds; everything else at once, with 200."""
    if request.app.state.identity is not None:
        raise NotFound("receiver", "echo")
    body, size = await _read(request)
    if match := _DELAY.fullmatch(path):
        streams: OpenStreams = request.app.state.streams
        with suppress(TimeoutError):
            async with asyncio.timeout(min(float(match[1]), LONGEST)):
                await streams.stopping.wait()
    status = _STATUS.fullmatch(path)
    received = {
        "at": rfc3339(cases[Limiter].clock.now()),
        "method": request.method,
        "path": _text(f"/{path}"),
        "query": {_text(name): list(map(_text, request.query_params.getlist(name))) for name in request.query_params},
        "headers": {_text(name): _text(value) for name, value in request.headers.items()},
        "body": body.decode(errors="replace"),
        "bytes": size,
        "json": _json(body),
    }
    code = int(status[1]) if status else 200
    # Responses of these statuses have no body.
    return Response(status_code=code) if code in {204, 205, 304} else encode.answer(received, code)


async def _read(request: Request) -> tuple[bytes, int]:
    """The beginning of the body, and its whole length."""
    kept, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        kept += chunk[: max(KEPT - len(kept), 0)]
    return bytes(kept), size


def _json(body: bytes) -> Any:
    try:
        document = orjson.loads(body)
        # orjson reads JSON that is nested too deeply for it to write one level further down.
        orjson.dumps([document])
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return document


def _text(text: str) -> str:
    """Without lone surrogates, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode()
