"""Apprise URLs: sent by a process that can be killed, knows none of our secrets, and reaches only our egress proxy."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import sys
from collections.abc import AsyncIterator
from ipaddress import ip_address
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import orjson

from foliot.core.errors import Invalid
from foliot.features.alerts.channels.apprise_process import REFUSED
from foliot.features.alerts.channels.http import DeliveryFailed
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.channel import Channel
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress

SECONDS = 30.0
PROCESSES = 8
WAIT = 20.0
"""Seconds that a message waits for a process: with those that it may take, less than its lease."""
TRANSFER = 4 * 1024 * 1024
CHILD = "foliot.features.alerts.channels.apprise_process"
MISSING = "Apprise is not installed: pip install 'foliot[alerts]'."


class AppriseSlots:
    """Bounds the processes that send at a time: each takes some 70 MB. Of these, a tenant gets half at most."""

    def __init__(self, processes: int = PROCESSES, wait: float = WAIT) -> None:
        self._all = asyncio.Semaphore(processes)
        self._each = max(processes // 2, 1)
        self._wait = wait
        self._tenants: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def taken(self, tenant_id: str) -> AsyncIterator[None]:
        """One of them, for as long as a process runs; `DeliveryFailed` when none is free in time."""
        mine = self._tenants.setdefault(tenant_id, asyncio.Semaphore(self._each))
        async with contextlib.AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._wait):
                    await held.enter_async_context(mine)
                    await held.enter_async_context(self._all)
            except TimeoutError:
                raise DeliveryFailed("Too many messages are being sent by Apprise.") from None
            yield


def is_installed() -> bool:
    """Whether the library is there; it is imported only by the process that sends."""
    return importlib.util.find_spec("apprise") is not None


def check_apprise_url(url: str, tcp: TcpEgress) -> None:
    """`Invalid` when it could never be sent to. What stands for a host may be a token: only addresses are checked."""
    schema, mark, _ = url.partition("://")
    if not mark or not schema:
        raise Invalid("url", "must be an Apprise URL such as pover://USER@TOKEN")
    if schema.lower() in REFUSED:
        raise Invalid("url", f"must not be an Apprise URL of the schema {schema.lower()}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        ip_address(host)
    except ValueError:
        return
    tcp.check(host, port or 443)


async def send_by_apprise(channel: Channel, message: Message, proxy: EgressProxy) -> None:
    """Send it; `DeliveryFailed` unless Apprise reports success in time."""
    if not is_installed():
        raise DeliveryFailed(MISSING, permanent=True)
    task = {"url": channel.setting("url"), "title": message.title, "body": message.text}
    async with proxy.client(channel.tenant_id, transfer=TRANSFER) as url:
        # Nothing of our environment: it holds database passwords and keys.
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent", "FOLIOT_PROXY": url}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", CHILD,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                said, _ = await process.communicate(orjson.dumps(task))
        except TimeoutError:
            raise DeliveryFailed(f"Apprise did not finish within {SECONDS:.0f} s.") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    _judge(said)


def _judge(said: bytes) -> None:
    try:
        answer = orjson.loads(said)
    except orjson.JSONDecodeError:
        raise DeliveryFailed("The process that sends by Apprise ended without an answer.") from None
    if not answer["sent"]:
        raise DeliveryFailed(answer["reason"], permanent=answer["permanent"])
