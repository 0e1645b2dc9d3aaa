"""The process that sends one message by Apprise: reads a task from standard input, answers on standard output.

Before Apprise is imported, every connection but one to the egress proxy is forbidden: libraries that ignore the proxy's
settings, and protocols that are not HTTP, reach nothing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

MOST = 1024 * 1024
REFUSED = {"file", "form", "forms", "json", "jsons", "xml", "xmls", "syslog", "dbus", "gnome", "macosx", "windows"}
"""Schemas for this machine, and those that a channel of kind webhook does better."""


def confine(proxy: str) -> None:
    """Allow connections to the proxy alone, and starting no program."""
    parts = urlsplit(proxy)
    allowed = (parts.hostname, parts.port)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and tuple(args[1][:2]) != allowed:
            raise PermissionError("only the egress proxy may be reached")
        if event in {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"}:
            raise PermissionError("no program may be started")

    sys.addaudithook(audit)
    os.environ.update(HTTP_PROXY=proxy, HTTPS_PROXY=proxy, http_proxy=proxy, https_proxy=proxy)


def send(task: dict[str, str]) -> dict[str, object]:
    """Send the task's message; never raises, for its answer is all that is seen of it."""
    schema = task["url"].partition(":")[0].lower()
    if schema in REFUSED:
        return {"sent": False, "permanent": True, "reason": f"Apprise URLs of the schema {schema} are not allowed."}
    import apprise

    sender = apprise.Apprise(asset=apprise.AppriseAsset(async_mode=False, plugin_paths=[], secure_logging=True))
    if not sender.add(task["url"]):
        return {"sent": False, "permanent": True, "reason": "Apprise does not understand the channel's URL."}
    sent = bool(sender.notify(body=task["body"], title=task["title"], body_format=apprise.NotifyFormat.TEXT))
    return {"sent": sent, "permanent": False, "reason": "The service that Apprise called did not accept the message."}


def main() -> None:
    """One task, one answer."""
    confine(os.environ.pop("FOLIOT_PROXY"))
    task = json.loads(sys.stdin.buffer.read(MOST))
    try:
        answer = send(task)
    except Exception as error:  # noqa: BLE001 -- whatever a plug-in does, the message was not sent
        answer = {"sent": False, "permanent": False, "reason": f"Apprise failed: {type(error).__name__}."}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
