"""A site without a socket whose pages a test writes, and a reader of pages in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson

from foliot.core.egress import OutgoingRequest, OutgoingResponse


@dataclass
class ScriptedSite:
    """Answers every host by the path alone; a path that no page was written for is 404."""

    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    requests: list[OutgoingRequest] = field(default_factory=list)

    def write(self, path: str, body: str, status: int = 200, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, {"content-type": "text/html; charset=utf-8", **named}, body.encode())

    def check(self, url: str) -> None:
        """Every URL may be called."""

    async def admit(self, url: str, tenant_id: str) -> None:
        """Every URL may be called."""

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        parts = urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self.asked.append(path)
        self.requests.append(request)
        status, headers, body = self.pages.get(path, (404, {"content-type": "text/html"}, b"<h1>Not found</h1>"))
        known = request.headers.get("If-None-Match")
        if status == 200 and known is not None and known == headers.get("etag"):
            status, body = 304, b""
        return OutgoingResponse(
            status=status, headers=headers, body=body, truncated=False, elapsed=timedelta(milliseconds=1)
        )


async def read_here(function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str) -> Any:
    """Calls a reader of pages without another process; its parameters and answer are JSON all the same."""
    return orjson.loads(orjson.dumps(function(body=body, **orjson.loads(orjson.dumps(parameters)))))
