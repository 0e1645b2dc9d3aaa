"""Runs a spider as Scrapyd does, in a process of its own, with names that lead where a test says."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scrapyd_server import DISCOVERYBOT, ROOT

SECONDS = 120


@dataclass
class Crawl:
    """What a crawl left behind."""

    items: list[dict[str, Any]]
    log: str
    told: str
    """What went to standard error: at a Scrapyd, its own log."""

    def stat(self, name: str) -> Any:
        """A number of the statistics at the end of the log."""
        found = re.search(rf"^[ {{]'{re.escape(name)}': (.*?)[,}}]$", self.log, re.MULTILINE)
        return None if found is None else ast.literal_eval(found[1])

    @property
    def pages(self) -> dict[str, dict[str, Any]]:
        return {item["url"]: item for item in self.items}


def crawl(
    home: Path,
    *,
    spider: str = "seo",
    settings: Mapping[str, object] | None = None,
    names: Mapping[str, list[list[str]]] | None = None,
    project: Path = DISCOVERYBOT,
    **arguments: str,
) -> Crawl:
    """`names` says per name what each lookup answers; the last answer stays. No other name is known."""
    home.mkdir(parents=True, exist_ok=True)
    items, log = home / "items.jl", home / "crawl.log"
    for file in (items, log):
        file.unlink(missing_ok=True)
    given = {"LOG_FILE": log, "FEEDS": json.dumps({str(items): {"format": "jsonlines"}}), **(settings or {})}
    command = [sys.executable, "-m", "tests.crawling", json.dumps(names or {}), "crawl", spider]
    command += [part for name, value in given.items() for part in ("-s", f"{name}={value}")]
    command += [part for name, text in arguments.items() for part in ("-a", f"{name}={text}")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOLIOT_", "REDIS_"))}
    environ = kept | {"PYTHONPATH": str(ROOT), "SCRAPY_PROJECT": "default", "HOME": str(home)}
    done = subprocess.run(
        command, cwd=project, env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    found = [json.loads(line) for line in items.read_text().splitlines()] if items.exists() else []
    return Crawl(found, log.read_text() if log.exists() else "", done.stderr)


def believe(names: dict[str, list[list[str]]]) -> None:
    """Look names up in `names` alone, from here on."""
    import socket

    known = socket.getaddrinfo

    def addresses(host: Any, port: Any, *others: Any, **named: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        answers = names.get(text)
        if answers is None:
            if text is not None and not re.fullmatch(r"[0-9.]+|[0-9a-f:]+|localhost", text):
                raise socket.gaierror(socket.EAI_NONAME, "nobody knows it")
            return known(host, port, *others, **named)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return [found for address in answer for found in known(address, port, *others, **named)]

    socket.getaddrinfo = addresses
    socket.gethostbyname = lambda host: str(addresses(host, None, socket.AF_INET)[0][4][0])


if __name__ == "__main__":
    believe(json.loads(sys.argv.pop(1)))
    from scrapy.cmdline import execute

    execute()
