"""What every attempt of a webhook needs of its configured headers, worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foliot.core.mask import shown
from foliot.core.secrets import names_in

_MOST = 10_000


@dataclass(frozen=True, slots=True, repr=False)
class HeaderPlan:
    """Configured headers, and what is known about them."""

    given: Mapping[str, str]
    wanted: frozenset[str]
    """The secrets that they name."""
    shown: Mapping[str, str]
    """With templates for secrets, and masked credentials."""
    size: int
    """Bytes of names and values, without secrets."""
    typed: bool
    """Whether they say what the body is."""


@dataclass(frozen=True, slots=True, repr=False)
class HeaderPlans:
    """Keeps plans by the headers themselves. Those that hold a credential are not kept in memory."""

    _kept: dict[tuple[tuple[str, str], ...], HeaderPlan] = field(default_factory=dict)

    def of(self, configured: Mapping[str, Any]) -> HeaderPlan:
        given = {str(name): str(value) for name, value in configured.items()}
        key = tuple(given.items())
        plan = self._kept.get(key)
        if plan is None:
            masked = shown({"headers": given})["headers"]
            typed = "content-type" in map(str.lower, given)
            plan = HeaderPlan(given, frozenset(names_in(given)), masked, size_of(given), typed)
            if masked == given:
                if len(self._kept) >= _MOST:
                    self._kept.clear()
                self._kept[key] = plan
        return plan


def size_of(headers: Mapping[str, str]) -> int:
    return sum(len(name) + len(value.encode()) for name, value in headers.items())
