"""`foliot mcp`: the official client starts it, and uses the tools of a server that runs beside it."""

from __future__ import annotations

import sys

import pytest
from mcp import Client, StdioServerParameters

from tests.acceptance.house import House

pytestmark = pytest.mark.slow
SCHEDULE = {"name": "hourly", "cron_expr": "0 * * * *", "type": "cron", "payload": {"url": "http://127.0.0.1:9/"}}


async def test_an_agent_uses_the_tools_over_standard_input(house: House) -> None:
    house.up("--port", "0")
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "foliot", "mcp"], env={"FOLIOT_URL": f"http://127.0.0.1:{house.port}"}
    )
    async with Client(program) as agent:
        tools = (await agent.list_tools()).tools
        draft = await agent.call_tool("create_schedule", {"schedule": SCHEDULE})
        assert draft.structured_content is not None
        confirm = draft.structured_content["confirm"]
        made = await agent.call_tool("create_schedule", {"schedule": SCHEDULE, "confirm": confirm})
        assert made.structured_content is not None
        why = await agent.call_tool("why", {"target": "hourly"})

    assert len(tools) <= 15
    assert not made.is_error
    assert made.structured_content["link"].startswith(f"http://127.0.0.1:{house.port}/schedules/sch_")
    assert not why.is_error
