"""Five hundred who ask for the same crawl at once, through two processes: they are given one job."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from tests.acceptance.house import SECONDS, House

pytestmark = pytest.mark.timeout(240)

CROWD = 500
SEO = {"user_id": "abc123", "spider": "seo", "start_urls": ["https://example.com/"], "depth": 2}
# Nobody is there, and nobody is asked: no process here executes anything.
NOWHERE = "http://127.0.0.1:9"


async def ask(port: int, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        sent = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), SECONDS)
    finally:
        writer.close()
    head_, _, said = answer.partition(b"\r\n\r\n")
    return int(head_.split()[1]), json.loads(said)


async def crowd(ports: list[int], body: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return await asyncio.gather(*(ask(ports[number % len(ports)], "/crawl", body) for number in range(CROWD)))


def test_five_hundred_at_once_have_one_job(house: House, server_database_url: str) -> None:
    house.environ |= {"DATABASE_URL": server_database_url, "SCRAPYD_URL": NOWHERE}
    assert house.run("migrate").returncode == 0
    ports = []
    for _ in range(2):
        house.start("api", "--port", "0")
        ports.append(int(house.port))

    now = asyncio.run(crowd(ports, SEO))
    planned = asyncio.run(crowd(ports, {**SEO, "interval": "0 9 * * *"}))

    assert Counter(status for status, _ in now) == {200: CROWD}
    assert Counter(answer["cached"] for _, answer in now) == {True: CROWD - 1, False: 1}
    assert len({answer["job_id"] for _, answer in now}) == 1
    assert house.foliot("crawl", "list")["total"] == 1
    assert Counter(status for status, _ in planned) == {202: CROWD}
    assert len({answer["job_id"] for _, answer in planned}) == 1
    assert len(house.foliot("schedule", "list", "--kind", "crawl")["items"]) == 1
    status, fresh = asyncio.run(ask(ports[1], "/crawl?ignore_cache=true", SEO))
    assert (status, fresh["cached"]) == (200, False)
    assert house.foliot("crawl", "list")["total"] == 2
