"""Asks the doors of a campaign, which are being killed: one, then the other, until one answers."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.history import Scribe
from chaos.stage import ask

Answer = tuple[int, Any]

PATIENCE = 120.0


@dataclass(slots=True)
class Doors:
    """Both doors; a request is repeated until its effect is certain, so each must be one that may be."""

    ports: Sequence[int]
    scribe: Scribe
    heard: Counter[str] = field(default_factory=Counter)
    _turn: int = 0

    def insist(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """The first definite answer; 503 and silence are none."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            reply = self.once(method, path, body, headers)
            if reply is not None and reply[0] != 503:
                return reply
            time.sleep(0.05)
        raise TimeoutError(f"{method} {path} was not answered within {PATIENCE:g} s")

    def once(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer | None:
        self._turn += 1
        try:
            status, answer = ask(self.ports[self._turn % len(self.ports)], method, path, body, headers, timeout=3)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            self.heard["unanswered"] += 1
            return None
        self.heard[f"{status // 100}xx"] += 1
        if status >= 500 and status != 503:
            self.scribe.tell("wrong", what=f"{method} {path} answered {status}: {answer}")
        return status, answer
