"""Apprise URLs: sent by a process that can be killed, knows none of our secrets, and reaches only our egress proxy."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import sys

import orjson

from foliot.features.alerts.channels.http import DeliveryFailed
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.channel import Channel
from foliot.net.proxy import EgressProxy

SECONDS = 30.0
TRANSFER = 4 * 1024 * 1024
CHILD = "foliot.features.alerts.channels.apprise_process"
MISSING = "Apprise is not installed: pip install 'foliot[alerts]'."


def is_installed() -> bool:
    """Whether the library is there; it is imported only by the process that sends."""
    return importlib.util.find_spec("apprise") is not None


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
