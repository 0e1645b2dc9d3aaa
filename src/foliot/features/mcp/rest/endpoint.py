"""The route `/mcp`: one exchange of the protocol (streamable HTTP, without sessions), served by the official library.

Any process answers any request: nothing is kept between two. The library is imported by the first request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson
import structlog
from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from foliot import __version__
from foliot.core.access import Interface
from foliot.core.errors import FoliotError, Invalid
from foliot.features.explanations.usecases import Explanations
from foliot.features.mcp.rest.read_tools import READING
from foliot.features.mcp.rest.tool import AgentTool, ToolCall
from foliot.features.mcp.rest.write_tools import WRITING
from foliot.servers.http.own_address import own_address
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.problems import code_of, complaints, detail_of
from foliot.servers.http.request import MAX_BODY, Cases

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolResult, Tool

router = APIRouter(tags=["MCP"])
log = structlog.get_logger("foliot.mcp")

TOOLS = {tool.name: tool for tool in (*READING, *WRITING)}
INSTRUCTIONS = (
    "Foliot fires schedules (webhooks, crawls, tasks) and records what happened to each of their times. Begin with "
    "`attention` for what is wrong and `why` for a single run or time. Tools that create something answer a draft "
    "first: show it to the person, and repeat the call with `confirm`. Times are UTC unless a zone is named."
)


@router.post("/mcp", dependencies=[permits(Explanations.of_schedule)], include_in_schema=False)
async def exchange(request: Request, cases: Cases, caller: Who) -> Response:
    agent = replace(caller, interface=Interface.MCP)
    return McpExchange(ToolCall(cases, agent, own_address(request)))


class McpExchange(Response):
    """Hands the request to the library, which reads the body and answers."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self.call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # One for each request: its tasks end with the request, and nothing has to run beside the server.
        manager = StreamableHTTPSessionManager(
            app=_server(ToolServer(self.call)), json_response=True, stateless=True, max_request_body_size=MAX_BODY
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)


@dataclass(frozen=True, slots=True)
class ToolServer:
    """The tools that this caller may use, in the messages of the protocol."""

    call: ToolCall

    async def list_tools(self, _context: Any, _params: Any) -> Any:
        from mcp_types import ListToolsResult

        return ListToolsResult(tools=[_described()[tool.name] for tool in self._allowed()])

    async def call_tool(self, _context: Any, params: Any) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(one.name for one in self._allowed())
            return _failed("not_found", f"there is no tool {params.name[:64]!r}; there are: {known}")
        try:
            answer = await tool.call(self.call, params.arguments or {})
        except FoliotError as error:
            return _refused(error)
        except Exception:
            log.exception("a tool failed", action="tool_failed", tool=tool.name)
            return _failed("internal", "the server's log has the details")
        return _result(answer.decode(), orjson.loads(answer))

    def _allowed(self) -> Iterator[AgentTool]:
        return (tool for tool in TOOLS.values() if tool.allowed(self.call.caller))


def _server(tools: ToolServer) -> Server[Any]:
    from mcp.server import Server

    return Server(
        "foliot",
        version=__version__,
        title="Foliot",
        instructions=INSTRUCTIONS,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


@lru_cache(maxsize=1)
def _described() -> dict[str, Tool]:
    from mcp_types import Tool, ToolAnnotations

    return {
        name: Tool(
            name=name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema(),
            annotations=ToolAnnotations(
                title=tool.title, read_only_hint=not tool.writes, destructive_hint=False, open_world_hint=False
            ),
        )
        for name, tool in TOOLS.items()
    }


def _refused(error: FoliotError) -> CallToolResult:
    if not isinstance(error, Invalid):
        return _failed(code_of(error), detail_of(error))
    errors = complaints(error)
    lines = [f"{one['field']}: {one['message']}" + _suggested(one) for one in errors]
    return _failed(code_of(error), "\n".join(lines), errors=errors)


def _suggested(one: Any) -> str:
    return f" (did you mean {one['suggestion']}?)" if one.get("suggestion") else ""


def _failed(code: str, detail: str, **more: Any) -> CallToolResult:
    return _result(detail, {"code": code, "detail": detail, **more}, failed=True)


def _result(text: str, structured: dict[str, Any], *, failed: bool = False) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=content, structured_content=structured, is_error=failed)
