"""The Foliot services of deploy/compose.yml, each command started as a process with the environment it has there."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest
import yaml

from foliot.db.clock import StoreClock
from tests.acceptance.house import SECONDS, Target
from tests.conftest import Session
from tests.discord_server import TOKEN, a_discord, api_of
from tests.rabbitmq_server import NoRabbitMQ, RabbitMQServer
from tests.redis_server import NoRedis, RedisServer
from tests.scrapyd_server import a_scrapyd
from tests.services import absent, free_port, wait_until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::[?-]([^}]*))?\}")
SERVICE = re.compile(r"\w+://(?:[^@/]*@)?(postgres|rabbitmq|redis|scrapyd):\d+")
REPLICAS = 2
"""Of each service at most: the machine of the tests has other things to do."""


@dataclass
class Machine:
    """Stands in for the container engine: interpolates, maps volumes and names of services, starts processes."""

    home: Path
    servers: Mapping[str, str]
    """The URL of each service that is not Foliot's."""
    dotenv: Mapping[str, str]
    env_file: Mapping[str, str]
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    environments: dict[str, dict[str, str]] = field(default_factory=dict)

    def environment(self, service: Mapping[str, Any], number: int, name: str) -> dict[str, str]:
        made = {key: self.value(str(value), service) for key, value in service["environment"].items()}
        inherited = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        # What the image sets, and what a network of its own gives to each container.
        own = {"FOLIOT_HEALTH_FILE": str(self.home / f"{name}-{number}.health"), "HOME": str(self.home)}
        ports = {"FOLIOT_PORT": str(free_port()), "FOLIOT_GRPC_PORT": str(free_port())}
        bound = {key: "127.0.0.1" for key in ("FOLIOT_HOST", "FOLIOT_GRPC_HOST") if key in made}
        return inherited | dict(self.env_file) | made | bound | own | ports

    def value(self, text: str, service: Mapping[str, Any]) -> str:
        text = VARIABLE.sub(lambda found: self.dotenv.get(found[1], found[2] or ""), text)
        if found := SERVICE.match(text):
            return self.servers[found[1]]
        for volume in service["volumes"]:
            outside, inside = volume.split(":")[:2]
            if text.startswith(inside):
                mounted = DEPLOY / outside if outside.startswith(".") else self.home / outside
                return str(mounted) + text.removeprefix(inside)
        return text

    def start(self, name: str, service: Mapping[str, Any]) -> None:
        for number in range(1, min(REPLICAS, service["deploy"].get("replicas", 1)) + 1):
            environment = self.environment(service, number, name)
            with (self.home / f"{name}-{number}.log").open("w") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "foliot", *service["command"]],
                    env=environment, stdout=log, stderr=log, cwd=self.home, text=True,
                )  # fmt: skip
            self.processes[f"{name}-{number}"] = process
            self.environments[f"{name}-{number}"] = environment

    def healthy(self, name: str, service: Mapping[str, Any]) -> bool:
        """What the engine's health check says."""
        kind, command, *words = service["healthcheck"]["test"]
        assert (kind, self.processes[name].poll()) == ("CMD", None), self.said(name)
        asked = subprocess.run(
            [str(DEPLOY / "image" / command), *words], env=self.environments[name], capture_output=True, check=False
        )
        return asked.returncode == 0

    def said(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()[-2000:]

    def stop(self) -> dict[str, int]:
        """Ask each to end, as the engine does; the exit codes."""
        for process in self.processes.values():
            process.terminate()
        codes = {}
        for name, process in self.processes.items():
            with suppress(subprocess.TimeoutExpired):
                codes[name] = process.wait(40)
        return codes

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def services() -> dict[str, Any]:
    """Those that run Foliot's image."""
    found = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
    return {name: service for name, service in found.items() if service["image"].startswith("foliot:")}


@contextmanager
def brokers(home: Path) -> Iterator[dict[str, str]]:
    """A RabbitMQ and a Redis of their own: the queues and channels have the names of a real installation."""
    rabbit, redis = RabbitMQServer(home / "rabbitmq"), RedisServer(home / "redis")
    for server in (rabbit, redis):
        server.home.mkdir()
    try:
        rabbit.start()
        redis.start()
        yield {"rabbitmq": rabbit.url, "redis": redis.url}
    except (NoRabbitMQ, NoRedis) as missing:
        absent(missing)
    finally:
        redis.stop()
        rabbit.stop()


@asynccontextmanager
async def composed(tmp_path: Path, database: str, target: Target) -> AsyncIterator[Machine]:
    names = VARIABLE.findall((DEPLOY / "compose.yml").read_text())
    dotenv = {name: secrets.token_urlsafe(48) for name, _ in names if not name.endswith("_IMAGE")}
    (tmp_path / "home").mkdir()
    async with a_discord() as discord:
        with brokers(tmp_path) as urls, a_scrapyd(tmp_path / "scrapyd") as scrapyd:
            machine = Machine(
                tmp_path,
                {"postgres": database, "scrapyd": scrapyd.url, **urls},
                {**dotenv, "DISCORD_TOKEN": TOKEN},
                {"FOLIOT_EGRESS_ALLOW": f"127.0.0.1:{target.server_port}", "FOLIOT_DISCORD_API": api_of(discord)},
            )
            try:
                yield machine
            finally:
                await asyncio.to_thread(machine.close)


async def delivered(machine: Machine, target: Target) -> dict[str, Any]:
    """A webhook that is scheduled through one API process, and its run as the other one answers it."""
    first, second = (f"http://127.0.0.1:{machine.environments[f'api-{number}']['FOLIOT_PORT']}" for number in (1, 2))
    now = int(StoreClock().now().timestamp())
    claims = {"sub": "compose", "tenant_id": "default", "role": "admin", "aud": "foliot", "iat": now, "exp": now + 600}
    token = jwt.encode(claims, machine.dotenv["FOLIOT_JWT_SECRET"], algorithm="HS256")
    once = {"type": "oneoff", "run_at": "2999-01-01T00:00:00Z"}
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http:
        body = {"name": "composed", **once, "action": {"kind": "webhook", "url": target.url}}
        async with http.post(f"{first}/api/schedules", json=body) as reply:
            assert reply.status == 201, await reply.text()
            schedule = (await reply.json())["id"]
        async with http.post(f"{first}/api/schedules/{schedule}/run-now") as reply:
            assert reply.status == 202, await reply.text()
            run = (await reply.json())["id"]
        assert await asyncio.to_thread(target.called.acquire, timeout=SECONDS)
        target.answer.set()
        deadline = time.monotonic() + SECONDS
        while True:
            async with http.get(f"{second}/api/runs/{run}") as reply:
                seen: dict[str, Any] = await reply.json()
            if seen["state"] not in {"queued", "running"} or time.monotonic() > deadline:
                return seen
            await asyncio.sleep(0.1)


@pytest.mark.services
@pytest.mark.timeout(300)
async def test_each_service_is_healthy_as_a_process_and_a_webhook_is_delivered(
    tmp_path: Path, target: Target, databases_of_session: Session
) -> None:
    database = databases_of_session("postgresql", "composed").set(drivername="postgresql")
    found = services()
    migration = found.pop("migrate")
    assert set(found) == {"api", "scheduler", "worker", "grpc", "discord"}

    async with composed(tmp_path, database.render_as_string(hide_password=False), target) as machine:
        machine.start("migrate", migration)
        assert await asyncio.to_thread(machine.processes["migrate-1"].wait, SECONDS) == 0, machine.said("migrate-1")
        for name, service in found.items():
            machine.start(name, service)
        staying = {name: found[name.rpartition("-")[0]] for name in machine.processes if name != "migrate-1"}
        for name, service in staying.items():
            healthy = await asyncio.to_thread(wait_until, partial(machine.healthy, name, service), seconds=90)
            assert healthy, machine.said(name)
        run = await delivered(machine, target)
        codes = await asyncio.to_thread(machine.stop)

    assert run["state"] == "success", run
    assert codes == dict.fromkeys(codes, 0)
    assert len(codes) == len(staying) + 1
